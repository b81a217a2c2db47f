import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles_look_ahead import obvious_expected_gain

from quorate import core
from quorate.model.posterior.finite import plurality_finite

NO_COSTS = np.zeros((0, 0))


def gain(alpha, votes, remaining, costs=NO_COSTS):
    alpha, votes = np.array(alpha, float), np.array(votes)
    probs = plurality_finite(alpha, votes, pool_size=int(votes.sum()) + remaining)
    return core.expected_gain(alpha, votes, probs, costs, remaining)


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


@settings(max_examples=100, deadline=None)
@given(items(most_classes=12, most_remaining=60, most_votes=30))
def test_it_is_between_nothing_and_the_doubt_there_is(item):
    alpha, votes, remaining = item
    found = gain(*item)
    assert 0.0 <= found <= 1.0
    if len(alpha) <= 6 and remaining <= 6:  # all classes and votes are followed
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


def test_a_certain_winner_gains_nothing_despite_rounding():
    certain, votes = np.array([1.0 + 2e-16, 0.0, 0.0]), np.array([40, 0, 0])
    assert core.expected_gain(np.ones(3), votes, certain, NO_COSTS, 60) >= 0.0


def test_extreme_beliefs_give_a_number():
    for values in ([1e-300, 1e-300, 1e-300], [1e100, 1e-100, 1.0], [1e-6] * 9, [1e6] * 9):
        alpha, votes = np.array(values), np.zeros(len(values), dtype=int)
        for remaining in (1, 6, 100, 5000):
            assert 0.0 <= core.expected_gain(alpha, votes, alpha / alpha.sum(), NO_COSTS, remaining) <= 1.0
