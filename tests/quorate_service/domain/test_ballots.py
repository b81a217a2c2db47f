"""Acts of voters are stored once, decided by the session core, and can be recomputed."""

import json
import random
import threading

import pytest
from sqlalchemy import func, select, update

from quorate import Session
from quorate.errors import RequestReused
from quorate_service.domain import votes
from quorate_service.domain.ballots import act
from quorate_service.domain.items import NewItem
from quorate_service.domain.listing import find_item
from quorate_service.domain.queue import next_items
from quorate_service.domain.trail import disagreements, trail
from quorate_service.domain.votes import Request, TooLate
from quorate_service.domain.webhooks import create_webhook
from quorate_service.store.schema import ballots, deliveries, events, items, leases
from tests.refusals import refused


def vote(desk, project, item, voter, label, **more):
    now = more.pop("now", 1001.0)
    return act(desk.projects, Request(project.id, item, voter, "vote", label, **more), now=now)


def row(desk, project, item):
    with desk.store.read() as connection:
        return find_item(connection, project.id, item)


def check(desk, project):
    with desk.store.read() as connection:
        return list(disagreements(desk.projects, connection, desk.projects.get_in(connection, project.id)))


def test_an_item_is_decided_as_a_session_would(desk):
    project = desk.project([NewItem("x", {"cat": 0.5, "dog": 0.3, "bird": 0.2})])
    session = Session("value", classes=["cat", "dog", "bird"], pool_size=5)
    session.open("x", {"cat": 0.5, "dog": 0.3, "bird": 0.2})
    for voter, label in zip("abcde", ["cat", "dog", "cat", "cat", "dog"], strict=True):
        told = vote(desk, project, "x", voter, label, served=False)
        wanted = session.vote("x", label, voter=voter)
        assert (told.decision.ask, told.decision.label) == (wanted.ask, wanted.label)
        assert told.decision.confidence == pytest.approx(wanted.confidence, abs=1e-12)
        stored = row(desk, project, "x")
        assert (stored.is_open, stored.label, stored.num_votes) == (wanted.ask, wanted.label, session.counts()["votes"])
    assert check(desk, project) == []


def test_of_two_concurrent_acts_with_one_key_one_is_refused(desk, monkeypatch):
    project = desk.project(["x", "y"])
    vote(desk, project, "x", "a", "cat", served=False, request="r1")
    monkeypatch.setattr(votes, "_repeats", lambda *_: {})  # what the second reads before the first is committed
    with refused("Idempotency-Key", RequestReused):
        vote(desk, project, "y", "a", "cat", served=False, request="r1")


def test_a_vote_can_be_undone_for_a_while_and_the_item_is_the_voters_again(desk):
    project = desk.project(["x"])
    next_items(desk.projects, project.id, "a", now=1001.0)
    vote(desk, project, "x", "a", "cat", now=1002.0)
    undo = Request(project.id, "x", "a", "retract")
    with refused("item", TooLate):
        act(desk.projects, undo, now=1023.0)
    act(desk.projects, undo, now=1021.0)
    assert row(desk, project, "x").num_votes == 0
    assert [leased.item for leased in next_items(desk.projects, project.id, "a", now=1021.0)] == ["x"]
    vote(desk, project, "x", "a", "dog", now=1012.0)
    assert json.loads(row(desk, project, "x").votes) == [0, 1, 0]
    assert check(desk, project) == []


def test_an_undo_can_open_a_closed_item_again(desk):
    project = desk.project(["x"], method="quorum:votes=2")
    vote(desk, project, "x", "a", "cat", served=False)
    vote(desk, project, "x", "b", "cat", served=False)
    assert not row(desk, project, "x").is_open
    act(desk.projects, Request(project.id, "x", "b", "retract", served=False), now=1002.0)
    again = row(desk, project, "x")
    assert again.is_open and again.closed is None and again.closed_event is None
    assert check(desk, project) == []


def test_an_undo_replaced_by_a_late_vote_decides_again(desk):
    """A late vote replaces the one undone: a new answer, a new draw, reported to webhooks."""
    many = {"method": "ask-all", "pool_size": 3, "max_votes": 2, "audit_rate": 1.0}
    project = desk.project([NewItem("x", {"cat": 0.1, "dog": 0.8, "bird": 0.1})], **many)
    create_webhook(desk.store, project.id, "https://example.org", ["item.completed"], allow_private=False, now=1.0)
    for voter, label in (("a", "cat"), ("b", "cat"), ("c", "dog")):
        vote(desk, project, "x", voter, label, served=False)
    assert row(desk, project, "x").is_settled and row(desk, project, "x").label == "cat"
    act(desk.projects, Request(project.id, "x", "a", "retract", served=False), now=1002.0)
    now = row(desk, project, "x")
    assert (now.label, now.decided_votes, now.closed, now.is_settled) == ("dog", 2, 1002.0, False)
    assert (now.audit, now.audit_loss, now.is_wanted) == ("drawn", None, True)
    with desk.store.read() as connection:
        bodies = [json.loads(body) for body in connection.execute(select(deliveries.c.body)).scalars()]
    assert sorted(body["data"]["label"] for body in bodies) == ["cat", "dog"]
    assert check(desk, project) == []
    with desk.store.write() as connection:
        connection.execute(update(items).values(is_settled=True))
    assert len(check(desk, project)) == 1  # the row's audit follows from the events, too


