"""What happened -> rows for the webhooks that want to hear of it, written in the same transaction as the event.

So nothing is told that did not happen, and nothing that happened is forgotten: `webhooks` delivers the rows, again and
again until one is taken. Called by `items`, `ballots`, `projects` and the steward.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, insert, select

from quorate.service.store.schema import deliveries, webhooks

if TYPE_CHECKING:
    from quorate.service.deciding.projects import Project

KINDS = (
    "item.completed",
    "item.reopened",
    "audit.completed",
    "project.completed",
    "project.learned",
    "project.changed",
)


def announce(connection: Connection, project: Project, kind: str, content: Mapping[str, Any], *, now: float) -> None:
    """Queue one delivery for each webhook of the project that listens to this kind."""
    wanted = select(webhooks.c.id, webhooks.c.kinds)
    wanted = wanted.where(webhooks.c.project_id == project.id, webhooks.c.removed.is_(None))
    hooks = [row.id for row in connection.execute(wanted) if kind in json.loads(row.kinds)]
    for hook in hooks:
        delivery = f"d_{secrets.token_hex(12)}"
        body = {"id": delivery, "type": kind, "time": now, "project": project.id, "data": dict(content)}
        row = {"id": delivery, "webhook_id": hook, "kind": kind, "body": json.dumps(body), "created": now, "due": now}
        connection.execute(insert(deliveries).values(row))


def announce_closed(connection: Connection, project: Project, row: Mapping[str, Any], *, now: float) -> None:
    """Tell that an item has its answer."""
    content = {
        "item": row["name"],
        "label": row["label"],
        "confidence": row["confidence"],
        "num_votes": row["decided_votes"],
        "reason": row["reason"],
    }
    announce(connection, project, "item.completed", content, now=now)
