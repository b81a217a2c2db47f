"""Pools of hundreds of experts."""

import mpmath
import numpy as np
import pytest
from scipy.stats import betabinom
from tests.oracles_finite import by_counting_ties

from quorate.model.posterior.finite import plurality_finite
from quorate.model.posterior.infinite import plurality_infinite

TINY, HUGE = 1e-6, 1e6
CLOSE = 1e-10


# --- against other methods --------------------------------------------------------------------------------------


@pytest.mark.no_cover  # the oracle takes twice as long under a tracer
def test_a_pool_of_200_agrees_with_counting_ties_in_extended_precision():
    alpha, votes = [1.5, 0.8, 0.3, 0.3, 0.1], [3, 2, 2, 0, 0]
    expected = np.array(by_counting_ties(alpha, votes, 200, [0, 4]), float)
    np.testing.assert_allclose(plurality_finite(alpha, votes, pool_size=200)[[0, 4]], expected, rtol=0, atol=1e-11)


def by_mpmath(alpha, votes, pool_size):
    """P(class 0 wins) with 50 digits: polynomials of exact weights, one for each number of tied classes."""
    with mpmath.workdps(50):
        beta = [mpmath.mpf(float(a)) + int(v) for a, v in zip(alpha, votes, strict=True)]
        remaining = pool_size - int(sum(votes))
        weights = [[mpmath.rf(b, x) / mpmath.factorial(x) for x in range(remaining + 1)] for b in beta]
        whole = mpmath.rf(sum(beta), remaining) / mpmath.factorial(remaining)
        wins = mpmath.mpf(0)
        for level in range(max(votes), int(votes[0]) + remaining + 1):
            left = remaining - (level - int(votes[0]))
            product = {(0, 0): weights[0][level - int(votes[0])]}  # (tied, votes used) -> weight
            for row, count in zip(weights[1:], votes[1:], strict=True):
                longer = {}
                for (tied, used), weight in product.items():
                    for x in range(min(level - int(count), left - used) + 1):
                        key = (tied + (x == level - count), used + x)
                        longer[key] = longer.get(key, 0) + weight * row[x]
                product = longer
            wins += sum(weight / (tied + 1) for (tied, used), weight in product.items() if used == left)
        return float(wins / whole)


@pytest.mark.parametrize(
    ("alpha", "votes", "pool_size"),
    [
        ([0.7, 0.4, 0.2], [40, 41, 38], 165),
        ([TINY, HUGE, 1.0], [50, 30, 45], 160),
        ([0.3, 0.3, 0.3, 0.3], [36, 36, 35, 36], 160),
    ],
)
def test_the_last_votes_of_a_large_pool_agree_with_50_digits(alpha, votes, pool_size):
    probs = plurality_finite(alpha, votes, pool_size=pool_size)
    assert probs[0] == pytest.approx(by_mpmath(alpha, votes, pool_size), abs=1e-11)


@pytest.mark.parametrize("pool_size", [201, 10_000])
def test_two_classes_are_a_beta_binomial_tail(pool_size):
    first = betabinom(pool_size, 2.5, 1.2)
    tie = first.pmf(pool_size // 2) / 2 if pool_size % 2 == 0 else 0.0
    expected = first.sf(pool_size // 2) + tie
    assert plurality_finite([2.5, 1.2], [0, 0], pool_size=pool_size)[0] == pytest.approx(expected, abs=1e-8)


def test_a_growing_pool_approaches_the_infinite_one_as_fast_as_one_over_its_size():
    alpha, votes = np.array([0.9, 0.6, 0.4, 0.2, 0.1]), np.array([2, 1, 1, 0, 0])
    infinite = plurality_infinite(alpha, votes)
    sizes = np.array([200, 400, 800, 1600])
    distance = [np.abs(plurality_finite(alpha, votes, pool_size=int(size)) - infinite).max() for size in sizes]
    scaled = sizes * np.array(distance)
    assert scaled.max() < 1.3 * scaled.min()


# --- limits -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-320, 1e-200, 1e-30])
def test_tiny_concentrations_let_the_first_vote_decide(scale):
    alpha = np.array([1.0, 3.0, 4.0, 2.0]) * scale
    np.testing.assert_allclose(plurality_finite(alpha, [0] * 4, pool_size=500), alpha / alpha.sum(), atol=CLOSE)


@pytest.mark.parametrize("scale", [1e9, 1e200, 1e307])
def test_huge_concentrations_make_votes_independent_draws(scale):
    alpha = np.array([0.30, 0.29, 0.21, 0.20])
    expected = plurality_finite(alpha * 1e9, [0] * 4, pool_size=200)
    np.testing.assert_allclose(plurality_finite(alpha * scale, [0] * 4, pool_size=200), expected, atol=1e-7)


def test_a_pool_with_all_votes_in_is_its_plurality():
    assert plurality_finite([1.0, 2.0, 3.0], [400, 400, 200], pool_size=1000).tolist() == [0.5, 0.5, 0.0]


def test_one_vote_left_worked_by_hand():
    beta = np.array([101.0, 101.0, 101.0])
    expected = np.full(3, 1 / 3)
    np.testing.assert_allclose(plurality_finite(beta - 100, [100] * 3, pool_size=301), expected, atol=1e-14)
    # two lead, one is a vote behind: its vote makes a tie of three
    probs = plurality_finite([1.0, 1.0, 1.0], [100, 100, 99], pool_size=300)
    first = 101 / 302 + 100 / 302 / 3
    np.testing.assert_allclose(probs, [first, first, 100 / 302 / 3], atol=1e-14)


def test_a_class_that_cannot_win_any_more_gets_exactly_zero():
    probs = plurality_finite([1.0, 1.0, 1e3, 1.0], [130, 129, 10, 125], pool_size=450)
    assert plurality_finite([1.0, 1.0, 1e3, 1.0], [130, 129, 10, 125], pool_size=400)[2] == 0.0
    assert np.all(probs >= 0)


@pytest.mark.parametrize("num_classes", [2, 3, 7, 60, 300])
def test_classes_alike_win_equally(num_classes):
    for alpha in (0.01, 1.0, 100.0):
        probs = plurality_finite(np.full(num_classes, alpha), np.zeros(num_classes), pool_size=300)
        np.testing.assert_allclose(probs, 1 / num_classes, rtol=0, atol=1e-11)


def test_a_level_at_which_all_huge_classes_tie_is_not_lost_beside_a_tiny_one():
    alpha = [HUGE, HUGE, HUGE, TINY]
    probs = plurality_finite(alpha, [0] * 4, pool_size=261)
    np.testing.assert_allclose(probs, [1 / 3, 1 / 3, 1 / 3, 0], rtol=0, atol=1e-11)


def test_many_classes_tied_at_the_top_share_what_the_others_leave():
    votes = np.array([20] * 10 + [0] * 5)
    probs = plurality_finite(np.full(15, 0.5), votes, pool_size=400)
    np.testing.assert_allclose(probs[:10], probs[0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(probs.sum(), 1, rtol=0, atol=1e-12)
