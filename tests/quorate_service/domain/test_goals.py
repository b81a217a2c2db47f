"""A change of goal: what follows is asked as the new goal says, whatever was spent and found before it."""

from itertools import combinations

import numpy as np
import pytest

from quorate.errors import DuplicateVote
from quorate_service.domain.ballots import act
from quorate_service.domain.items import NewItem, add_items
from quorate_service.domain.learning import steer, stored_control
from quorate_service.domain.listing import find_item
from quorate_service.domain.settings import GOALS, goal_control, parameters_of
from quorate_service.domain.stats import stats
from quorate_service.domain.votes import Request
from tests.quorate_service.conftest import BOTH

CLASSES = ("cat", "dog", "bird")
NO_GOAL = dict.fromkeys(GOALS)
GOALS_SET = ({"budget": 3.0}, {"budget": 4.5}, {"target_error": 0.05}, {"target_error": 0.2}, {"error_cost": 300.0})


def add(desk, project, names):
    add_items(desk.projects, project.id, [NewItem(name, [0.6, 0.2, 0.2]) for name in names], now=1000.0)


def vote(desk, project, name, *, most=7, seed=0):
    """Votes until the item and its audit need no more; returns how many."""
    rng = np.random.default_rng([seed, *name.encode()])
    for number in range(most):
        with desk.store.read() as connection:
            if not find_item(connection, project.id, name).is_wanted:
                return number
        label = CLASSES[0 if rng.random() < 0.7 else rng.integers(3)]
        try:
            act(desk.projects, Request(project.id, name, f"v{number}", "vote", label, served=False), now=1001.0)
        except DuplicateVote:
            continue
    return most


def stage(desk, project, name, size):
    """New items, voted on; returns the votes of each."""
    names = [f"{name}-{number}" for number in range(size)]
    add(desk, project, names)
    counts = []
    for each in names:
        counts.append(vote(desk, project, each))
        steer(desk.projects, project.id, now=1002.0)
    return counts


def in_force(desk, project):
    latest = desk.projects.get(project.id)
    with desk.store.read() as connection:
        return desk.projects.parameters_in(connection, latest.tune_event)


@pytest.mark.parametrize(("first", "second"), list(combinations(GOALS_SET, 2)))
def test_a_new_goal_asks_from_its_start_in_each_direction_and_back_again(desk, first, second):
    project = desk.project(pool_size=7, audit_rate=0.1, **first)
    stage(desk, project, "before", 12)
    for number, goal in enumerate((second, first)):
        add(desk, project, opened := [f"open-{number}-{item}" for item in range(12)])
        for item, name in enumerate(opened):
            vote(desk, project, name, most=item % 4)
        changed = desk.projects.change(project.id, now=1003.0, **(NO_GOAL | goal))
        assert in_force(desk, project) == parameters_of(changed.settings)
        for name in opened:
            vote(desk, project, name)
        counts = stage(desk, project, f"after-{number}", 12)
        assert min(counts[:3]) > 0 and np.mean(counts) > 1
        control = counted(desk, project)
        if control is not None:
            untouched = 12 // 4  # items that were open, without a vote
            assert control.num_items == 12 + untouched


def counted(desk, project):
    """The controller, and that its sums are those of the numbers on the dashboard."""
    with desk.store.read() as connection:
        latest = desk.projects.get_in(connection, project.id)
        control, told = stored_control(connection, latest), stats(connection, latest, now=1004.0)
    if control is None:
        assert told.goal is None
    elif told.goal["kind"] == "budget":
        assert told.goal["reached"] == control.spent / control.num_items
    return control


@BOTH
def test_what_a_budget_has_reached_is_of_the_items_since_it_was_set(desk):
    project = desk.project(pool_size=4, target_error=0.05, audit_rate=0.1)
    stage(desk, project, "before", 20)
    desk.projects.change(project.id, target_error=None, budget=2.2, now=1003.0)
    counts = stage(desk, project, "after", 20)
    assert counted(desk, project).reached == np.mean(counts) == pytest.approx(2.2, abs=0.5)


def test_a_goal_that_stays_keeps_what_its_controller_has_learned(desk):
    project = desk.project(pool_size=7, budget=2.0)
    stage(desk, project, "item", 12)
    before, control = in_force(desk, project), counted(desk, project)
    assert before != goal_control(project.settings).parameters
    desk.projects.change(project.id, pool_size=9, price=0.5, now=1003.0)
    assert in_force(desk, project) == before and counted(desk, project).spent == control.spent


def test_an_item_that_is_open_again_leaves_the_sums_of_its_goal(desk):
    project = desk.project(pool_size=7, budget=2.0)
    stage(desk, project, "item", 6)
    before = counted(desk, project)
    with desk.store.read() as connection:
        row = next(row for n in range(6) if (row := find_item(connection, project.id, f"item-{n}")).num_votes > 1)
    last = Request(project.id, row.name, f"v{row.num_votes - 1}", "retract", served=False)
    assert act(desk.projects, last, now=1004.0).decision.ask
    steer(desk.projects, project.id, now=1005.0)
    after = counted(desk, project)
    assert (after.num_items, after.spent) == (before.num_items - 1, before.spent - row.num_votes)


def test_a_target_is_not_held_before_an_audit_is_complete(desk):
    """Votes that settle every item prove nothing about the items to come."""
    project = desk.project(
        [f"x{number}" for number in range(12)], pool_size=3, method="value", min_votes=2, audit_rate=0.05
    )
    for number in range(12):
        for voter in ("ann", "bo"):
            act(desk.projects, Request(project.id, f"x{number}", voter, "vote", "cat", served=False), now=1001.0)
    desk.projects.change(project.id, target_error=0.05, now=1002.0)
    with desk.store.read() as connection:
        seen = stats(connection, desk.projects.get_in(connection, project.id), now=1003.0)
    assert (seen.num_closed, seen.audit.num_complete, seen.audit.most_wrong) == (12, 0, 0.0)
    assert seen.goal is not None and not seen.goal["supported"]
