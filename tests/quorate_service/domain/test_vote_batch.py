"""Concurrent votes are stored in one transaction, with the same result as one by one."""

import random
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from sqlalchemy import func, select

from quorate.errors import DuplicateVote, UnknownItem
from quorate_service.domain.ballots import Call, CallAnswer, answer_all, first_round
from quorate_service.domain.learning import steer
from quorate_service.domain.listing import find_item
from quorate_service.domain.projects import Projects, UnknownProject
from quorate_service.domain.trail import disagreements
from quorate_service.domain.votes import Request
from quorate_service.microbatch import LATER
from quorate_service.store import Store, StoreBusy, StoreUnavailable
from quorate_service.store.schema import ballots, events, items, leases
from tests.quorate_service.conftest import BOTH

pytestmark = BOTH

SAME = (
    "votes", "num_votes", "num_ballots", "num_abstained", "num_late", "is_open", "is_wanted", "label", "reason",
    "confidence", "decided_votes", "seq", "slots", "to_close", "audit", "audit_loss", "is_settled",
)  # fmt: skip


def call(project, voter, item=None, label="cat", *, count=0, kind="vote", request=None, served=False):
    told = label if kind == "vote" else None
    act = None if item is None else Request(project.id, item, voter, kind, told, request, served=served)
    return Call(project.id, voter, act, count, now=1001.0)


def answered(desk, calls):
    """All answers; calls that need another transaction are repeated."""
    answers = dict.fromkeys(range(len(calls)), LATER)
    while waiting := [number for number, answer in answers.items() if answer is LATER]:
        answers.update(zip(waiting, answer_all(desk.projects, [calls[number] for number in waiting]), strict=True))
    return list(answers.values())


def rows(desk, project):
    with desk.store.read() as connection:
        found = connection.execute(select(items).where(items.c.project_id == project.id).order_by(items.c.number))
        return [{name: getattr(row, name) for name in SAME} for row in found]


def in_order(desk, project):
    with desk.store.read() as connection:
        return list(disagreements(desk.projects, connection, desk.projects.get_in(connection, project.id)))


def random_acts(seed, names):
    """Votes, abstentions, skips, repetitions and undos, by a few voters on a few items."""
    chance = random.Random(seed)
    found = []
    for _ in range(60):
        kind = chance.choice(["vote", "vote", "vote", "abstain", "skip", "retract"])
        found.append((chance.choice("abcdef"), chance.choice(names), chance.choice(["cat", "dog", "bird"]), kind))
    return found


@pytest.mark.parametrize("seed", range(3))
def test_concurrent_votes_are_stored_as_if_one_by_one(desk, seed):
    names = ["w", "x", "y", "z"]
    together, alone = (desk.project(names, audit_rate=1.0) for _ in range(2))
    acts = random_acts(seed, names)
    told = []
    for project, size in ((together, 12), (alone, 1)):
        answers = []
        for first in range(0, len(acts), size):
            part = acts[first : first + size]
            calls = [call(project, voter, item, label, kind=kind) for voter, item, label, kind in part]
            answers += answered(desk, calls)
        told.append([type(answer) if isinstance(answer, Exception) else answer.recorded.kind for answer in answers])
    assert told[0] == told[1] and {each for each in told[0] if isinstance(each, type)} == {DuplicateVote, UnknownItem}
    assert rows(desk, together) == rows(desk, alone)
    assert in_order(desk, together) == in_order(desk, alone) == []


def test_votes_on_one_item_at_the_same_time_come_one_after_the_other(desk):
    project = desk.project(["x"])
    answers = answered(desk, [call(project, voter, "x") for voter in "abc"])
    assert [answer.recorded.decision.num_votes for answer in answers] == [1, 2, 3]
    with desk.store.read() as connection:
        row = find_item(connection, project.id, "x")
        query = select(events.c.seq).where(events.c.item_id == row.id).order_by(events.c.id)
        assert list(connection.execute(query).scalars()) == [1, 2, 3, 4]


def test_no_item_and_no_voter_is_twice_in_a_transaction(desk):
    project = desk.project(["x", "y"])
    calls = [call(project, "a", "x"), call(project, "b", "x"), call(project, "b", "y"), call(project, "c", count=1)]
    assert first_round(calls) == [0, 3]  # b's second act waits for b's first
    told = answer_all(desk.projects, calls)
    assert [answer is LATER for answer in told] == [False, True, True, False]


def test_votes_of_outside_voters_share_a_transaction(desk):
    project = desk.project(["x", "y", "z"])
    calls = [
        Call(project.id, "owner", Request(project.id, item, f"ext:{item}", "vote", "cat", served=False), 0, now=1001.0)
        for item in ("x", "y", "z")
    ]
    assert first_round(calls) == [0, 1, 2]


@pytest.mark.parametrize("problem", [StoreBusy("deadlock"), RuntimeError("bug")])
def test_calls_of_a_failed_transaction_are_tried_alone(desk, monkeypatch, problem):
    if desk.store.is_sqlite and isinstance(problem, StoreBusy):
        pytest.skip("SQLite has one writer at a time: no deadlock")
    project = desk.project(["x", "y"])

    def failing(*_):
        raise problem

    monkeypatch.setattr("quorate_service.domain.ballots._in_one", failing)
    answers = answered(desk, [call(project, "a", "x", count=1), call(project, "b", "y")])
    assert [answer.recorded.label for answer in answers] == ["cat", "cat"] and len(answers[0].items) == 1


