"""The request of a vote, the context it is checked against, and the rows it changes, for many votes at once.

Locks the items, loads ballots, leases and events; then writes the changes, with one statement per table for all votes.
The lock is a separate statement, because a statement that waits for a lock may read data older than the lock. Called
by `ballots`; the API, the pages and the demo make the requests.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Connection, Row, Select, bindparam, select

from quorate.errors import InvalidInput, QuorateError, RequestReused, UnknownItem
from quorate.session import Event
from quorate.types import Decision
from quorate.validate import invalid
from quorate_service.domain.events import append_item_events, is_folded
from quorate_service.domain.projects import Project, Projects, archived
from quorate_service.domain.webhooks import Notice, announce, closed, final_answer
from quorate_service.store.bulk import among, change_rows, delete_rows, each_of, insert_rows, paired
from quorate_service.store.schema import ballots, events, items, leases

Kind = Literal["vote", "abstain", "skip", "retract", "close"]
UNDO_SECONDS = 20.0  # after an act, its voter can undo it
LOCK = (
    select(items)
    .where(items.c.project_id == bindparam("project"), among(items.c.name, "names"))
    .order_by(items.c.id)  # in the same order everywhere, to avoid deadlocks
    .with_for_update()
)
LEASES = select(leases.c.item_id, leases.c.voter, leases.c.is_out).where(among(leases.c.item_id, "ids"))
PAST = (
    select(events.c.item_id, events.c.body)
    .where(among(events.c.item_id, "ids"), is_folded)
    .order_by(events.c.item_id, events.c.seq)
)
CHANGED = (  # the columns of an item's row that an act may change
    "votes", "num_votes", "num_ballots", "num_abstained", "num_late", "is_open", "is_wanted", "slots", "to_close",
    "label", "confidence", "reason", "seq", "closed", "first_vote_event", "closed_event", "decided_votes",
    "audit_rate", "audit", "audit_loss", "is_settled", "again", "panel", "set_aside",
)  # fmt: skip
ANSWER = ("label", "confidence", "decided_votes", "reason")  # reported when an item closes, and when an undo changes it


class TooLate(InvalidInput):
    """An undo after `UNDO_SECONDS`."""


class NotServed(UnknownItem):
    """An act on an item that was never given to the voter."""


def reused(key: str | None) -> RequestReused:
    """The error for an idempotency key that was used before with another content."""
    rule = "a different key for every act; this one was used before for something else"
    return invalid("Idempotency-Key", key, rule, "use a new key for a new act.", error=RequestReused)


def not_here(item: str) -> InvalidInput:
    """The error for an item that is not in the project."""
    return invalid("item", item, "an item of this project", "check its spelling.", error=UnknownItem)


def not_met(item: str, kind: Kind) -> InvalidInput:
    """The error for an act on an item that was never given to the voter; it does not reveal whether the item exists."""
    if kind == "retract":
        rule = "an item on which this voter has acted"
        return invalid("item", item, rule, "there is nothing to undo.", error=UnknownItem)
    return invalid(
        "item", item, "an item that was given to this voter", "ask for the next item first.", error=NotServed
    )


@dataclass(frozen=True, slots=True)
class Request:
    """Who acts on which item, and how. `served`: the item must have been given to this voter.

    `signed_in_by`: how the sender signed in (access/log.py); stored beside the event.
    """

    project_id: str
    item: str
    voter: str
    kind: Kind
    label: str | None = None
    request: str | None = None
    served: bool = True
    signed_in_by: str | None = None


@dataclass(frozen=True, slots=True)
class RecordedVote:
    """What was stored. For owners only, never for voters: `decision` (None for a skip), and `late`, whether the item
    was closed already."""

    item: str
    kind: Kind
    label: str | None
    time: float
    event: int
    undo_until: float | None
    repeated: bool
    late: bool
    decision: Decision | None


def _ballots() -> dict[str, Select[Any]]:
    """The ballots of pairs of an item and a voter, by database."""
    columns = (ballots.c.kind, ballots.c.time)
    asked = each_of(ids=ballots.c.item_id, voters=ballots.c.voter)
    match = (ballots.c.item_id == asked.c.ids, ballots.c.voter == asked.c.voters)
    looked_up = [select(column).where(*match).scalar_subquery().label(column.name) for column in columns]
    plain = select(ballots.c.item_id, ballots.c.voter, *columns)
    return {
        "postgresql": select(asked.c.ids.label("item_id"), asked.c.voters.label("voter"), *looked_up),
        "sqlite": plain.where(paired(ballots.c.item_id, ballots.c.voter, ("ids", "voters"))),
    }


def _repeats_of() -> dict[str, Select[Any]]:
    """The events of pairs of a voter and an idempotency key, by database."""
    here = (events.c.project_id == bindparam("project"), events.c.request.is_not(None))  # as in the index
    asked = each_of(voters=events.c.voter, requests=events.c.request)
    match = (*here, events.c.voter == asked.c.voters, events.c.request == asked.c.requests)
    number = select(events.c.id).where(*match).scalar_subquery().label("id")
    plain = select(events.c.voter, events.c.request, events.c.id)
    return {
        "postgresql": select(asked.c.voters.label("voter"), asked.c.requests.label("request"), number),
        "sqlite": plain.where(*here, paired(events.c.voter, events.c.request, ("voters", "requests"))),
    }


BALLOTS, REPEATS = _ballots(), _repeats_of()


@dataclass(frozen=True, slots=True)
class VoteContext:
    """What an act is checked against. `row`: the item's locked row. `acted`, `acted_at`: the voter's ballot, or None.

    `holds`: whether the voter's lease is active, None without one. `repeats`: the event that this request made before.
    """

    project: Project
    row: Row[Any]
    acted: str | None
    acted_at: float | None
    holds: bool | None
    others_out: int
    repeats: int | None
    past: Sequence[str]

    @property
    def events(self) -> list[Event]:
        """The item's events in order, without those that the session core never sees."""
        return [json.loads(body) for body in self.past]


