"""The page for seniors: one item that votes left in doubt, its votes, and a form for the verdict."""

from __future__ import annotations

from fastapi import APIRouter, Response

from quorate.errors import QuorateError
from quorate.service.access.request_context import allow_images
from quorate.service.domain.adjudication import give_verdict, num_waiting, waiting
from quorate.service.domain.items import for_browser
from quorate.service.pages.formats import Fields
from quorate.service.pages.rendering import SeniorVisit, Visit, bar, status_of, swatch
from quorate.service.problems import of_error

router = APIRouter(include_in_schema=False)


@router.get("/p/{project_id}/adjudicate")
def adjudicate_page(on: SeniorVisit, after: int = 0) -> Response:
    """The item that has waited longest, or the first one after an event."""
    return _page(on, after)


@router.post("/p/{project_id}/adjudicate")
def adjudicate(on: SeniorVisit, fields: Fields) -> Response:
    """Store the verdict, and show the next item."""
    given = {"by": on.me, "signed_in_by": on.caller.signed_in_by, "note": fields.get("note", "").strip()}
    try:
        give_verdict(on.projects, on.project_id, fields.get("item", ""), fields.get("label", ""), **given, now=on.now)
    except QuorateError as error:
        return _page(on, 0, of_error(error).body())
    return on.go("adjudicate", "verdict")


def _page(on: Visit, after: int, problem: dict[str, object] | None = None) -> Response:
    allow_images(on.request, "https:", "http:")
    with on.store.read() as connection:
        project = on.projects.get_in(connection, on.project_id)
        found = waiting(connection, project, on.me, after=after) or waiting(connection, project, on.me)
        number = num_waiting(connection, project)
    item = found[0] if found else None
    show = {"text": None, "image": None, "link": None} | ({} if item is None else for_browser(project.id, item.show))
    votes = [] if item is None else sorted(enumerate(item.votes), key=lambda each: -each[1])
    shown = {"project": project, "item": item, "show": show, "number": number, "votes": [v for v in votes if v[1]]}
    return on.render(
        "adjudicate.html", status_of(problem), **shown, problem=problem, tab="adjudicate", bar=bar, swatch=swatch
    )
