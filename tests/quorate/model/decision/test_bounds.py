"""The bounds by which a stream knows that the blended rule asks, without the posterior."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate import core
from quorate.model.decision.rules import BLENDED, Rule, rule_asks
from quorate.model.posterior.finite import plurality_finite

NO_COSTS = np.zeros((0, 0))
MARGIN = 4e-9  # of core/rules.cpp: four times the width of a tie


def surely_asks(min_gain, alpha, votes, remaining):
    return bool(core.surely_asks(np.asarray(alpha, float), np.asarray(votes), remaining, min_gain))


def asks(min_gain, alpha, votes, remaining):
    probs = plurality_finite(alpha, votes, pool_size=int(votes.sum()) + remaining)
    return rule_asks(Rule(BLENDED, min_gain), probs, votes, remaining, alpha, NO_COSTS, 0.0)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 12), st.integers(1, 90), st.sampled_from([0.0, 1e-4, 1e-3, 0.01, 0.1]))
def test_where_the_bounds_are_sure_the_rule_asks(seed, classes, remaining, min_gain):
    rng = np.random.default_rng(seed)
    alpha = rng.gamma(0.5, 2.0, classes) + 1e-3
    votes = rng.multinomial(rng.integers(12), alpha / alpha.sum())
    assert not surely_asks(min_gain, alpha, votes, remaining) or asks(min_gain, alpha, votes, remaining)


@pytest.mark.parametrize("min_gain", [0.0, 1e-4])
def test_the_bounds_are_sure_of_close_contests_only(min_gain):
    alpha = [2.0, 1.5, 0.6, 0.4]
    assert surely_asks(min_gain, alpha, [2, 1, 0, 0], 40)
    assert not surely_asks(min_gain, alpha, [30, 1, 0, 0], 20), "nobody can catch up"
    assert not surely_asks(min_gain, [1.0], [0], 40), "a single class"


def test_with_a_gain_the_bounds_need_a_clear_order_of_the_two_leading_classes():
    assert surely_asks(1e-4, [2.0, 1.5, 0.6, 0.4], [0] * 4, 40)
    assert not surely_asks(1e-4, [2.0, 1.5, 1.5, 0.4], [0] * 4, 40)
    assert not surely_asks(1e-4, [1.5, 1.5, 0.6, 0.4], [0] * 4, 40)


@pytest.mark.parametrize("apart", [1e-13, 1e-10, 1e-8, 1e-5, 1e-3])
@pytest.mark.parametrize(("alpha", "near"), [((0.05, 3.0, 0.05, 3.0), 3), ((3.0, 0.05, 3.0, 4.0), 0)])
def test_they_are_sure_only_of_an_order_above_the_margin(apart, alpha, near):
    """The first and the second class, or the second and the third, nearly tie; which one leads is drawn at random."""
    alpha, votes = np.array(alpha), np.zeros(4, np.int64)
    alpha[near] += apart
    is_clear = core.wins_alone(alpha, votes, near, 40) * apart / (alpha[near] + 40) > MARGIN
    assert surely_asks(1e-4, alpha, votes, 40) == is_clear == (apart > 1e-6)


def test_they_are_used_where_they_save_time():
    alpha, votes = np.array([2.0, 1.5, 0.6, 0.4]), np.zeros(4, np.int64)
    assert not surely_asks(1e-4, alpha, votes, 16)
    assert not surely_asks(1e-4, alpha[:3], votes[:3], 40)
    assert surely_asks(0.0, alpha[:3], votes[:3], 5)
    assert not surely_asks(0.0, alpha[:3], votes[:3], 4)
    assert surely_asks(1e-4, alpha, votes, 1000)
    assert not surely_asks(1e-4, alpha, votes, 1001)
