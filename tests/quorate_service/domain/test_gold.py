"""Gold items measure voters: given out among others, told apart by nobody, counted nowhere."""

from types import SimpleNamespace

import pytest
from sqlalchemy import select

from quorate.errors import DuplicateVote, InvalidInput, RequestReused, UnknownClass
from quorate_service.domain.ballots import act
from quorate_service.domain.events import list_actions
from quorate_service.domain.gold import gold_answers, set_gold
from quorate_service.domain.items import NewItem, add_items
from quorate_service.domain.learning import window_of
from quorate_service.domain.leases import Want, give_back
from quorate_service.domain.listing import find_item
from quorate_service.domain.queue import next_items, serve
from quorate_service.domain.stats import stats
from quorate_service.domain.trail import disagreements, trail
from quorate_service.domain.votes import Request
from quorate_service.store.schema import deliveries, events

GOLD = [NewItem(f"g{n}", {"cat": 0.9}, gold="dog") for n in range(4)]


def take(desk, project, voter, now, count=1):
    return [each.item for each in next_items(desk.projects, project.id, voter, count=count, now=now)]


def vote(desk, project, item, voter, label="cat", now=1001.0, **more):
    return act(desk.projects, Request(project.id, item, voter, "vote", label, **more), now=now)


def numbers(desk, project):
    with desk.store.read() as connection:
        told = stats(connection, desk.projects.get_in(connection, project.id), now=2000.0)
        assert not list(disagreements(desk.projects, connection, project))
        return told


def test_the_share_of_items_given_out_is_gold_and_what_they_replace_stays_in_line(desk):
    project = desk.project([f"i{n}" for n in range(400)], method="quorum:votes=1", gold_share=0.3)
    add_items(desk.projects, project.id, [NewItem(f"g{n}", gold="dog") for n in range(200)], now=1000.0)
    seen = []
    for round_ in range(40):
        (found,) = _batch(desk, project, "a", now=1001.0 + round_, count=10)
        for item in found:
            vote(desk, project, item, "a", now=1001.0 + round_)
        seen += found
    gold = [item for item in seen if item.startswith("g")]
    assert len(seen) == len(set(seen)) == 400
    assert 90 <= len(gold) <= 150, "3 in 10, within three standard deviations"
    assert numbers(desk, project).num_votes == 400 - len(gold)


def test_a_gold_item_that_several_voters_get_at_once_loses_a_place_for_each(desk):
    project = desk.project([f"i{n}" for n in range(20)], method="quorum:votes=1", gold_share=0.5)
    add_items(desk.projects, project.id, [NewItem("g", gold="dog")], now=1000.0)
    voters = [Want(voter) for voter in "abcdefgh"]
    with desk.store.write() as connection:
        _, found = serve(desk.projects, connection, project.id, voters, now=1001.0)
    holders = [want.voter for want, leased in zip(voters, found, strict=True) if leased[0].item == "g"]
    assert len(holders) > 1
    assert _slots(desk, project, "g") == -len(holders)
    for voter in holders:
        give_back(desk.projects, project.id, voter)
    assert _slots(desk, project, "g") == 0
    assert all(_slots(desk, project, leased[0].item) == 0 for leased in found), "one place, one lease"


def _slots(desk, project, item):
    with desk.store.read() as connection:
        return find_item(connection, project.id, item).slots


def _batch(desk, project, voter, now, count):
    with desk.store.write() as connection:
        _, found = serve(desk.projects, connection, project.id, [Want(voter, count)], now=now)
    return [[each.item for each in one] for one in found]


@pytest.fixture
def only_gold(desk):
    """A project where half of all that is given out is gold, and a voter who was given a gold item and holds it."""
    project = desk.project(["x", "y"], method="quorum:votes=2", gold_share=0.5, price=1.0)
    add_items(desk.projects, project.id, GOLD, now=1000.0)
    for step in range(60):
        if (item := take(desk, project, "a", 1001.0 + 200 * step))[0].startswith("g"):
            return SimpleNamespace(project=project, item=item[0], now=1001.0 + 200 * step)
        act(desk.projects, Request(project.id, item[0], "a", "skip"), now=1001.0 + 200 * step)
        act(desk.projects, Request(project.id, item[0], "a", "retract"), now=1001.0 + 200 * step)
        give_back(desk.projects, project.id, "a")
    raise AssertionError("no gold item in 60 draws")


