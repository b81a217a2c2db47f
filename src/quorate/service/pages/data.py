"""Import by drop, with a look before anything is stored; the page around it is `data_page`.

The import is sent twice: to look, and to store. Nothing is kept in between, and items that are there stay as they are.
"""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import APIRouter, Form, HTTPException, Request, Response, UploadFile
from starlette.concurrency import run_in_threadpool

from quorate.errors import InvalidInput, QuorateError
from quorate.service.access.surroundings import now_of, store_of
from quorate.service.api.batch_threads import in_batch_thread
from quorate.service.api.here import Owner, ProjectId, Viewer, projects_of
from quorate.service.api.reading import parsed
from quorate.service.deciding.items import MOST_ITEMS, add_items, names_there
from quorate.service.pages.data_page import NOTHING_LOOKED_AT, data_page_of
from quorate.service.pages.item_files import Reading, read_items
from quorate.service.pages.rendering import render

router = APIRouter(include_in_schema=False)


@router.get("/p/{project_id}/data")
def data_page(request: Request, project_id: ProjectId, caller: Viewer) -> Response:
    """Import, export, webhooks."""
    return data_page_of(request, project_id, caller)


@router.post("/p/{project_id}/import")
async def import_file(
    request: Request, project_id: ProjectId, caller: Owner, file: UploadFile,
    action: Annotated[str, Form()] = "look", images: Annotated[str, Form()] = "{}", part: Annotated[str, Form()] = "",
) -> Response:  # fmt: skip
    """Look at a file, or store its good rows. `part`: answer with the part of the page that says so alone."""
    shown = await in_batch_thread(request, lambda: _imported(request, project_id, file, action, images))
    if part:
        return render(request, "import_part.html", **shown, project_id=project_id)
    return await run_in_threadpool(data_page_of, request, project_id, caller, **shown)


def _imported(request: Request, project_id: str, file: UploadFile, action: str, images: str) -> dict[str, Any]:
    """What the page says of the file, once it is looked at or stored."""
    projects_ = projects_of(request)
    shown: dict[str, Any] = NOTHING_LOOKED_AT | {"file_name": file.filename or "file"}
    try:
        name, project, allow = (
            file.filename or "",
            projects_.get(project_id),
            bool(request.app.state.config.allow_private_webhooks),
        )
        reading = read_items(name, file.file.read(), project, _images(images), allow_private=allow)
        shown["reading"] = reading
        if action == "store":
            shown["added"] = _store(request, project_id, reading)
        else:
            shown["there"] = _there(request, project_id, reading)
    except QuorateError as error:
        shown["problem"] = {"detail": str(error)}
    return shown


def _there(request: Request, project_id: str, reading: Reading) -> set[str]:
    """The ids of items that were stored before: they stay as they are."""
    with store_of(request).read() as connection:
        return names_there(connection, project_id, [item.name for item in reading.items])


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
