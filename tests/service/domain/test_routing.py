"""Who starts items: the better half of those present. Nobody waits, and no item waits for somebody who is not there."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorate.service.domain.ballots import act
from quorate.service.domain.items import NewItem
from quorate.service.domain.queue import Want, next_items, serve
from quorate.service.domain.routing import first_of, information
from quorate.service.domain.votes import Request
from quorate.service.store.schema import stewards


def take(desk, project, voter, now, count=1):
    return [each.item for each in next_items(desk.projects, project.id, voter, count=count, now=now)]


def vote(desk, project, item, voter, now):
    act(desk.projects, Request(project.id, item, voter, "vote", "cat"), now=now)


def routed(desk, items, reliability, **settings):
    """A project whose people have these reliabilities."""
    project = desk.project(items, **{"method": "quorum:votes=3", "routing": "agreement"} | settings)
    people = [{"voter": voter, "reliability": value} for voter, value in reliability.items()]
    row = {"project_id": project.id, "task": "people", "state": json.dumps({"people": people})}
    with desk.store.write() as connection:
        connection.execute(stewards.insert().values(row))
    return project


def test_the_more_reliable_start_items_and_the_others_go_on_with_them(desk):
    project = routed(desk, [f"i{n}" for n in range(9)], {"good": 0.9, "poor": 0.6})
    assert [take(desk, project, voter, 1000.0) for voter in ("good", "poor")] == [["i0"], ["i1"]]
    vote(desk, project, "i0", "good", 1006.0)
    vote(desk, project, "i1", "poor", 1006.0)
    assert take(desk, project, "new", 1006.0) == ["i0"], "nearest to closing, as ever"
    assert take(desk, project, "poor", 1006.0) == ["i2"]
    assert take(desk, project, "good", 1007.0) == ["i3"], "not i1, on which poor has just voted"
    vote(desk, project, "i3", "good", 1007.0)
    vote(desk, project, "i2", "poor", 1007.0)
    assert take(desk, project, "poor", 1008.0) == ["i3"], "what good has started"


def test_after_a_minute_anybody_gets_an_item_that_nobody_took(desk):
    project = routed(desk, [f"i{n}" for n in range(9)], {"good": 0.9, "poor": 0.6}, lease_seconds=600.0)
    take(desk, project, "good", 1000.0), take(desk, project, "poor", 1000.0)
    vote(desk, project, "i1", "poor", 1010.0)
    take(desk, project, "poor", 1010.0)
    vote(desk, project, "i0", "good", 1069.0)
    assert take(desk, project, "good", 1069.0) == ["i3"]
    vote(desk, project, "i3", "good", 1071.0)
    assert take(desk, project, "good", 1071.0) == ["i1"]


def test_nobody_waits_for_somebody_else_and_priority_holds(desk):
    items = [NewItem("urgent", priority=1), "i0"]
    project = routed(desk, items, {"good": 0.9, "poor": 0.6})
    assert [take(desk, project, voter, 1000.0) for voter in ("poor", "good")] == [["urgent"], ["urgent"]]
    vote(desk, project, "urgent", "poor", 1006.0)
    assert take(desk, project, "poor", 1006.0) == ["i0"]
    vote(desk, project, "i0", "poor", 1007.0)
    vote(desk, project, "urgent", "good", 1007.0)
    assert take(desk, project, "good", 1007.0) == ["i0"], "started a moment ago, but all that is left"


def test_calls_at_the_same_time_are_routed_as_well(desk):
    project = routed(desk, [f"i{n}" for n in range(9)], {"good": 0.9, "poor": 0.6})
    for voter in ("good", "poor"):
        (item,) = take(desk, project, voter, 1000.0)
        vote(desk, project, item, voter, 1000.0)
        take(desk, project, voter, 1000.0)
    for voter, item in (("good", "i1"), ("poor", "i2")):
        vote(desk, project, item, voter, 1006.0)
    with desk.store.write() as connection:
        wants = [Want("good"), Want("poor"), Want("other")]
        _, found = serve(desk.projects, connection, project.id, wants, now=1006.0)
    assert [[each.item for each in leased] for leased in found] == [["i3"], ["i1"], ["i0"]]


def test_with_prices_the_best_are_those_who_tell_most_for_their_price(desk):
    worth = {"good": 0.95, "cheap": 0.9}
    prices = {"good": 10.0, "cheap": 1.0}
    project = routed(desk, [f"i{n}" for n in range(9)], worth, routing="best", person_prices=prices)
    for voter in worth:
        take(desk, project, voter, 1000.0)
    with desk.store.read() as connection:
        assert desk.projects.routing.first(connection, project, now=1006.0) == {"cheap"}
        free = desk.projects.change(project.id, person_prices={}, now=1007.0)
        assert desk.projects.routing.first(connection, free, now=1007.0) == {"good"}
        anybody = desk.projects.change(project.id, routing="any", now=1008.0)
        assert desk.projects.routing.first(connection, anybody, now=1008.0) == frozenset()
        later = desk.projects.change(project.id, routing="best", now=1009.0)
        assert desk.projects.routing.first(connection, later, now=2000.0) == frozenset(), (
            "nobody holds an item any more"
        )


@given(st.dictionaries(st.text(min_size=1, max_size=3), st.floats(0, 1), max_size=9))
def test_never_more_than_half_go_first_and_they_are_better_than_all_others(worth):
    first = first_of(worth)
    assert len(first) <= len(worth) // 2
    assert all(worth[one] > worth[other] for one in first for other in worth.keys() - first)


@pytest.mark.parametrize("num_classes", [2, 3, 10])
def test_information_is_that_of_the_channel(num_classes):
    """By enumeration of class and vote: sum p(z, y) log2 p(z, y) / (p(z) p(y))."""
    for accuracy in (0.55, 0.8, 0.99, 1.0):
        if accuracy <= 1 / num_classes:
            continue
        pairs = [(z, y) for z in range(num_classes) for y in range(num_classes)]
        joint = {(z, y): (accuracy if z == y else (1 - accuracy) / (num_classes - 1)) / num_classes for z, y in pairs}
        told = sum(p * math.log2(p * num_classes**2) for p in joint.values() if p)
        assert information(accuracy, num_classes) == pytest.approx(told)
    assert information(1 / num_classes, num_classes) == information(0.0, num_classes) == 0.0
