"""A voter -> the next items for them: by priority, then what can close soonest, never one they have acted on.

An item is out to no more voters than will surely still be asked. A lease holds an item for a voter for a while; one
that ran out gives its place back, but a vote that comes later is still taken. Called by the API and the voter's page.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    and_,
    bindparam,
    exists,
    func,
    select,
)

from quorate.service.domain.events import item_events
from quorate.service.domain.item_projection import held, votes_to_settle
from quorate.service.domain.leases import Leased, Want, any_over, give_back_expired, grant, held_by, met, num_out
from quorate.service.domain.projects import Project, Projects, unknown
from quorate.service.domain.settings import decisions_ahead
from quorate.service.store.schema import ballots, items, leases, projects
from quorate.session.single import item_session

FIRST_LOOK = 16  # candidates read at once; nearly always one of the first is free
LOOKED_AT = 64  # enough for any voter who has not acted on most of what is open
DOUBLED_UP = 8  # items already out to others that are looked at when nothing else is left
MOST_AT_ONCE = 8  # voters one item is out to at a time
STATES = 60  # outcomes looked at to say how many can be asked at once


def _start() -> Select[Any]:
    """The project's row; when the first and the last lease end; the highest priority among items that are out."""
    out = (leases.c.project_id == projects.c.id, leases.c.is_out)
    busy = (items.c.project_id == projects.c.id, items.c.is_wanted, items.c.slots <= 0)
    parts = {
        "first_end": select(leases.c.expires).where(*out).order_by(leases.c.expires),
        "last_end": select(leases.c.expires).where(*out).order_by(leases.c.expires.desc()),
        "busy_priority": select(items.c.priority).where(*busy).order_by(items.c.priority.desc()),
    }
    columns = [part.limit(1).scalar_subquery().label(name) for name, part in parts.items()]
    return select(projects, *columns).where(projects.c.id == bindparam("project"))


def _is_new() -> ColumnElement[bool]:
    """The voter has neither acted on the item nor holds it."""
    voted = exists().where(ballots.c.item_id == items.c.id, ballots.c.voter == bindparam("voter"))
    holds = exists().where(leases.c.item_id == items.c.id, leases.c.voter == bindparam("voter"), leases.c.is_out)
    return and_(~voted, ~holds)  # as ~or_(...) PostgreSQL would read all ballots of the voter


def _looks() -> list[Select[Any]]:
    """Items with a place left, in order, locked: the first looks are short, the last goes on past what is locked."""
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
    free = _in_line().where(_is_new())
    return [*(free.where(items.c.id.in_(each)) for each in candidates), LINE.where(_is_new())]


def _in_line() -> Select[Any]:
    """Items with a place left, in the order of the line, locked: up to `count` of them."""
    query = select(items.c.id, items.c.name, items.c.show, items.c.priority)
    query = query.where(items.c.is_wanted, items.c.slots > 0)
    query = query.order_by(items.c.priority.desc(), items.c.to_close, items.c.number).limit(bindparam("count"))
    return query.with_for_update(of=items, skip_locked=True)


START, LINE = _start(), _in_line().where(items.c.project_id == bindparam("project"))
LOOKS = _looks()


def next_items(projects_: Projects, project_id: str, voter: str, *, count: int = 1, now: float) -> list[Leased]:
    """Up to `count` items for the voter: those they hold already, then the next in line."""
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
    found = held_by(connection, project, wants, now)
    short = [Want(want.voter, want.count - len(found[want.voter])) for want in wants]
    short = [want for want in short if want.count > 0]
    expires = now + project.settings.lease_seconds
    for voter, rows in _hand_out(projects_, connection, project, short, now, start.busy_priority):
        found[voter] += [Leased(row.name, json.loads(row.show), expires) for row in rows]
    return project, [found[want.voter] for want in wants]


