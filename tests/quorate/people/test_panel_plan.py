"""Whom to ask: against enumeration of all votes and all plans, its properties and its limits."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate.model.posterior.settled import plurality_shares
from quorate.people.panel import GONE, UNSEEN, VOTES, new_panel
from quorate.people.panel_plan import WARM_UP, advise
from tests.quorate.people.panel_oracle import best_plan, joint, random_panel
from tests.refusals import refused


@st.composite
def situations(draw, most_classes=3, most_members=4):
    """A panel with arbitrary parameters, and an item in the middle of its votes."""
    K, N = draw(st.integers(2, most_classes)), draw(st.integers(1, most_members))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    state = random_panel(N, K, rng)
    votes = np.array(draw(st.lists(st.integers(GONE, K - 1), min_size=N, max_size=N)))
    available = np.array(draw(st.lists(st.booleans(), min_size=N, max_size=N)))
    return state, np.log(rng.dirichlet(np.ones(K), size=1)), votes, available, rng.uniform(0.1, 2.0, N)


@settings(max_examples=60, deadline=None)
@given(situations(), st.sampled_from([0.0, 0.001, 0.02, 0.2]))
def test_the_plan_is_the_best_of_all_plans(situation, min_gain):
    state, log_f, votes, available, costs = situation
    found = advise(state, log_f, votes, available=available, costs=costs, min_gain=min_gain)
    price = min_gain * min(1.0, (1 + state.counts[VOTES]) / WARM_UP)
    vectors = joint(state, log_f, votes)
    probs, value, nets = best_plan(vectors, votes, available, costs, price, len(state.bias))
    assert found.probs == pytest.approx(probs, abs=1e-12)
    np.testing.assert_allclose(found.net_gains, nets, atol=1e-12)
    assert found.gain - price * found.cost == pytest.approx(value - probs.max(), abs=1e-12)
    if found.expert >= 0:
        assert nets[found.expert] == pytest.approx(np.nanmax(nets), abs=1e-11) and available[found.expert]
        assert votes[found.expert] == UNSEEN
    else:
        assert not np.any(nets > 1e-11)


@settings(max_examples=30, deadline=None)
@given(situations())
def test_probabilities_sum_to_one_and_follow_the_members_when_they_change_places(situation):
    state, log_f, votes, available, costs = situation
    found = advise(state, log_f, votes, available=available, costs=costs, min_gain=0.01)
    assert found.probs.sum() == pytest.approx(1.0, abs=1e-12)
    order = np.random.default_rng(0).permutation(len(votes))
    moved = state._replace(rows=state.rows[order].copy())
    again = advise(moved, log_f, votes[order], available=available[order], costs=costs[order], min_gain=0.01)
    np.testing.assert_allclose(again.net_gains, found.net_gains[order], atol=1e-12)
    np.testing.assert_allclose(again.probs, found.probs, atol=1e-12)


@pytest.mark.parametrize("num_classes", [2, 3])
def test_asking_for_free_goes_on_until_nothing_can_be_gained(num_classes):
    rng = np.random.default_rng(num_classes)
    for _ in range(20):
        state = random_panel(4, num_classes, rng)
        log_f, truth = np.log(rng.dirichlet(np.ones(num_classes), size=1)), rng.integers(num_classes, size=4)
        votes = np.full(4, UNSEEN)
        while (found := advise(state, log_f, votes, costs=np.zeros(4), min_gain=0.1)).expert >= 0:
            assert found.gain > 0 and found.gain_per_cost == np.inf
            votes[found.expert] = truth[found.expert]
        vectors = joint(state, log_f, votes)
        at_the_end = sum(
            p * plurality_shares(np.bincount(vector, minlength=num_classes)).max() for vector, p in vectors.items()
        )
        assert found.probs.max() == pytest.approx(at_the_end / sum(vectors.values()), abs=1e-11)


def test_somebody_away_counts_in_the_plurality():
    """One vote for each class: without the third member the pool ties, with the third it is decided."""
    panel = new_panel(3, 2)
    away = advise(panel, np.log([0.9, 0.1]), [0, 1, UNSEEN], available=[False, False, False], min_gain=0.0)
    gone = advise(panel, np.log([0.9, 0.1]), [0, 1, GONE], min_gain=0.0)
    assert away.expert == gone.expert == -1
    assert away.probs[0] > 0.6 and gone.probs.tolist() == [0.5, 0.5]


def test_votes_of_the_whole_panel_have_probabilities_that_sum_to_one():
    rng = np.random.default_rng(5)
    state = random_panel(3, 3, rng)
    vectors = joint(state, np.log(rng.dirichlet(np.ones(3), size=1)), np.full(3, UNSEEN))
    assert set(vectors) == set(product(range(3), repeat=3))
    assert sum(vectors.values()) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("votes", {"votes": [0, 3, -1]}),
        ("votes", {"votes": [0, 1]}),
        ("available", {"available": [True]}),
        ("costs", {"costs": [1, -1, 1]}),
        ("min_gain", {"min_gain": -1}),
    ],
)
def test_what_is_wrong_is_named(field, change):
    arguments = {"votes": [0, 1, -1], "min_gain": 0.1} | change
    with refused(field):
        advise(new_panel(3, 3), np.log([0.5, 0.25, 0.25]), arguments.pop("votes"), **arguments)
