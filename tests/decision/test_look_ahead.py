import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate import compiled
from quorate.decision import look_ahead
from quorate.decision.backward_pass import MOST_GROUPS
from quorate.decision.look_ahead import MOST_STATES, expected_gain, look_ahead_size, num_states
from quorate.posterior.finite import plurality_finite
from tests.oracles_look_ahead import obvious_expected_gain

NO_COSTS = np.zeros((0, 0))


def gain(alpha, votes, remaining, costs=NO_COSTS):
    alpha, votes = np.array(alpha, float), np.array(votes)
    probs = plurality_finite(alpha, votes, pool_size=int(votes.sum()) + remaining)
    return expected_gain(alpha, votes, remaining, probs, costs)


@st.composite
def items(draw, most_classes=4, most_remaining=4, most_votes=3):
    classes = draw(st.integers(2, most_classes))
    alpha = draw(st.lists(st.floats(0.01, 20), min_size=classes, max_size=classes))
    votes = draw(st.lists(st.integers(0, most_votes), min_size=classes, max_size=classes))
    return np.array(alpha), np.array(votes), draw(st.integers(1, most_remaining))


@settings(max_examples=60, deadline=None)
@given(items(), st.integers(0, 2**32 - 1))
def test_it_is_the_definition_over_all_plans(item, seed):
    costs = np.random.default_rng(seed).gamma(1.0, 4.0, (len(item[0]), len(item[0])))
    assert gain(*item) == pytest.approx(obvious_expected_gain(*item), abs=1e-12)
    assert gain(*item, costs) == pytest.approx(obvious_expected_gain(*item, costs), abs=1e-11)


def test_a_hand_worked_gain():
    # One voter left, a tie at 1 : 1, beta = (2, 2): now each wins with 1/2, after the vote the winner is known.
    assert gain([1.0, 1.0], [1, 1], 1) == pytest.approx(0.5)
    # Two left at 1 : 0, beta = (2, 1): the first loses to two votes for the second, 1/3 * 2/4, and wins otherwise.
    # One vote cannot tell: 1/3 of the time it is 1 : 1 with beta (2, 2), worth 1/2. Two votes gain 1/6, and the second
    # is needed only after a first one for the second class: 4/3 votes on average.
    assert gain([1.0, 1.0], [1, 0], 2) == pytest.approx(1 / 8)


@settings(max_examples=100, deadline=None)
@given(items(most_classes=9, most_remaining=7), st.randoms(use_true_random=False))
def test_it_does_not_depend_on_the_order_of_the_classes(item, random):
    alpha, votes, remaining = item
    alpha = alpha + np.arange(len(alpha)) * 1e-3  # which of two equal classes is followed may depend on it
    order = random.sample(range(len(alpha)), len(alpha))
    assert gain(alpha[order], votes[order], remaining) == pytest.approx(gain(alpha, votes, remaining), abs=1e-9)


@settings(max_examples=200, deadline=None)
@given(items(most_classes=9, most_remaining=9))
def test_what_is_surely_gained_bounds_it_from_below(item):
    alpha, votes, remaining = item
    probs = plurality_finite(alpha, votes, pool_size=int(votes.sum()) + remaining)
    second, first = np.argsort(probs, kind="stable")[-2:]
    sure = look_ahead._surely_gained(alpha, votes, remaining, first, second)
    _, horizon = look_ahead_size(len(alpha), remaining)
    assert 0.0 <= sure <= gain(*item) * (1 + 1e-9) or horizon < remaining


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 9), st.integers(1, 60), st.sampled_from([1e-4, 1e-3, 1e-2]))
def test_where_the_order_decides_a_plan_needs_no_probabilities(seed, classes, remaining, price):
    rng = np.random.default_rng(seed)
    alpha, votes = rng.gamma(0.5, 2.0, classes) + 1e-3, rng.integers(3, size=classes)
    probs = plurality_finite(alpha, votes, pool_size=int(votes.sum()) + remaining)
    first, second = np.argsort(-probs, kind="stable")[:2]
    assert look_ahead.order_decides(classes, remaining) == (classes > 3 and remaining > 16)
    if look_ahead.order_decides(classes, remaining):
        by_all = (1.0 - probs.max()) / remaining
        gains = look_ahead.plan_of_two_gains(price, alpha, votes, remaining, first, second) or by_all > price
        assert gains == look_ahead.gains_more_than(price, alpha, votes, remaining, probs, NO_COSTS)


def test_what_is_surely_gained_by_hand_and_with_two_classes():
    both_for_the_second = look_ahead._surely_gained(np.ones(2), np.array([1, 0]), 2, 0, 1)
    assert both_for_the_second == pytest.approx(1 / 12)
    one = np.ones(1)
    assert not look_ahead.gains_more_than(1e-9, one, np.array([1]), 2, one, NO_COSTS)


