"""Whom to ask about what: by priority, then what closes soonest; nobody twice, and no more voters than are needed."""

import random

import pytest
from sqlalchemy import select

from quorate_service.domain.ballots import act
from quorate_service.domain.items import NewItem
from quorate_service.domain.leases import Want
from quorate_service.domain.listing import find_item
from quorate_service.domain.queue import next_items, serve
from quorate_service.domain.votes import Request
from quorate_service.store.schema import items
from tests.quorate_service.conftest import POSTGRESQL


def take(desk, project, voter, now=1001.0, count=1):
    return [leased.item for leased in next_items(desk.projects, project.id, voter, count=count, now=now)]


def vote(desk, project, item, voter, label="cat", now=1001.0):
    act(desk.projects, Request(project.id, item, voter, "vote", label), now=now)


def test_what_can_close_soonest_comes_before_what_is_new(desk):
    project = desk.project(["x", "y", "z"], method="quorum:votes=2")
    act(desk.projects, Request(project.id, "z", "a", "vote", "cat", served=False), now=1001.0)
    assert take(desk, project, "b") == ["z"]


def test_an_item_that_needs_one_more_vote_is_shown_to_one_voter(desk):
    project = desk.project(["x"], method="quorum:votes=1")
    assert take(desk, project, "a") == ["x"]
    assert [take(desk, project, voter) for voter in "bcde"] == [[], [], [], []]


def test_an_item_is_out_to_as_many_voters_as_will_surely_be_asked(desk):
    project = desk.project(["x"], method="quorum:votes=3")
    assert [take(desk, project, voter) for voter in "abcd"] == [["x"], ["x"], ["x"], []]
    for voter in "abc":
        vote(desk, project, "x", voter)
    assert take(desk, project, "d") == []


def test_an_urgent_item_is_doubled_up_before_others_are_started(desk):
    project = desk.project([NewItem("urgent", priority=1), "other"], method="quorum:votes=2")
    assert [take(desk, project, voter) for voter in "abc"] == [["urgent"], ["urgent"], ["other"]]


def test_a_lease_that_ran_out_gives_its_place_back_but_its_vote_still_counts(desk):
    project = desk.project(["x"], method="quorum:votes=1", lease_seconds=60.0)
    assert take(desk, project, "a") == ["x"]
    assert take(desk, project, "b", now=1060.0) == []
    assert take(desk, project, "b", now=1062.0) == ["x"]
    vote(desk, project, "x", "a", now=1063.0)
    vote(desk, project, "x", "b", "dog", now=1064.0)
    with desk.store.read() as connection:
        row = find_item(connection, project.id, "x")
    assert (row.label, row.num_votes, row.num_late) == ("cat", 2, 1)


def test_a_clock_that_was_set_back_does_not_hold_items_for_ever(desk):
    project = desk.project(["x"], method="quorum:votes=1", lease_seconds=60.0)
    assert take(desk, project, "a", now=100_000.0) == ["x"]
    assert take(desk, project, "b", now=2000.0) == ["x"]


def test_a_request_that_had_to_wait_ends_nobodys_lease(desk):
    project = desk.project(["x"], method="quorum:votes=1", lease_seconds=60.0)
    assert take(desk, project, "a", now=1100.0) == ["x"]
    assert take(desk, project, "b", now=1001.0) == []


def test_a_lone_voter_gets_through_everything_once(desk):
    project = desk.project([f"i{n}" for n in range(150)], method="quorum:votes=3")
    seen = []
    while items := take(desk, project, "a", count=2):
        for item in items:
            vote(desk, project, item, "a")
        seen += items
    assert len(seen) == len(set(seen)) == 150


@pytest.mark.parametrize("state", ["paused", "archived"])
def test_a_project_that_rests_serves_nothing(desk, state):
    project = desk.project(["x"])
    desk.projects.change(project.id, state=state, now=1001.0)
    assert take(desk, project, "a") == []


def test_an_item_closed_meanwhile_is_shown_no_longer(desk):
    project = desk.project(["x", "y"])
    (first,) = take(desk, project, "a")
    act(desk.projects, Request(project.id, first, "owner", "close", served=False), now=1001.0)
    assert take(desk, project, "a") == [({"x", "y"} - {first}).pop()]


@POSTGRESQL
def test_what_others_have_in_hand_hides_nothing_behind_it(desk):
    """Another worker's transaction may hold the whole front of the line."""
    project = desk.project([f"i{number}" for number in range(120)])
    with desk.store.engine.begin() as other:
        other.execute(select(items.c.id).order_by(items.c.number).limit(100).with_for_update()).all()
        assert [each.item for each in next_items(desk.projects, project.id, "a", now=1001.0)] == ["i100"]


def test_priority_holds_however_many_the_voter_has_acted_on(desk):
    urgent = [NewItem(f"u{n:03d}", priority=10) for n in range(90)]
    project = desk.project([*urgent, *(f"low{n}" for n in range(3))], method="quorum:votes=3")
    for item in urgent:
        act(desk.projects, Request(project.id, item.name, "b", "vote", "cat", served=False), now=1001.0)
    seen = []
    while len(seen) < 93:
        (item,) = take(desk, project, "a")
        vote(desk, project, item, "a")
        seen.append(item)
    assert sorted(seen[:90]) == [item.name for item in urgent]


@pytest.mark.parametrize("seed", range(4))
def test_voters_who_ask_at_once_get_what_they_would_get_one_after_the_other(desk, seed):
    chance = random.Random(seed)
    names = [NewItem(f"i{n}", priority=chance.randint(0, 1)) for n in range(9)]
    together, alone = (desk.project(names, method="quorum:votes=3", pool_size=9) for _ in range(2))
    for voter, item in {(chance.choice("abcde"), f"i{chance.randrange(9)}") for _ in range(12)}:
        for project in (together, alone):
            act(desk.projects, Request(project.id, item, voter, "vote", "cat", served=False), now=1000.5)
    wants = [Want(voter, chance.randint(1, 3)) for voter in "abcde"]
    for now in (1001.0, 1002.0):
        with desk.store.write() as connection:
            found = serve(desk.projects, connection, together.id, wants, now=now)[1]
        singly = [take(desk, alone, want.voter, now, want.count) for want in wants]
        assert [[leased.item for leased in each] for each in found] == singly
