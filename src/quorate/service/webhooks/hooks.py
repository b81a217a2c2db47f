"""Webhooks of a project: made, listed, removed, tried; and what became of their deliveries. Called by the API.

The secret is made here and shown once, to whoever made the webhook; the service keeps it, because it signs with it.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, func, insert, select, tuple_, update

from quorate.service.access.log import note
from quorate.service.access.refusals import NotFound
from quorate.service.store.schema import deliveries, webhooks
from quorate.service.store.store import Store
from quorate.service.webhooks.addresses import checked_url
from quorate.service.webhooks.deliveries import KINDS
from quorate.validate import broken

MOST = 20  # of a project
PING = "ping"


@dataclass(frozen=True, slots=True)
class Webhook:
    """An address that is told of some kinds of events."""

    id: str
    project_id: str
    url: str
    kinds: tuple[str, ...]
    created: float


def create_webhook(
    store: Store,
    project_id: str,
    url: str,
    kinds: Sequence[str],
    *,
    allow_private: bool,
    by: str | None = None,
    now: float,
) -> tuple[Webhook, str]:
    """A new webhook and its secret."""
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown or not kinds:
        raise broken("kinds", unknown or [], f"some of {', '.join(KINDS)}", "choose at least one.")
    chosen = tuple(dict.fromkeys(kinds))
    made = Webhook(f"w_{secrets.token_hex(8)}", project_id, checked_url(url, allow_private=allow_private), chosen, now)
    secret = f"ws_{secrets.token_urlsafe(32)}"
    row = {"id": made.id, "project_id": project_id, "url": url, "secret": secret, "created": now}
    with store.write() as connection:
        here = (webhooks.c.project_id == project_id, webhooks.c.removed.is_(None))
        if connection.execute(select(func.count()).select_from(webhooks).where(*here)).scalar_one() >= MOST:
            raise broken("webhooks", MOST, f"fewer than {MOST} of a project before another one", "remove one first.")
        connection.execute(insert(webhooks).values(row | {"kinds": json.dumps(chosen)}))
        note(connection, "webhook made", project_id=project_id, by=by, now=now, webhook=made.id, url=url)
    return made, secret


def list_webhooks(store: Store, project_id: str, *, after: str = "", limit: int = 100) -> list[Webhook]:
    """The project's webhooks in order of their ids."""
    query = select(webhooks).where(webhooks.c.project_id == project_id, webhooks.c.removed.is_(None))
    query = query.where(webhooks.c.id > after).order_by(webhooks.c.id).limit(limit)
    with store.read() as connection:
        return [
            Webhook(row.id, row.project_id, row.url, tuple(json.loads(row.kinds)), row.created)
            for row in connection.execute(query)
        ]


def remove_webhook(store: Store, project_id: str, webhook_id: str, *, by: str | None = None, now: float) -> None:
    """Tell it nothing any more; what waits for it is given up."""
    with store.write() as connection:
        _check(connection, project_id, webhook_id)
        connection.execute(update(webhooks).where(webhooks.c.id == webhook_id).values(removed=now))
        note(connection, "webhook removed", project_id=project_id, by=by, now=now, webhook=webhook_id)


def ping(store: Store, project_id: str, webhook_id: str, *, now: float) -> str:
    """Queue a delivery that says nothing, to see whether it arrives; its id."""
    delivery = f"d_{secrets.token_hex(12)}"
    body = {"id": delivery, "type": PING, "time": now, "project": project_id, "data": {}}
    row = {"id": delivery, "webhook_id": webhook_id, "kind": PING, "body": json.dumps(body), "created": now, "due": now}
    with store.write() as connection:
        _check(connection, project_id, webhook_id)
        connection.execute(insert(deliveries).values(row))
    return delivery


def list_deliveries(
    store: Store, project_id: str, webhook_id: str, *, before: tuple[float, str] | None = None, limit: int = 100
) -> Sequence[Row[Any]]:
    """What was sent to a webhook or waits for it, the newest first; `before` is time and id of the last one seen."""
    query = select(deliveries).where(deliveries.c.webhook_id == webhook_id)
    if before is not None:
        query = query.where(tuple_(deliveries.c.created, deliveries.c.id) < before)
    with store.read() as connection:
        _check(connection, project_id, webhook_id)
        newest = (deliveries.c.created.desc(), deliveries.c.id.desc())
        return connection.execute(query.order_by(*newest).limit(limit)).all()


def _check(connection: Connection, project_id: str, webhook_id: str) -> None:
    here = (webhooks.c.id == webhook_id, webhooks.c.project_id == project_id, webhooks.c.removed.is_(None))
    if connection.execute(select(webhooks.c.id).where(*here)).one_or_none() is None:
        raise broken("webhook", webhook_id[:40], "one of this project's", "list them to see it.", error=NotFound)
