"""Roots, minima and assignments: against SciPy, the equations solved, and every assignment of a small matrix."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from quorate.solvers import assign, find_minimum, find_root


@settings(deadline=None, max_examples=50)
@given(root=st.floats(-5, 5), steep=st.floats(0.01, 20))
def test_a_root_is_scipys_to_the_last_bit(root, steep):
    def function(x):
        return np.tanh(steep * (x - root)) + 0.1 * (x - root) ** 3

    assert find_root(function, -6.0, 7.0) == optimize.brentq(function, -6.0, 7.0)
    assert find_root(function, 7.0, -6.0, within=1e-6) == optimize.brentq(function, 7.0, -6.0, xtol=1e-6)


def test_a_root_at_an_end_is_found_and_one_sign_is_an_error():
    assert find_root(lambda x: x, 0.0, 1.0) == 0.0 and find_root(lambda x: x - 1, 0.0, 1.0) == 1.0
    with pytest.raises(ValueError, match="sign"):
        find_root(lambda x: x + 2, 0.0, 1.0)


@settings(deadline=None, max_examples=50)
@given(where=st.floats(0, 5), power=st.sampled_from([1.0, 1.5, 2.0]))
def test_a_minimum_is_found_inside_and_at_the_ends(where, power):
    assert find_minimum(lambda x: abs(x - where) ** power, 0.0, 5.0) == pytest.approx(where, abs=1e-6)


@settings(deadline=None, max_examples=50)
@given(size=st.integers(1, 6), seed=st.integers(0, 10**6), whole=st.booleans())
def test_no_assignment_costs_less(size, seed, whole):
    rng = np.random.default_rng(seed)
    cost = rng.integers(0, 4, (size, size)).astype(float) if whole else rng.normal(size=(size, size))
    columns = assign(cost)
    assert sorted(columns) == list(range(size))
    least = min(sum(cost[row, column] for row, column in enumerate(order)) for order in permutations(range(size)))
    assert cost[np.arange(size), columns].sum() == pytest.approx(least, abs=1e-12)


def test_a_large_assignment_is_scipys():
    cost = np.random.default_rng(3).normal(size=(60, 60))
    np.testing.assert_array_equal(assign(cost), optimize.linear_sum_assignment(cost)[1])
