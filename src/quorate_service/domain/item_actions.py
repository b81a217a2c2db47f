"""What owners do with items: change the pool, close all, withdraw, restore, clear a broken image, ask again.

Called by the API, the pages and `label_studio.reconcile`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Connection, Row, Select, select, update

from quorate.errors import InvalidInput, QuorateError
from quorate.model import is_settled
from quorate.session import is_decided
from quorate.validate import invalid, members
from quorate_service.domain.ballots import act_all
from quorate_service.domain.events import append_item_events, item_events, record
from quorate_service.domain.item_projection import ABSENT, after_event, asking, audit_draw
from quorate_service.domain.items import names_there
from quorate_service.domain.leases import num_out
from quorate_service.domain.listing import Filter, conditions, find_item
from quorate_service.domain.projects import Project, Projects, not_archived
from quorate_service.domain.votes import Request, not_here, notices_of
from quorate_service.domain.webhooks import announce
from quorate_service.store.bulk import among
from quorate_service.store.schema import items, not_withdrawn

BATCH = 200  # items per transaction
MOST_STEPS = 200  # experts that one change removes from an item's pool or adds to it: an event and a decision each


@dataclass(frozen=True, slots=True)
class PoolChanged:
    """`changed` items have the new pool size, of which `closed` closed because of it; `kept` cannot have it."""

    changed: int
    closed: int
    kept: int


def change_pool(
    projects_: Projects,
    project_id: str,
    size: int,
    *,
    by: str,
    signed_in_by: str | None = None,
    now: float,
    names: Sequence[str] | None = None,
) -> PoolChanged:
    """Change the pool size of items that still ask for votes (`names`: only these).

    A pool cannot become smaller than the number of people who have acted on the item, or larger than when the item was
    opened; that of a closed item in the audit cannot grow. A change of more than `MOST_STEPS` experts is refused.
    """
    size, last, outcomes = members(size), 0, []
    here = [items.c.project_id == project_id, items.c.is_wanted, not_withdrawn, items.c.pool_size != size]
    values = {} if names is None else {"names": list(names)}
    if names is not None:
        here.append(among(items.c.name, "names"))
        _check_there(projects_, project_id, names)
    _check_steps(projects_, size, select(items).where(*here), values)
    while True:
        with projects_.store.write() as connection:
            project = not_archived(projects_.get_in(connection, project_id))
            query = select(items).where(*here, items.c.id > last).order_by(items.c.id).limit(BATCH).with_for_update()
            rows = connection.execute(query, values).all()
            outcomes += [_resized(projects_, connection, project, row, size, by, signed_in_by, now) for row in rows]
        if len(rows) < BATCH:
            break
        last = rows[-1].id
    changed = [outcome for outcome in outcomes if outcome is not None]
    return PoolChanged(len(changed), sum(changed), len(outcomes) - len(changed))


def close_open(projects_: Projects, project_id: str, *, by: str, signed_in_by: str | None = None, now: float) -> int:
    """Close every open item with the votes it has; returns how many."""
    here = (items.c.project_id == project_id, items.c.is_open, not_withdrawn)
    last = closed = 0
    while True:
        with projects_.store.write() as connection:
            not_archived(projects_.get_in(connection, project_id))
            query = select(items.c.id, items.c.name).where(*here, items.c.id > last).order_by(items.c.id).limit(BATCH)
            rows = connection.execute(query.with_for_update()).all()
            closes = [
                Request(project_id, row.name, by, "close", served=False, signed_in_by=signed_in_by) for row in rows
            ]
            done = act_all(projects_, connection, closes, now=now) if closes else []
            closed += sum(not isinstance(outcome, QuorateError) for outcome in done)
            if len(rows) < BATCH:
                record(connection, project_id, "close-open", {"closed": closed}, by=by, now=now)
                return closed
        last = rows[-1].id


Change = Literal["withdraw", "restore", "clear", "ask-again"]


def change_items(projects_: Projects, project_id: str, change: Change, chosen: Filter, *, by: str, now: float) -> int:
    """Do this with every chosen item for which it makes a difference; returns with how many. Safe to repeat.

    "withdraw": nobody is asked about the item, and no number counts it; its events stay. Only the audit still counts
    an item that took part in its draw (`counts_in_audit`): owners must not choose the sample. "restore": it returns to
    the state given by its events. "clear": voters are asked again about an item that was set aside for its image.
    "ask-again": the rest of the pool is asked about a closed item. What the whole pool says is then its answer.
    """
    last = changed = 0
    while True:
        with projects_.store.write() as connection:
            project = not_archived(projects_.get_in(connection, project_id))
            query = select(items).where(*conditions(project_id, chosen), items.c.id > last).order_by(items.c.id)
            rows = connection.execute(query.limit(BATCH).with_for_update()).all()
            changed += sum(_changed(projects_, connection, project, row, change, by, now) for row in rows)
        if len(rows) < BATCH:
            return changed
        last = rows[-1].id


def change_item(projects_: Projects, project_id: str, change: Change, name: str, *, by: str, now: float) -> bool:
    """The same with one item; returns whether it made a difference. An error if the item does not exist."""
    with projects_.store.write() as connection:
        project = not_archived(projects_.get_in(connection, project_id))
        row = find_item(connection, project_id, name, lock=True)
        return _changed(projects_, connection, project, row, change, by, now)


def _changed(
    projects_: Projects, connection: Connection, project: Project, row: Row[Any], change: Change, by: str, now: float
) -> bool:
    """Change a locked item, if that makes a difference."""
    if change == "ask-again":
        values: dict[str, Any] = {"again": "asked"}
        if not can_ask_again(projects_, connection, project, row):
            return False
    else:
        column, since = "set_aside" if change == "clear" else "withdrawn", now if change == "withdraw" else None
        values = {column: since}
        if (getattr(row, column) is None) == (since is None):
            return False
    set_asking(connection, row, **values)
    record(connection, project.id, change, {}, by=by, now=now, item_id=row.id)
    return True


def can_ask_again(projects_: Projects, connection: Connection, project: Project, row: Row[Any]) -> bool:
    """Whether the item is closed and the rest of its pool, which is not being asked, could change its answer."""
    if row.is_open or row.gold is not None or row.withdrawn is not None or row.again or row.audit == "drawn":
        return False
    session, _ = projects_.item_session(connection, project, row, item_events(connection, row.id), seq=row.seq)
    item = session.item(row.name)
    return item.pool_left > 0 and not is_settled(item.votes, item.pool_left)


def set_asking(connection: Connection, row: Row[Any], **values: float | str | None) -> None:
    """Change a locked item's row, and with it whether the item asks for votes."""
    values |= asking({**row._mapping, **values}, num_out(connection, row.id))
    connection.execute(update(items).where(items.c.id == row.id).values(values))


