"""Distributions, roots and minima: SciPy's values, exact fractions, limits."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from quorate.numerics import (
    beta_cdf,
    beta_quantile,
    find_minimum,
    find_root,
    hypergeometric_cdf,
    normal_cdf,
    normal_quantile,
    share_interval,
    softmax,
)

SHAPES = st.floats(1e-3, 200)
LEVELS = (np.arange(20) + 0.5) / 20


def test_the_normal_distribution():
    x = np.concatenate([np.linspace(-12, 12, 4001), [-np.inf, np.inf, 0.0]])
    np.testing.assert_allclose(normal_cdf(x), special.ndtr(x), rtol=0, atol=3e-16)
    levels = np.linspace(0.001, 0.999, 99)
    np.testing.assert_allclose(
        [normal_quantile(level) for level in levels], special.ndtri(levels), rtol=1e-14, atol=1e-15
    )


@settings(deadline=None, max_examples=50)
@given(a=SHAPES, b=SHAPES, x=st.floats(1e-290, 1))
def test_the_beta_distribution(a, b, x):
    assert beta_cdf(a, b, x) == pytest.approx(special.betainc(a, b, x), rel=1e-11, abs=1e-13)
    mirrored = min(max(x, 0.01), 0.99)
    assert beta_cdf(a, b, mirrored) + beta_cdf(b, a, 1 - mirrored) == pytest.approx(1, abs=1e-12)
    assert (float(beta_cdf(a, b, 0.0)), float(beta_cdf(a, b, 1.0))) == (0.0, 1.0)


@settings(deadline=None, max_examples=50)
@given(num=st.integers(1, 500), share=st.floats(0, 1))
def test_an_interval_of_a_share_is_the_exact_one(num, share):
    right = round(share * num)
    exact = stats.binomtest(right, num).proportion_ci(method="exact")
    assert share_interval(right / num, num) == pytest.approx((exact.low, exact.high), abs=1e-9)


@pytest.mark.parametrize("agreement", [0.0, 1e-6, 0.1, 0.5, 0.77, 0.9, 0.999, 1.0])
def test_beta_quantiles_as_synthetic_streams_need_them(agreement):
    a, b = 1.5 * agreement + 1e-9, 1.5 * (1 - agreement) + 1e-9
    np.testing.assert_allclose(beta_quantile(a, b, LEVELS), special.betaincinv(a, b, LEVELS), rtol=0, atol=1e-13)


@settings(deadline=None, max_examples=50)
@given(a=st.floats(0.05, 50), b=st.floats(0.05, 50))
def test_a_beta_quantile_has_its_level(a, b):
    x = beta_quantile(a, b, LEVELS)
    assert np.all(np.diff(x) >= 0)
    away = (x > 1e-12) & (x < 1 - 1e-9)
    np.testing.assert_allclose(beta_cdf(a, b, x)[away], LEVELS[away], rtol=0, atol=1e-7)
    np.testing.assert_allclose(x, special.betaincinv(a, b, LEVELS), rtol=0, atol=1e-10)


@settings(deadline=None, max_examples=50)
@given(data=st.data(), whole=st.integers(1, 40))
def test_the_hypergeometric_distribution_is_the_sum_of_its_fractions(data, whole):
    all_wrong, drawn = data.draw(st.integers(0, whole)), data.draw(st.integers(0, whole))
    wrong = data.draw(st.integers(0, drawn))
    exact = sum(
        Fraction(comb(all_wrong, k) * comb(whole - all_wrong, drawn - k), comb(whole, drawn)) for k in range(wrong + 1)
    )
    assert hypergeometric_cdf(wrong, whole, all_wrong, drawn) == pytest.approx(float(exact), rel=1e-12)


def test_a_large_hypergeometric_distribution():
    assert hypergeometric_cdf(30, 10**6, 5000, 8000) == pytest.approx(
        stats.hypergeom.cdf(30, 10**6, 5000, 8000), rel=1e-9
    )


def test_the_softmax():
    values = np.random.default_rng(1).normal(size=(3, 4, 5)) * 50
    np.testing.assert_array_equal(softmax(values), special.softmax(values, axis=-1))


@settings(deadline=None, max_examples=50)
@given(root=st.floats(-5, 5), steep=st.floats(0.01, 20))
def test_a_root_is_found_from_both_sides(root, steep):
    def function(x):
        return np.tanh(steep * (x - root)) + 0.1 * (x - root) ** 3

    assert find_root(function, -6.0, 7.0) == pytest.approx(root, abs=2e-12)
    assert find_root(function, 7.0, -6.0, within=1e-6) == pytest.approx(root, abs=1e-6)


def test_a_root_at_an_end_is_found_and_one_sign_is_an_error():
    assert find_root(lambda x: x, 0.0, 1.0) == 0.0 and find_root(lambda x: x - 1, 0.0, 1.0) == 1.0
    with pytest.raises(ValueError, match="sign"):
        find_root(lambda x: x + 2, 0.0, 1.0)


@settings(deadline=None, max_examples=50)
@given(where=st.floats(0, 5), power=st.sampled_from([1.0, 1.5, 2.0]))
def test_a_minimum_is_found_inside_and_at_the_ends(where, power):
    assert find_minimum(lambda x: abs(x - where) ** power, 0.0, 5.0) == pytest.approx(where, abs=1e-6)
