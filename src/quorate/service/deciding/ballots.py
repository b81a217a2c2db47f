"""What voters do with an item: vote, cannot tell, skip, undo. One transaction each; acknowledged only once committed.

The item's row is locked, its events are folded by the session core, the core's next event is stored, and the row is
brought up to date. Called by the API and the pages.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Connection, Row, delete, func, insert, select, update

from quorate.errors import DuplicateVote, InvalidInput, RequestReused, UnknownItem
from quorate.service.deciding.events import append_item_event, item_events
from quorate.service.deciding.notices import announce, announce_closed
from quorate.service.deciding.projects import Project, Projects, UnknownProject
from quorate.service.deciding.row import after_event
from quorate.service.store.schema import ballots, events, items, leases, projects
from quorate.session import Session
from quorate.session.journal import Event
from quorate.session.single import item_session
from quorate.types import Decision
from quorate.validate import shown

Kind = Literal["vote", "abstain", "skip", "retract", "close"]


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
    with projects_.store.write() as connection:
        project, row = _locked(projects_, connection, request)
        known = _repeated(connection, project, row, request)
        if known is not None:
            return known
        _check(connection, project, row, request, now)
        if request.kind == "skip":
            return _skip(connection, project, row, request, now)
        return _decide(projects_, connection, project, row, request, now)


def _locked(projects_: Projects, connection: Connection, request: Request) -> tuple[Project, Row[Any]]:
    found = select(items).where(items.c.project_id == request.project_id, items.c.name == request.item)
    row = connection.execute(found.with_for_update()).one_or_none()
    project_row = connection.execute(select(projects).where(projects.c.id == request.project_id)).one_or_none()
    if project_row is None:
        raise UnknownProject(f"project={shown(request.project_id)} does not exist, or is not yours.")
    if row is None:
        raise UnknownItem(f"item={shown(request.item)} is not in this project; see the list of its items.")
    project = projects_.of_row(project_row)
    if project.state == "archived":
        raise InvalidInput(f"project {project.name!r} is archived and takes no votes; set its state to active.")
    return project, row


def _repeated(connection: Connection, project: Project, row: Row[Any], request: Request) -> Recorded | None:
    """What was answered before, if this very request was stored before."""
    if request.request is None:
        return None
    same = (events.c.project_id == project.id, events.c.voter == request.voter, events.c.request == request.request)
    past = connection.execute(select(events).where(*same)).one_or_none()
    if past is None:
        return None
    body = json.loads(past.body)
    if (past.item_id, past.kind, body.get("label")) != (row.id, request.kind, request.label):
        raise RequestReused(
            f"idempotency key {shown(request.request)} was used before for something else; use a new key for a new act."
        )
    return _recorded(project, row.name, past.kind, body, past.id, repeated=True, decision=None)


def _check(connection: Connection, project: Project, row: Row[Any], request: Request, now: float) -> None:
    """May this voter do this now?"""
    if request.kind == "close":
        return
    mine = (ballots.c.item_id == row.id, ballots.c.voter == request.voter)
    ballot = connection.execute(select(ballots).where(*mine)).one_or_none()
    if request.kind == "retract":
        _check_undo(project, row, ballot, request, now)
        return
    if ballot is not None:
        raise DuplicateVote(
            f"item {shown(request.item)}: this voter has acted on it already ({ballot.kind}); undo that first."
        )
    if request.served:
        lease = (leases.c.item_id == row.id, leases.c.voter == request.voter)
        if connection.execute(select(leases.c.item_id).where(*lease)).one_or_none() is None:
            raise NotServed(f"item={shown(request.item)} was not given to this voter; ask for the next item first.")


def _check_undo(project: Project, row: Row[Any], ballot: Row[Any] | None, request: Request, now: float) -> None:
    if ballot is None:
        raise UnknownItem(f"item={shown(request.item)}: this voter has no vote on it to undo.")
    late = now - ballot.time - project.settings.undo_seconds
    if request.served and late > 0:
        raise TooLate(
            f"item={shown(request.item)}: a vote can be undone for {project.settings.undo_seconds:g} seconds; that was "
            f"{now - ballot.time:.0f} seconds ago. Ask the owner of the project."
        )


def _skip(connection: Connection, project: Project, row: Row[Any], request: Request, now: float) -> Recorded:
    """The voter will not see this item again; the item still needs as many votes as before."""
    event: Event = {"seq": row.seq + 1, "time": now, "type": "skip", "item": row.name, "voter": request.voter}
    number = append_item_event(connection, project.id, row.id, event, voter=request.voter, request=request.request)
    _enter_ballot(connection, project, row, request, now)
    values = {"seq": event["seq"], "num_ballots": row.num_ballots + 1}
    values["slots"] = int(row.is_wanted) - leases_out(connection, row.id)
    connection.execute(update(items).where(items.c.id == row.id).values(values))
    return _recorded(project, row.name, "skip", event, number, repeated=False, decision=None)


def _decide(
    projects_: Projects, connection: Connection, project: Project, row: Row[Any], request: Request, now: float
) -> Recorded:
    session, event = _next_event(projects_, connection, project, row, request, now)
    retracted = request.kind == "retract"
    if retracted and event is None:  # a skip is undone without a word to the session
        return _undo_skip(connection, project, row, request, now)
    assert event is not None
    number = append_item_event(connection, project.id, row.id, event, voter=request.voter, request=request.request)
    if retracted:
        _back_to_voter(connection, project, row, request, now)
    elif request.kind != "close":
        _enter_ballot(connection, project, row, request, now)
    values = after_event(project, session, row.name, leases_out=leases_out(connection, row.id), before=row)
    values |= _counts(row, request, event, number)
    values |= _closing(row, values, number, now)
    connection.execute(update(items).where(items.c.id == row.id).values(values))
    _announce(connection, project, row, values, now)
    return _recorded(
        project, row.name, request.kind, event, number, repeated=False, decision=session.decision(row.name)
    )


def _next_event(
    projects_: Projects, connection: Connection, project: Project, row: Row[Any], request: Request, now: float
) -> tuple[Session, Event | None]:
    """The session core takes the call; what it writes is the next event."""
    era_of: Callable[[int, int], Any] = lambda learn, tune: projects_.era(connection, project, learn, tune)  # noqa: E731
    session, outbox = item_session(
        project.session,
        item_events(connection, row.id),
        number=row.number,
        now=era_of(project.learn_event, project.tune_event),
        era_of=era_of,
    )
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


def leases_out(connection: Connection, item_id: int) -> int:
    """To how many voters the item is out now."""
    out = select(func.count()).select_from(leases).where(leases.c.item_id == item_id, leases.c.is_out)
    return int(connection.execute(out).scalar_one())


def _enter_ballot(connection: Connection, project: Project, row: Row[Any], request: Request, now: float) -> None:
    """The voter has acted: never again on this item, and their lease ends."""
    ballot = {
        "item_id": row.id, "voter": request.voter, "project_id": project.id,
        "kind": request.kind, "label": request.label, "time": now,
    }  # fmt: skip
    connection.execute(insert(ballots).values(ballot))
    connection.execute(delete(leases).where(leases.c.item_id == row.id, leases.c.voter == request.voter))


def _back_to_voter(connection: Connection, project: Project, row: Row[Any], request: Request, now: float) -> None:
    """After an undo the item is the voter's again, for as long as any item is."""
    connection.execute(delete(ballots).where(ballots.c.item_id == row.id, ballots.c.voter == request.voter))
    if request.served:
        lease = {
            "item_id": row.id, "voter": request.voter, "project_id": project.id, "granted": now,
            "expires": now + project.settings.lease_seconds, "is_out": True,
        }  # fmt: skip
        connection.execute(insert(leases).values(lease))


def _undo_skip(connection: Connection, project: Project, row: Row[Any], request: Request, now: float) -> Recorded:
    event: Event = {"seq": row.seq + 1, "time": now, "type": "skip", "item": row.name, "voter": request.voter}
    event["undone"] = True
    number = append_item_event(connection, project.id, row.id, event, voter=request.voter, request=request.request)
    _back_to_voter(connection, project, row, request, now)
    values = {"seq": event["seq"], "num_ballots": row.num_ballots - 1}
    values["slots"] = int(row.is_wanted) - leases_out(connection, row.id)
    connection.execute(update(items).where(items.c.id == row.id).values(values))
    return _recorded(project, row.name, "retract", event, number, repeated=False, decision=None)


def _recorded(
    project: Project, item: str, kind: Kind, event: Event, number: int, *, repeated: bool, decision: Decision | None
) -> Recorded:
    undo = event["time"] + project.settings.undo_seconds if kind in ("vote", "abstain", "skip") else None
    return Recorded(item, kind, event.get("label"), event["time"], number, undo, repeated, decision)
