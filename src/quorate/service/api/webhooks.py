"""Webhooks: those of a project, which report its events to other servers, and the one that Label Studio calls.

Label Studio sends it within the annotator's own request, waits at most a second and does not retry. So it is
acknowledged first, and the connector does the work; only the task numbers are read from the body.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, cast

from fastapi import APIRouter, BackgroundTasks, Request, Response
from pydantic import Field
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from quorate.service.access.request_context import now_of, store_of
from quorate.service.api.bodies import StrictRoute
from quorate.service.api.dependencies import Owner, ProjectId, TheStore, Work, Write
from quorate.service.api.fields import NOTHING, In, Out, Page, Text, Time, Wanted, bad_cursor, problems
from quorate.service.api.people import Id, When
from quorate.service.domain import webhooks
from quorate.service.domain.webhooks import KINDS
from quorate.service.label_studio.connections import is_secret, mark_changed
from quorate.service.label_studio.connector import Connector
from quorate.service.label_studio.reconcile import PATH, SECRET
from quorate.service.problems import NotSignedIn
from quorate.service.store import Store, StoreUnavailable

log = logging.getLogger("quorate.service.connector")
router = APIRouter(prefix="/api/v1/projects/{project_id}/webhooks", tags=["webhooks"], route_class=StrictRoute)

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
    found = webhooks.list_webhooks(store, project_id, after=wanted.name, limit=wanted.most)
    return wanted.page(found, lambda each: each.id)


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
    found = webhooks.list_deliveries(store, project_id, webhook_id, before=before, limit=wanted.most)
    return wanted.page(found, lambda each: f"{each.created!r} {each.id}")


def _place(text: str) -> tuple[float, str]:
    """Time and id of a delivery from a cursor."""
    time, _, delivery_id = text.partition(" ")
    try:
        return float(time), delivery_id
    except ValueError:
        raise bad_cursor(text) from None


incoming = APIRouter(include_in_schema=False)
MOST_TASKS = 1000  # if a webhook names more, all tasks are read


@incoming.post(PATH + "{project_id}", status_code=204)
async def label_studio_hook(project_id: ProjectId, request: Request, later: BackgroundTasks) -> Response:
    """A webhook of Label Studio; it must carry the secret with which it was registered."""
    store, secret = store_of(request), request.headers.get(SECRET, "")
    if not secret or not await run_in_threadpool(_knows, store, project_id, secret):
        raise NotSignedIn("not signed in", "send the secret of the webhook.", field=SECRET, rule="the webhook's secret")
    try:
        body = await request.json()
    except (ValueError, ClientDisconnect):  # Label Studio stopped waiting: the task is unknown, so all tasks are read
        body = None
    connector = cast(Connector, request.app.state.connector)
    later.add_task(_mark, store, connector, project_id, tasks_of(body), now_of(request))
    return Response(status_code=204, background=later)


def tasks_of(body: object) -> list[int]:
    """The numbers of the tasks that a webhook is about; empty if it does not say.

    >>> tasks_of({"action": "ANNOTATION_CREATED", "annotation": {"id": 5, "task": 17}, "task": {"id": 17}})
    [17]
    >>> tasks_of({"action": "ANNOTATIONS_DELETED", "annotations": [{"id": 5}]})
    []
    """
    if not isinstance(body, Mapping):
        return []
    several = body.get("annotations")
    about = [body.get("annotation"), *(several if isinstance(several, list) else [])]
    found = [each.get("task") if isinstance(each, Mapping) else None for each in about if each is not None]
    if not found or len(found) > MOST_TASKS:
        return []
    numbers = [number for number in found if isinstance(number, int) and 0 < number < 2**63]
    return sorted(set(numbers)) if len(numbers) == len(found) else []


def _knows(store: Store, project_id: str, secret: str) -> bool:
    with store.read() as connection:
        return is_secret(connection, project_id, secret)


def _mark(store: Store, connector: Connector, project_id: str, tasks: list[int], now: float) -> None:
    try:
        mark_changed(store, project_id, tasks, now=now)
    except StoreUnavailable as problem:  # the next full read finds the change
        log.warning("a webhook could not be stored: %s", problem)
    connector.wake()
