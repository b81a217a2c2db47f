"""The next items for a voter: by priority, then by how soon they can close; never one that the voter has acted on.

A lease reserves an item for a voter for some time. An item has no more leases at a time than votes it will certainly
still ask for. An expired lease frees its place, but a vote that comes later is still accepted. Items are always locked
before leases. Called by the API, through `ballots`, and by the demo.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, cast

import numpy as np
from sqlalchemy import (
    ColumnElement,
    Connection,
    Executable,
    Row,
    Select,
    Table,
    and_,
    bindparam,
    exists,
    func,
    or_,
    select,
    union_all,
    update,
)

from quorate.service.domain.cost import decisions_ahead
from quorate.service.domain.events import item_events
from quorate.service.domain.gold import with_gold
from quorate.service.domain.item_projection import votes_to_settle
from quorate.service.domain.projects import Project, Projects, unknown
from quorate.service.domain.routing import LEFT_TO_OTHERS, Presence, Suits, candidates, is_new
from quorate.service.store.bulk import among, each_of, insert_rows
from quorate.service.store.schema import ballots, is_gold, items, leases, projects

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
    """Queries for items with a place left, in order, locked: the first read few candidates, the last one all.

    The first one is for voters who go first (`routing`): it leaves out the most urgent items on which somebody acted
    recently, which are left to others.
    """
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
    acted = exists().where(ballots.c.item_id == line.c.id, ballots.c.time > bindparam("since"))
    waited = everything.where(line.c.priority == most_urgent, or_(line.c.num_ballots == 0, ~acted))
    yours = free.where(items.c.id.in_(waited.order_by(*order).limit(FIRST_LOOK)))
    return [yours, *(free.where(items.c.id.in_(each)) for each in candidates), LINE.where(is_new())]


def _in_line() -> Select[Any]:
    """Up to `count` items with a place left, in the order of the queue, locked."""
    query = select(items.c.id, items.c.name, items.c.show, items.c.priority)
    query = query.where(items.c.is_wanted, items.c.slots > 0)
    query = query.order_by(items.c.priority.desc(), items.c.to_close, items.c.number).limit(bindparam("count"))
    return query.with_for_update(of=items, skip_locked=True)


START, LINE = _start(), _in_line().where(items.c.project_id == bindparam("project"))
WAITED, *LOOKS = _looks()
CHOSEN = LINE.where(among(items.c.id, "ids"), is_new())


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
    found = held_by(connection, project, wants, now)
    short = [Want(want.voter, want.count - len(found[want.voter])) for want in wants]
    short = [want for want in short if want.count > 0]
    expires = now + project.settings.lease_seconds
    presence = projects_.routing.now(connection, project, now=now)
    has_gold = start.gold_item is not None
    for voter, rows in _hand_out(projects_, connection, project, short, now, start.busy_priority, presence, has_gold):
        found[voter] += [Leased(row.name, json.loads(row.show), expires) for row in rows]
    return project, [found[want.voter] for want in wants]


def _hand_out(
    projects_: Projects,
    connection: Connection,
    project: Project,
    wants: Sequence[Want],
    now: float,
    busy: int | None,
    presence: Presence,
    has_gold: bool,
) -> Iterator[tuple[str, list[Row[Any]]]]:
    """New items for each voter in turn: the first in the queue that they have not met. The queue is read once for all.

    `busy`: the highest priority of items without a place left, None without any. `_take` serves the voters who are
    routed, and those for whom the front of the queue has too few items or something more urgent is busy.
    """
    line, met = _front(connection, project, wants) if len(wants) > 1 else ({}, set())
    given: list[tuple[int, str]] = []
    for want in wants:
        new = (row for number, row in line.items() if (number, want.voter) not in met)
        rows = list(islice(new, want.count))
        is_routed = presence.suits is not None or want.voter in presence.first
        if not is_routed and len(rows) == want.count and (busy is None or busy <= rows[0].priority):
            rows = with_gold(connection, project, want.voter, rows, now) if has_gold else rows
            given += [(row.id, want.voter) for row in rows]
        else:
            grant(connection, project, given, now)
            rows = _take(projects_, connection, project, want, now, busy, presence=presence, has_gold=has_gold)
            given = []
        for row in rows:
            line.pop(row.id, None)
        busy = max([row.priority for row in rows] + ([] if busy is None else [busy]), default=None)
        yield want.voter, rows
    grant(connection, project, given, now)


def _front(
    connection: Connection, project: Project, wants: Sequence[Want]
) -> tuple[dict[int, Row[Any]], set[tuple[int, str]]]:
    """As many items as are wanted from the front of the queue, by id, locked, and which voters have met which."""
    count = sum(want.count for want in wants)
    line = {row.id: row for row in connection.execute(LINE, {"project": project.id, "count": count}).all()}
    return line, met(connection, list(line))


def _take(
    projects_: Projects,
    connection: Connection,
    project: Project,
    want: Want,
    now: float,
    busy: int | None,
    *,
    presence: Presence,
    has_gold: bool,
) -> list[Row[Any]]:
    """The next items for one voter, however far back in the queue; preceded by a busy item if it is more urgent."""
    voter, looks = want.voter, [WAITED, *LOOKS] if want.voter in presence.first else LOOKS
    rows = [] if presence.suits is None else _suited(projects_, connection, project, want, presence.suits, now)
    if len(rows) < want.count:
        chosen = {row.id for row in rows}
        more = _free(connection, project, voter, want.count + len(rows), looks, now)
        rows = (rows + [row for row in more if row.id not in chosen])[: want.count]
    if busy is not None and (not rows or busy > rows[0].priority):
        above = rows[0].priority if rows else None
        rows = (_doubled_up(projects_, connection, project, voter, above=above) + rows)[: want.count]
    rows = with_gold(connection, project, voter, rows, now) if has_gold else rows
    seen = met(connection, [row.id for row in rows])  # e.g. by a late vote just before the lock
    rows = [row for row in rows if (row.id, voter) not in seen]
    grant(connection, project, [(row.id, voter) for row in rows], now)
    return rows


def _suited(
    projects_: Projects, connection: Connection, project: Project, want: Want, suits: Suits, now: float
) -> list[Row[Any]]:
    """Of the most urgent items at the front of the queue those that suit the voter best, locked.

    The candidates are read without a lock, so that they stay available to others; the chosen ones are then locked,
    unless another request has locked them.
    """
    rows = candidates(connection, project, want.voter)
    if not rows:
        return []
    has_met: dict[int, set[str]] = {row.id: set() for row in rows}
    for item_id, voter in met(connection, list(has_met)):
        has_met[item_id].add(voter)
    classes = project.settings.classes
    ids = projects_.routing.best_of(suits, want.voter, rows, list(has_met.values()), classes, want.count, now)
    asked = {"project": project.id, "voter": want.voter, "ids": ids, "count": want.count}
    locked = {row.id: row for row in connection.execute(CHOSEN, asked).all()}
    return [locked[each] for each in ids if each in locked]


def _free(
    connection: Connection, project: Project, voter: str, count: int, looks: Sequence[Select[Any]], now: float
) -> list[Row[Any]]:
    """Items with a place left, in order, locked."""
    asked = {"project": project.id, "voter": voter, "count": count, "since": now - LEFT_TO_OTHERS}
    for look in looks:
        rows = connection.execute(look, asked).all()
        if rows:
            return list(rows)
    return []


def _doubled_up(
    projects_: Projects, connection: Connection, project: Project, voter: str, *, above: int | None
) -> list[Row[Any]]:
    """An item that others hold but that will certainly ask for more votes: an urgent one, or when none else is left."""
    busy = and_(items.c.project_id == project.id, items.c.is_wanted, items.c.slots <= 0, is_new())
    if above is not None:
        busy = and_(busy, items.c.priority > above)
    query = select(items).where(busy).order_by(items.c.priority.desc(), items.c.number).limit(DOUBLED_UP)
    for row in connection.execute(query.with_for_update(skip_locked=True), {"voter": voter}).all():
        if _room(projects_, connection, project, row):
            return [row]
    return []


def _room(projects_: Projects, connection: Connection, project: Project, row: Row[Any]) -> bool:
    """Whether the item will certainly ask for more votes than there are leases on it."""
    out = num_out(connection, row.id)
    if out >= MOST_AT_ONCE:
        return False
    session, _ = projects_.item_session(connection, project, row, item_events(connection, row.id))
    if not row.is_open:
        item = session.item(row.name)
        return votes_to_settle(np.array(item.votes), item.pool_left, most=MOST_AT_ONCE) > out
    states = decisions_ahead(session.method, len(project.settings.classes), row.pool_size, most=out * STATES)
    return session.askable_at_once(row.name, out + 1, most_states=states // max(out, 1)) > out


CLOCK_SLACK = 300.0  # seconds of clock difference or waiting that are tolerated; more means that a clock was set back
RENEWED_AFTER = 0.1  # fraction of a lease's time before it is renewed, so that repeated requests seldom write


@dataclass(frozen=True, slots=True)
class Leased:
    """One item for one voter, until `expires`. No prediction and no votes: they would influence the voter."""

    item: str
    show: dict[str, str]
    expires: float


@dataclass(frozen=True, slots=True)
class Want:
    """A voter's request for `count` items."""

    voter: str
    count: int = 1


