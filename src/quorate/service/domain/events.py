"""Events into the database and out of it, and an item after an event -> the values of its row."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select

from quorate.service.store.bulk import insert_rows
from quorate.service.store.lists import encode
from quorate.service.store.schema import events
from quorate.session.journal import Event

ITEM_KINDS = ("open", "vote", "abstain", "retract", "close")  # what the session core folds; "skip" is not among them

APPEND = insert(events).returning(events.c.id)
OF_ITEM = select(events.c.body).where(events.c.item_id == bindparam("item"), events.c.kind != "skip")
OF_ITEM = OF_ITEM.order_by(events.c.seq)


def append_item_events(connection: Connection, made: Sequence[Mapping[str, Any]]) -> dict[int, int]:
    """Keep the next `event` of some items, each with its `project_id`, `item_id`, `voter`, `request` and
    `signed_in_by`.

    Returns the number of each item's event in the table; every item occurs once.
    """
    rows = [
        {
            "project_id": each["project_id"],
            "item_id": each["item_id"],
            "seq": each["event"]["seq"],
            "kind": each["event"]["type"],
            "voter": each["voter"],
            "request": each["request"],
            "time": each["event"]["time"],
            "body": encode(each["event"]),
            "signed_in_by": each["signed_in_by"],
        }
        for each in made
    ]
    return {row.item_id: row.id for row in insert_rows(connection, events, rows, told=("id", "item_id"))}


def append_project_event(
    connection: Connection, project_id: str, kind: str, body: dict[str, Any], *, now: float
) -> int:
    """Keep one event of the whole project."""
    row = {"project_id": project_id, "kind": kind, "time": now, "body": encode({"type": kind, "time": now} | body)}
    return int(connection.execute(APPEND, row).scalar_one())


def item_events(connection: Connection, item_id: int) -> list[Event]:
    """The item's events in order, as the session core folds them."""
    return [json.loads(text) for text in connection.execute(OF_ITEM, {"item": item_id}).scalars()]


def project_events(connection: Connection, project_id: str, *, after: int = 0, batch: int = 1000) -> Iterator[Any]:
    """All rows of a project's events by number, in bounded memory."""
    while True:
        query = select(events).where(events.c.project_id == project_id, events.c.id > after)
        rows = connection.execute(query.order_by(events.c.id).limit(batch)).all()
        yield from rows
        if len(rows) < batch:
            return
        after = rows[-1].id
