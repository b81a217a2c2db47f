"""What voters do with an item: vote, cannot tell, skip, undo. One transaction each; acknowledged only once committed.

The item's row is locked (`scene`), its events are folded by the session core, the core's next event is stored, and the
row is brought up to date. Called by the API and the pages.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Connection, Row, bindparam, delete, insert, select, update

from quorate.errors import DuplicateVote, InvalidInput, RequestReused, UnknownItem
from quorate.service.deciding.events import append_item_event
from quorate.service.deciding.notices import announce, announce_closed
from quorate.service.deciding.projects import Project, Projects
from quorate.service.deciding.row import after_event, toss
from quorate.service.deciding.scene import Scene, meet
from quorate.service.store.schema import ballots, events, items, leases
from quorate.session import Session
from quorate.session.journal import Event
from quorate.session.single import item_session
from quorate.types import Decision
from quorate.validate import shown

Kind = Literal["vote", "abstain", "skip", "retract", "close"]

ENTER_BALLOT = insert(ballots)
END_BALLOT = delete(ballots).where(ballots.c.item_id == bindparam("which"), ballots.c.voter == bindparam("whose"))
ENTER_LEASE = insert(leases)
END_LEASE = delete(leases).where(leases.c.item_id == bindparam("which"), leases.c.voter == bindparam("whose"))
CHANGE_ITEM = update(items).where(items.c.id == bindparam("which"))


class TooLate(InvalidInput):
    """A vote can be taken back only for a short while."""


class NotServed(UnknownItem):
    """A voter acts on an item that was never shown to them."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """What was stored. `decision` is for the owner's eyes, never for a voter's; None for a skip."""

    item: str
    kind: Kind
    label: str | None
    time: float
    event: int
    undo_until: float | None
    repeated: bool
    decision: Decision | None


@dataclass(frozen=True, slots=True)
class Request:
    """Who acts on which item, and how. `served`: the item must have been shown to this voter."""

    project_id: str
    item: str
    voter: str
    kind: Kind
    label: str | None = None
    request: str | None = None
    served: bool = True


def act(projects_: Projects, request: Request, *, now: float) -> Recorded:
    """Store one act of a voter; sent twice with the same request id it is stored once."""
    which = {"project_id": request.project_id, "item": request.item}
    with projects_.store.write() as connection:
        scene = meet(projects_, connection, **which, voter=request.voter, request=request.request)
        if scene.repeats is not None:
            return _repeated(connection, scene, request)
        _check(scene, request, now)
        if request.kind == "skip":
            return _skip(connection, scene, request, now)
        return _decide(projects_, connection, scene, request, now)


def _repeated(connection: Connection, scene: Scene, request: Request) -> Recorded:
    """What was answered before, to this very request."""
    past = connection.execute(select(events).where(events.c.id == scene.repeats)).one()
    body = json.loads(past.body)
    kind: Kind = "retract" if body.get("undone") else past.kind
    if (past.item_id, kind, body.get("label")) != (scene.row.id, request.kind, request.label):
        raise RequestReused(
            f"idempotency key {shown(request.request)} was used before for something else; use a new key for a new act."
        )
    return _recorded(scene.project, scene.row.name, kind, body, past.id, repeated=True, decision=None)


def _check(scene: Scene, request: Request, now: float) -> None:
    """May this voter do this now?"""
    if request.kind == "close":
        return
    if request.kind == "retract":
        _check_undo(scene, request, now)
        return
    if scene.acted is not None:
        raise DuplicateVote(
            f"item {shown(request.item)}: this voter has acted on it already ({scene.acted}); undo that first."
        )
    if request.served and scene.holds is None:
        raise NotServed(f"item={shown(request.item)} was not given to this voter; ask for the next item first.")


def _check_undo(scene: Scene, request: Request, now: float) -> None:
    if scene.acted_at is None:
        raise UnknownItem(f"item={shown(request.item)}: this voter has no vote on it to undo.")
    ago, most = now - scene.acted_at, scene.project.settings.undo_seconds
    if request.served and ago > most:
        raise TooLate(
            f"item={shown(request.item)}: a vote can be undone for {most:g} seconds; that was {ago:.0f} seconds ago. "
            "Ask the owner of the project."
        )


def _skip(connection: Connection, scene: Scene, request: Request, now: float) -> Recorded:
    """The voter will not see this item again; the item still needs as many votes as before."""
    row = scene.row
    event: Event = {"seq": row.seq + 1, "time": now, "type": "skip", "item": row.name, "voter": request.voter}
    number = _append(connection, scene, request, event)
    out = _enter(connection, scene, request, now)
    values = {"seq": event["seq"], "num_ballots": row.num_ballots + 1, "slots": int(row.is_wanted) - out}
    connection.execute(CHANGE_ITEM, values | {"which": row.id})
    return _recorded(scene.project, row.name, "skip", event, number, repeated=False, decision=None)


def _decide(projects_: Projects, connection: Connection, scene: Scene, request: Request, now: float) -> Recorded:
    project, row = scene.project, scene.row
    session, event = _next_event(projects_, connection, scene, request, now)
    if event is None:  # a skip is undone without a word to the session
        return _undo_skip(connection, scene, request, now)
    out = _enter(connection, scene, request, now)
    values = after_event(project, session, row.name, leases_out=out, before=row)
    coin = toss(values, row)
    number = _append(connection, scene, request, event if coin is None else event | {"audit": coin})
    values |= _counts(row, request, event, number)
    values |= _closing(row, values, number, now)
    connection.execute(CHANGE_ITEM, values | {"which": row.id})
    _announce(connection, project, row, values, now)
    return _recorded(
        project, row.name, request.kind, event, number, repeated=False, decision=session.decision(row.name)
    )


def _next_event(
    projects_: Projects, connection: Connection, scene: Scene, request: Request, now: float
) -> tuple[Session, Event | None]:
    """The session core takes the call; what it writes is the next event."""
    project, row = scene.project, scene.row
    era_of: Callable[[int, int], Any] = lambda learn, tune: projects_.era(connection, project, learn, tune)  # noqa: E731
    era = era_of(project.learn_event, project.tune_event)
    session, outbox = item_session(project.session, scene.events, number=row.number, now=era, era_of=era_of)
    session._state.seq = row.seq
    if request.kind == "vote":
        session.vote(row.name, request.label or "", voter=request.voter, time=now)
    elif request.kind == "abstain":
        session.abstain(row.name, voter=request.voter, time=now)
    elif request.kind == "close":
        session.close(row.name, time=now)
        if not outbox.written:
            raise InvalidInput(f"item={shown(row.name)} is closed already.")
    elif request.voter in session.ballots(row.name):
        session.retract(row.name, request.voter, time=now)
    return session, outbox.written[0] if outbox.written else None


def _counts(row: Row[Any], request: Request, event: Event, number: int) -> dict[str, Any]:
    change = {"vote": 1, "abstain": 1, "retract": -1}.get(request.kind, 0)
    counts = {"seq": event["seq"], "num_ballots": row.num_ballots + change}
    if request.kind == "vote" and row.first_vote_event is None:
        counts["first_vote_event"] = number
    return counts


def _closing(row: Row[Any], values: Mapping[str, Any], number: int, now: float) -> dict[str, Any]:
    """When and by which event the item closed, if this event changed that."""
    if values["is_open"]:
        return {"closed": None, "closed_event": None}
    if row.is_open or values["decided_votes"] != row.decided_votes:
        return {"closed": now, "closed_event": number}
    return {}


def _announce(connection: Connection, project: Project, row: Row[Any], values: dict[str, Any], now: float) -> None:
    if row.is_open and not values["is_open"]:
        announce_closed(connection, project, values | {"name": row.name}, now=now)
    elif values["is_open"] and not row.is_open:
        announce(connection, project, "item.reopened", {"item": row.name}, now=now)
    elif values.get("audit") == "done" and row.audit == "drawn":
        content = {"item": row.name, "loss": values["audit_loss"]}
        announce(connection, project, "audit.completed", content, now=now)


def _append(connection: Connection, scene: Scene, request: Request, event: Event) -> int:
    ours = {"voter": request.voter, "request": request.request}
    return append_item_event(connection, scene.project.id, scene.row.id, event, **ours)


def _enter(connection: Connection, scene: Scene, request: Request, now: float) -> int:
    """What the act makes of the voter's ballot and lease; to how many voters the item is out afterwards."""
    mine = {"which": scene.row.id, "whose": request.voter}
    names = {"item_id": scene.row.id, "voter": request.voter, "project_id": scene.project.id}
    if request.kind == "close":
        return scene.others_out + bool(scene.holds)
    if request.kind == "retract":  # the item is the voter's again, for as long as any item is
        connection.execute(END_BALLOT, mine)
        if request.served:
            until = now + scene.project.settings.lease_seconds
            connection.execute(ENTER_LEASE, names | {"granted": now, "expires": until, "is_out": True})
        return scene.others_out + request.served
    ballot = {"kind": request.kind, "label": request.label, "time": now}  # never again on this item
    connection.execute(ENTER_BALLOT, names | ballot)
    if scene.holds is not None:
        connection.execute(END_LEASE, mine)
    return scene.others_out


def _undo_skip(connection: Connection, scene: Scene, request: Request, now: float) -> Recorded:
    row = scene.row
    event: Event = {"seq": row.seq + 1, "time": now, "type": "skip", "item": row.name, "voter": request.voter}
    event["undone"] = True
    number = _append(connection, scene, request, event)
    out = _enter(connection, scene, request, now)
    values = {"seq": event["seq"], "num_ballots": row.num_ballots - 1, "slots": int(row.is_wanted) - out}
    connection.execute(CHANGE_ITEM, values | {"which": row.id})
    return _recorded(scene.project, row.name, "retract", event, number, repeated=False, decision=None)


def _recorded(
    project: Project, item: str, kind: Kind, event: Event, number: int, *, repeated: bool, decision: Decision | None
) -> Recorded:
    undo = event["time"] + project.settings.undo_seconds if kind in ("vote", "abstain", "skip") else None
    return Recorded(item, kind, event.get("label"), event["time"], number, undo, repeated, decision)
