"""What can be exported, as columns and rows: decisions as a run writes them, votes, events; and the session's journal.

Rows come in batches out of one snapshot of the database, so an export is of one moment and memory stays small.
Called by `decisions`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Connection, exists, select

from quorate.service.access.log import Line, all_lines
from quorate.service.deciding.events import ITEM_KINDS, project_events
from quorate.service.deciding.listing import BATCH, Decided, all_decisions
from quorate.service.deciding.projects import Project, Projects
from quorate.service.deciding.row import ABSENT
from quorate.service.deciding.stats import voter_names
from quorate.service.store.schema import events as acts
from quorate.service.store.schema import items, not_withdrawn
from quorate.session.journal import FIRST_SEQ
from quorate.session.lines import encode_line, header_line
from quorate.workflows.run_result import DECISION_COLUMNS

Kind = Literal["text", "float", "int", "bool"]
KINDS: dict[str, Kind] = {"confidence": "float", "num_votes": "int", "agreement": "float", "cost": "float"}
KINDS |= {"pool_size": "int", "audited": "bool", "time": "float", "event": "int", "seq": "int", "line": "int"}
KINDS |= {"late": "bool", "retracted": "bool"}
VOTE_COLUMNS = (
    "item", "voter", "voter_name", "label", "time", "kind", "late", "retracted", "cast_label", "signed_in_by",
)  # fmt: skip
EVENT_COLUMNS = ("event", "item", "seq", "kind", "voter", "time", "body", "signed_in_by")
LOG_COLUMNS = ("line", "time", "kind", "account_id", "account_name", "made_by", "made_by_name", "details")
ACTS = ("vote", "abstain", "skip")
Cell = str | float | int | bool | None


@dataclass(frozen=True, slots=True)
class Export:
    """A table that is read as it is written: its columns by kind, and its rows."""

    columns: dict[str, Kind]
    rows: Iterator[tuple[Cell, ...]]


def decisions(projects_: Projects, connection: Connection, project: Project) -> Export:
    """The closed items, with the columns of `quorate run`."""
    columns: dict[str, Kind] = {name: KINDS.get(name, "text") for name in DECISION_COLUMNS}
    columns |= {f"prob_{name}": "float" for name in project.settings.classes}

    def cells(row: Decided) -> tuple[Cell, ...]:
        return (*(getattr(row, name) for name in DECISION_COLUMNS), *row.probs)

    return Export(columns, map(cells, all_decisions(projects_, connection, project)))


def votes(connection: Connection, project: Project) -> Export:
    """Every act of a voter once, in order: also those that came late or were taken back. Withdrawn items are left out.

    `label` is empty where no vote stands, so `quorate run --votes` reads what stands; `cast_label` is never.
    """
    return Export({name: KINDS.get(name, "text") for name in VOTE_COLUMNS}, _votes(connection, project))


def _votes(connection: Connection, project: Project) -> Iterator[tuple[Cell, ...]]:
    later = acts.alias()  # whoever acts on an item again has taken back what they did before
    again = exists().where(
        later.c.item_id == acts.c.item_id, later.c.voter == acts.c.voter, later.c.id > acts.c.id,
        later.c.kind.in_((*ACTS, "retract")),
    )  # fmt: skip
    query = select(acts.c.id, acts.c.voter, acts.c.time, acts.c.kind, acts.c.body, acts.c.signed_in_by)
    query = query.add_columns(again.label("is_retracted"))
    query = query.join(items, items.c.id == acts.c.item_id).where(not_withdrawn, ~acts.c.voter.startswith(ABSENT))
    query = query.where(acts.c.project_id == project.id, acts.c.kind.in_(ACTS)).order_by(acts.c.id).limit(BATCH)
    names = voter_names(connection, project)
    last = 0
    while rows := connection.execute(query.where(acts.c.id > last)).all():
        for row in rows:
            body, is_retracted = json.loads(row.body), bool(row.is_retracted)
            if not body.get("undone"):  # a skip that was taken back is written as one, too
                cast = body.get("label")
                late = bool(body.get("late"))
                stands = None if is_retracted else cast
                name = names.get(row.voter, row.voter.removeprefix("ext:"))
                told = (stands, row.time, row.kind, late, is_retracted, cast, row.signed_in_by)
                yield (body["item"], row.voter, name, *told)
        last = rows[-1].id


def events(connection: Connection, project: Project) -> Export:
    """Every event of the project, in order, as it was written; `body` is its JSON."""
    columns: dict[str, Kind] = {name: KINDS.get(name, "text") for name in EVENT_COLUMNS}
    return Export(columns, _events(connection, project))


def _events(connection: Connection, project: Project) -> Iterator[tuple[Cell, ...]]:
    for row in project_events(connection, project.id):
        item = json.loads(row.body).get("item") if row.item_id is not None else None
        yield (row.id, item, row.seq, row.kind, row.voter, row.time, row.body, row.signed_in_by)


def log(connection: Connection, project: Project) -> Export:
    """The access log, the oldest line first; `details` is JSON."""

    def cells(line: Line) -> tuple[Cell, ...]:
        named = (line.account_id, line.account_name, line.made_by, line.made_by_name)
        return (line.id, line.time, line.kind, *named, json.dumps(line.details, ensure_ascii=False))

    columns: dict[str, Kind] = {name: KINDS.get(name, "text") for name in LOG_COLUMNS}
    return Export(columns, map(cells, all_lines(connection, project.id)))


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
