"""Webhooks of a project: they report its events to other servers.

The webhook that Label Studio calls is in `label_studio/hooks`.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import Field

from quorate_service.api.dependencies import Owner, ProjectId, TheStore, Work, Write
from quorate_service.api.fields import NOTHING, In, Out, Page, Text, Time, Wanted, bad_cursor, problems
from quorate_service.api.people import Id, When
from quorate_service.domain import webhooks
from quorate_service.domain.webhooks import KINDS

router = APIRouter(prefix="/api/v1/projects/{project_id}/webhooks", tags=["webhooks"])

Kind = Annotated[str, Field(json_schema_extra={"enum": list(KINDS)})]  # `create_webhook` checks it


class WebhookIn(In):
    """A new webhook: its address and the kinds of events to send."""

    url: Annotated[Text, Field(min_length=1, max_length=2000, examples=["https://example.org/quorate"])]
    kinds: Annotated[list[Kind], Field(min_length=1, max_length=20)] = Field(default=["item.completed"])


class WebhookOut(Out):
    """A webhook."""

    id: str
    url: str
    kinds: list[Kind]
    created: Time


class WebhookMade(WebhookOut):
    """A new webhook. `secret` verifies its signatures; it is shown once: null in a repeated response."""

    secret: str | None


class DeliveryOut(Out):
    """A delivery, sent or pending; it has the same id on every attempt."""

    id: str
    kind: str
    created: Time
    due: Time
    attempts: int
    delivered: When
    failed: Annotated[float | None, Field(description="When it was given up, seconds since 1970.")]
    problem: Annotated[str | None, Field(description="The error of the last attempt.")]


class PingOut(Out):
    """The delivery of a test."""

    delivery_id: str


@router.post(
    "", summary="Add a webhook", status_code=201, response_model=WebhookMade, responses=problems(403, 404, 409)
)
def create_webhook(once: Write, project_id: ProjectId, caller: Owner, body: WebhookIn) -> Response:
    """Each delivery is a POST of JSON, signed by the Standard Webhooks specification: webhook-id, webhook-timestamp
    and webhook-signature. It is retried for three days until the response is 2xx."""
    allow = bool(once.request.app.state.config.allow_private_addresses)

    def work(on: Work) -> dict[str, object]:
        made, secret = webhooks.create_webhook(
            on.store, project_id, body.url, body.kinds, allow_private=allow, by=caller.account_id, now=on.now
        )
        return asdict(made) | {"secret": secret}

    return once(caller, work, secrets=("secret",))


@router.get("", summary="List webhooks", responses=problems(403, 404))
def list_webhooks(project_id: ProjectId, _caller: Owner, store: TheStore, wanted: Wanted) -> Page[WebhookOut]:
    """Without their secrets."""
    hooks = webhooks.list_webhooks(store, project_id, after=wanted.name, limit=wanted.most)
    return wanted.page(hooks, lambda hook: hook.id)


@router.delete("/{webhook_id}", summary="Remove a webhook", **NOTHING, responses=problems(403, 404, 409))
def remove_webhook(once: Write, project_id: ProjectId, webhook_id: Id, caller: Owner) -> Response:
    """Its pending deliveries are given up."""
    me = caller.account_id
    return once(caller, lambda on: webhooks.remove_webhook(on.store, project_id, webhook_id, by=me, now=on.now))


@router.post(
    "/{webhook_id}/ping",
    summary="Test a webhook",
    status_code=202,
    response_model=PingOut,
    responses=problems(403, 404, 409),
)
def ping_webhook(once: Write, project_id: ProjectId, webhook_id: Id, caller: Owner) -> Response:
    """Sends a delivery of type `ping` soon; the list of deliveries shows the result."""
    return once(caller, lambda on: {"delivery_id": webhooks.ping(on.store, project_id, webhook_id, now=on.now)})


@router.get("/{webhook_id}/deliveries", summary="List deliveries", responses=problems(403, 404))
def list_deliveries(
    project_id: ProjectId, webhook_id: Id, _caller: Owner, store: TheStore, wanted: Wanted
) -> Page[DeliveryOut]:
    """The newest first: those of the last month, and pending ones."""
    before = None if wanted.cursor is None else _place(wanted.name)
    sent = webhooks.list_deliveries(store, project_id, webhook_id, before=before, limit=wanted.most)
    return wanted.page(sent, lambda delivery: f"{delivery.created!r} {delivery.id}")


def _place(text: str) -> tuple[float, str]:
    """Time and id of a delivery from a cursor."""
    time, _, delivery_id = text.partition(" ")
    try:
        return float(time), delivery_id
    except ValueError:
        raise bad_cursor(text) from None