PLACE_TAKEN = update(items).where(among(items.c.id, "ids")).values(slots=items.c.slots - 1)
FREE = select(items.c.id).where(among(items.c.id, "ids")).order_by(items.c.id).with_for_update(skip_locked=True)
RENEW = update(leases).where(among(leases.c.item_id, "ids"), among(leases.c.voter, "voters"), leases.c.is_out)
RENEW = RENEW.where(leases.c.expires < bindparam("soon")).values(expires=bindparam("until"))
RENEW = RENEW.returning(leases.c.item_id, leases.c.voter)
HELD = (
    select(leases.c.voter, items.c.id, items.c.name, items.c.show, leases.c.expires)
    .join(leases, leases.c.item_id == items.c.id)
    .where(leases.c.project_id == bindparam("project"), among(leases.c.voter, "voters"))
    .where(leases.c.is_out, items.c.is_wanted | is_gold)  # without items that closed in the meantime
    .order_by(leases.c.granted, items.c.id)
)


def _voters_of(table: Table, *which: ColumnElement[bool]) -> ColumnElement[Any]:
    return select(func.array_agg(table.c.voter)).where(*which).scalar_subquery().label(table.name)


def _met() -> dict[str, Executable]:
    """Who has acted on or holds some items, by database: PostgreSQL one row per item, SQLite one row per pair."""
    given = each_of(ids=items.c.id)
    acted = _voters_of(ballots, ballots.c.item_id == given.c.ids)
    held = _voters_of(leases, leases.c.item_id == given.c.ids, leases.c.is_out)
    plain = [select(table.c.item_id, table.c.voter).where(among(table.c.item_id, "ids")) for table in (ballots, leases)]
    return {
        "postgresql": select(given.c.ids, acted, held),
        "sqlite": union_all(plain[0], plain[1].where(leases.c.is_out)),
    }


