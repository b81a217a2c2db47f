"""Data in and out: import by drop with a look before anything is stored, exports as links, webhooks to read.

The import is sent twice: to look, and to store. Nothing is kept in between, and items that are there stay as they are.
"""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import APIRouter, Form, HTTPException, Request, Response, UploadFile
from sqlalchemy import select

from quorate.errors import InvalidInput, QuorateError
from quorate.service.access.principal import Member
from quorate.service.access.surroundings import now_of, store_of
from quorate.service.api.here import Owner, ProjectId, Viewer, projects_of
from quorate.service.api.reading import parsed
from quorate.service.deciding.items import MOST_ITEMS, add_items
from quorate.service.pages.item_files import Reading, read_items
from quorate.service.pages.rendering import render
from quorate.service.problems import of_error
from quorate.service.store.schema import webhooks

router = APIRouter(include_in_schema=False)
SHOWN_ROWS = 8
SHOWN_PROBLEMS = 50
EXPORTS = (
    (
        "decisions",
        "Decisions",
        "the answer of every closed item, how sure, how many votes, why",
        ("csv", "json", "parquet"),
    ),
    (
        "votes",
        "Votes",
        "who voted what, when, who could not tell or skipped; late and taken-back ones marked",
        ("csv", "json", "parquet"),
    ),
    (
        "events",
        "Events",
        "everything that happened, with every decision and its parameters",
        ("csv", "json", "parquet"),
    ),
    ("journal", "Journal", "the same as the library reads: quorate.Session.resume goes on from it", ("jsonl",)),
)


@router.get("/p/{project_id}/data")
def data_page(request: Request, project_id: ProjectId, caller: Viewer) -> Response:
    """Import, export, webhooks."""
    return _page(request, project_id, caller)


@router.post("/p/{project_id}/import")
def import_file(
    request: Request, project_id: ProjectId, caller: Owner, file: UploadFile,
    action: Annotated[str, Form()] = "look", images: Annotated[str, Form()] = "{}", part: Annotated[str, Form()] = "",
) -> Response:  # fmt: skip
    """Look at a file, or store its good rows. `part`: answer with the part of the page that says so alone."""
    projects_ = projects_of(request)
    shown: dict[str, Any] = {"file_name": file.filename or "file", "problem": None, "reading": None, "added": None}
    try:
        reading = read_items(file.filename or "", file.file.read(), projects_.get(project_id), _images(images))
        shown["reading"] = reading
        if action == "store":
            shown["added"] = _store(request, project_id, reading)
    except QuorateError as error:
        shown["problem"] = of_error(error).body()
    shown |= {"most_rows": SHOWN_ROWS, "most_problems": SHOWN_PROBLEMS}
    if part:
        return render(request, "import_part.html", **shown, project_id=project_id)
    return _page(request, project_id, caller, **shown)


def _store(request: Request, project_id: str, reading: Reading) -> dict[str, int]:
    """Add the good rows, in batches; how many of each fate."""
    fates = {"open": 0, "closed": 0, "exists": 0}
    for start in range(0, len(reading.items), MOST_ITEMS):
        batch = reading.items[start : start + MOST_ITEMS]
        for each in add_items(projects_of(request), project_id, batch, now=now_of(request)):
            fates[each.status] += 1
    return fates


def _images(text: str) -> dict[str, str]:
    try:
        found = parsed(text.encode("utf-8", "replace"))
    except (json.JSONDecodeError, HTTPException):
        found = None
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise InvalidInput("images is no object of upload ids by file name; reload the page and try again.")
    return found


def _page(request: Request, project_id: str, caller: Member, **more: Any) -> Response:  # noqa: ANN401
    hooks = select(webhooks.c.url, webhooks.c.kinds, webhooks.c.created)
    hooks = hooks.where(webhooks.c.project_id == project_id, webhooks.c.removed.is_(None))
    with store_of(request).read() as connection:
        project = projects_of(request).get_in(connection, project_id)
        told = [{"url": row.url, "kinds": json.loads(row.kinds)} for row in connection.execute(hooks)]
    shown = {
        "project": project, "me": caller.principal, "role": caller.role, "tab": "data", "exports": EXPORTS,
        "webhooks": told if caller.role == "owner" else [], "reading": None, "added": None, "file_name": "",
        "most_rows": SHOWN_ROWS, "most_problems": SHOWN_PROBLEMS, "project_id": project_id,
    }  # fmt: skip
    return render(request, "data.html", **(shown | more))