def load_contexts(
    projects_: Projects, connection: Connection, project_id: str, requests: Sequence[Request]
) -> list[VoteContext | QuorateError]:
    """Lock the items, then load their context; returns for each request its context or its error."""
    names = sorted({request.item for request in requests})
    rows = {row.name: row for row in connection.execute(LOCK, {"project": project_id, "names": names}).all()}
    project = projects_.get_in(connection, project_id)
    if project.state == "archived":
        return [archived(project) for _ in requests]
    loaded = _load(connection, project, rows, requests)
    return [
        loaded.context(rows[request.item], request) if request.item in rows else loaded.unknown(request)
        for request in requests
    ]


@dataclass(frozen=True, slots=True)
class _Loaded:
    """The data of all items and voters of a transaction."""

    project: Project
    ballots: dict[tuple[int, str], Row[Any]]
    leases: dict[int, dict[str, bool]]
    repeats: dict[tuple[str, str], int]
    past: dict[int, list[str]]

    def context(self, row: Row[Any], request: Request) -> VoteContext:
        """The context of one request."""
        voter = request.voter
        ballot, out = self.ballots.get((row.id, voter)), self.leases.get(row.id, {})
        return VoteContext(
            project=self.project,
            row=row,
            acted=None if ballot is None else ballot.kind,
            acted_at=None if ballot is None else ballot.time,
            holds=out.get(voter),
            others_out=sum(is_out for whose, is_out in out.items() if whose != voter),
            repeats=None if request.request is None else self.repeats.get((voter, request.request)),
            past=self.past[row.id],
        )

    def unknown(self, request: Request) -> QuorateError:
        """The error for an item that does not exist. It does not tell voters which items exist."""
        if (request.voter, request.request) in self.repeats:
            return reused(request.request)
        return not_met(request.item, request.kind) if request.served else not_here(request.item)


def _load(connection: Connection, project: Project, found: dict[str, Row[Any]], requests: Sequence[Request]) -> _Loaded:
    ids = [row.id for row in found.values()]
    leased: dict[int, dict[str, bool]] = defaultdict(dict)
    for lease in connection.execute(LEASES, {"ids": ids}).all():
        leased[lease.item_id][lease.voter] = lease.is_out
    past: dict[int, list[str]] = defaultdict(list)
    for event in connection.execute(PAST, {"ids": ids}).all():
        past[event.item_id].append(event.body)
    here = [request for request in requests if request.item in found]
    pairs = {"ids": [found[request.item].id for request in here], "voters": [request.voter for request in here]}
    acted: dict[tuple[int, str], Row[Any]] = {}
    for ballot in connection.execute(BALLOTS[connection.dialect.name], pairs).all():
        if ballot.kind is not None:
            acted[ballot.item_id, ballot.voter] = ballot
    return _Loaded(project, acted, leased, _repeats(connection, project, requests), past)


