"""Renders templates, charts, QR codes and error pages. `app` serves the folder STATIC.

Charts have coordinates from 0 to 100 and are stretched by CSS: coordinates are computed here, the markup is in
`_charts.html`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlencode

import segno
from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from quorate_service.access.accounts import ADJUDICATING, VOTING, Role
from quorate_service.access.principal import Member, member
from quorate_service.access.request_context import now_of, store_of
from quorate_service.api.dependencies import ProjectId, projects_of
from quorate_service.domain.projects import Project, Projects
from quorate_service.pages import formats
from quorate_service.pages.instructions import as_html
from quorate_service.store import Store

STATIC = Path(__file__).parent / "static"
TEMPLATES = Path(__file__).parent / "templates"
router = APIRouter(include_in_schema=False)
SENT_ALREADY = "sent-already"  # the note for a form that was sent twice, e.g. by reloading its answer
NOTES = {  # messages on the page after a form was submitted
    SENT_ALREADY: "This was made already, and is in the list. Its secret was shown once.",
    "saved": "Saved.",
    "created": "The project was created.",
    "removed": "Removed.",
    "revoked": "Revoked: it no longer works.",
    "role": "The role was changed.",
    "clear": "Not set aside any more: voters are asked again.",
    "ask-again": "The rest of the pool is asked. What the whole pool says will be the answer.",
    "closed": "Closed with the votes so far.",
    "withdraw": "Withdrawn: nobody is asked any more; only the audit may still include them.",
    "gold": "The item's known answer was changed.",
    "verdict": "The verdict was recorded.",
    "restore": "Restored: included again.",
    "pool": "The pool of open items was changed.",
    "pinged": "A test was sent; reload the page to see the result.",
    "hook-removed": "Removed: nothing is sent there any more.",
    "left": "You are signed out.",
    "left-everywhere": "You are signed out in every browser.",
    "joined": "Welcome.",
}
NOTHING_TO_ASK = (
    "Only a closed item is asked again, and only if the rest of its pool could change its answer. "
    "Correct a wrong answer on the item's page."
)
FILTERS = (
    formats.count, formats.percent, formats.percent_span, formats.decimal, formats.money, formats.lasting,
    formats.moment, formats.plural, formats.prediction, formats.sentence, formats.together,
)  # fmt: skip
NOTHING_SHOWN: dict[str, Any] = {  # what every template may ask for
    "problem": None, "me": None, "project": None, "note": None, "tab": "", "role": None
}  # fmt: skip
PAGES = ("/p/", "/new", "/join/", "/link/", "/sign-")
COLOURS = 8
REST = 7  # the grey one


@router.get("/favicon.ico")
def favicon() -> Response:
    """The icon that browsers request automatically."""
    return FileResponse(STATIC / "icon.svg", headers={"Cache-Control": "max-age=86400"})


environment = Environment(
    loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
)


def macro(name: str, *values: object) -> Markup:
    """The output of a macro of `_charts.html`."""
    markup: Markup = getattr(environment.get_template("_charts.html").module, name)(*values)
    return markup


def qr_code(url: str, title: str) -> Markup:
    """The QR code; `title` is for screen readers.

    >>> str(qr_code("https://example.org/join/abc", "QR code of the link"))[:52]
    '<div class="qr" role="img" aria-label="QR code of th'
    """
    code = segno.make_qr(url, error="m")
    svg = code.svg_inline(omitsize=True, border=4, dark="#000", light="#fff", svgclass=None, lineclass=None)
    return macro("qr", title, Markup(svg))


environment.filters |= {each.__name__: each for each in FILTERS}
environment.globals |= {"static": "/static/{}".format, "qr_code": qr_code}


def render(request: Request, template: str, status: int = 200, /, **shown: object) -> Response:
    """The page of this template."""
    now = now_of(request)
    context = NOTHING_SHOWN | {
        "now": now,
        "ago": lambda time: formats.ago(time, now),
        "note": _note(request.query_params.get("note", ""), request.query_params.get("number", "")),
        "path": request.url.path,
        "link": None,
    }
    return HTMLResponse(environment.get_template(template).render(context | shown), status)


def _note(name: str, number: str) -> str | None:
    """The message on the page after a form; with the number of items changed, if it says one.

    >>> _note("clear", "0")
    'Nothing changed.'
    """
    if number == "0" and name == "ask-again":
        return f"Nothing changed. {NOTHING_TO_ASK}"
    if name not in NOTES or not number.isdigit():
        return NOTES.get(name)
    return f"{formats.plural(int(number[:9]), 'item')}. {NOTES[name]}" if int(number[:9]) else "Nothing changed."


def status_of(problem: object) -> int:
    """The status of a page that shows this problem; 200 without one."""
    return int(problem["status"]) if isinstance(problem, dict) else 200


def go(path: str, note: str | None = None, *, number: int | None = None) -> Response:
    """Redirect after a form, so that reloading the page does not submit it again. `number`: of the items changed."""
    told = {name: value for name, value in (("note", note), ("number", number)) if value is not None}
    return RedirectResponse(f"{path}{'&' if '?' in path else '?'}{urlencode(told)}" if told else path, 303)


@dataclass(frozen=True, slots=True)
class Visit:
    """A request for a page or form of a project, with the caller."""

    request: Request
    project_id: str
    caller: Member

    @property
    def store(self) -> Store:
        """The store of the app."""
        return store_of(self.request)

    @property
    def projects(self) -> Projects:
        """The projects of the app."""
        return projects_of(self.request)

    @property
    def now(self) -> float:
        """The time of the request."""
        return now_of(self.request)

    @property
    def me(self) -> str:
        """The visitor's account."""
        return self.caller.account_id

    @property
    def allows_private(self) -> bool:
        """Whether addresses of this machine and its network are allowed."""
        return bool(self.request.app.state.config.allow_private_addresses)

    def instructions(self, project: Project) -> Markup:
        """The project's instructions, as HTML; empty if there are none."""
        return as_html(project.settings.instructions, project.id, allow_private=self.allows_private)

    def render(self, template: str, status: int = 200, /, **shown: object) -> Response:
        """The page of this template, for the visitor."""
        return render(self.request, template, status, me=self.caller, role=self.caller.role, **shown)

    def go(self, page: str, note: str | None = None, *, number: int | None = None) -> Response:
        """Redirect to a page of the project."""
        return go(f"/p/{self.project_id}/{page}", note, number=number)