def test_nothing_is_undone_long_after_because_the_clock_was_set_back(desk):
    project = desk.project(["x"])
    next_items(desk.projects, project.id, "a", now=1000.0)
    vote(desk, project, "x", "a", "cat", now=90_000.0)
    with pytest.raises(TooLate):
        act(desk.projects, Request(project.id, "x", "a", "retract"), now=1000.0)
    act(desk.projects, Request(project.id, "x", "a", "retract"), now=89_990.0)  # two clocks that differ a little


def test_a_skip_hides_the_item_from_the_voter_and_can_be_undone(desk):
    project = desk.project(["x", "y"])
    (first,) = next_items(desk.projects, project.id, "a", now=1001.0)
    act(desk.projects, Request(project.id, first.item, "a", "skip"), now=1001.0)
    (second,) = next_items(desk.projects, project.id, "a", now=1001.0)
    assert {first.item, second.item} == {"x", "y"}
    act(desk.projects, Request(project.id, second.item, "a", "skip"), now=1001.0)
    assert next_items(desk.projects, project.id, "a", now=1001.0) == []
    undo = Request(project.id, second.item, "a", "retract", request="u1")
    assert not act(desk.projects, undo, now=1002.0).repeated
    assert act(desk.projects, undo, now=1002.0).repeated
    assert [leased.item for leased in next_items(desk.projects, project.id, "a", now=1002.0)] == [second.item]
    assert row(desk, project, first.item).num_ballots == 1
    assert check(desk, project) == []


def test_cannot_tell_makes_the_pool_smaller(desk):
    project = desk.project(["x"], pool_size=2)
    act(desk.projects, Request(project.id, "x", "a", "abstain", served=False), now=1001.0)
    told = vote(desk, project, "x", "b", "dog", served=False)
    assert not told.decision.ask and told.decision.label == "dog" and told.decision.reason in ("exhausted", "settled")
    assert row(desk, project, "x").num_abstained == 1


def test_late_votes_are_kept_and_change_no_answer(desk):
    project = desk.project(["x"], method="quorum:votes=1")
    vote(desk, project, "x", "a", "cat", served=False)
    vote(desk, project, "x", "b", "dog", served=False)
    stored = row(desk, project, "x")
    assert (stored.label, stored.num_late, stored.num_votes, stored.decided_votes) == ("cat", 1, 2, 1)
    assert check(desk, project) == []


def test_a_closed_item_drawn_for_audit_is_voted_until_its_verdict_is_settled(desk):
    project = desk.project(["x"], method="quorum:votes=1", audit_rate=1.0)
    vote(desk, project, "x", "a", "cat", served=False)
    drawn = row(desk, project, "x")
    assert (drawn.is_open, drawn.audit, drawn.is_wanted, drawn.audit_rate) == (False, "drawn", True, 1.0)
    for voter in "bcd":
        (leased,) = next_items(desk.projects, project.id, voter, now=1002.0)
        vote(desk, project, leased.item, voter, "dog")
    done = row(desk, project, "x")
    assert (done.audit, done.audit_loss, done.label, done.is_wanted) == ("done", 1.0, "cat", False)
    assert next_items(desk.projects, project.id, "e", now=1003.0) == []
    assert check(desk, project) == []


def test_the_audit_draw_is_logged_and_cannot_be_predicted(desk):
    names = [f"i{n}" for n in range(40)]
    drawn = []
    for _ in range(2):  # the same items, settings and seed in two projects
        project = desk.project(names, method="quorum:votes=1", audit_rate=0.5)
        for name in names:
            vote(desk, project, name, "a", "cat", served=False)
        with desk.store.read() as connection:
            logged = [trail(desk.projects, connection, project, name)["events"][-1]["audit"] for name in names]
        assert [each["rate"] for each in logged] == [0.5] * 40
        assert [each["drawn"] for each in logged] == [row(desk, project, name).audit == "drawn" for name in names]
        assert check(desk, project) == []
        drawn.append([each["drawn"] for each in logged])
    assert drawn[0] != drawn[1]
    with desk.store.write() as connection:
        connection.execute(update(items).where(items.c.name == "i0").values(audit_rate=0.9))
    assert {each.item for each in check(desk, project)} == {"i0"}


def test_concurrent_voters_lose_and_duplicate_nothing(desk):
    """Eight voters, forty items, random votes, undos and skips, all at the same time."""
    project = desk.project([f"i{n}" for n in range(40)], audit_rate=0.3, pool_size=6)
    problems, acknowledged = [], []

    def work(voter):
        chance = random.Random(voter)
        try:
            while leased := next_items(desk.projects, project.id, voter, now=1001.0):
                for each in leased:
                    kind = chance.choices(["vote", "abstain", "skip"], [8, 1, 1])[0]
                    label = chance.choice(["cat", "dog", "bird"]) if kind == "vote" else None
                    request = Request(project.id, each.item, voter, kind, label, f"{voter}:{each.item}")
                    acknowledged.append(act(desk.projects, request, now=1001.0))
        except Exception as problem:  # shown below
            problems.append(problem)

    threads = [threading.Thread(target=work, args=(f"v{n}",)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    with desk.store.read() as connection:
        stored = connection.execute(select(func.count()).select_from(ballots)).scalar_one()
        acts = select(func.count()).select_from(events).where(events.c.kind.in_(["vote", "abstain", "skip"]))
        assert len(acknowledged) == stored == connection.execute(acts).scalar_one() > 0
        assert connection.execute(select(func.count()).select_from(leases)).scalar_one() == 0
    assert check(desk, project) == []