def _repeats(connection: Connection, project: Project, requests: Sequence[Request]) -> dict[tuple[str, str], int]:
    """The events that these requests made before, by voter and key."""
    keyed = [(request.voter, request.request) for request in requests if request.request is not None]
    if not keyed:
        return {}
    voters, keys = zip(*keyed, strict=True)
    pairs = {"project": project.id, "voters": voters, "requests": keys}
    rows = connection.execute(REPEATS[connection.dialect.name], pairs).all()
    return {(row.voter, row.request): row.id for row in rows if row.id is not None}


@dataclass(frozen=True, slots=True)
class VoteWrite:
    """An act that is allowed: its event and the new values of the item's row."""

    request: Request
    context: VoteContext
    event: Event
    values: dict[str, Any]
    decision: Decision | None


def write_votes(connection: Connection, writes: Sequence[VoteWrite], *, now: float) -> dict[int, int]:
    """Write the acts; returns the number of each one's event, by item."""
    if not writes:
        return {}
    numbers = append_item_events(connection, [_event_row(write) for write in writes])
    _ballots_and_leases(connection, writes, now)
    change_rows(connection, items, [_item_row(write, numbers[write.context.row.id]) for write in writes])
    notices = [notice for write in writes for notice in notices_of(write.context.row, write.values)]
    announce(connection, writes[0].context.project.id, notices, now=now)
    return numbers


def _event_row(write: VoteWrite) -> dict[str, Any]:
    request, context = write.request, write.context
    return {
        "project_id": context.project.id, "event": write.event, "item_id": context.row.id, "voter": request.voter,
        "request": request.request, "signed_in_by": request.signed_in_by,
    }  # fmt: skip


def _ballots_and_leases(connection: Connection, writes: Sequence[VoteWrite], now: float) -> None:
    """Store ballots and end leases, so that the voter does not get the item again; an undo grants a new lease."""
    entered, undone, leased, ended = [], [], [], []
    for write in writes:
        request, context = write.request, write.context
        key = {"item_id": context.row.id, "voter": request.voter}
        row = key | {"project_id": context.project.id}
        if request.kind == "retract":
            undone.append(key)
            if request.served:
                until = now + context.project.settings.lease_seconds
                leased.append(row | {"granted": now, "expires": until, "is_out": True})
        elif request.kind != "close":
            entered.append(row | {"kind": request.kind, "label": request.label, "time": now})
            if context.holds is not None:
                ended.append(key)
    insert_rows(connection, ballots, entered)
    delete_rows(connection, ballots, undone)
    insert_rows(connection, leases, leased)
    delete_rows(connection, leases, ended)


def _item_row(write: VoteWrite, number: int) -> dict[str, Any]:
    """All columns that an act may change, changed or not, so that one statement serves all items of a transaction."""
    row, values = write.context.row._mapping, write.values
    new = {name: values[name] if name in values else row[name] for name in ("id", *CHANGED)}
    if values.get("closed") is not None:
        new["closed_event"] = number
    if write.request.kind == "vote" and row["first_vote_event"] is None and row["gold"] is None:
        new["first_vote_event"] = number
    return new


def notices_of(row: Row[Any], values: Mapping[str, Any]) -> list[Notice]:
    """The webhook notices of an item whose row changes to these values."""
    if "is_open" not in values or row.withdrawn is not None:
        return []
    if values["is_open"]:
        return [] if row.is_open else [("item.reopened", {"item": row.name})]
    after = {**row._mapping, **values}
    is_new = row.is_open or any(after[name] != getattr(row, name) for name in ANSWER)
    notices = [closed(after)] if is_new or final_answer(after) != final_answer(row._mapping) else []
    if row.audit == "drawn" and after["audit"] == "done":
        notices.append(("audit.completed", {"item": row.name, "loss": after["audit_loss"]}))
    return notices
