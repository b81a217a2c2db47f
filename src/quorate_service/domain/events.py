"""Append-only records: events of items and projects, and actions of owners."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, and_, bindparam, insert, select

from quorate.session import Event
from quorate_service.store.bulk import encode, in_batches, insert_rows
from quorate_service.store.schema import events, items, owner_actions

ITEM_KINDS = ("open", "vote", "abstain", "retract", "close")  # events that the session core folds
BESIDE = ("skip", "gold", "verdict")  # events that it never sees

is_folded = and_(*(events.c.kind != kind for kind in BESIDE))
APPEND = insert(events).returning(events.c.id)
OF_ITEM = select(events.c.body).where(events.c.item_id == bindparam("item"), is_folded)
OF_ITEM = OF_ITEM.order_by(events.c.seq)


def append_item_events(connection: Connection, entries: Sequence[Mapping[str, Any]]) -> dict[int, int]:
    """Store the next `event` of some items, each with its `project_id`, `item_id`, `voter`, `request` and
    `signed_in_by`.

    Returns the number of each item's event in the table; every item occurs once.
    """
    rows = [
        {
            "project_id": entry["project_id"],
            "item_id": entry["item_id"],
            "seq": entry["event"]["seq"],
            "kind": entry["event"]["type"],
            "voter": entry["voter"],
            "request": entry["request"],
            "time": entry["event"]["time"],
            "body": encode(entry["event"]),
            "signed_in_by": entry["signed_in_by"],
        }
        for entry in entries
    ]
    return {row.item_id: row.id for row in insert_rows(connection, events, rows, returning=("id", "item_id"))}


def append_project_event(
    connection: Connection, project_id: str, kind: str, body: dict[str, Any], *, now: float
) -> int:
    """Store one event of the whole project; returns its number."""
    row = {"project_id": project_id, "kind": kind, "time": now, "body": encode({"type": kind, "time": now} | body)}
    return int(connection.execute(APPEND, row).scalar_one())


def item_events(connection: Connection, item_id: int) -> list[Event]:
    """The item's events in order, as the session core folds them."""
    return [json.loads(text) for text in connection.execute(OF_ITEM, {"item": item_id}).scalars()]


def project_events(connection: Connection, project_id: str) -> Iterator[Any]:
    """All rows of a project's events in order, in bounded memory."""
    for rows in in_batches(connection, select(events).where(events.c.project_id == project_id), events.c.id):
        yield from rows


@dataclass(frozen=True, slots=True)
class OwnerAction:
    """One action of an owner. `who`: the account, empty if unknown. `item`: None if it concerns the project."""

    id: int
    time: float
    who: str
    kind: str
    item: str | None
    body: dict[str, Any]


def record(
    connection: Connection,
    project_id: str,
    kind: str,
    body: Mapping[str, Any],
    *,
    by: str | None,
    now: float,
    item_id: int | None = None,
) -> int:
    """Store one action of an owner; returns its number. `by`: the account; None: unknown."""
    row = {"project_id": project_id, "item_id": item_id, "kind": kind, "who": by or "", "time": now}
    statement = insert(owner_actions).values(row | {"body": json.dumps(dict(body))})
    return int(connection.execute(statement.returning(owner_actions.c.id)).scalar_one())


def list_actions(
    connection: Connection, project_id: str, *, item_id: int | None = None, after: int = 0, limit: int = 100
) -> list[OwnerAction]:
    """Up to `limit` actions, oldest first, of the project or of one item, starting after number `after`."""
    query = select(owner_actions, items.c.name.label("item")).outerjoin(items, items.c.id == owner_actions.c.item_id)
    query = query.where(owner_actions.c.project_id == project_id, owner_actions.c.id > after)
    if item_id is not None:
        query = query.where(owner_actions.c.item_id == item_id)
    rows = connection.execute(query.order_by(owner_actions.c.id).limit(limit))
    return [OwnerAction(row.id, row.time, row.who, row.kind, row.item, json.loads(row.body)) for row in rows]
