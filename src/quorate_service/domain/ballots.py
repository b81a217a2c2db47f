"""What voters do with items: vote, abstain, skip, undo. Acknowledged only after the transaction is committed.

The items' rows are locked (`votes`), the session core folds each item's events, its next event is stored, and the row
is updated. `act` stores one vote in its own transaction. `answer_all` stores concurrent votes in one transaction, with
one commit and one statement per table for all. Calls about the same item or voter go into the next transaction. If a
transaction fails while the database is available, each call is tried alone, so that one bad request does not fail the
batch. Called by `api/votes.py` through `microbatch`.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlalchemy import Connection, select
from sqlalchemy.exc import IntegrityError

from quorate.errors import DuplicateVote, QuorateError
from quorate.session import Event, Session, is_decided
from quorate.types import Decision
from quorate.validate import invalid
from quorate_service.domain.gold import answered
from quorate_service.domain.item_projection import after_event, audit_draw
from quorate_service.domain.leases import CLOCK_SLACK, Leased, Want
from quorate_service.domain.listing import reporters_of
from quorate_service.domain.projects import Project, Projects
from quorate_service.domain.queue import serve
from quorate_service.domain.votes import (
    UNDO_SECONDS,
    Kind,
    RecordedVote,
    Request,
    TooLate,
    VoteContext,
    VoteWrite,
    load_contexts,
    not_met,
    reused,
    write_votes,
)
from quorate_service.microbatch import LATER, Later
from quorate_service.store import StoreBusy, StoreUnavailable
from quorate_service.store.schema import events

REQUESTS = "request"  # part of the name of the constraint that two concurrent acts with one key violate
WORTH_COUNTING = 1.0  # seconds


def act(projects_: Projects, request: Request, *, now: float) -> RecordedVote:
    """Store one act of a voter; with the same request id it is stored once."""
    try:
        with projects_.store.write() as connection:
            (answer,) = act_all(projects_, connection, [request], now=now)
    except IntegrityError as cause:
        if REQUESTS not in str(cause.orig):
            raise
        raise reused(request.request) from cause
    if isinstance(answer, QuorateError):
        raise answer
    return answer


def act_all(
    projects_: Projects, connection: Connection, requests: Sequence[Request], *, now: float
) -> list[RecordedVote | QuorateError]:
    """Store acts on one project within the caller's transaction; returns for each what was stored, or the error.

    No item and no voter may occur twice, so that the acts do not depend on each other.
    """
    outcomes: list[VoteWrite | RecordedVote | QuorateError] = []
    for request, context in zip(
        requests, load_contexts(projects_, connection, requests[0].project_id, requests), strict=True
    ):
        try:
            outcomes.append(
                context if isinstance(context, QuorateError) else _planned(projects_, connection, context, request, now)
            )
        except QuorateError as problem:
            outcomes.append(problem)
    numbers = write_votes(connection, [outcome for outcome in outcomes if isinstance(outcome, VoteWrite)], now=now)
    return [_recorded(outcome, numbers) if isinstance(outcome, VoteWrite) else outcome for outcome in outcomes]


def _planned(
    projects_: Projects, connection: Connection, context: VoteContext, request: Request, now: float
) -> VoteWrite | RecordedVote:
    """What the act will write, without writing it; for an act that was stored before, the stored answer."""
    if context.repeats is not None:
        return _repeated(connection, context, request)
    _check(context, request, now)
    if request.kind == "skip":
        return _skip(context, request, now)
    if context.row.gold is not None:
        return answered(context, request, now)
    return _decide(projects_, connection, context, request, now)


def _repeated(connection: Connection, context: VoteContext, request: Request) -> RecordedVote:
    """The answer that was given to this request before."""
    past = connection.execute(select(events).where(events.c.id == context.repeats)).one()
    body = json.loads(past.body)
    kind: Kind = "retract" if body.get("undone") else body.get("act", past.kind)
    if (past.item_id, kind, body.get("label")) != (context.row.id, request.kind, request.label):
        raise reused(request.request)
    until = _undo_until(kind, body["time"])
    stored = (body.get("label"), body["time"], past.id, until)
    return RecordedVote(context.row.name, kind, *stored, repeated=True, late=body.get("late", False), decision=None)


def _check(context: VoteContext, request: Request, now: float) -> None:
    """Raise unless this voter may do this now."""
    if request.kind == "close":
        if context.row.withdrawn is not None:
            raise invalid("item", request.item, "an item that is not withdrawn", "restore it first.")
        return
    if request.kind == "retract":
        _check_undo(context, request, now)
        return
    if context.acted is not None:
        rule = f"one act of each voter on an item; this one has acted already ({context.acted})"
        raise invalid("item", request.item, rule, "undo that first.", error=DuplicateVote)
    if request.served and context.holds is None:
        raise not_met(request.item, request.kind)


def _check_undo(context: VoteContext, request: Request, now: float) -> None:
    if context.acted_at is None:
        raise not_met(request.item, request.kind)
    ago = now - context.acted_at
    if request.served and not -CLOCK_SLACK <= ago <= UNDO_SECONDS:
        when = f"{ago:.0f} seconds ago" if ago > 0 else "before the clock was set back"
        rule = f"an item on which this voter acted in the last {UNDO_SECONDS:g} seconds; that was {when}"
        raise invalid("item", request.item, rule, "ask the owner of the project.", error=TooLate)


def _skip(context: VoteContext, request: Request, now: float, **details: bool) -> VoteWrite:
    """The voter does not get this item again, unless the skip is `undone`. The item needs as many votes as before."""
    row = context.row
    event: Event = {"seq": row.seq + 1, "time": now, "type": "skip", "item": row.name, "voter": request.voter} | details
    change = 1 if request.kind == "skip" else -1
    values = {
        "seq": event["seq"],
        "num_ballots": row.num_ballots + change,
        "slots": int(row.is_wanted) - _out_after(context, request),
    }
    return VoteWrite(request, context, event, values, decision=None)


def _decide(
    projects_: Projects, connection: Connection, context: VoteContext, request: Request, now: float
) -> VoteWrite:
    """Apply the act to the session core; its event and the new values of the item's row."""
    project, row = context.project, context.row
    session, outbox = projects_.item_session(connection, project, row, context.events, seq=row.seq)
    decision = _apply(session, row.name, request, now)
    if decision is None:
        return _skip(context, request, now, undone=True)
    if not outbox.written:
        raise invalid("item", row.name, "an open item", "there is nothing to do: it is closed already.")
    event, before, out = outbox.written[0], dict(row._mapping), _out_after(context, request)
    if request.served and request.kind in ("vote", "abstain") and row.set_aside is not None:
        seen = len(reporters_of(connection, row.id)) < 2  # broken for one voter only
        before["set_aside"] = None if seen else row.set_aside
    decided = is_decided(event)
    values = after_event(project, session, row.name, decision, leases_out=out, row=before, decided=decided)
    change = {"vote": 1, "abstain": 1, "retract": -1}.get(request.kind, 0)
    values |= {"set_aside": before["set_aside"], "seq": event["seq"], "num_ballots": row.num_ballots + change}
    if decided:
        values |= {"closed": None, "closed_event": None} if decision.ask else {"closed": now}
        draw = audit_draw(values)
        event = event if draw is None else event | {"audit": draw}
    return VoteWrite(request, context, event, values, decision)


