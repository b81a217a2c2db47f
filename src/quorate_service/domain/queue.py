"""The next items for a voter: by priority, then by how soon they can close; never one that the voter has acted on.

Each item given out is leased (`leases`). An item has no more leases at a time than votes it will certainly still ask
for. Called by the API, through `ballots`, and by the demo.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from sqlalchemy import Connection, Row, Select, and_, bindparam, func, select

from quorate_service.domain.cost import decisions_ahead
from quorate_service.domain.events import item_events
from quorate_service.domain.gold import with_gold
from quorate_service.domain.item_projection import votes_to_settle
from quorate_service.domain.leases import (
    Leased,
    Want,
    any_over,
    give_back_expired,
    grant,
    held_by,
    is_new,
    met,
    num_out,
)
from quorate_service.domain.projects import Project, Projects, unknown
from quorate_service.store.schema import is_gold, items, leases, projects

FIRST_LOOK = 16  # candidates of the first query; nearly always one of them is free
LOOKED_AT = 64  # candidates of the next ones: enough unless the voter has acted on most open items
DOUBLED_UP = 8  # items already held by others that are tried when nothing else is left
MOST_AT_ONCE = 8  # voters who hold one item at a time
STATES = 60  # outcomes tried to compute how many voters can be asked at once


def _start() -> Select[Any]:
    """The project, the ends of its first and last lease, the highest priority of items without a place, a gold item."""
    out = (leases.c.project_id == projects.c.id, leases.c.is_out)
    busy = (items.c.project_id == projects.c.id, items.c.is_wanted, items.c.slots <= 0)
    parts = {
        "first_end": select(leases.c.expires).where(*out).order_by(leases.c.expires),
        "last_end": select(leases.c.expires).where(*out).order_by(leases.c.expires.desc()),
        "busy_priority": select(items.c.priority).where(*busy).order_by(items.c.priority.desc()),
        "gold_item": select(items.c.id).where(items.c.project_id == projects.c.id, is_gold),
    }
    columns = [part.limit(1).scalar_subquery().label(name) for name, part in parts.items()]
    return select(projects, *columns).where(projects.c.id == bindparam("project"))


def _looks() -> list[Select[Any]]:
    """Queries for items with a place left, in order, locked: the first read few candidates, the last one all."""
    line = items.alias("line")
    in_line = and_(line.c.project_id == bindparam("project"), line.c.is_wanted, line.c.slots > 0)
    order = (line.c.priority.desc(), line.c.to_close, line.c.number)
    everything = select(line.c.id).where(in_line)
    most_urgent = select(func.max(line.c.priority)).where(in_line).scalar_subquery()
    new = and_(line.c.num_ballots == 0, line.c.priority == most_urgent)
    candidates = (
        everything.order_by(*order).limit(FIRST_LOOK),
        everything.order_by(*order).limit(LOOKED_AT),
        everything.where(new).order_by(order[0], order[2]).limit(LOOKED_AT),
    )
    free = _in_line().where(is_new())
    return [*(free.where(items.c.id.in_(ids)) for ids in candidates), LINE.where(is_new())]


def _in_line() -> Select[Any]:
    """Up to `count` items with a place left, in the order of the queue, locked."""
    query = select(items.c.id, items.c.name, items.c.show, items.c.priority)
    query = query.where(items.c.is_wanted, items.c.slots > 0)
    query = query.order_by(items.c.priority.desc(), items.c.to_close, items.c.number).limit(bindparam("count"))
    return query.with_for_update(of=items, skip_locked=True)


START, LINE = _start(), _in_line().where(items.c.project_id == bindparam("project"))
LOOKS = _looks()


def next_items(projects_: Projects, project_id: str, voter: str, *, count: int = 1, now: float) -> list[Leased]:
    """Up to `count` items for the voter: those they hold already, then the next in the queue."""
    with projects_.store.write() as connection:
        return serve(projects_, connection, project_id, [Want(voter, count)], now=now)[1][0]


def serve(
    projects_: Projects, connection: Connection, project_id: str, wants: Sequence[Want], *, now: float
) -> tuple[Project, list[list[Leased]]]:
    """The project, and each voter's next items, within the caller's transaction. No voter occurs twice."""
    start = connection.execute(START, {"project": project_id}).one_or_none()
    if start is None:
        raise unknown(project_id)
    project = projects_.of_row(start)
    if project.state != "active":
        return project, [[] for _ in wants]
    if start.first_end is not None and any_over(project, start, now):
        give_back_expired(connection, project, now)
        start = connection.execute(START, {"project": project_id}).one()
    leased = held_by(connection, project, wants, now)
    short = [Want(want.voter, want.count - len(leased[want.voter])) for want in wants]
    short = [want for want in short if want.count > 0]
    expires = now + project.settings.lease_seconds
    serving = _Serving(projects_, connection, project, start.gold_item is not None, now)
    for voter, rows in serving.hand_out(short, start.busy_priority):
        leased[voter] += [Leased(row.name, json.loads(row.show), expires) for row in rows]
    return project, [leased[want.voter] for want in wants]


@dataclass(frozen=True, slots=True)
class _Serving:
    """One transaction that hands out new items. `has_gold`: the project has gold items."""

    projects: Projects
    connection: Connection
    project: Project
    has_gold: bool
    now: float

    def hand_out(self, wants: Sequence[Want], busy: int | None) -> Iterator[tuple[str, list[Row[Any]]]]:
        """New items for each voter in turn: the first in the queue that they have not met. It is read once for all.

        `busy`: the highest priority of items without a place left, None without any. `_take` serves the voters for
        whom the front of the queue has too few items, or something more urgent is busy.
        """
        line, met_by = self._front(wants) if len(wants) > 1 else ({}, set())
        pairs: list[tuple[int, str]] = []
        for want in wants:
            new = (row for number, row in line.items() if (number, want.voter) not in met_by)
            rows = list(islice(new, want.count))
            if len(rows) == want.count and (busy is None or busy <= rows[0].priority):
                rows = self._with_gold(want.voter, rows)
                pairs += [(row.id, want.voter) for row in rows]
            else:
                grant(self.connection, self.project, pairs, self.now)
                rows = self._take(want, busy)
                pairs = []
            for row in rows:
                line.pop(row.id, None)
            busy = max([row.priority for row in rows] + ([] if busy is None else [busy]), default=None)
            yield want.voter, rows
        grant(self.connection, self.project, pairs, self.now)

    def _front(self, wants: Sequence[Want]) -> tuple[dict[int, Row[Any]], set[tuple[int, str]]]:
        """As many items as are wanted from the front of the queue, by id, locked, and which voters have met which."""
        asked = {"project": self.project.id, "count": sum(want.count for want in wants)}
        line = {row.id: row for row in self.connection.execute(LINE, asked).all()}
        return line, met(self.connection, list(line))

    def _with_gold(self, voter: str, rows: list[Row[Any]]) -> list[Row[Any]]:
        return with_gold(self.connection, self.project, voter, rows, self.now) if self.has_gold else rows

    def _take(self, want: Want, busy: int | None) -> list[Row[Any]]:
        """The next items for one voter, however far back in the queue; preceded by a busy item if it is more urgent."""
        voter = want.voter
        rows = self._free(voter, want.count)
        if busy is not None and (not rows or busy > rows[0].priority):
            above = rows[0].priority if rows else None
            rows = (self._doubled_up(voter, above=above) + rows)[: want.count]
        rows = self._with_gold(voter, rows)
        seen = met(self.connection, [row.id for row in rows])  # e.g. by a late vote just before the lock
        rows = [row for row in rows if (row.id, voter) not in seen]
        grant(self.connection, self.project, [(row.id, voter) for row in rows], self.now)
        return rows

    def _free(self, voter: str, count: int) -> list[Row[Any]]:
        """Items with a place left, in order, locked."""
        asked = {"project": self.project.id, "voter": voter, "count": count}
        for look in LOOKS:
            rows = self.connection.execute(look, asked).all()
            if rows:
                return list(rows)
        return []

    def _doubled_up(self, voter: str, *, above: int | None) -> list[Row[Any]]:
        """An item that others hold but that will certainly ask for more votes: an urgent one, or when none is left."""
        busy = and_(items.c.project_id == self.project.id, items.c.is_wanted, items.c.slots <= 0, is_new())
        if above is not None:
            busy = and_(busy, items.c.priority > above)
        query = select(items).where(busy).order_by(items.c.priority.desc(), items.c.number).limit(DOUBLED_UP)
        for row in self.connection.execute(query.with_for_update(skip_locked=True), {"voter": voter}).all():
            if self._has_room(row):
                return [row]
        return []

    def _has_room(self, row: Row[Any]) -> bool:
        """Whether the item will certainly ask for more votes than there are leases on it."""
        out = num_out(self.connection, row.id)
        if out >= MOST_AT_ONCE:
            return False
        past = item_events(self.connection, row.id)
        session, _ = self.projects.item_session(self.connection, self.project, row, past)
        if not row.is_open:
            item = session.item(row.name)
            return votes_to_settle(np.array(item.votes), item.pool_left, most=MOST_AT_ONCE) > out
        states = decisions_ahead(session.method, len(self.project.settings.classes), row.pool_size, most=out * STATES)
        return session.askable_at_once(row.name, out + 1, most_states=states // max(out, 1)) > out
