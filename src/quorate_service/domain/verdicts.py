"""Items in doubt and the verdicts of seniors on them.

A verdict is an event ("verdict") that the session core never sees: the pool's answer, its confidence and the audit stay
unchanged. Any closed item can get one, and a later verdict corrects it. Called by the API and the pages.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, and_, false, func, or_, select, update

from quorate.session import Event, class_number
from quorate.validate import invalid
from quorate_service.domain.events import append_item_events
from quorate_service.domain.listing import find_item
from quorate_service.domain.projects import Project, Projects, not_archived
from quorate_service.domain.webhooks import announce, closed, final_answer
from quorate_service.problems import Outdated
from quorate_service.store.schema import accounts, ballots, counted, has_answer, items

MOST_NOTE = 2000  # characters
IS_ASKED = or_(func.coalesce(items.c.audit, "") == "drawn", func.coalesce(items.c.again, "") == "asked")
CLOSED_FOR_GOOD = (~items.c.is_open, counted, ~IS_ASKED)
TIED = and_(items.c.audit_loss > 0.0, items.c.audit_loss < 1.0)  # 1 - 1/t where the answer is one of t that tie


@dataclass(frozen=True, slots=True)
class Doubtful:
    """An item as a senior sees it: content, votes by class, their own vote; no names of voters and no prediction.

    `answer`: the final one; None: none, or not to be shown. `tied`: the whole pool ties. `is_asked`: votes still come,
    so answer and votes are not to be shown. `closed_event`: its position in the queue. `verdict` and `by`: if any.
    """

    item: str
    show: dict[str, str]
    votes: tuple[int, ...]
    num_abstained: int
    tied: bool
    mine: str | None
    closed: float
    closed_event: int
    is_asked: bool
    answer: str | None = None
    verdict: str | None = None
    by: str | None = None


def waits(project: Project) -> ColumnElement[bool]:
    """Which of the project's items wait for a verdict."""
    level = project.settings.adjudicate_below
    if level is None:
        return false()
    in_doubt = or_(items.c.confidence < level, TIED, ~has_answer)
    return and_(items.c.project_id == project.id, *CLOSED_FOR_GOOD, items.c.verdict.is_(None), in_doubt)


def num_waiting(connection: Connection, project: Project) -> int:
    """How many items wait."""
    return int(connection.execute(select(func.count()).where(waits(project))).scalar_one())


def is_waiting(connection: Connection, project: Project, item_id: int) -> bool:
    """Whether this item waits."""
    return connection.execute(select(items.c.id).where(waits(project), items.c.id == item_id)).one_or_none() is not None


def waiting(connection: Connection, project: Project, senior: str, *, after: int = 0, limit: int = 1) -> list[Doubtful]:
    """Up to `limit` items that wait, in order of closing, starting after the event `after`."""
    query = select(items).where(waits(project), items.c.closed_event > after).order_by(items.c.closed_event)
    return _as_doubtful(connection, senior, connection.execute(query.limit(limit)).all())


def next_waiting(
    projects_: Projects, project_id: str, senior: str, *, after: int = 0, now: float
) -> tuple[Project, Doubtful | None]:
    """The next item that waits and is not shown to another senior; it is kept for this one like an item for a voter."""
    with projects_.store.write() as connection:
        project = projects_.get_in(connection, project_id)
        free = or_(items.c.judge.is_(None), items.c.judge == senior, items.c.judge_until < now)
        query = select(items).where(waits(project), free).order_by(items.c.closed_event <= after, items.c.closed_event)
        row = connection.execute(query.limit(1).with_for_update(skip_locked=True)).one_or_none()
        mine = (items.c.project_id == project_id, items.c.judge == senior)
        connection.execute(update(items).where(*mine).values(judge=None, judge_until=None))
        if row is None:
            return project, None
        kept = {"judge": senior, "judge_until": now + project.settings.lease_seconds}
        connection.execute(update(items).where(items.c.id == row.id).values(kept))
        return project, _as_doubtful(connection, senior, [row])[0]


def closed_item(connection: Connection, project: Project, senior: str, name: str) -> Doubtful:
    """A closed item, to correct its answer."""
    row = find_item(connection, project.id, name)
    _check_closed(row)
    return _as_doubtful(connection, senior, [row])[0]


