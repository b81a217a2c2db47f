"""What people do with items besides voting: owners change the pool, close all, withdraw and restore; voters report a
broken image, which sets the item aside; seniors give a verdict on an item in doubt (`listing.waits`).

A verdict is an event ("verdict") that the session core never sees: the pool's answer, its confidence and the audit stay
unchanged. Called by the API, the pages and `label_studio.reconcile`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, Select, and_, exists, func, insert, or_, select, update

from quorate.errors import InvalidInput, QuorateError, UnknownItem
from quorate.service.domain.ballots import act_all
from quorate.service.domain.events import append_item_events, item_events, record
from quorate.service.domain.item_projection import ABSENT, after_event, asking, audit_draw
from quorate.service.domain.items import names_there
from quorate.service.domain.leases import num_out
from quorate.service.domain.listing import find_item, waits
from quorate.service.domain.projects import Project, Projects, not_archived
from quorate.service.domain.votes import Request, not_here, not_met, notices_of
from quorate.service.domain.webhooks import announce
from quorate.service.store.bulk import among
from quorate.service.store.schema import ballots, counted, image_reports, items, leases, not_withdrawn
from quorate.session.inputs import class_number
from quorate.session.journal import Event
from quorate.session.single import is_decided
from quorate.validate import invalid, members

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
    given = {} if names is None else {"names": list(names)}
    if names is not None:
        here.append(among(items.c.name, "names"))
        _check_there(projects_, project_id, names)
    _check_steps(projects_, size, select(items).where(*here), given)
    while True:
        with projects_.store.write() as connection:
            project = not_archived(projects_.get_in(connection, project_id))
            query = select(items).where(*here, items.c.id > last).order_by(items.c.id).limit(BATCH).with_for_update()
            rows = connection.execute(query, given).all()
            outcomes += [_resized(projects_, connection, project, row, size, by, signed_in_by, now) for row in rows]
        if len(rows) < BATCH:
            break
        last = rows[-1].id
    changed = [each for each in outcomes if each is not None]
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
            closed += sum(not isinstance(each, QuorateError) for each in done)
            if len(rows) < BATCH:
                record(connection, project_id, "close-open", {"closed": closed}, by=by, now=now)
                return closed
        last = rows[-1].id


def withdraw(projects_: Projects, project_id: str, name: str, *, by: str, now: float) -> None:
    """Withdraw the item: nobody is asked about it, no number counts it. Its events stay. Safe to repeat.

    Only the audit still counts an item that took part in its draw (`counts_in_audit`): owners must not choose the
    sample.
    """
    _set_withdrawn(projects_, project_id, name, now, by=by, now=now)


def restore(projects_: Projects, project_id: str, name: str, *, by: str, now: float) -> None:
    """Restore a withdrawn item to the state given by its events. Safe to repeat."""
    _set_withdrawn(projects_, project_id, name, None, by=by, now=now)


def _set_withdrawn(
    projects_: Projects, project_id: str, name: str, withdrawn: float | None, *, by: str, now: float
) -> None:
    with projects_.store.write() as connection:
        not_archived(projects_.get_in(connection, project_id))
        row = find_item(connection, project_id, name, lock=True)
        if (row.withdrawn is None) == (withdrawn is None):
            return
        _change(connection, row, withdrawn=withdrawn)
        kind = "restore" if withdrawn is None else "withdraw"
        record(connection, project_id, kind, {}, by=by, now=now, item_id=row.id)


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


MOST_OF_ONE = 20  # items set aside at a time by one voter's reports: with more, their own connection is likely broken


def report_image(projects_: Projects, project_id: str, name: str, voter: str, *, now: float) -> bool:
    """Set aside an item whose image this voter could not see; False if too many of this voter's reports are open.

    The voter must hold the item. Reporting it again changes nothing.
    """
    with projects_.store.write() as connection:
        try:
            row = find_item(connection, project_id, name, lock=True)
        except UnknownItem:
            raise not_met(name, "skip") from None
        if _has_reported(connection, row, voter):
            return True
        if not _holds(connection, row, voter):
            raise not_met(name, "skip")
        if "image" not in json.loads(row.show):
            raise invalid("item", name, "an item that shows an image", "vote on it, or skip it.")
        if row.set_aside is None and _open_reports(connection, project_id, voter) >= MOST_OF_ONE:
            return False
        given = {"project_id": project_id, "item_id": row.id, "voter": voter, "time": now}
        connection.execute(insert(image_reports).values(given))
        theirs = (leases.c.item_id == row.id, leases.c.voter == voter)
        connection.execute(update(leases).where(*theirs).values(is_out=False))
        _change(connection, row, set_aside=now if row.set_aside is None else row.set_aside)
        return True


def _has_reported(connection: Connection, row: Row[Any], voter: str) -> bool:
    """Whether the voter has reported the item since it was set aside."""
    if row.set_aside is None:
        return False
    theirs = (image_reports.c.item_id == row.id, image_reports.c.voter == voter, image_reports.c.time >= row.set_aside)
    return connection.execute(select(image_reports.c.id).where(*theirs).limit(1)).one_or_none() is not None


def _holds(connection: Connection, row: Row[Any], voter: str) -> bool:
    """Whether the voter holds the item and has not acted on it."""
    acted = exists().where(ballots.c.item_id == row.id, ballots.c.voter == voter)
    lease = select(leases.c.voter).where(leases.c.item_id == row.id, leases.c.voter == voter, leases.c.is_out, ~acted)
    return connection.execute(lease).one_or_none() is not None


def clear_image(projects_: Projects, project_id: str, name: str, *, by: str, now: float) -> None:
    """Ask voters about the item again. Safe to repeat."""
    with projects_.store.write() as connection:
        row = find_item(connection, project_id, name, lock=True)
        if row.set_aside is not None:
            _change(connection, row, set_aside=None)
            record(connection, project_id, "clear", {}, by=by, now=now, item_id=row.id)


def _open_reports(connection: Connection, project_id: str, voter: str) -> int:
    """How many items that are set aside now were reported by this voter."""
    reported = select(image_reports.c.item_id).where(
        image_reports.c.project_id == project_id, image_reports.c.voter == voter
    )
    query = select(func.count()).where(items.c.set_aside.is_not(None), items.c.id.in_(reported))
    return int(connection.execute(query).scalar_one())


def _change(connection: Connection, row: Row[Any], **values: float | None) -> None:
    """Change a locked item's row, and with it whether the item asks for votes."""
    values |= asking({**row._mapping, **values}, num_out(connection, row.id))
    connection.execute(update(items).where(items.c.id == row.id).values(values))