MET = _met()


def num_out(connection: Connection, item_id: int) -> int:
    """How many voters hold the item."""
    counted = select(func.count()).select_from(leases).where(leases.c.item_id == item_id, leases.c.is_out)
    return int(connection.execute(counted).scalar_one())


def give_back(projects_: Projects, project_id: str, voter: str) -> int:
    """The voter leaves: the items they hold go back into the queue at once."""
    with projects_.store.write() as connection:
        return _end_leases(connection, leases.c.project_id == project_id, leases.c.voter == voter)


def any_over(project: Project, start: Row[Any], now: float) -> bool:
    """Whether a lease has expired, or ends later than any granted now could (then the clock was set back)."""
    return bool(start.first_end < now or start.last_end > now + project.settings.lease_seconds + CLOCK_SLACK)


def give_back_expired(connection: Connection, project: Project, now: float) -> None:
    """End the leases that `any_over` finds."""
    latest = now + project.settings.lease_seconds + CLOCK_SLACK
    over = or_(leases.c.expires < now, leases.c.expires > latest)
    _end_leases(connection, leases.c.project_id == project.id, over)


def _end_leases(connection: Connection, *which: ColumnElement[bool]) -> int:
    """End these leases and free their places. Items are locked before leases, as everywhere, to avoid deadlocks."""
    query = select(leases.c.item_id, leases.c.voter, leases.c.expires).join(items, items.c.id == leases.c.item_id)
    query = query.where(leases.c.is_out, *which).order_by(leases.c.expires).limit(100)
    rows = connection.execute(query.with_for_update(of=items, skip_locked=True)).all()
    for row in rows:  # only if unchanged: a lease may have been renewed just before the lock
        same = (leases.c.item_id == row.item_id, leases.c.voter == row.voter, leases.c.expires == row.expires)
        if connection.execute(update(leases).where(*same, leases.c.is_out).values(is_out=False)).rowcount:
            place = update(items).where(items.c.id == row.item_id).values(slots=items.c.slots + 1)
            connection.execute(place)
    return len(rows)


