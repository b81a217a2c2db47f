"""Adjudication: closed items in doubt wait for a senior, whose verdict is stored beside the pool's answer.

An item waits if its whole pool ties, or if it closed with less confidence than the project's `adjudicate_below`, but
not while it is in the audit and still gets votes. A verdict is an event ("verdict") that the session core never sees:
the pool's answer, its confidence and the audit stay unchanged. Called by the API and the pages.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, false, func, or_, select, update

from quorate.service.domain.events import append_item_events
from quorate.service.domain.projects import Project, Projects, archived
from quorate.service.domain.votes import not_here
from quorate.service.store.schema import ballots, counted, items
from quorate.session.inputs import class_number
from quorate.session.journal import Event
from quorate.validate import broken

MOST_NOTE = 2000  # characters
IN_DOUBT = (~items.c.is_open, counted, or_(items.c.audit.is_(None), items.c.audit != "drawn"))
TIED = and_(items.c.audit_loss > 0.0, items.c.audit_loss < 1.0)  # 1 - 1/t where the answer is one of t that tie


@dataclass(frozen=True, slots=True)
class Doubtful:
    """An item that waits, as a senior sees it: content, votes by class, their own vote; no names and no prediction.

    `tied`: the whole pool ties. `closed_event`: its position in the queue.
    """

    item: str
    show: dict[str, str]
    votes: tuple[int, ...]
    num_abstained: int
    tied: bool
    mine: str | None
    closed: float
    closed_event: int


def waits(project: Project) -> ColumnElement[bool]:
    """Which of the project's items wait for a verdict."""
    level = project.settings.adjudicate_below
    if level is None:
        return false()
    return and_(items.c.project_id == project.id, *IN_DOUBT, items.c.verdict.is_(None), _doubtful(level))


def _doubtful(level: float) -> ColumnElement[bool]:
    return or_(items.c.confidence < level, TIED)


def num_waiting(connection: Connection, project: Project) -> int:
    """How many items wait."""
    return int(connection.execute(select(func.count()).where(waits(project))).scalar_one())


def is_waiting(connection: Connection, project: Project, item_id: int) -> bool:
    """Whether this item waits."""
    return connection.execute(select(items.c.id).where(waits(project), items.c.id == item_id)).one_or_none() is not None


def waiting(connection: Connection, project: Project, senior: str, *, after: int = 0, limit: int = 1) -> list[Doubtful]:
    """Up to `limit` items that wait, in order of closing, starting after the event `after`."""
    query = select(items).where(waits(project), items.c.closed_event > after).order_by(items.c.closed_event)
    rows = connection.execute(query.limit(limit)).all()
    mine = _own_votes(connection, senior, [row.id for row in rows])
    return [
        Doubtful(
            item=row.name, show=json.loads(row.show), votes=tuple(json.loads(row.votes)),
            num_abstained=row.num_abstained, tied=row.audit_loss is not None and 0.0 < row.audit_loss < 1.0,
            mine=mine.get(row.id), closed=row.closed, closed_event=row.closed_event,
        )
        for row in rows
    ]  # fmt: skip


def _own_votes(connection: Connection, voter: str, ids: Sequence[int]) -> dict[int, str]:
    query = select(ballots.c.item_id, ballots.c.label).where(ballots.c.voter == voter, ballots.c.kind == "vote")
    return {row.item_id: row.label for row in connection.execute(query.where(ballots.c.item_id.in_(ids)))}


def give_verdict(
    projects_: Projects,
    project_id: str,
    name: str,
    label: str,
    *,
    by: str,
    signed_in_by: str | None,
    note: str = "",
    now: float,
) -> int:
    """Store a senior's verdict on an item that waits, or replace its verdict; returns the number of the event."""
    with projects_.store.write() as connection:
        query = select(items).where(items.c.project_id == project_id, items.c.name == name)
        row = connection.execute(query.with_for_update()).one_or_none()
        project = projects_.get_in(connection, project_id)
        _check(connection, project, row, name, note)
        assert row is not None
        class_number(label, project.session.classes)
        pool = {"label": row.label, "confidence": row.confidence}
        event: Event = {"seq": row.seq + 1, "time": now, "type": "verdict", "item": name, "voter": by, "label": label}
        event |= {"pool": pool, "note": note}
        made = {"project_id": project_id, "item_id": row.id, "event": event, "voter": by, "request": None}
        number = append_item_events(connection, [made | {"signed_in_by": signed_in_by}])[row.id]
        values = {"verdict": label, "verdict_by": by, "verdict_time": now, "seq": event["seq"]}
        connection.execute(update(items).where(items.c.id == row.id).values(values))
        return number


def _check(connection: Connection, project: Project, row: Row[Any] | None, name: str, note: str) -> None:
    if project.state == "archived":
        raise archived(project)
    if row is None:
        raise not_here(name)
    if len(note) > MOST_NOTE:
        raise broken("note", note[:80], f"at most {MOST_NOTE} characters", "shorten it.")
    may = or_(waits(project), and_(items.c.verdict.is_not(None), counted))  # a verdict can be corrected
    if connection.execute(select(items.c.id).where(items.c.id == row.id, may)).one_or_none() is None:
        rule = "an item that waits for a verdict: closed, not in the audit, and in doubt (`adjudicate_below`)"
        raise broken("item", name, rule, "see the list of those that wait.")
