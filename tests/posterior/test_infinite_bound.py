"""The bound of the leader's chance in InfExp: its parts against SciPy, never below the posterior, close to it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import special

from quorate.compiled import kernel
from quorate.posterior import infinite_bound
from quorate.posterior.duel import duel
from quorate.posterior.gamma_cdf import exp_excess, log_peak, lower_probability, plain_lower_probabilities
from quorate.posterior.infinite import plurality_infinite
from quorate.posterior.infinite_bound import (
    ERROR,
    MOST_OF_A_RIVAL,
    MOST_OF_ALL,
    MOST_OF_THE_LEADER,
    OFFSETS,
    POINTS,
    STEP,
    leader_bound,
)


@kernel
def _bounds(betas, enough, out):
    for item in range(betas.shape[0]):
        out[item] = leader_bound(betas[item], enough)


def bounds(betas, enough=0.0):
    out = np.empty(len(betas))
    _bounds(np.ascontiguousarray(betas), enough, out)
    return out


def highest(betas):
    return plurality_infinite(betas, np.zeros(betas.shape, dtype=int)).max(axis=-1)


def test_the_distribution_function_agrees_with_scipy_and_with_the_kernel():
    shapes = np.array([1e-6, 0.01, 0.3, 1.0, 2.0])
    ours = plain_lower_probabilities(shapes, POINTS)
    np.testing.assert_allclose(ours, special.gammainc(shapes[:, None], POINTS), rtol=1e-12)
    for shape, row in zip(shapes, ours, strict=True):
        peak, offsets = log_peak(shape), OFFSETS - np.log(shape)
        kernels = [lower_probability(shape, s, peak, np.exp(peak - shape * exp_excess(s)), 34.0) for s in offsets]
        np.testing.assert_allclose(row, kernels, rtol=1e-12)


def test_polynomials_are_below_minus_the_logarithm_of_the_distribution_function_and_close():
    shapes = np.concatenate([np.logspace(-6, -2, 200), np.linspace(0.01, MOST_OF_A_RIVAL, 4001)])[:, None]
    exact = -np.log1p(-special.gammaincc(shapes, POINTS))
    rows = (getattr(infinite_bound, name) for name in ("FIRST", "SECOND", "THIRD", "FOURTH", "FIFTH"))
    polynomial = sum(row * shapes ** (power + 1) for power, row in enumerate(rows))
    gap = (exact - polynomial) / shapes
    assert gap.min() > 0
    assert gap.max() < 1.5e-3


def test_the_error_covers_that_of_the_trapezoidal_sum():
    """2 M / (e^(2 pi d / h) - 1), M the integral of |integrand| on the line Im t = d: the smallest over d counts."""
    d = np.linspace(0.1, 1.5, 1401)
    assert (2 * np.cos(d) ** -MOST_OF_ALL / np.expm1(2 * np.pi * d / STEP)).min() < ERROR - 5e-6
    beyond = OFFSETS[-1] + STEP * np.arange(1, 40)
    log_densities = MOST_OF_THE_LEADER * beyond - np.exp(beyond) - special.gammaln(MOST_OF_THE_LEADER)
    assert STEP * np.exp(log_densities).sum() < 1e-7


@settings(deadline=None, max_examples=400)
@given(st.data())
def test_no_class_has_a_higher_chance(data):
    low = data.draw(st.floats(-6, 2))
    high = data.draw(st.floats(low, 2))
    exponents = data.draw(hnp.arrays(float, data.draw(st.integers(2, 24)), elements=st.floats(low, high)))
    votes = np.zeros(exponents.size)
    votes[data.draw(st.integers(0, exponents.size - 1))] = data.draw(st.integers(0, 9))
    beta = 10**exponents + votes
    assert highest(beta) - 1e-10 <= leader_bound(beta, 0.0) <= 1.0
    assert highest(beta) - 1e-10 <= leader_bound(beta, 0.95) <= 1.0


def test_against_a_rival_of_shape_one_the_chance_is_known():
    leaders = np.linspace(1.0, 9.0, 33)
    betas = np.stack([leaders, np.ones(33)], axis=1)
    np.testing.assert_allclose(bounds(betas, 1.0), highest(betas), atol=1e-10)


def test_no_class_has_a_higher_chance_in_beliefs_like_those_of_streams():
    rng, gaps = np.random.default_rng(0), []
    for num_classes in (2, 3, 16, 100):
        shape = (3000, num_classes)
        betas = rng.uniform(0.2, 4.0, (3000, 1)) * rng.dirichlet(np.full(num_classes, 0.2), 3000)
        betas += rng.gamma(1.0, 0.02, shape) + rng.multinomial(3, rng.dirichlet(np.full(num_classes, 0.2), 3000))
        gap = bounds(betas) - highest(betas)
        gaps.append(gap)
        assert gap.min() > -1e-10
        for enough in (0.5, 0.95):
            coarse = bounds(betas, enough)
            assert (coarse >= highest(betas) - 1e-10).all()
            np.testing.assert_array_equal(coarse[coarse > enough], bounds(betas)[coarse > enough])
        leads = np.sort(betas, axis=1)
        is_clear = (leads[:, -1] > 2) & (leads[:, -2] < 1) & (betas.sum(axis=1) < 16)
        assert is_clear.sum() > 10 and gap[is_clear].max() < 3e-4
    assert np.quantile(gaps, 0.9) < 1e-4


@pytest.mark.parametrize("small", [1e-300, 1e-12, 1e-6])
def test_a_leader_without_rivals_is_certain(small):
    assert leader_bound(np.array([3.0, small, small])) > 1 - 1e-4


@pytest.mark.parametrize(
    "beta", [[5.0, 2.1, 0.1], [17.0, 0.5], [15.0, 1.9, 1.9, 1.9, 1.9, 1.9], [1e7, 1.0], [1e300, 1e300]]
)
def test_beyond_its_range_the_duel_is_the_bound(beta):
    assert leader_bound(np.array(beta)) == duel(np.array(beta))


def test_only_the_order_of_magnitude_of_a_tiny_leader_matters():
    for beta in ([1e-300, 1e-300], [1e-9, 2e-9], [5e-324, 5e-324]):
        assert highest(np.array(beta)) - 1e-10 <= leader_bound(np.array(beta)) <= 1.0
