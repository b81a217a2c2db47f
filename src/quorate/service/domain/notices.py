"""What happened -> rows for the webhooks that want to hear of it, written in the same transaction as the event.

So nothing is told that did not happen, and nothing that happened is forgotten: `webhooks` delivers the rows, again and
again until one is taken. Called by `items`, `ballots`, `projects` and the steward.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, insert, select

from quorate.service.store.schema import deliveries, webhooks

if TYPE_CHECKING:
    from quorate.service.domain.projects import Project

KINDS = (
    "item.completed",
    "item.reopened",
    "audit.completed",
    "project.completed",
    "project.learned",
    "project.changed",
)


Notice = tuple[str, Mapping[str, Any]]
"""A kind and what is told of it."""


def announce(connection: Connection, project: Project, notices: Sequence[Notice], *, now: float) -> None:
    """Queue a delivery of each notice for each webhook of the project that listens to its kind."""
    if not notices:
        return
    wanted = select(webhooks.c.id, webhooks.c.kinds)
    wanted = wanted.where(webhooks.c.project_id == project.id, webhooks.c.removed.is_(None))
    hooks = [(row.id, json.loads(row.kinds)) for row in connection.execute(wanted)]
    rows = [
        _delivery(project, hook, kind, content, now)
        for kind, content in notices
        for hook, kinds in hooks
        if kind in kinds
    ]
    if rows:
        connection.execute(insert(deliveries), rows)


def _delivery(project: Project, hook: str, kind: str, content: Mapping[str, Any], now: float) -> dict[str, Any]:
    delivery = f"d_{secrets.token_hex(12)}"
    body = {"id": delivery, "type": kind, "time": now, "project": project.id, "data": dict(content)}
    return {"id": delivery, "webhook_id": hook, "kind": kind, "body": json.dumps(body), "created": now, "due": now}


def closed(row: Mapping[str, Any]) -> Notice:
    """An item has its answer."""
    return "item.completed", {
        "item": row["name"],
        "label": row["label"],
        "confidence": row["confidence"],
        "num_votes": row["decided_votes"],
        "reason": row["reason"],
    }
