"""What voters send at the same time -> one transaction for all of it, and each one's answer once that is committed.

A disk is waited for once for many votes, and every statement serves them all. Who would look at what another one
changes (the same item, the same voter) waits for the next transaction. If a transaction fails, each call is tried
alone, so that nobody pays for another's mistake. Called by `api/votes.py` through `together`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from quorate.errors import QuorateError
from quorate.service.deciding.acts import Recorded, Request
from quorate.service.deciding.ballots import act, act_all
from quorate.service.deciding.leases import Leased, Want
from quorate.service.deciding.projects import Project, Projects
from quorate.service.deciding.queue import serve
from quorate.service.store.failures import StoreUnavailable


@dataclass(frozen=True, slots=True)
class Call:
    """A voter who acts, or would like `count` next items, or both. `now`: when they called."""

    project_id: str
    voter: str
    act: Request | None
    count: int
    now: float


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a call. `items` is None if none were asked for, or none can be had now."""

    recorded: Recorded | None = None
    project: Project | None = None
    items: list[Leased] | None = None


def answer_all(projects_: Projects, calls: Sequence[Call]) -> list[Answer | Exception]:
    """For each call its answer, or what went wrong with it."""
    answers: dict[int, Answer | Exception] = {}
    for numbers in rounds(calls):
        part = [calls[number] for number in numbers]
        answers |= zip(numbers, _answer_part(projects_, part), strict=True)
    return [answers[number] for number in range(len(calls))]


def rounds(calls: Sequence[Call]) -> list[list[int]]:
    """The calls by number, in transactions: of one project, no item and no voter twice in one of them.

    >>> two = [Call("p", voter, Request("p", "scan-1", voter, "vote", "cat"), 0, now=0.0) for voter in ("a", "b")]
    >>> rounds([*two, Call("p", "c", None, 1, now=0.0)])
    [[0, 2], [1]]
    """
    found: list[tuple[str, set[tuple[str, str]], list[int]]] = []
    for number, call in enumerate(calls):
        names = _names(call)
        start = max(
            (n + 1 for n, (where, held, _) in enumerate(found) if where == call.project_id and held & names), default=0
        )
        for where, held, numbers in found[start:]:
            if where == call.project_id:
                held.update(names)
                numbers.append(number)
                break
        else:
            found.append((call.project_id, names, [number]))
    return [numbers for _, _, numbers in found]


def _names(call: Call) -> set[tuple[str, str]]:
    """What no other call of a transaction may be about."""
    names = {("voter", call.voter)}
    if call.act is not None:
        names |= {("voter", call.act.voter), ("item", call.act.item)}
    return names


def _answer_part(projects_: Projects, calls: Sequence[Call]) -> Sequence[Answer | Exception]:
    try:
        return _in_one(projects_, calls)
    except StoreUnavailable as problem:
        return [problem] * len(calls)
    except Exception:  # whatever it was, it is found again, and told to the one it concerns
        return [_alone(projects_, call) for call in calls]


def _in_one(projects_: Projects, calls: Sequence[Call]) -> list[Answer | Exception]:
    """One transaction: the acts, then the next items of those whose act was stored."""
    now = max(call.now for call in calls)
    answers: list[Answer | Exception] = [Answer() for _ in calls]
    with projects_.store.write() as connection:
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
            project, (items,) = serve(projects_, connection, call.project_id, wants, now=call.now)
    except StoreUnavailable:
        if call.act is None:
            raise
        return answer
    return replace(answer, project=project, items=items)