@settings(max_examples=100, deadline=None)
@given(items(most_classes=12, most_remaining=60, most_votes=30))
def test_it_is_between_nothing_and_the_doubt_there_is(item):
    alpha, votes, remaining = item
    groups, horizon = look_ahead_size(len(alpha), remaining)
    found = gain(*item)
    assert 0.0 <= found <= 1.0
    if groups == len(alpha) and horizon == remaining:
        doubt = 1 - plurality_finite(alpha, votes, pool_size=int(votes.sum()) + remaining).max()
        assert found <= doubt + 1e-12


@pytest.mark.parametrize(("votes", "remaining"), [([4, 0], 3), ([9, 1, 1], 7), ([3, 0, 0, 0, 0, 0, 0, 0], 2)])
def test_a_settled_pool_gains_nothing(votes, remaining):
    assert gain(np.ones(len(votes)), votes, remaining) == pytest.approx(0.0, abs=1e-12)


def test_votes_that_are_known_beforehand_gain_nothing():
    assert gain([1e9, 1e-9], [0, 0], 5) == pytest.approx(0.0, abs=1e-9)


def test_costs_of_one_for_every_error_change_nothing():
    rng = np.random.default_rng(1)
    for _ in range(30):
        classes = int(rng.integers(2, 7))
        item = rng.gamma(1.0, 2.0, classes) + 0.01, rng.integers(3, size=classes), int(rng.integers(1, 9))
        assert gain(*item, 1.0 - np.eye(classes)) == pytest.approx(gain(*item), abs=1e-12)


def test_grouping_the_least_likely_classes_costs_little_accuracy():
    """The error that docs/maths.md states: eight classes of which five are followed, up to four voters left."""
    rng = np.random.default_rng(2)
    errors = []
    for _ in range(40):
        alpha = 4 * rng.dirichlet(np.full(8, 0.4)) + 0.1
        item = alpha, rng.multinomial(rng.integers(3), alpha / alpha.sum()), int(rng.integers(1, 5))
        errors.append(gain(*item) - obvious_expected_gain(*item))
    assert np.abs(errors).max() < 0.02
    assert np.abs(errors).mean() < 0.005


def test_looking_less_far_than_the_pool_reaches_costs_little_accuracy(monkeypatch):
    """The error that docs/maths.md states, against a look-ahead to the end of the pool, which takes 5456 states."""
    rng = np.random.default_rng(3)
    items = []
    for _ in range(8):
        alpha = 4 * rng.dirichlet(np.ones(3)) + 0.3
        items.append((alpha, rng.multinomial(rng.integers(12), rng.dirichlet(alpha)), 30))
    found = np.array([gain(*item) for item in items])
    monkeypatch.setattr(look_ahead, "MOST_STATES", 5456)
    monkeypatch.setattr(compiled._state, "compiled", False)  # which reads the number as it is now
    monkeypatch.setattr(compiled._state, "fixed", True)
    exact = np.array([gain(*item) for item in items])
    assert look_ahead_size(3, 30) == (3, 30)
    np.testing.assert_allclose(found, exact, rtol=0.05, atol=4e-4)


@pytest.mark.parametrize("classes", [2, 3, 4, 7, 16, 1000])
@pytest.mark.parametrize("remaining", [1, 6, 10, 11, 27, 28, 100, 5000, 10**9])
def test_the_number_of_states_is_bounded(classes, remaining):
    groups, horizon = look_ahead_size(classes, remaining)
    assert 2 <= groups <= classes
    assert 1 <= horizon <= remaining
    assert num_states(groups, horizon) <= MOST_STATES
    assert horizon == remaining or num_states(groups, horizon + 1) > MOST_STATES
    assert groups == min(classes, MOST_GROUPS) or num_states(groups + 1, min(remaining, MOST_STATES)) > MOST_STATES


@settings(max_examples=60, deadline=None)
@given(items(most_classes=9, most_remaining=30, most_votes=6), st.floats(1e-6, 0.2))
def test_a_higher_price_never_leaves_more_to_the_bit(item, price):
    """So what a plan decides at a bound of the price, it decides at the price."""
    alpha, votes, remaining = item
    probs = plurality_finite(alpha, votes, pool_size=int(votes.sum()) + remaining)
    horizon, chosen = look_ahead._look(len(alpha), remaining, probs, NO_COSTS)
    prices = [np.nextafter(price, 0.0), price, np.nextafter(price, 1.0), price * (1 + 1e-9)]
    left = [look_ahead._plan(p, alpha, votes, remaining, horizon, chosen, probs, NO_COSTS)[0] for p in prices]
    assert left == sorted(left, reverse=True)


def test_a_certain_winner_gains_nothing_despite_rounding():
    certain, votes = np.array([1.0 + 2e-16, 0.0, 0.0]), np.array([40, 0, 0])
    assert expected_gain(np.ones(3), votes, 60, certain, NO_COSTS) >= 0.0


def test_extreme_beliefs_give_a_number():
    for values in ([1e-300, 1e-300, 1e-300], [1e100, 1e-100, 1.0], [1e-6] * 9, [1e6] * 9):
        alpha, votes = np.array(values), np.zeros(len(values), dtype=int)
        for remaining in (1, 6, 100, 5000):
            assert 0.0 <= expected_gain(alpha, votes, remaining, alpha / alpha.sum(), NO_COSTS) <= 1.0