def test_a_gold_item_is_held_voted_on_undone_and_skipped_as_any_other(desk, only_gold):
    project, item, now = only_gold.project, only_gold.item, only_gold.now
    assert take(desk, project, "a", now + 1) == [item], "a page loaded again shows the same item"
    with pytest.raises(UnknownClass):
        vote(desk, project, item, "a", "zebra", now=now)
    recorded = vote(desk, project, item, "a", "dog", now=now, request="k1")
    again = vote(desk, project, item, "a", "dog", now=now, request="k1")
    assert (recorded.kind, recorded.label, recorded.undo_until) == ("vote", "dog", now + 20.0)
    assert again.repeated and (again.kind, again.label, again.event) == ("vote", "dog", recorded.event)
    with pytest.raises(RequestReused):
        vote(desk, project, item, "a", "cat", now=now, request="k1")
    with pytest.raises(DuplicateVote):
        vote(desk, project, item, "a", "dog", now=now)
    undone = act(desk.projects, Request(project.id, item, "a", "retract", request="k2"), now=now + 1)
    assert (undone.kind, undone.label) == ("retract", None)
    assert act(desk.projects, Request(project.id, item, "a", "retract", request="k2"), now=now + 1).repeated
    assert take(desk, project, "a", now + 2) == [item], "after an undo the item is the voter's again"
    act(desk.projects, Request(project.id, item, "a", "skip"), now=now + 2)
    act(desk.projects, Request(project.id, item, "a", "retract"), now=now + 3)
    act(desk.projects, Request(project.id, item, "a", "abstain"), now=now + 4)
    with desk.store.read() as connection:
        whole = trail(desk.projects, connection, project, item)
        assert [each["act"] for each in whole["beside"] if each["type"] == "gold"] == [
            "vote",
            "vote",
            "skip",
            "abstain",
        ]
        assert find_item(connection, project.id, item).num_ballots == 1


def test_gold_counts_nowhere_and_is_told_to_nobody(desk, only_gold):
    project, item = only_gold.project, only_gold.item
    before = numbers(desk, project)
    vote(desk, project, item, "a", "dog", now=only_gold.now)
    vote(desk, project, item, "ext:b", "cat", served=False)
    after = numbers(desk, project)
    names = ("num_items", "num_open", "num_closed", "num_votes", "money_spent", "labels", "reasons", "hours")
    assert all(getattr(after, name) == getattr(before, name) for name in names)
    assert (after.num_items, after.num_votes, after.audit.num_closed) == (2, 0, 0)
    with desk.store.read() as connection:
        assert len(window_of(connection, project)) == 0
        assert gold_answers(connection, find_item(connection, project.id, item).id) == {"dog": 1, "cat": 1}
        assert connection.execute(select(deliveries)).all() == []
        kinds = connection.execute(select(events.c.kind).where(events.c.voter == "ext:b")).scalars().all()
    assert kinds == ["gold"]
    with pytest.raises(InvalidInput):
        act(desk.projects, Request(project.id, item, "owner", "close", served=False), now=1003.0)


def test_nobody_is_given_gold_alone_nor_a_gold_item_twice(desk):
    project = desk.project([], gold_share=0.5)
    add_items(desk.projects, project.id, GOLD, now=1000.0)
    assert [take(desk, project, "a", 1001.0 + n) for n in range(8)] == [[]] * 8
    add_items(desk.projects, project.id, [NewItem(f"x{n}") for n in range(60)], now=1000.0)
    seen = []
    for step in range(64):
        (item,) = take(desk, project, "a", 1001.0 + step)
        vote(desk, project, item, "a", now=1001.0 + step)
        seen.append(item)
    assert len(set(seen)) == 64 and sum(item.startswith("g") for item in seen) == 4


def test_an_answer_is_set_corrected_and_taken_back_only_while_nobody_acted(desk):
    project = desk.project(["x", "y"], method="quorum:votes=2")
    set_gold(desk.projects, project.id, "x", "cat", by="ada", now=1001.0)
    assert numbers(desk, project).num_items == 1
    assert take(desk, project, "a", 1001.0, count=2) == ["y"]
    set_gold(desk.projects, project.id, "x", None, by="ada", now=1002.0)
    assert sorted(take(desk, project, "a", 1002.0, count=2)) == ["x", "y"]
    set_gold(desk.projects, project.id, "x", "cat", by="ada", now=1003.0)  # out to a voter, who may answer it
    vote(desk, project, "x", "a", "dog", now=1004.0)
    set_gold(desk.projects, project.id, "x", "dog", by="ada", now=1005.0)
    with pytest.raises(InvalidInput):
        set_gold(desk.projects, project.id, "x", None, by="ada", now=1006.0)
    vote(desk, project, "y", "a", now=1006.0)
    with pytest.raises(InvalidInput):
        set_gold(desk.projects, project.id, "y", "cat", by="ada", now=1007.0)
    with pytest.raises(UnknownClass):
        set_gold(desk.projects, project.id, "x", "zebra", by="ada", now=1007.0)
    told = numbers(desk, project)
    assert (told.num_items, told.num_votes) == (1, 1)
    with desk.store.read() as connection:
        row = find_item(connection, project.id, "x")
        assert gold_answers(connection, row.id) == {"dog": 1}
        done = list_actions(connection, project.id, item_id=row.id)
    assert [(each.who, each.body["label"]) for each in done] == [
        ("ada", "cat"), ("ada", None), ("ada", "cat"), ("ada", "dog"),
    ]  # fmt: skip