def test_a_lease_starts_when_it_is_granted_not_when_the_call_arrived(desk):
    project = desk.project(["x"], method="quorum:votes=1", lease_seconds=5.0)
    (first,) = answer_all(desk.projects, [replace(call(project, "a", count=1), since=time.monotonic() - 20)])
    assert first.items[0].expires == pytest.approx(1001.0 + 20 + 5, abs=1.0)
    (second,) = answer_all(desk.projects, [replace(call(project, "b", count=1), now=1022.0)])
    assert second.items == []  # it is still a's


def test_an_unavailable_database_fails_all_calls_at_once(desk, monkeypatch):
    project = desk.project(["x", "y"])

    def failing(*_):
        raise StoreUnavailable("gone")

    monkeypatch.setattr("quorate_service.domain.ballots._in_one", failing)
    answers = answered(desk, [call(project, "a", "x"), call(project, "b", "y")])
    assert [str(answer) for answer in answers] == ["gone", "gone"] and rows(desk, project)[0]["num_votes"] == 0


def test_a_stored_vote_stays_if_finding_the_next_item_fails(desk, monkeypatch):
    project = desk.project(["x", "y"])

    def failing(*_, **__):
        raise RuntimeError("bug")

    monkeypatch.setattr("quorate_service.domain.ballots.serve", failing)
    (answer,) = answered(desk, [call(project, "a", "x", count=1)])
    assert answer.recorded.label == "cat" and answer.items is None
    (none,) = answered(desk, [call(project, "a", count=1)])
    assert isinstance(none, RuntimeError)
    assert rows(desk, project)[0]["num_votes"] == 1


def test_an_error_goes_to_the_call_that_caused_it(desk):
    project = desk.project(["x", "y"])
    calls = [call(project, "a", "x"), call(project, "b", "nowhere", count=1), call(project, "c", "y", "elephant")]
    first, second, third = answered(desk, calls)
    assert first.recorded.label == "cat"
    assert isinstance(second, UnknownItem) and "nowhere" in str(second)
    assert "elephant" in str(third)
    assert isinstance(answered(desk, [Call("p_no", "a", None, 1, now=1.0)])[0], UnknownProject)


def test_a_vote_that_cannot_be_stored_does_not_fail_others(desk):
    project = desk.project(["x", "y", "z"])
    calls = [call(project, "a", "x", count=1), call(project, "\ud800", "y"), call(project, "c", "z")]
    answers = answered(desk, calls)
    assert [isinstance(answer, UnicodeError) for answer in answers] == [False, True, False]
    assert [answers[n].recorded.label for n in (0, 2)] == ["cat", "cat"] and len(answers[0].items) == 1
    with desk.store.read() as connection:
        assert connection.execute(select(func.count()).select_from(ballots)).scalar_one() == 2


def test_everybody_gets_different_next_items(desk):
    project = desk.project([f"i{n}" for n in range(12)], method="quorum:votes=2")
    voters = [f"v{n}" for n in range(4)]
    first = answered(desk, [call(project, voter, count=2) for voter in voters])
    held = [[each.item for each in answer.items] for answer in first]
    assert held == [["i0", "i1"], ["i2", "i3"], ["i4", "i5"], ["i6", "i7"]]
    calls = [call(project, voter, mine[0], count=2, served=True) for voter, mine in zip(voters, held, strict=True)]
    second = [[each.item for each in answer.items] for answer in answered(desk, calls)]
    assert [mine[0] for mine in second] == [mine[1] for mine in held]  # what they hold comes first
    got = [mine[1] for mine in second]
    assert sorted(got) == ["i0", "i2", "i4", "i6"]  # what closes soonest, and nobody their own
    assert all(item != mine[0] for item, mine in zip(got, held, strict=True))
    with desk.store.read() as connection:
        out = connection.execute(select(leases.c.item_id).where(leases.c.is_out)).scalars().all()
    assert len(out) == len(set(out)) == 8


def test_workers_that_vote_serve_renew_and_steer_at_once_do_not_deadlock(desk, caplog):
    names = [f"i{n}" for n in range(30)]
    project = desk.project(names, pool_size=8, lease_seconds=10.0, budget=3.0)
    stores = [Store(desk.store.url) for _ in range(3)]

    def work(number):
        projects, chance = Projects(stores[number]), random.Random(number)
        held = {f"v{n}": [] for n in range(12)}
        for turn in range(25):
            now = 1001.0 + 4.0 * turn + number  # leases grow old and run out all the time
            calls = []
            for voter in chance.sample(sorted(held), 8):
                mine = held[voter]
                act = Request(project.id, mine.pop(), voter, "vote", chance.choice(["cat", "dog"])) if mine else None
                calls.append(Call(project.id, voter, act, 2, now))
            for called, answer in zip(calls, answer_all(projects, calls), strict=True):
                if isinstance(answer, CallAnswer) and answer.items is not None:
                    held[called.voter] = [each.item for each in answer.items]
            steer(projects, project.id, now=now)

    with caplog.at_level("INFO", logger="quorate_service"), ThreadPoolExecutor(3) as pool:
        list(pool.map(work, range(3)))
    for store in stores:
        store.close()
    assert [record.message for record in caplog.records] == []  # nothing had to be tried one by one
    assert in_order(desk, project) == []
