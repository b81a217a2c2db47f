"""The data page: import with a preview, exports as links, webhooks with their last delivery (secrets shown once)."""

from __future__ import annotations

import json
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Form, Response, UploadFile
from pydantic import JsonValue
from starlette.concurrency import run_in_threadpool

from quorate.errors import QuorateError
from quorate.validate import invalid
from quorate_service.access.invitations import form_id
from quorate_service.api.dependencies import in_batch_thread, once_per_form
from quorate_service.domain import webhooks
from quorate_service.domain.items import MOST_ITEMS, add_items, names_there
from quorate_service.domain.webhooks import KINDS
from quorate_service.pages.formats import Fields, in_words_of_the_form
from quorate_service.pages.item_files import ItemsFile, read_items
from quorate_service.pages.rendering import SENT_ALREADY, OwnerVisit, ViewerVisit, Visit, status_of
from quorate_service.problems import of_error

TABLE = ("csv", "jsonl")
EXPORTS = {  # name on the page, contents, formats
    "decisions": ("Decisions", "the answer of every closed item, with confidence, number of votes and reason", TABLE),
    "votes": ("Votes", "who voted for what and when, abstentions and skips; late and undone votes are marked", TABLE),
    "gold": ("Gold answers", "voters' answers to gold items, which are in no other table", TABLE),
    "events": ("Events", "everything that happened, with every decision and its parameters", TABLE),
    "journal": (
        "Journal", "the same events in the library's format: quorate.Session.resume continues from it", ("jsonl",)
    ),
}  # fmt: skip
NOTHING_LOOKED_AT: dict[str, Any] = {
    "file_name": "", "problem": None, "reading": None, "added": None, "there": frozenset(),
    "most_rows": 8, "most_problems": 50,
}  # fmt: skip
HOOK_KINDS = {
    "item.completed": "an item is closed",
    "item.reopened": "a closed item is open again",
    "audit.completed": "the audit of an item is complete",
    "project.completed": "every item is closed",
    "project.learned": "the parameters were fitted again",
    "project.changed": "the settings were changed",
}
HOOK_LABELS = {"url": "Address", "kinds": "Notify it when"}
NO_HOOK_SENT: dict[str, Any] = {
    "hook_secret": None, "hook_problem": None, "hook_url": "", "hook_kinds": ("item.completed",)
}  # fmt: skip


def data_page_of(on: Visit, **more: object) -> Response:
    """The whole page; `more` is the result of a form."""
    shown = {
        "project": on.projects.get(on.project_id), "tab": "data", "exports": EXPORTS, "project_id": on.project_id,
        "form_id": form_id(), "kinds": HOOK_KINDS, "hook_labels": HOOK_LABELS,
        "webhooks": _hooks(on) if on.caller.role == "owner" else [],
    }  # fmt: skip
    context = shown | NOTHING_LOOKED_AT | NO_HOOK_SENT | more
    return on.render("data.html", status_of(more.get("hook_problem")), **context)


def _hooks(on: Visit) -> list[tuple[webhooks.Webhook, Any]]:
    """Each webhook and its last delivery, or None."""
    hooks = webhooks.list_webhooks(on.store, on.project_id)
    last = [webhooks.list_deliveries(on.store, on.project_id, hook.id, limit=1) for hook in hooks]
    return [(hook, deliveries[0] if deliveries else None) for hook, deliveries in zip(hooks, last, strict=True)]


router = APIRouter(include_in_schema=False)


@router.get("/p/{project_id}/data")
def data_page(on: ViewerVisit) -> Response:
    """Import, export, webhooks."""
    return data_page_of(on)


@router.post("/p/{project_id}/import")
async def import_file(
    on: OwnerVisit, file: UploadFile,
    action: Annotated[str, Form()] = "look", images: Annotated[str, Form()] = "{}", part: Annotated[str, Form()] = "",
) -> Response:  # fmt: skip
    """Preview a file, or store its valid rows. `part`: respond with this part of the page only."""
    shown = await in_batch_thread(on.request, lambda: _imported(on, file, action, images))
    if part:
        return on.render("import_part.html", **shown, project_id=on.project_id)
    return await run_in_threadpool(data_page_of, on, **shown)


def _imported(on: Visit, file: UploadFile, action: str, images: str) -> dict[str, Any]:
    """The preview or the result of an import. Existing items stay unchanged."""
    shown: dict[str, Any] = NOTHING_LOOKED_AT | {"file_name": file.filename or "file"}
    try:
        project = on.projects.get(on.project_id)
        allow = on.allows_private
        reading = read_items(file.filename or "", file.file.read(), project, _images(images), allow_private=allow)
        shown["reading"] = reading
        if action == "store":
            shown["added"] = _store(on, reading)
        else:
            with on.store.read() as connection:
                shown["there"] = names_there(connection, on.project_id, [item.name for item in reading.items])
    except QuorateError as error:
        shown["problem"] = {"detail": str(error)}
    return shown


def _store(on: Visit, reading: ItemsFile) -> dict[str, int]:
    """Add the valid rows, in batches; returns how many items have each status."""
    statuses = {"open": 0, "closed": 0, "exists": 0, "gold": 0}
    for start in range(0, len(reading.items), MOST_ITEMS):
        batch = reading.items[start : start + MOST_ITEMS]
        for item in add_items(on.projects, on.project_id, batch, models=reading.models, now=on.now):
            statuses[item.status] += 1
    return statuses


def _images(text: str) -> dict[str, str]:
    images: JsonValue
    try:
        images = json.loads(text)
    except (ValueError, RecursionError):
        images = None
    if not isinstance(images, dict) or not all(isinstance(value, str) for value in images.values()):
        raise invalid("images", text[:80], "an object of upload ids by file name", "reload the page and try again.")
    return {name: str(value) for name, value in images.items()}


@router.post("/p/{project_id}/webhooks/add")
def add_webhook(on: OwnerVisit, fields: Fields) -> Response:
    """Create a webhook; only this response shows its secret."""
    kinds, url = [kind for kind in KINDS if fields.get(kind)], fields.get("url", "").strip()
    make = partial(webhooks.create_webhook, allow_private=on.allows_private, by=on.me, now=on.now)
    try:
        made = once_per_form(on.request, on.caller, fields, lambda store: make(store, on.project_id, url, kinds))
    except QuorateError as error:
        problem = in_words_of_the_form(of_error(error).body(), {"url": url, "kinds": ", ".join(kinds)}, HOOK_LABELS)
        return data_page_of(on, hook_problem=problem, hook_url=url, hook_kinds=kinds)
    return on.go("data", SENT_ALREADY) if made is None else data_page_of(on, hook_secret=made[1])


@router.post("/p/{project_id}/webhooks/test")
def test_webhook(on: OwnerVisit, fields: Fields) -> Response:
    """Send an empty delivery; the list shows the result."""
    webhooks.ping(on.store, on.project_id, fields.get("id", ""), now=on.now)
    return on.go("data", "pinged")


@router.post("/p/{project_id}/webhooks/remove")
def remove_webhook(on: OwnerVisit, fields: Fields) -> Response:
    """Remove a webhook."""
    webhooks.remove_webhook(on.store, on.project_id, fields.get("id", ""), by=on.me, now=on.now)
    return on.go("data", "hook-removed")
