import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate import core
from quorate.model.posterior.finite import plurality_finite

MOST_REMAINING = 1000  # the largest number of remaining votes that callers pass


def wins_alone(k, alpha, votes, remaining):
    return core.wins_alone(alpha, votes, k, remaining)


def tail(own, others, remaining, needed):
    """P(at least `needed` of `remaining` votes) of a beta-binomial, by logarithms."""

    def log_beta(a, b):
        return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)

    return math.fsum(
        math.comb(remaining, x) * math.exp(log_beta(own + x, others + (remaining - x)) - log_beta(own, others))
        for x in range(needed, remaining + 1)
    )


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 9), st.integers(1, 30))
def test_it_bounds_the_probability_to_win_from_below(seed, classes, remaining):
    rng = np.random.default_rng(seed)
    alpha, votes = rng.gamma(0.5, 2.0, classes) + 1e-3, rng.integers(5, size=classes)
    probs = plurality_finite(alpha, votes, pool_size=int(votes.sum()) + remaining)
    for k in range(classes):
        assert 0.0 <= wins_alone(k, alpha, votes, remaining) <= probs[k] + 1e-12


def test_in_an_odd_pool_of_two_classes_it_is_the_probability_to_win():
    alpha, votes = np.array([2.0, 0.7]), np.array([2, 1])
    probs = plurality_finite(alpha, votes, pool_size=7)
    assert [wins_alone(k, alpha, votes, 4) for k in range(2)] == pytest.approx(probs)


@pytest.mark.parametrize("others", [1e-18, 1e-200, 0.3])
@pytest.mark.parametrize("remaining", [1, 2, 40])
def test_classes_that_almost_cannot_get_a_vote_leave_the_win_to_the_first(others, remaining):
    """Subtracting the first from the sum of all would leave nothing of the others."""
    alpha, votes = np.array([5.0, others, others]), np.array([0, 0, 0])
    expected = tail(5.0, 2 * others, remaining, remaining // 2 + 1)
    assert wins_alone(0, alpha, votes, remaining) == pytest.approx(expected, rel=1e-11)
    assert others > 0.1 or expected == pytest.approx(1.0)


@pytest.mark.parametrize("alpha", [(2.0, 1.5, 0.5), (0.01, 0.2, 0.1), (30.0, 20.0, 10.0), (3.0, 1e-18, 1e-18)])
@pytest.mark.parametrize("remaining", [151, MOST_REMAINING])
def test_the_largest_pools_neither_overflow_nor_lose_digits(alpha, remaining):
    alpha, votes = np.array(alpha), np.array([3, 5, 0])
    for k in range(2):
        needed = (votes[1 - k] + remaining - votes[k]) // 2 + 1
        expected = tail(alpha[k] + votes[k], (alpha + votes).sum() - alpha[k] - votes[k], remaining, int(needed))
        assert wins_alone(k, alpha, votes, remaining) == pytest.approx(expected, rel=1e-9)


def test_the_largest_product_is_a_number():
    assert float(math.comb(MOST_REMAINING, MOST_REMAINING // 2)) < 1e300
    with pytest.raises(OverflowError):
        float(math.comb(1030, 515))


@pytest.mark.parametrize("alpha", [(1e6, 1e-3), (1e-300, 1e-300), (1e100, 1e-100), (1.0, 5e-324)])
def test_where_terms_underflow_it_is_no_number_that_is_too_large(alpha):
    for k in range(2):
        for remaining in (1, 150, MOST_REMAINING):
            found = wins_alone(k, np.array(alpha), np.array([0, 0]), remaining)
            assert 0.0 <= found <= 1.0 + 1e-12


def test_nobody_wins_alone_who_cannot_catch_up_and_a_settled_winner_does():
    alpha, votes = np.array([1.0, 2.0]), np.array([9, 1])
    assert wins_alone(1, alpha, votes, 8) == 0.0
    assert wins_alone(0, alpha, votes, 7) == pytest.approx(1.0)
