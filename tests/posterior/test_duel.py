"""The duel of two leading classes: the incomplete beta function, and bounds of the leader's chance in any pool."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import special

from quorate.compiled import kernel
from quorate.posterior.duel import duel, finite_duel
from quorate.posterior.finite import plurality_finite
from quorate.posterior.infinite import plurality_infinite

GRID = np.concatenate([np.logspace(-6, 6, 85), np.linspace(10, 40, 13), 1e6 - np.arange(1, 5000, 500)])


@kernel
def _duels(betas, out):
    for item in range(betas.shape[0]):
        out[item] = duel(betas[item])


def duels(betas):
    out = np.empty(len(betas))
    _duels(np.ascontiguousarray(betas), out)
    return out


def test_two_classes_agree_with_the_incomplete_beta_function_from_1e_6_to_1e6():
    first, second = (axis.ravel() for axis in np.meshgrid(GRID, GRID))
    expected = special.betainc(np.minimum(first, second), np.maximum(first, second), 0.5)
    np.testing.assert_allclose(duels(np.stack([first, second], axis=1)), expected, rtol=0, atol=2e-11)


@pytest.mark.parametrize(
    "pair", [(1e-6, 3e-6), (0.3, 0.05), (4.1, 1.05), (14, 15.9), (15, 15.1), (900.0, 880.0), (1e6, 1e6 - 900)]
)
def test_agrees_with_high_precision(pair):
    with mp.workdps(40):
        if max(pair) < 1e5:
            expected = float(mp.betainc(min(pair), max(pair), 0, mp.mpf(1) / 2, regularized=True))
        else:  # mpmath's series would take minutes: the integral over the log odds
            a, b = (mp.mpf(value) for value in pair)
            scale = mp.loggamma(a + b) - mp.loggamma(a) - mp.loggamma(b)
            width = 10 / mp.sqrt(a)
            points = mp.linspace(-2 * width, 0, 9)
            tail = mp.quad(lambda u: mp.exp(scale + a * u - (a + b) * mp.log1p(mp.exp(u))), points)
            expected = float(1 - tail)
    assert duel(np.array(pair)) == pytest.approx(expected, abs=1e-12)


def test_only_the_two_largest_count_wherever_they_stand():
    expected = special.betainc(2.5, 4.0, 0.5)
    for beta in ([4.0, 2.5, 1.0, 0.1], [0.1, 2.5, 1.0, 4.0], [2.5, 0.3, 4.0], [0.2, 2.0, 2.5, 2.4, 4.0, 0.1]):
        assert duel(np.array(beta)) == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("beta", [1e-300, 1e-13, 1e-6, 0.3, 1.0, 15.0, 200.0, 1e6])
def test_equal_leaders_have_even_chances(beta):
    assert duel(np.array([beta, 0.5 * beta, beta])) == pytest.approx(0.5, abs=1e-11)


def test_strided_input_is_taken_and_left_alone():
    beta = np.array([[1.0, 9.0], [4.0, 9.0], [2.5, 9.0]])
    assert duel(beta[:, 0]) == duel(np.array([1.0, 4.0, 2.5]))
    np.testing.assert_array_equal(beta[:, 0], [1.0, 4.0, 2.5])


@pytest.mark.parametrize("beta", [[1e308, 1e308], [1e-300, 1e3], [1e-300, 1e300], [5e-324, 5e-324], [1e7, 1e7 - 1]])
def test_betas_beyond_any_use_still_give_a_bound(beta):
    bound = duel(np.array(beta))
    assert plurality_infinite(beta, [0, 0]).max() - 1e-14 <= bound <= 1.0


@settings(deadline=None, max_examples=400)
@given(st.data())
def test_no_class_has_a_higher_chance(data):
    low = data.draw(st.floats(-6, 6))
    high = data.draw(st.floats(low, 6))
    exponents = data.draw(hnp.arrays(float, data.draw(st.integers(2, 24)), elements=st.floats(low, high)))
    votes = data.draw(hnp.arrays(np.int64, exponents.size, elements=st.integers(0, data.draw(st.sampled_from([0, 9])))))
    beta = 10**exponents + votes
    bound = duel(beta)
    assert plurality_infinite(beta, np.zeros(beta.size)).max() - 1e-10 <= bound <= 1.0


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_no_class_of_a_finite_pool_has_a_higher_chance(data):
    exponents = data.draw(hnp.arrays(float, data.draw(st.integers(2, 6)), elements=st.floats(-6, 3)))
    votes = data.draw(hnp.arrays(np.int64, exponents.size, elements=st.integers(0, 4)))
    pool_size = int(votes.sum()) + data.draw(st.integers(1, 12))
    bound = finite_duel(10**exponents, votes, pool_size)
    assert plurality_finite(10**exponents, votes, pool_size=pool_size).max() - 1e-12 <= bound <= 1.0


@pytest.mark.parametrize("alpha", [[0.3, 0.2], [4.0, 0.5]])
def test_the_finite_duel_of_two_classes_is_their_exact_chance(alpha):
    for votes in ([0, 0], [2, 1], [1, 2], [3, 3]):
        expected = plurality_finite(alpha, votes, pool_size=9).max()
        assert finite_duel(np.array(alpha), np.array(votes), 9) == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize(
    ("alpha", "votes"), [([1.0, 9.0, 6.0], [4, 0, 2]), ([1e-200, 1e-200], [0, 0]), ([1e70, 1e70], [0, 0])]
)
def test_where_no_two_classes_lead_or_alphas_are_extreme_the_finite_duel_says_nothing(alpha, votes):
    assert finite_duel(np.array(alpha), np.array(votes), 9) == 1.0