MOST_NOTE = 2000  # characters


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
        row = find_item(connection, project_id, name, lock=True)
        project = not_archived(projects_.get_in(connection, project_id))
        _check_verdict(connection, project, row, note)
        class_number(label, project.session.classes)
        pool = {"label": row.label, "confidence": row.confidence}
        event: Event = {"seq": row.seq + 1, "time": now, "type": "verdict", "item": name, "voter": by, "label": label}
        event |= {"pool": pool, "note": note}
        made = {"project_id": project_id, "item_id": row.id, "event": event, "voter": by, "request": None}
        number = append_item_events(connection, [made | {"signed_in_by": signed_in_by}])[row.id]
        values = {"verdict": label, "verdict_by": by, "verdict_time": now, "seq": event["seq"]}
        connection.execute(update(items).where(items.c.id == row.id).values(values))
        return number


def _check_verdict(connection: Connection, project: Project, row: Row[Any], note: str) -> None:
    if len(note) > MOST_NOTE:
        raise invalid("note", note[:80], f"at most {MOST_NOTE} characters", "shorten it.")
    may = or_(waits(project), and_(items.c.verdict.is_not(None), counted))  # a verdict can be corrected
    if connection.execute(select(items.c.id).where(items.c.id == row.id, may)).one_or_none() is None:
        rule = "an item that waits for a verdict: closed, not in the audit, and in doubt (`adjudicate_below`)"
        raise invalid("item", row.name, rule, "see the list of those that wait.")
