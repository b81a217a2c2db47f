"""Which item goes to whom: the better half starts items, or an item goes to whom it helps most. Nobody waits."""

import json
import math
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select, text

from quorate.service.domain.ballots import act
from quorate.service.domain.items import NewItem
from quorate.service.domain.leases import Want
from quorate.service.domain.queue import next_items, serve
from quorate.service.domain.routing import LEFT_TO_OTHERS, MOST_CANDIDATES, first_of, information
from quorate.service.domain.votes import Request
from quorate.service.store.schema import items, stewards


def take(desk, project, voter, now, count=1):
    return [each.item for each in next_items(desk.projects, project.id, voter, count=count, now=now)]


def vote(desk, project, item, voter, now):
    act(desk.projects, Request(project.id, item, voter, "vote", "cat"), now=now)


def routed(desk, items, reliability, **settings):
    """A project whose people have these reliabilities."""
    project = desk.project(items, **{"method": "quorum:votes=3", "routing": "agreement"} | settings)
    people = [
        {"voter": voter, "reliability": float(np.mean(value)), "by_class": np.broadcast_to(value, 3).tolist()}
        for voter, value in reliability.items()
    ]
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


CATS, DOGS = (0.95, 0.4, 0.4), (0.4, 0.95, 0.4)  # how often right on each class
LIKE_A_CAT, LIKE_A_DOG = (0.6, 0.2, 0.2), (0.2, 0.6, 0.2)


def matched(desk, items, people, **settings):
    """A project in which an item goes to whom it helps most, and everybody is there."""
    project = routed(desk, items, people, routing="best", method="quorum:votes=5", **settings)
    for voter in people:
        act(desk.projects, Request(project.id, "met", voter, "vote", "cat", served=False), now=1000.0)
    return project


MET = NewItem("met", priority=-1)  # on which everybody has just voted


def test_an_item_goes_to_whom_it_helps_most(desk):
    """Who knows dogs tells more of what looks like a dog; the first in line suits the other one."""
    items = [NewItem("cat", prediction=LIKE_A_CAT), NewItem("dog", prediction=LIKE_A_DOG), MET]
    people = {"cats": CATS, "dogs": DOGS}
    told = information(np.array([CATS, DOGS]), np.array([LIKE_A_CAT, LIKE_A_DOG]))
    assert told[0, 0] > told[1, 0] and told[1, 1] > told[0, 1]
    project = matched(desk, items, people)
    assert take(desk, project, "dogs", 1000.0) == ["dog"], "though the cat is first in line"
    assert take(desk, project, "cats", 1000.0) == ["cat"]


def test_who_is_dear_is_asked_where_that_is_worth_the_price(desk):
    items = [NewItem("cat", prediction=LIKE_A_CAT), NewItem("dog", prediction=LIKE_A_DOG), MET]
    prices = {"cats": 100.0, "dogs": 1.0}
    project = matched(desk, items, {"cats": CATS, "dogs": DOGS}, price=1.0, person_prices=prices)
    assert take(desk, project, "dogs", 1000.0) == ["dog"]
    everything = information(np.array([CATS, DOGS]), np.array([LIKE_A_CAT, LIKE_A_DOG])) / [[100.0], [1.0]]
    assert everything[1].min() > everything[0].max(), (
        "per cost, dogs is better on both: cats gets what is lost least by"
    )
    assert take(desk, project, "cats", 1000.0) == ["cat"]


def test_people_who_are_alike_or_alone_get_the_first_in_line(desk):
    items = [NewItem("cat", prediction=LIKE_A_CAT), NewItem("dog", prediction=LIKE_A_DOG), MET]
    alike = matched(desk, items, {"one": CATS, "other": CATS})
    assert take(desk, alike, "other", 1000.0) == ["cat"]
    alone = matched(desk, items, {"dogs": DOGS})
    assert take(desk, alone, "dogs", 1000.0) == ["cat"]


def test_urgent_items_come_first_whomever_they_suit(desk):
    items = [NewItem("dog", prediction=LIKE_A_DOG), NewItem("cat", prediction=LIKE_A_CAT, priority=1), MET]
    project = matched(desk, items, {"cats": CATS, "dogs": DOGS})
    assert take(desk, project, "dogs", 1000.0) == ["cat"]


def test_the_first_in_line_waits_for_somebody_better_for_a_minute(desk):
    """Only dogs asks; cats, whom the first item suits, is there but asks for nothing."""
    items = [NewItem("cat", prediction=LIKE_A_CAT)] + [NewItem(f"d{n}", prediction=LIKE_A_DOG) for n in range(9)]
    project = matched(desk, [*items, MET], {"cats": CATS, "dogs": DOGS})
    given = {}
    for now in np.arange(1000.0, 1000.0 + 2 * LEFT_TO_OTHERS, LEFT_TO_OTHERS / 3):
        (item,) = take(desk, project, "dogs", now)
        given[item] = now
        vote(desk, project, item, "dogs", now)
    assert given["cat"] == 1000.0 + LEFT_TO_OTHERS
    assert given["d3"] > given["cat"], "and then it is again the one that suits"