def _apply(session: Session, name: str, request: Request, now: float) -> Decision | None:
    """Apply the act to the session; None for a skip that is undone, which the session never saw."""
    if request.kind == "vote":
        return session.vote(name, request.label or "", voter=request.voter, time=now)
    if request.kind == "abstain":
        return session.abstain(name, voter=request.voter, time=now)
    if request.kind == "close":
        return session.close(name, time=now)
    if request.voter in session.ballots(name):
        return session.retract(name, request.voter, time=now)
    return None


def _out_after(context: VoteContext, request: Request) -> int:
    """How many voters hold the item after the act."""
    if request.kind == "close":
        return context.others_out + bool(context.holds)
    if request.kind == "retract":  # the voter holds the item again
        return context.others_out + request.served
    return context.others_out


def _recorded(write: VoteWrite, numbers: Mapping[int, int]) -> RecordedVote:
    event, kind = write.event, write.request.kind
    until = _undo_until(kind, event["time"])
    number = numbers[write.context.row.id]
    stored = (event.get("label"), event["time"], number, until)
    late = event.get("late", False)
    return RecordedVote(write.context.row.name, kind, *stored, repeated=False, late=late, decision=write.decision)


def _undo_until(kind: Kind, time: float) -> float | None:
    return time + UNDO_SECONDS if kind in ("vote", "abstain", "skip") else None


log = logging.getLogger("quorate_service")


@dataclass(frozen=True, slots=True)
class Call:
    """A voter's act, a request for `count` next items, or both. `now`: when the call arrived."""

    project_id: str
    voter: str
    act: Request | None
    count: int
    now: float
    since: float = field(default_factory=time.monotonic)

    @property
    def later(self) -> float:
        """The current time: a lease starts when it is granted, not when the call arrived."""
        waited = time.monotonic() - self.since
        return self.now + (waited if waited >= WORTH_COUNTING else 0.0)