def latest_verdicts(connection: Connection, project: Project, *, limit: int) -> list[Doubtful]:
    """The items with the latest verdicts, the latest first."""
    query: Select[Any] = select(items).where(items.c.project_id == project.id, items.c.verdict.is_not(None), counted)
    rows = connection.execute(query.order_by(items.c.verdict_time.desc(), items.c.id).limit(limit)).all()
    return _as_doubtful(connection, "", rows)


def _as_doubtful(connection: Connection, senior: str, rows: Sequence[Row[Any]]) -> list[Doubtful]:
    mine = _own_votes(connection, senior, [row.id for row in rows])
    names = _names(connection, {row.verdict_by for row in rows})
    return [
        Doubtful(
            item=row.name, show=json.loads(row.show), votes=tuple(json.loads(row.votes)),
            num_abstained=row.num_abstained, tied=row.audit_loss is not None and 0.0 < row.audit_loss < 1.0,
            mine=mine.get(row.id), closed=row.closed, closed_event=row.closed_event,
            is_asked=is_asked(row), answer=None if is_asked(row) else final_answer(row._mapping),
            verdict=row.verdict, by=names.get(row.verdict_by, row.verdict_by),
        )
        for row in rows
    ]  # fmt: skip


def _own_votes(connection: Connection, voter: str, ids: Sequence[int]) -> dict[int, str]:
    query = select(ballots.c.item_id, ballots.c.label).where(ballots.c.voter == voter, ballots.c.kind == "vote")
    return {row.item_id: row.label for row in connection.execute(query.where(ballots.c.item_id.in_(ids)))}


def _names(connection: Connection, ids: set[str | None]) -> dict[str | None, str]:
    query = select(accounts.c.id, accounts.c.name).where(accounts.c.id.in_(ids - {None}))
    return {row.id: row.name for row in connection.execute(query)}


def give_verdict(
    projects_: Projects,
    project_id: str,
    name: str,
    label: str,
    *,
    replaces: str | None = None,
    by: str,
    signed_in_by: str | None,
    note: str = "",
    now: float,
) -> int:
    """Store a senior's verdict on a closed item; returns the number of the event.

    `replaces`: the verdict that it corrects, None if the item has none; refused if somebody has given another since.
    """
    with projects_.store.write() as connection:
        row = find_item(connection, project_id, name, lock=True)
        project = not_archived(projects_.get_in(connection, project_id))
        if len(note) > MOST_NOTE:
            raise invalid("note", note[:80], f"at most {MOST_NOTE} characters", "shorten it.")
        _check_closed(row)
        class_number(label, project.session.classes)
        if row.verdict != replaces:
            raise _outdated(connection, row, replaces)
        pool = {"label": row.label, "confidence": row.confidence}
        event: Event = {"seq": row.seq + 1, "time": now, "type": "verdict", "item": name, "voter": by, "label": label}
        event |= {"pool": pool, "note": note}
        made = {"project_id": project_id, "item_id": row.id, "event": event, "voter": by, "request": None}
        number = append_item_events(connection, [made | {"signed_in_by": signed_in_by}])[row.id]
        values = {"verdict": label, "verdict_by": by, "verdict_time": now, "seq": event["seq"]}
        connection.execute(update(items).where(items.c.id == row.id).values(values))
        after = {**row._mapping, **values}
        if final_answer(after) != final_answer(row._mapping):
            announce(connection, project.id, [closed(after)], now=now)
        return number


def is_asked(row: Row[Any]) -> bool:
    """Whether voters are still asked about a closed item: for the audit, or because an owner asked again."""
    return bool(row.audit == "drawn" or row.again == "asked")


def can_correct(row: Row[Any]) -> bool:
    """Whether a verdict can correct the item's answer: it is closed, or has a verdict already."""
    return bool((not row.is_open or row.verdict) and row.withdrawn is None and row.gold is None)


def _check_closed(row: Row[Any]) -> None:
    if not can_correct(row):
        fix = "wait until it closes." if row.withdrawn is None and row.gold is None else "choose another one."
        raise invalid("item", row.name, "a closed item, neither gold nor withdrawn", fix)


def _outdated(connection: Connection, row: Row[Any], replaces: str | None) -> Outdated:
    by = _names(connection, {row.verdict_by}).get(row.verdict_by, row.verdict_by)
    now = "no verdict" if row.verdict is None else f"the verdict {row.verdict!r} by {by}"
    rule = f"the verdict that the item has: {now}"
    return invalid("replaces", replaces, rule, "look at it again, and correct it if it is wrong.", error=Outdated)