def test_an_item_that_another_request_had_locked_keeps_its_waiting_time(desk):
    """On PostgreSQL another worker's transaction may lock the item that is chosen."""
    if desk.store.is_sqlite:
        pytest.skip("SQLite has one writer at a time")
    names = [NewItem("cat", prediction=LIKE_A_CAT)] + [NewItem(f"d{n}", prediction=LIKE_A_DOG) for n in range(9)]
    project = matched(desk, [*names, MET], {"cats": CATS, "dogs": DOGS})
    assert take(desk, project, "dogs", 1000.0) == ["d0"]
    vote(desk, project, "d0", "dogs", 1000.0)
    with desk.store.engine.begin() as other:
        other.execute(select(items.c.id).where(items.c.name == "cat").with_for_update()).all()
        (given,) = take(desk, project, "dogs", 1000.0 + LEFT_TO_OTHERS)
    assert given != "cat"
    vote(desk, project, given, "dogs", 1000.0 + LEFT_TO_OTHERS)
    assert take(desk, project, "dogs", 1001.0 + LEFT_TO_OTHERS) == ["cat"]


def test_nobody_waits_while_another_request_looks_up_who_is_present(desk):
    if desk.store.is_sqlite:
        pytest.skip("SQLite has one writer at a time")
    names = [NewItem("cat", prediction=LIKE_A_CAT), NewItem("dog", prediction=LIKE_A_DOG), MET]
    slow, cached = (matched(desk, names, {"cats": CATS, "dogs": DOGS}) for _ in range(2))
    take(desk, cached, "cats", 1000.0)
    with ThreadPoolExecutor(2) as pool:
        with desk.store.engine.begin() as other:
            other.execute(text("LOCK TABLE stewards IN ACCESS EXCLUSIVE MODE"))
            looks_up = pool.submit(take, desk, slow, "dogs", 1000.0)
            _until_waiting(desk)
            assert pool.submit(take, desk, cached, "dogs", 1001.0).result(timeout=20.0) == ["dog"]
            assert not looks_up.done()
        assert looks_up.result(timeout=20.0) == ["dog"]


def _until_waiting(desk):
    """Wait until a query waits for a lock."""
    waits = text(
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    )
    for _ in range(400):
        with desk.store.read() as connection:
            if connection.execute(waits).scalar_one():
                return
        time.sleep(0.05)
    raise AssertionError("no query waits")


def test_every_item_is_served_to_everybody_in_the_end(desk):
    """More items than are looked at, people of every kind: whoever asks gets one, until each has voted on all."""
    rng = np.random.default_rng(0)
    names = [f"i{n}" for n in range(MOST_CANDIDATES + 5)]
    items = [NewItem(name, prediction=rng.dirichlet([1.0, 1.0, 1.0])) for name in names]
    people = {"cats": CATS, "dogs": DOGS, "poor": (0.34, 0.34, 0.34)}
    project = matched(desk, [*items, MET], people)
    done = {voter: set() for voter in people}
    for step in range(3 * len(names)):
        voter = list(people)[step % 3]
        (item,) = take(desk, project, voter, 1000.0 + step)
        act(desk.projects, Request(project.id, item, voter, "vote", "cat"), now=1000.0 + step)
        done[voter].add(item)
    assert all(seen == set(names) for seen in done.values())


def test_without_figures_of_each_class_items_go_to_anybody(desk):
    """Figures kept by an earlier version, until the steward has computed new ones."""
    project = routed(desk, ["i0", "i1"], {"good": 0.9}, routing="best")
    with desk.store.write() as connection:
        state = json.dumps({"people": [{"voter": "good", "reliability": 0.9}]})
        connection.execute(stewards.update().where(stewards.c.project_id == project.id).values(state=state))
    assert take(desk, project, "good", 1000.0) == ["i0"]


@given(st.dictionaries(st.text(min_size=1, max_size=3), st.floats(0, 1), max_size=9))
def test_never_more_than_half_go_first_and_they_are_better_than_all_others(worth):
    first = first_of(worth)
    assert len(first) <= len(worth) // 2
    assert all(worth[one] > worth[other] for one in first for other in worth.keys() - first)


@pytest.mark.parametrize("num_classes", [2, 3, 10])
def test_information_is_that_of_the_channel(num_classes):
    """By enumeration of class and vote: sum p(z, y) log2 p(z, y) / (p(z) p(y))."""
    rng = np.random.default_rng(num_classes)
    for accuracy in (rng.random(num_classes), np.ones(num_classes), np.full(num_classes, 1 / num_classes)):
        belief = rng.dirichlet(np.ones(num_classes))
        pairs = [(z, y) for z in range(num_classes) for y in range(num_classes)]
        joint = {
            (z, y): belief[z] * (accuracy[z] if z == y else (1 - accuracy[z]) / (num_classes - 1)) for z, y in pairs
        }
        said = [sum(joint[z, y] for z in range(num_classes)) for y in range(num_classes)]
        told = sum(p * math.log2(p / (belief[z] * said[y])) for (z, y), p in joint.items() if p)
        assert information(accuracy[None], belief[None])[0, 0] == pytest.approx(told, abs=1e-12)