@dataclass(frozen=True, slots=True)
class CallAnswer:
    """The result of a call. `items` is None if none were requested, or finding them failed."""

    recorded: RecordedVote | None = None
    project: Project | None = None
    items: list[Leased] | None = None


def answer_all(projects_: Projects, calls: Sequence[Call]) -> list[CallAnswer | Exception | Later]:
    """For each call of a project its answer or error; LATER for those that need another transaction."""
    numbers = first_round(calls)
    answers: list[CallAnswer | Exception | Later] = [LATER] * len(calls)
    for number, answer in zip(numbers, _answer_part(projects_, [calls[n] for n in numbers]), strict=True):
        answers[number] = answer
    return answers


def first_round(calls: Sequence[Call]) -> list[int]:
    """The numbers of the calls that can share the first transaction: in order, without an item or voter twice.

    >>> two = [Call("p", voter, Request("p", "scan-1", voter, "vote", "cat"), 0, now=0.0) for voter in ("a", "b")]
    >>> first_round([*two, Call("p", "c", None, 1, now=0.0)])
    [0, 2]
    """
    taken: set[tuple[str, str]] = set()
    first = []
    for number, call in enumerate(calls):
        names = _names(call)
        if not taken & names:
            first.append(number)
        taken |= names  # calls after one that waits must wait, too
    return first


def _names(call: Call) -> set[tuple[str, str]]:
    """The voters and items of a call, which no other call of the transaction may share."""
    names = {("voter", call.voter)} if call.count else set()
    if call.act is not None:
        names |= {("voter", call.act.voter), ("item", call.act.item)}
    return names


def _answer_part(projects_: Projects, calls: Sequence[Call]) -> Sequence[CallAnswer | Exception]:
    try:
        return _in_one(projects_, calls)
    except StoreBusy as problem:
        if projects_.store.is_sqlite:  # the whole database is locked, so trying each call would only wait again
            return [problem] * len(calls)
        log.info("%d calls are tried one by one: %s", len(calls), problem)
    except StoreUnavailable as problem:
        return [problem] * len(calls)
    except Exception as problem:  # it occurs again below, for the call that caused it
        log.warning("%d calls are tried one by one", len(calls), exc_info=problem)
    return [_alone(projects_, call) for call in calls]


def _in_one(projects_: Projects, calls: Sequence[Call]) -> list[CallAnswer | Exception]:
    """One transaction: the acts, then the next items of those whose act was stored."""
    answers: list[CallAnswer | Exception] = [CallAnswer() for _ in calls]
    with projects_.store.write() as connection:
        now = max(call.later for call in calls)
        acting = [number for number, call in enumerate(calls) if call.act is not None]
        if acting:
            requests = [act for number in acting if (act := calls[number].act) is not None]
            for number, outcome in zip(acting, act_all(projects_, connection, requests, now=now), strict=True):
                answers[number] = outcome if isinstance(outcome, QuorateError) else CallAnswer(outcome)
        asking = [
            (number, answer)
            for number, answer in enumerate(answers)
            if isinstance(answer, CallAnswer) and calls[number].count
        ]
        if asking:
            wants = [Want(calls[number].voter, calls[number].count) for number, _ in asking]
            now = max(call.later for call in calls)  # the acts may have waited for locks
            project, leased = serve(projects_, connection, calls[0].project_id, wants, now=now)
            for (number, answer), items in zip(asking, leased, strict=True):
                answers[number] = replace(answer, project=project, items=items)
    return answers


def _alone(projects_: Projects, call: Call) -> CallAnswer | Exception:
    """A call in its own transactions: a stored vote stays stored even if finding the next items fails."""
    try:
        recorded = None if call.act is None else act(projects_, call.act, now=call.now)
        answer = CallAnswer(recorded)
        if call.count:
            answer = _with_next(projects_, call, answer)
    except Exception as problem:  # returned to the caller
        return problem
    return answer


def _with_next(projects_: Projects, call: Call, answer: CallAnswer) -> CallAnswer:
    try:
        with projects_.store.write() as connection:
            wants = [Want(call.voter, call.count)]
            project, (items,) = serve(projects_, connection, call.project_id, wants, now=call.later)
    except Exception as problem:
        if call.act is None:
            raise
        log.warning("a vote is stored, but no next item found", exc_info=problem)
        return answer
    return replace(answer, project=project, items=items)
