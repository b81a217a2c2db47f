"""The webhooks of a project, as its owner makes, tries and removes them; the secret shows once. Part of the data page.

Addresses and kinds are checked by `webhooks.hooks`, as for the API.
"""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from quorate.errors import QuorateError
from quorate.service.access.request_context import now_of, store_of
from quorate.service.api.dependencies import Owner, ProjectId
from quorate.service.domain.notices import KINDS
from quorate.service.pages.data import HOOK_LABELS, data_page_of
from quorate.service.pages.form_fields import Fields, in_words_of_the_form
from quorate.service.pages.rendering import go
from quorate.service.problems import of_error
from quorate.service.webhooks import hooks

router = APIRouter(include_in_schema=False, prefix="/p/{project_id}/webhooks")


@router.post("/add")
def add(request: Request, project_id: ProjectId, caller: Owner, fields: Fields) -> Response:
    """A new webhook; its secret is on the answer, and nowhere else ever again."""
    kinds, url = [kind for kind in KINDS if fields.get(kind)], fields.get("url", "").strip()
    allow = bool(request.app.state.config.allow_private_webhooks)
    try:
        _, secret = hooks.create_webhook(
            store_of(request), project_id, url, kinds, allow_private=allow, by=caller.principal.account_id,
            now=now_of(request),
        )  # fmt: skip
    except QuorateError as error:
        problem = in_words_of_the_form(of_error(error).body(), {"url": url, "kinds": ", ".join(kinds)}, HOOK_LABELS)
        return data_page_of(request, project_id, caller, hook_problem=problem, hook_url=url, hook_kinds=kinds)
    return data_page_of(request, project_id, caller, hook_secret=secret)


@router.post("/test")
def try_out(request: Request, project_id: ProjectId, _caller: Owner, fields: Fields) -> Response:
    """Send a delivery that says nothing; the list shows what became of it."""
    hooks.ping(store_of(request), project_id, fields.get("id", ""), now=now_of(request))
    return go(f"/p/{project_id}/data", "pinged")


@router.post("/remove")
def remove(request: Request, project_id: ProjectId, caller: Owner, fields: Fields) -> Response:
    """Tell it nothing any more."""
    store, me = store_of(request), caller.principal.account_id
    hooks.remove_webhook(store, project_id, fields.get("id", ""), by=me, now=now_of(request))
    return go(f"/p/{project_id}/data", "hook-removed")