def _resized(
    projects_: Projects,
    connection: Connection,
    project: Project,
    row: Row[Any],
    size: int,
    by: str,
    signed_in_by: str | None,
    now: float,
) -> bool | None:
    """Change the pool of a locked item; returns whether it closed because of it, None if its pool cannot change."""
    session, outbox = projects_.item_session(connection, project, row, item_events(connection, row.id), seq=row.seq)
    absent = sum(voter.startswith(ABSENT) for voter in session.ballots(row.name))
    wanted = max(size, row.num_votes + row.num_abstained)
    if wanted > row.pool_size + (absent if row.is_open else 0) or wanted == row.pool_size:
        return None
    if abs(wanted - row.pool_size) > MOST_STEPS:
        raise _too_far(row, size)
    values, out = dict(row._mapping), num_out(connection, row.id)
    down = wanted < row.pool_size
    steps = range(row.pool_size - 1, wanted - 1, -1) if down else range(row.pool_size, wanted)
    for pool in steps:
        voter = f"{ABSENT}{pool + 1}"  # the placeholder of the expert removed or added
        step = session.abstain if down else session.retract
        decision = step(row.name, voter, time=now)
        event = outbox.written[-1]
        decided = is_decided(event)
        if not decision.ask or pool == steps[-1]:  # `to_close` of an open item is slow: computed once, at the end
            values |= after_event(project, session, row.name, decision, leases_out=out, row=values, decided=decided)
        if decided and not decision.ask:
            draw = audit_draw(values)
            event = event if draw is None else event | {"audit": draw}
        entry = {"project_id": project.id, "item_id": row.id, "event": event, "voter": voter}
        entry |= {"request": None, "signed_in_by": signed_in_by}
        number = append_item_events(connection, [entry])[row.id]
        values["seq"] = event["seq"]
        if decided:
            at, event_number = (None, None) if decision.ask else (now, number)
            values |= {"closed": at, "closed_event": event_number}
    connection.execute(update(items).where(items.c.id == row.id).values({k: v for k, v in values.items() if k != "id"}))
    announce(connection, project.id, notices_of(row, values), now=now)
    record(connection, project.id, "pool", {"from": row.pool_size, "to": wanted}, by=by, now=now, item_id=row.id)
    return bool(row.is_open and not values["is_open"])


def _check_steps(projects_: Projects, size: int, which: Select[Any], given: Mapping[str, Any]) -> None:
    """Refuse a pool that is too far below that of one of the items, before any is changed."""
    acted = items.c.num_votes + items.c.num_abstained
    far = which.where(items.c.pool_size - size > MOST_STEPS, items.c.pool_size - acted > MOST_STEPS).limit(1)
    with projects_.store.read() as connection:
        row = connection.execute(far, given).one_or_none()
    if row is not None:
        raise _too_far(row, size)


def _too_far(row: Row[Any], size: int) -> InvalidInput:
    rule = f"a pool at most {MOST_STEPS} experts smaller or larger than the {row.pool_size} of item {row.name!r}"
    fix = "withdraw it and add it again, under another id, with the new pool."
    return invalid("pool_size", size, rule, fix)


def _check_there(projects_: Projects, project_id: str, names: Sequence[str]) -> None:
    with projects_.store.read() as connection:
        existing = names_there(connection, project_id, names)
    for name in names:
        if name not in existing:
            raise not_here(name)
