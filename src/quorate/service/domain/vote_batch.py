"""Votes that arrive at the same time -> one transaction, and the answer to each once it is committed.

The disk is waited for once for many votes, and every statement serves them all. Calls about the same item or the same
voter go into the next transaction. If a transaction fails while the database is there, each call is tried alone, so
that one bad request does not fail the batch. Called by `api/votes.py` through `microbatch`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from quorate.errors import QuorateError
from quorate.service.domain.ballots import act, act_all
from quorate.service.domain.leases import Leased, Want
from quorate.service.domain.projects import Project, Projects
from quorate.service.domain.queue import serve
from quorate.service.domain.votes import RecordedVote, Request
from quorate.service.microbatch import LATER, Later
from quorate.service.store.store import StoreBusy, StoreUnavailable

log = logging.getLogger("quorate.service")
WORTH_COUNTING = 1.0  # seconds


@dataclass(frozen=True, slots=True)
class Call:
    """A voter who acts, or would like `count` next items, or both. `now`: when they called."""

    project_id: str
    voter: str
    act: Request | None
    count: int
    now: float
    since: float = field(default_factory=time.monotonic)

    @property
    def later(self) -> float:
        """The time by now: a lease begins when it is granted, not when a call that had to wait came in."""
        waited = time.monotonic() - self.since
        return self.now + (waited if waited >= WORTH_COUNTING else 0.0)


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a call. `items` is None if none were asked for, or none can be had now."""

    recorded: RecordedVote | None = None
    project: Project | None = None
    items: list[Leased] | None = None


def answer_all(projects_: Projects, calls: Sequence[Call]) -> list[Answer | Exception | Later]:
    """For each call of a project its answer, or what went wrong; LATER for those that another transaction is for."""
    numbers = first_round(calls)
    answers: list[Answer | Exception | Later] = [LATER] * len(calls)
    for number, answer in zip(numbers, _answer_part(projects_, [calls[n] for n in numbers]), strict=True):
        answers[number] = answer
    return answers


def first_round(calls: Sequence[Call]) -> list[int]:
    """The calls that can share the first transaction, by number: no item, no voter twice, in the order they came.

    >>> two = [Call("p", voter, Request("p", "scan-1", voter, "vote", "cat"), 0, now=0.0) for voter in ("a", "b")]
    >>> first_round([*two, Call("p", "c", None, 1, now=0.0)])
    [0, 2]
    """
    taken: set[tuple[str, str]] = set()
    found = []
    for number, call in enumerate(calls):
        names = _names(call)
        if not taken & names:
            found.append(number)
        taken |= names  # who comes after one that waits, waits too
    return found


def _names(call: Call) -> set[tuple[str, str]]:
    """What no other call of a transaction may be about."""
    names = {("voter", call.voter)} if call.count else set()
    if call.act is not None:
        names |= {("voter", call.act.voter), ("item", call.act.item)}
    return names


def _answer_part(projects_: Projects, calls: Sequence[Call]) -> Sequence[Answer | Exception]:
    try:
        return _in_one(projects_, calls)
    except StoreBusy as problem:
        if projects_.store.is_sqlite:  # all of it was busy, and would be for each: nobody waits for the others' turns
            return [problem] * len(calls)
        log.info("%d calls are tried one by one: %s", len(calls), problem)
    except StoreUnavailable as problem:
        return [problem] * len(calls)
    except Exception as problem:  # whatever it was, it is found again, and told to the one it concerns
        log.warning("%d calls are tried one by one", len(calls), exc_info=problem)
    return [_alone(projects_, call) for call in calls]


def _in_one(projects_: Projects, calls: Sequence[Call]) -> list[Answer | Exception]:
    """One transaction: the acts, then the next items of those whose act was stored."""
    answers: list[Answer | Exception] = [Answer() for _ in calls]
    with projects_.store.write() as connection:
        now = max(call.later for call in calls)
        acting = [number for number, call in enumerate(calls) if call.act is not None]
        if acting:
            requests = [act for number in acting if (act := calls[number].act) is not None]
            for number, told in zip(acting, act_all(projects_, connection, requests, now=now), strict=True):
                answers[number] = told if isinstance(told, QuorateError) else Answer(told)
        asking = [
            (number, answer)
            for number, answer in enumerate(answers)
            if isinstance(answer, Answer) and calls[number].count
        ]
        if asking:
            wants = [Want(calls[number].voter, calls[number].count) for number, _ in asking]
            now = max(call.later for call in calls)  # the acts may have waited for their items
            project, found = serve(projects_, connection, calls[0].project_id, wants, now=now)
            for (number, answer), items in zip(asking, found, strict=True):
                answers[number] = replace(answer, project=project, items=items)
    return answers


def _alone(projects_: Projects, call: Call) -> Answer | Exception:
    """A call in transactions of its own: a vote that is stored stays so, whatever becomes of the next item."""
    try:
        recorded = None if call.act is None else act(projects_, call.act, now=call.now)
        answer = Answer(recorded)
        if call.count:
            answer = _with_next(projects_, call, answer)
    except Exception as problem:  # it is the caller's answer
        return problem
    return answer


def _with_next(projects_: Projects, call: Call, answer: Answer) -> Answer:
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