def held_by(connection: Connection, project: Project, wants: Sequence[Want], now: float) -> dict[str, list[Leased]]:
    """The items that voters hold, with renewed leases: a reloaded page shows the same items."""
    rows: dict[str, list[Row[Any]]] = {want.voter: [] for want in wants}
    for row in connection.execute(HELD, {"project": project.id, "voters": list(rows)}).all():
        rows[row.voter].append(cast("Row[Any]", row))
    mine = {want.voter: rows[want.voter][: want.count] for want in wants}
    seconds = project.settings.lease_seconds
    soon = now + (1.0 - RENEWED_AFTER) * seconds
    old = [row for each in mine.values() for row in each if row.expires < soon]
    until = _renewed(connection, old, soon=soon, until=now + seconds)
    return {voter: [leased for row in each if (leased := _as_leased(row, until))] for voter, each in mine.items()}


def _as_leased(row: Row[Any], until: Mapping[tuple[int, str], float | None]) -> Leased | None:
    expires = until.get((row.id, row.voter), row.expires)
    return None if expires is None else Leased(row.name, json.loads(row.show), expires)


def _renewed(
    connection: Connection, rows: Sequence[Row[Any]], *, soon: float, until: float
) -> dict[tuple[int, str], float | None]:
    """Until when these leases last now: renewed, unchanged if the item is locked, or None if just given back."""
    if not rows:
        return {}
    free = set(connection.execute(FREE, {"ids": sorted({row.id for row in rows})}).scalars())
    pairs = [(row.id, row.voter) for row in rows if row.id in free]
    if not pairs:
        return {}
    asked = {"ids": sorted({item_id for item_id, _ in pairs}), "voters": sorted({voter for _, voter in pairs})}
    found = connection.execute(RENEW, asked | {"soon": soon, "until": until})
    renewed = {(row.item_id, row.voter) for row in found}
    return {pair: until if pair in renewed else None for pair in pairs}


def met(connection: Connection, ids: Sequence[int]) -> set[tuple[int, str]]:
    """The pairs of an item and a voter who has acted on it or holds it. Call it after locking the items."""
    if not ids:
        return set()
    rows = connection.execute(MET[connection.dialect.name], {"ids": list(ids)}).all()
    if connection.dialect.name == "sqlite":
        return {(item_id, voter) for item_id, voter in rows}
    return {(item_id, voter) for item_id, *lists in rows for each in lists for voter in each or ()}


def grant(connection: Connection, project: Project, pairs: Sequence[tuple[int, str]], now: float) -> None:
    """Lease items to voters, each item to one."""
    if not pairs:
        return
    until = now + project.settings.lease_seconds
    lease = {"project_id": project.id, "granted": now, "expires": until, "is_out": True}
    rows = [lease | {"item_id": item_id, "voter": voter} for item_id, voter in pairs]
    insert_rows(connection, leases, rows, keys=("item_id", "voter"))
    connection.execute(PLACE_TAKEN, {"ids": [item_id for item_id, _ in pairs]})
