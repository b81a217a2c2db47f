"""Leases: an item is a voter's for a while. Held ones renewed, new ones granted, those that ran out given back.

Items are locked before leases, everywhere. Called by `queue` in its transaction, and by the API when a voter leaves.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from sqlalchemy import (
    ColumnElement,
    Connection,
    Executable,
    Row,
    Table,
    bindparam,
    func,
    or_,
    select,
    union_all,
    update,
)

from quorate.service.domain.projects import Project, Projects
from quorate.service.store.bulk import among, each_of, insert_rows
from quorate.service.store.schema import ballots, items, leases

CLOCK_SLACK = 300.0  # seconds between two clocks, or that a request may wait, before the clock is taken to be set back
RENEWED_AFTER = 0.1  # of a lease's time: a voter who asks again and again does not write each time


@dataclass(frozen=True, slots=True)
class Leased:
    """One item for one voter, until `expires`. No prediction, no votes: they would sway the voter."""

    item: str
    show: dict[str, str]
    expires: float


@dataclass(frozen=True, slots=True)
class Want:
    """A voter who would like `count` items."""

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
    .where(leases.c.is_out, items.c.is_wanted)  # not what was closed meanwhile
    .order_by(leases.c.granted, items.c.id)
)


def _voters_of(table: Table, *which: ColumnElement[bool]) -> ColumnElement[Any]:
    return select(func.array_agg(table.c.voter)).where(*which).scalar_subquery().label(table.name)


def _met() -> dict[str, Executable]:
    """Who has acted on, or holds, some items, in each database's words: PostgreSQL a row an item, SQLite a row each."""
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
    """To how many voters the item is out."""
    counted = select(func.count()).select_from(leases).where(leases.c.item_id == item_id, leases.c.is_out)
    return int(connection.execute(counted).scalar_one())


def give_back(projects_: Projects, project_id: str, voter: str) -> int:
    """The voter leaves: what they hold goes back in line at once."""
    with projects_.store.write() as connection:
        return _end_leases(connection, leases.c.project_id == project_id, leases.c.voter == voter)


def any_over(project: Project, start: Row[Any], now: float) -> bool:
    """Has a lease run out, or does one end later than any granted now could? Then the clock was set back."""
    return bool(start.first_end < now or start.last_end > now + project.settings.lease_seconds + CLOCK_SLACK)


def give_back_expired(connection: Connection, project: Project, now: float) -> None:
    """The places of the leases that `any_over` is about."""
    latest = now + project.settings.lease_seconds + CLOCK_SLACK
    over = or_(leases.c.expires < now, leases.c.expires > latest)
    _end_leases(connection, leases.c.project_id == project.id, over)


def _end_leases(connection: Connection, *which: ColumnElement[bool]) -> int:
    """Give the places of these leases back. Items are locked before leases, as everywhere, so that nobody deadlocks."""
    query = select(leases.c.item_id, leases.c.voter, leases.c.expires).join(items, items.c.id == leases.c.item_id)
    query = query.where(leases.c.is_out, *which).order_by(leases.c.expires).limit(100)
    rows = connection.execute(query.with_for_update(of=items, skip_locked=True)).all()
    for row in rows:  # as it was read: not one that was renewed just before the lock
        same = (leases.c.item_id == row.item_id, leases.c.voter == row.voter, leases.c.expires == row.expires)
        if connection.execute(update(leases).where(*same, leases.c.is_out).values(is_out=False)).rowcount:
            place = update(items).where(items.c.id == row.item_id).values(slots=items.c.slots + 1)
            connection.execute(place)
    return len(rows)


def held_by(connection: Connection, project: Project, wants: Sequence[Want], now: float) -> dict[str, list[Leased]]:
    """What voters hold, for another while: a page that is loaded again shows the same items."""
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
    """Until when these leases last now: later; as before, where the item is locked; None for one just given back."""
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
    """Which of these items which voters have acted on, or hold. To be asked once the items are locked."""
    if not ids:
        return set()
    rows = connection.execute(MET[connection.dialect.name], {"ids": list(ids)}).all()
    if connection.dialect.name == "sqlite":
        return {(item_id, voter) for item_id, voter in rows}
    return {(item_id, voter) for item_id, *lists in rows for each in lists for voter in each or ()}


def grant(connection: Connection, project: Project, pairs: Sequence[tuple[int, str]], now: float) -> None:
    """Items to voters, each item to one."""
    if not pairs:
        return
    until = now + project.settings.lease_seconds
    lease = {"project_id": project.id, "granted": now, "expires": until, "is_out": True}
    rows = [lease | {"item_id": item_id, "voter": voter} for item_id, voter in pairs]
    insert_rows(connection, leases, rows, keys=("item_id", "voter"))
    connection.execute(PLACE_TAKEN, {"ids": [item_id for item_id, _ in pairs]})