def _visit(*roles: Role) -> object:
    """A dependency: the visit of a caller in one of these roles (any if none are given)."""

    async def visit(request: Request, project_id: ProjectId, caller: Member = Depends(member(*roles))) -> Visit:  # noqa: B008
        return Visit(request, project_id, caller)

    return Depends(visit)


OwnerVisit = Annotated[Visit, _visit("owner")]
ViewerVisit = Annotated[Visit, _visit("owner", "reader")]
VoterVisit = Annotated[Visit, _visit(*VOTING)]
SeniorVisit = Annotated[Visit, _visit(*ADJUDICATING)]
MemberVisit = Annotated[Visit, _visit()]


def error_page(request: Request, problem: dict[str, Any]) -> Response | None:
    """The problem as a page; None if the client wants JSON."""
    path = request.url.path
    if "text/html" not in request.headers.get("accept", "") or path == "/api" or path.startswith("/api/"):
        return None
    template, shown = "problem.html", NOTHING_SHOWN | {"problem": problem, "path": path}
    is_page = request.method in ("GET", "HEAD") and (path == "/" or path.startswith(PAGES))
    if is_page and problem["status"] == 401:  # show how to sign in instead of an error for programs
        template, shown["problem"] = "sign_in.html", None
    html = environment.get_template(template).render(shown)
    return Response(html, problem["status"], media_type="text/html")


@dataclass(frozen=True, slots=True)
class ChartLine:
    """One line: its name, its colour's number, and y at x = 0, 1, 2, ..."""

    name: str
    colour: int
    values: Sequence[float]


def line_chart(lines: Sequence[ChartLine], *, title: str, most: float) -> Markup:
    """Lines on a common scale from 0 to `most`; `title` is for screen readers.

    >>> str(line_chart([ChartLine("cat", 0, [0.5, 1.0])], title="belief", most=1.0))[:52]
    '<svg class="plot-area" viewBox="0 0 100 100" preserv'
    """
    drawn = [line for line in lines if line.values]
    far = max([*(len(line.values) - 1 for line in drawn), 1e-9])
    return macro("lines", title, [(line.colour % COLOURS, _path(line.values, far, most)) for line in drawn])


def _path(values: Sequence[float], far: float, most: float) -> str:
    heights = [100 - 99 * min(max(y / max(most, 1e-12), 0.0), 1.0) - 0.5 for y in values]
    points = [(100 * x / far, y) for x, y in enumerate(heights)]
    if len(points) == 1:
        points = [(0.0, heights[0]), (100.0, heights[0])]
    return "M" + "L".join(f"{x:.2f} {y:.2f}" for x, y in points)


def columns(values: Sequence[float], *, title: str, colour: int = 0) -> Markup:
    """Vertical bars from zero to the largest."""
    highest, width = max([*values, 1e-12]), 100 / max(len(values), 1)
    bars = [((index + 0.1) * width, 0.8 * width, 99 * y / highest) for index, y in enumerate(values) if y > 0]
    return macro("columns", title, colour, bars)


def bar(parts: Sequence[tuple[float, int]], *, whole: float) -> Markup:
    """One horizontal bar of parts (value, colour) of a whole; the text beside it says the same."""
    at, shown = 0.0, []
    for value, colour in parts:
        width = 100 * value / whole if whole > 0 else 0.0
        shown.append((at, width, colour % COLOURS))
        at += width
    return macro("bar", shown)


def swatch(colour: int) -> Markup:
    """A square of a line's colour, for legends."""
    return macro("swatch", colour % COLOURS)