def _hand_out(
    projects_: Projects,
    connection: Connection,
    project: Project,
    wants: Sequence[Want],
    now: float,
    busy: int | None,
) -> Iterator[tuple[str, list[Row[Any]]]]:
    """New items for each voter in turn: the first in line that they have not met. The line is read once for all.

    `busy`: the highest priority among items that are out to all they need, None without any. Who cannot be served from
    the front of the line, or not before something more urgent, is looked after by `_take`.
    """
    line, met = _front(connection, project, wants) if len(wants) > 1 else ({}, set())
    given: list[tuple[int, str]] = []
    for want in wants:
        new = (row for number, row in line.items() if (number, want.voter) not in met)
        rows = list(islice(new, want.count))
        if len(rows) == want.count and (busy is None or busy <= rows[0].priority):
            given += [(row.id, want.voter) for row in rows]
        else:
            grant(connection, project, given, now)
            rows, given = _take(projects_, connection, project, want, now, busy), []
        for row in rows:
            line.pop(row.id, None)
        busy = max([row.priority for row in rows] + ([] if busy is None else [busy]), default=None)
        yield want.voter, rows
    grant(connection, project, given, now)


def _front(
    connection: Connection, project: Project, wants: Sequence[Want]
) -> tuple[dict[int, Row[Any]], set[tuple[int, str]]]:
    """As many items as are wanted from the front of the line, by id, locked, and who has met which of them."""
    count = sum(want.count for want in wants)
    line = {row.id: row for row in connection.execute(LINE, {"project": project.id, "count": count}).all()}
    return line, met(connection, list(line))


def _take(
    projects_: Projects, connection: Connection, project: Project, want: Want, now: float, busy: int | None
) -> list[Row[Any]]:
    """The next in line for one voter, however far back; before them what is busy, if it is more urgent."""
    voter, rows = want.voter, _free(connection, project, want.voter, want.count)
    if busy is not None and (not rows or busy > rows[0].priority):
        above = rows[0].priority if rows else None
        rows = (_doubled_up(projects_, connection, project, voter, above=above) + rows)[: want.count]
    seen = met(connection, [row.id for row in rows])  # by a late vote, say, just before the lock
    rows = [row for row in rows if (row.id, voter) not in seen]
    grant(connection, project, [(row.id, voter) for row in rows], now)
    return rows


def _free(connection: Connection, project: Project, voter: str, count: int) -> list[Row[Any]]:
    """Items with a place left, in order, locked."""
    for look in LOOKS:
        rows = connection.execute(look, {"project": project.id, "voter": voter, "count": count}).all()
        if rows:
            return list(rows)
    return []


def _doubled_up(
    projects_: Projects, connection: Connection, project: Project, voter: str, *, above: int | None
) -> list[Row[Any]]:
    """An item that others hold but that will surely be asked about again: urgent ones, or when nothing else is left."""
    busy = and_(items.c.project_id == project.id, items.c.is_wanted, items.c.slots <= 0, _is_new())
    if above is not None:
        busy = and_(busy, items.c.priority > above)
    query = select(items).where(busy).order_by(items.c.priority.desc(), items.c.number).limit(DOUBLED_UP)
    for row in connection.execute(query.with_for_update(skip_locked=True), {"voter": voter}).all():
        if _room(projects_, connection, project, row):
            return [row]
    return []


def _room(projects_: Projects, connection: Connection, project: Project, row: Row[Any]) -> bool:
    """Will the item surely ask more voters than it is out to?"""
    out = num_out(connection, row.id)
    if out >= MOST_AT_ONCE:
        return False
    version = projects_.params_version(connection, project, project.learn_event, project.tune_event)
    events = item_events(connection, row.id)
    session, _ = item_session(project.session, events, number=row.number, now=version, version_of=lambda *_: version)
    if not row.is_open:
        item = held(session, row.name)
        return votes_to_settle(np.array(item.votes), item.pool_left, most=MOST_AT_ONCE) > out
    states = decisions_ahead(version.method, len(project.settings.classes), row.pool_size, most=out * STATES)
    return session.askable_at_once(row.name, out + 1, most_states=states // max(out, 1)) > out
