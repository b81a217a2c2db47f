"""Leases: each reserves an item for a voter for some time.

An expired lease frees its place, but a vote that comes later is still accepted. Items are always locked before leases.
Called by `queue`, `ballots`, `item_actions` and the API.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    and_,
    bindparam,
    exists,
    func,
    or_,
    select,
    union_all,
    update,
)

from quorate_service.domain.projects import Project, Projects
from quorate_service.store.bulk import among, insert_rows
from quorate_service.store.schema import ballots, is_gold, items, leases

CLOCK_SLACK = 300.0  # seconds of clock difference or waiting that are tolerated; more means that a clock was set back
RENEWED_AFTER = 0.1  # fraction of a lease's time before it is renewed, so that repeated requests seldom write
PLACES_TAKEN = update(items).where(among(items.c.id, "ids")).values(slots=items.c.slots - bindparam("places"))
FREE = select(items.c.id).where(among(items.c.id, "ids")).order_by(items.c.id).with_for_update(skip_locked=True)
RENEW = (
    update(leases)
    .where(among(leases.c.item_id, "ids"), among(leases.c.voter, "voters"), leases.c.is_out)
    .where(leases.c.expires < bindparam("soon"))
    .values(expires=bindparam("until"))
    .returning(leases.c.item_id, leases.c.voter)
)
HELD = (
    select(leases.c.voter, items.c.id, items.c.name, items.c.show, leases.c.expires)
    .join(leases, leases.c.item_id == items.c.id)
    .where(leases.c.project_id == bindparam("project"), among(leases.c.voter, "voters"))
    .where(leases.c.is_out, items.c.is_wanted | is_gold)  # without items that closed in the meantime
    .order_by(leases.c.granted, items.c.id)
)
MET = union_all(  # who has acted on or holds some items
    select(ballots.c.item_id, ballots.c.voter).where(among(ballots.c.item_id, "ids")),
    select(leases.c.item_id, leases.c.voter).where(among(leases.c.item_id, "ids"), leases.c.is_out),
)


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


def is_new() -> ColumnElement[bool]:
    """The condition that the voter has neither acted on the item nor holds it."""
    voted = exists().where(ballots.c.item_id == items.c.id, ballots.c.voter == bindparam("voter"))
    holds = exists().where(leases.c.item_id == items.c.id, leases.c.voter == bindparam("voter"), leases.c.is_out)
    return and_(~voted, ~holds)  # with ~or_(...) PostgreSQL would read all ballots of the voter


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
            freed = update(items).where(items.c.id == row.item_id).values(slots=items.c.slots + 1)
            connection.execute(freed)
    return len(rows)


def held_by(connection: Connection, project: Project, wants: Sequence[Want], now: float) -> dict[str, list[Leased]]:
    """The items that voters hold, with renewed leases: a reloaded page shows the same items."""
    rows: dict[str, list[Row[Any]]] = {want.voter: [] for want in wants}
    for row in connection.execute(HELD, {"project": project.id, "voters": list(rows)}).all():
        rows[row.voter].append(cast("Row[Any]", row))
    mine = {want.voter: rows[want.voter][: want.count] for want in wants}
    seconds = project.settings.lease_seconds
    soon = now + (1.0 - RENEWED_AFTER) * seconds
    old = [row for held in mine.values() for row in held if row.expires < soon]
    until = _renewed(connection, old, soon=soon, until=now + seconds)
    return {voter: [leased for row in held if (leased := _as_leased(row, until))] for voter, held in mine.items()}


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
    rows_renewed = connection.execute(RENEW, asked | {"soon": soon, "until": until})
    renewed = {(row.item_id, row.voter) for row in rows_renewed}
    return {pair: until if pair in renewed else None for pair in pairs}


def met(connection: Connection, ids: Sequence[int]) -> set[tuple[int, str]]:
    """The pairs of an item and a voter who has acted on it or holds it. Call it after locking the items."""
    if not ids:
        return set()
    return {(item_id, voter) for item_id, voter in connection.execute(MET, {"ids": list(ids)})}


def grant(connection: Connection, project: Project, pairs: Sequence[tuple[int, str]], now: float) -> None:
    """Lease items to voters; each lease takes a place of its item. Several voters may get the same gold item."""
    if not pairs:
        return
    until = now + project.settings.lease_seconds
    lease = {"project_id": project.id, "granted": now, "expires": until, "is_out": True}
    rows = [lease | {"item_id": item_id, "voter": voter} for item_id, voter in pairs]
    insert_rows(connection, leases, rows, keys=("item_id", "voter"))
    taken = Counter(item_id for item_id, _ in pairs)
    for places in sorted(set(taken.values())):
        ids = [item_id for item_id, number in taken.items() if number == places]
        connection.execute(PLACES_TAKEN, {"ids": ids, "places": places})
