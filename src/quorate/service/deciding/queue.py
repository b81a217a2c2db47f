"""A voter -> the next items for them: by priority, then what can close soonest, never one they have acted on.

An item is out to no more voters than will surely still be asked. A lease holds an item for a voter for a while; one
that ran out gives its place back, but a vote that comes later is still taken. Called by the API and the voter's page.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import ColumnElement, Connection, Row, and_, exists, insert, or_, select, update

from quorate.service.deciding.ballots import leases_out
from quorate.service.deciding.events import item_events
from quorate.service.deciding.projects import Project, Projects
from quorate.service.deciding.row import held, votes_to_settle
from quorate.service.store.schema import ballots, items, leases
from quorate.session.single import item_session

LOOKED_AT = 64  # candidates read at once; enough for any voter who has not acted on most of what is open
DOUBLED_UP = 8  # items already out to others that are looked at when nothing else is left
MOST_AT_ONCE = 8  # voters one item is out to at a time
STATES = 60  # outcomes looked at to say how many can be asked at once
CLOCK_SLACK = 5.0


@dataclass(frozen=True, slots=True)
class Leased:
    """One item for one voter, until `expires`. No prediction, no votes: they would sway the voter."""

    item: str
    show: dict[str, str]
    expires: float


def next_items(projects_: Projects, project_id: str, voter: str, *, count: int = 1, now: float) -> list[Leased]:
    """Up to `count` items for the voter: those they hold already, then the next in line."""
    with projects_.store.write() as connection:
        project = projects_.get_in(connection, project_id)
        if project.state != "active":
            return []
        _give_back_expired(connection, project, now)
        mine = _held_by(connection, project, voter, count, now)
        if len(mine) < count:
            mine += _take(projects_, connection, project, voter, count - len(mine), now)
        return mine


def give_back(projects_: Projects, project_id: str, voter: str) -> int:
    """The voter leaves: what they hold goes back in line at once."""
    with projects_.store.write() as connection:
        return _end_leases(connection, leases.c.project_id == project_id, leases.c.voter == voter)


def _give_back_expired(connection: Connection, project: Project, now: float) -> None:
    """Leases that ran out, or that end later than any granted now could: then the clock was set back."""
    latest = now + project.settings.lease_seconds + CLOCK_SLACK
    over = or_(leases.c.expires < now, leases.c.expires > latest)
    _end_leases(connection, leases.c.project_id == project.id, over)


def _end_leases(connection: Connection, *which: ColumnElement[bool]) -> int:
    """Give the places of these leases back. Items are locked before leases, as everywhere, so that nobody deadlocks."""
    query = select(leases.c.item_id, leases.c.voter).join(items, items.c.id == leases.c.item_id)
    query = query.where(leases.c.is_out, *which).order_by(leases.c.expires).limit(100)
    rows = connection.execute(query.with_for_update(of=items, skip_locked=True)).all()
    for row in rows:
        ours = (leases.c.item_id == row.item_id, leases.c.voter == row.voter, leases.c.is_out)
        if connection.execute(update(leases).where(*ours).values(is_out=False)).rowcount:
            place = update(items).where(items.c.id == row.item_id).values(slots=items.c.slots + 1)
            connection.execute(place)
    return len(rows)


def _held_by(connection: Connection, project: Project, voter: str, count: int, now: float) -> list[Leased]:
    """What the voter holds, for another while: a page that is loaded again shows the same items."""
    query = select(items.c.id, items.c.name, items.c.show).join(leases, leases.c.item_id == items.c.id)
    query = query.where(leases.c.project_id == project.id, leases.c.voter == voter, leases.c.is_out)
    rows = connection.execute(query.order_by(leases.c.granted, items.c.id).limit(count)).all()
    expires = now + project.settings.lease_seconds
    if rows:
        ours = (leases.c.voter == voter, leases.c.item_id.in_([row.id for row in rows]))
        connection.execute(update(leases).where(*ours).values(expires=expires))
    return [Leased(row.name, json.loads(row.show), expires) for row in rows]


def _take(
    projects_: Projects, connection: Connection, project: Project, voter: str, count: int, now: float
) -> list[Leased]:
    rows = _free(connection, project, voter, count)
    urgent = _doubled_up(projects_, connection, project, voter, above=rows[0].priority if rows else None)
    rows = (urgent + rows)[:count]
    expires = now + project.settings.lease_seconds
    for row in rows:
        _grant(connection, project, row.id, voter, now, expires)
    return [Leased(row.name, json.loads(row.show), expires) for row in rows]


def _free(connection: Connection, project: Project, voter: str, count: int) -> list[Row[Any]]:
    """Items with a place left, in order, locked; the first look is short, the last one sees everything."""
    in_line = and_(items.c.project_id == project.id, items.c.is_wanted, items.c.slots > 0)
    order = (items.c.priority.desc(), items.c.to_close, items.c.number)
    everything = select(items.c.id).where(in_line)
    looks = (
        everything.order_by(*order),
        everything.where(items.c.num_ballots == 0).order_by(order[0], order[2]),
        everything.where(~_acted(voter)).order_by(*order),
    )
    for look in looks:
        ids = list(connection.execute(look.limit(LOOKED_AT)).scalars())
        free = select(items.c.id, items.c.name, items.c.show, items.c.priority)
        free = free.where(items.c.id.in_(ids), items.c.is_wanted, items.c.slots > 0, ~_acted(voter))
        free = free.order_by(*order).limit(count).with_for_update(skip_locked=True)
        rows: list[Any] = list(connection.execute(free).all()) if ids else []
        if rows or (look is looks[0] and len(ids) < LOOKED_AT):
            return rows
    return []


def _acted(voter: str) -> ColumnElement[bool]:
    """The voter has acted on the item, or holds it."""
    voted = exists().where(ballots.c.item_id == items.c.id, ballots.c.voter == voter)
    holds = exists().where(leases.c.item_id == items.c.id, leases.c.voter == voter, leases.c.is_out)
    return or_(voted, holds)


def _doubled_up(
    projects_: Projects, connection: Connection, project: Project, voter: str, *, above: int | None
) -> list[Row[Any]]:
    """An item that others hold but that will surely be asked about again: urgent ones, or when nothing else is left."""
    busy = and_(items.c.project_id == project.id, items.c.is_wanted, items.c.slots <= 0, ~_acted(voter))
    if above is not None:
        busy = and_(busy, items.c.priority > above)
    query = select(items).where(busy).order_by(items.c.priority.desc(), items.c.number).limit(DOUBLED_UP)
    for row in connection.execute(query.with_for_update(skip_locked=True)).all():
        if _room(projects_, connection, project, row):
            return [row]
    return []


def _room(projects_: Projects, connection: Connection, project: Project, row: Row[Any]) -> bool:
    """Will the item surely ask more voters than it is out to?"""
    out = leases_out(connection, row.id)
    if out >= MOST_AT_ONCE:
        return False
    era = projects_.era(connection, project, project.learn_event, project.tune_event)
    events = item_events(connection, row.id)
    session, _ = item_session(project.session, events, number=row.number, now=era, era_of=lambda *_: era)
    if not row.is_open:
        item = held(session, row.name)
        return votes_to_settle(np.array(item.votes), item.pool_left) > out
    return session.askable_at_once(row.name, out + 1, most_states=STATES) > out


def _grant(connection: Connection, project: Project, item_id: int, voter: str, now: float, expires: float) -> None:
    again = update(leases).where(leases.c.item_id == item_id, leases.c.voter == voter)
    if not connection.execute(again.values(granted=now, expires=expires, is_out=True)).rowcount:
        lease = {
            "item_id": item_id, "voter": voter, "project_id": project.id,
            "granted": now, "expires": expires, "is_out": True,
        }  # fmt: skip
        connection.execute(insert(leases).values(lease))
    connection.execute(update(items).where(items.c.id == item_id).values(slots=items.c.slots - 1))
