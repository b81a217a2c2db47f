"""The data page: import, exports as links, webhooks with what became of the last delivery.

Called by `data` and `webhooks`, which take its forms.
"""

from __future__ import annotations

from typing import Any

from fastapi import Request, Response

from quorate.service.access.principal import Member
from quorate.service.access.surroundings import store_of
from quorate.service.api.here import projects_of
from quorate.service.pages.rendering import render
from quorate.service.store.store import Store
from quorate.service.webhooks import hooks

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
NOTHING_LOOKED_AT: dict[str, Any] = {
    "file_name": "", "problem": None, "reading": None, "added": None, "there": frozenset(),
    "most_rows": 8, "most_problems": 50,
}  # fmt: skip
HOOK_KINDS = {
    "item.completed": "an item is closed",
    "item.reopened": "a closed item is open again",
    "audit.completed": "an audited item is voted to the end",
    "project.completed": "every item is closed",
    "project.learned": "the classifier's worth was learned anew",
    "project.changed": "the settings were changed",
}
HOOK_LABELS = {"url": "Address", "kinds": "Tell it when"}
NO_HOOK_SENT: dict[str, Any] = {
    "hook_secret": None, "hook_problem": None, "hook_url": "", "hook_kinds": ("item.completed",)
}  # fmt: skip


def data_page_of(request: Request, project_id: str, caller: Member, **more: Any) -> Response:  # noqa: ANN401
    """The whole page; `more` is what a form sent to it led to."""
    shown = {
        "project": projects_of(request).get(project_id), "me": caller.principal, "role": caller.role, "tab": "data",
        "exports": EXPORTS, "project_id": project_id, "kinds": HOOK_KINDS, "hook_labels": HOOK_LABELS,
        "webhooks": _hooks(store_of(request), project_id) if caller.role == "owner" else [],
    }  # fmt: skip
    problem = more.get("hook_problem")
    status = problem["status"] if problem else 200
    return render(request, "data.html", status, **(shown | NOTHING_LOOKED_AT | NO_HOOK_SENT | more))


def _hooks(store: Store, project_id: str) -> list[tuple[hooks.Webhook, Any]]:
    """Each webhook and its last delivery, if there was one."""
    found = hooks.list_webhooks(store, project_id)
    return [(hook, next(iter(hooks.list_deliveries(store, project_id, hook.id, limit=1)), None)) for hook in found]
