"""What can be exported, as columns and rows: decisions as a run writes them, votes, events; and the session's journal.

Rows come in batches out of one snapshot of the database, so an export is of one moment and memory stays small.
Called by `exports`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Connection, select, tuple_

from quorate.service.deciding.events import ITEM_KINDS, project_events
from quorate.service.deciding.listing import BATCH, Decided, all_decisions
from quorate.service.deciding.projects import Project, Projects
from quorate.service.store.schema import ballots, items
from quorate.service.store.store import Store
from quorate.session.journal import FIRST_SEQ
from quorate.session.lines import encode_line, header_line
from quorate.workflows.run_result import DECISION_COLUMNS

Kind = Literal["text", "float", "int", "bool"]
KINDS: dict[str, Kind] = {"confidence": "float", "num_votes": "int", "agreement": "float", "cost": "float"}
KINDS |= {"pool_size": "int", "audited": "bool", "time": "float", "event": "int", "seq": "int"}
Cell = str | float | int | bool | None


@dataclass(frozen=True, slots=True)
class Export:
    """A table that is read as it is written: its columns by kind, and its rows."""

    columns: dict[str, Kind]
    rows: Iterator[tuple[Cell, ...]]


@contextmanager
def snapshot(store: Store) -> Iterator[Connection]:
    """A transaction that sees the database as it is at its first statement, until its end."""
    with store.read() as connection:
        if store.is_sqlite:
            yield connection
        else:
            yield connection.execution_options(isolation_level="REPEATABLE READ")


def decisions(projects_: Projects, connection: Connection, project: Project) -> Export:
    """The closed items, with the columns of `quorate run`."""
    columns: dict[str, Kind] = {name: KINDS.get(name, "text") for name in DECISION_COLUMNS}
    columns |= {f"prob_{name}": "float" for name in project.settings.classes}

    def cells(row: Decided) -> tuple[Cell, ...]:
        return (*(getattr(row, name) for name in DECISION_COLUMNS), *row.probs)

    return Export(columns, map(cells, all_decisions(projects_, connection, project)))


def votes(connection: Connection, project: Project) -> Export:
    """What voters' acts amount to now, one row each; `quorate run --votes` reads them."""
    columns = {name: KINDS.get(name, "text") for name in ("item", "voter", "label", "time", "kind")}
    return Export(columns, _votes(connection, project))


def _votes(connection: Connection, project: Project) -> Iterator[tuple[Cell, ...]]:
    last = (0, "")
    query = select(ballots.c.item_id, items.c.name, ballots.c.voter, ballots.c.label, ballots.c.time, ballots.c.kind)
    query = query.join(items, items.c.id == ballots.c.item_id).where(items.c.project_id == project.id)
    place = tuple_(ballots.c.item_id, ballots.c.voter)
    while rows := connection.execute(
        query.where(place > last).order_by(ballots.c.item_id, ballots.c.voter).limit(BATCH)
    ).all():
        for row in rows:
            yield (row.name, row.voter, row.label, row.time, row.kind)
        last = (rows[-1].item_id, rows[-1].voter)


def events(connection: Connection, project: Project) -> Export:
    """Every event of the project, in order, as it was written; `body` is its JSON."""
    columns = {name: KINDS.get(name, "text") for name in ("event", "item", "seq", "kind", "voter", "time", "body")}
    return Export(columns, _events(connection, project))


def _events(connection: Connection, project: Project) -> Iterator[tuple[Cell, ...]]:
    for row in project_events(connection, project.id):
        item = json.loads(row.body).get("item") if row.item_id is not None else None
        yield (row.id, item, row.seq, row.kind, row.voter, row.time, row.body)


def journal(connection: Connection, project: Project) -> Iterator[bytes]:
    """The lines of a session's journal: `quorate.Session.resume` goes on from it.

    Events are numbered from 1 without a gap; decisions name "learn" and "tune" events by these numbers.
    """
    yield header_line(project.session.header())
    number, numbers = FIRST_SEQ, {0: 0}
    for row in project_events(connection, project.id):
        if row.kind not in (*ITEM_KINDS, "learn", "tune"):
            continue
        event: dict[str, Any] = {"seq": number} | json.loads(row.body) | {"seq": number}
        if row.item_id is None:
            numbers[row.id] = number
        elif "decision" in event:
            event["decision"] = _renumbered(event["decision"], numbers)
        yield encode_line(event, what=f"event {number}")
        number += 1


def _renumbered(decision: dict[str, Any], numbers: dict[int, int]) -> dict[str, Any]:
    named = {name: numbers[decision[name]] for name in ("params", "tune") if name in decision}
    return decision | named
