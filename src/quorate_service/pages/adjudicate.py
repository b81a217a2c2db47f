"""The page on which seniors and owners give verdicts on items in doubt, and correct the answer of any closed item."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Response

from quorate.errors import QuorateError
from quorate_service.access.request_context import allow_images
from quorate_service.domain.items import for_browser
from quorate_service.domain.projects import Project
from quorate_service.domain.verdicts import (
    Doubtful,
    closed_item,
    give_verdict,
    latest_verdicts,
    next_waiting,
    num_waiting,
)
from quorate_service.pages.formats import Fields, in_words_of_the_form
from quorate_service.pages.keys import keys_of
from quorate_service.pages.rendering import SeniorVisit, Visit, bar, status_of, swatch
from quorate_service.problems import of_error

router = APIRouter(include_in_schema=False)
MOST_LISTED = 20  # verdicts
LABELS = {"item": "Id of a closed item", "replaces": "The verdict that you saw", "note": "Reason"}


@router.get("/p/{project_id}/adjudicate")
def show_adjudicate(on: SeniorVisit, after: int = 0, item: str | None = None) -> Response:
    """The item that has waited longest, or the first one after an event, or one whose answer is to be corrected."""
    return _page(on, after, item)


@router.post("/p/{project_id}/adjudicate")
def adjudicate(on: SeniorVisit, fields: Fields) -> Response:
    """Store the verdict, and show the next item."""
    item, label, replaces = fields.get("item", ""), fields.get("label", ""), fields.get("replaces") or None
    details = {"by": on.me, "signed_in_by": on.caller.signed_in_by, "note": fields.get("note", "").strip()}
    try:
        give_verdict(on.projects, on.project_id, item, label, replaces=replaces, **details, now=on.now)
    except QuorateError as error:
        return _page(on, 0, item, _in_words(error, {"item": item, "replaces": replaces or "no verdict"}))
    return on.go("adjudicate", "verdict")


def _page(on: Visit, after: int, name: str | None, problem: dict[str, object] | None = None) -> Response:
    allow_images(on.request, "https:", "http:")
    project, item, other = _item(on, after, name)
    problem = problem or other
    with on.store.read() as connection:
        number, latest = num_waiting(connection, project), latest_verdicts(connection, project, limit=MOST_LISTED)
    show = for_browser(project.id, {} if item is None else item.show)
    votes = [] if item is None else sorted(enumerate(item.votes), key=lambda each: -each[1])
    shown: dict[str, Any] = {"project": project, "item": item, "is_named": bool(name) and other is None, "show": show}
    shown |= {"number": number, "votes": [vote for vote in votes if vote[1]]}
    shown |= {"given": latest, "keys": keys_of(project.settings.classes), "problem": problem}
    shown["instructions"] = on.instructions(project)
    return on.render("adjudicate.html", status_of(problem), **shown, tab="adjudicate", bar=bar, swatch=swatch)


def _in_words(error: QuorateError, typed: Mapping[str, str]) -> dict[str, object]:
    return in_words_of_the_form(of_error(error).body(), typed, LABELS)


def _item(on: Visit, after: int, name: str | None) -> tuple[Project, Doubtful | None, dict[str, object] | None]:
    """The project and the item to show: the one named, else the next that waits; and what is wrong with the name."""
    problem = None
    if name:
        try:
            with on.store.read() as connection:
                project = on.projects.get_in(connection, on.project_id)
                return project, closed_item(connection, project, on.me, name), None
        except QuorateError as error:
            problem = _in_words(error, {"item": name})
    return *next_waiting(on.projects, on.project_id, on.me, after=after, now=on.now), problem
