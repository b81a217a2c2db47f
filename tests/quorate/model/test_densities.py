"""The two densities against enumeration and high precision."""

import itertools
from fractions import Fraction
from math import comb, factorial, prod

import mpmath
import numpy as np
import pytest
from tests.refusals import refused

from quorate.model.densities import log_dirichlet_multinomial, log_gamma_density


def histograms(total, num_classes):
    """Every way to spread `total` votes over the classes."""
    if num_classes == 1:
        yield (total,)
        return
    for own in range(total + 1):
        for rest in histograms(total - own, num_classes - 1):
            yield (own, *rest)


def exact_pmf(votes, alpha):
    """Dirichlet-multinomial probability in exact fractions."""
    coefficient = Fraction(factorial(sum(votes)), prod(factorial(v) for v in votes))
    rising = prod(alpha_k + s for alpha_k, v in zip(alpha, votes, strict=True) for s in range(v))
    return coefficient * rising / prod(sum(alpha) + s for s in range(sum(votes)))


@pytest.mark.parametrize("alpha", [[0.3, 1.0, 2.5], [1e-6, 1e-6, 1e-6], [1e6, 1.0, 1e-3]])
@pytest.mark.parametrize("total", [0, 1, 6])
def test_probabilities_of_all_histograms_sum_to_one(alpha, total):
    log_pmf = log_dirichlet_multinomial(list(histograms(total, 3)), alpha)
    assert np.exp(log_pmf).sum() == pytest.approx(1, abs=1e-12)


def test_pmf_equals_exact_fractions():
    alpha = (Fraction(1, 3), Fraction(5, 2), Fraction(1, 100))
    for votes in histograms(5, 3):
        ours = float(np.exp(log_dirichlet_multinomial(votes, [float(a) for a in alpha])))
        assert ours == pytest.approx(float(exact_pmf(votes, alpha)), rel=1e-13)


@pytest.mark.parametrize("pool_size", [4, 6])
def test_finite_pool_likelihood_equals_the_closed_form_exactly(pool_size):
    """E_{H ~ DirMult(N)} HyperGeo(votes; H) = DirMult(votes): FinExp's likelihood is InfExp's, in exact fractions."""
    alpha = (Fraction(1, 3), Fraction(5, 2), Fraction(7, 10))
    for votes in itertools.chain(histograms(1, 3), histograms(3, 3)):
        mean = sum(
            exact_pmf(pool, alpha) * Fraction(prod(map(comb, pool, votes)), comb(pool_size, sum(votes)))
            for pool in histograms(pool_size, 3)
        )
        assert mean == exact_pmf(votes, alpha)


@pytest.mark.parametrize("count", [0, 1, 7, 48, 49, 60, 1000, 100_000])
@pytest.mark.parametrize("alpha", [1e-6, 0.03, 1.0, 15.99, 16.0, 1e3, 1e6, 1e9])
def test_it_holds_in_high_precision(alpha, count):
    with mpmath.workdps(60):
        a, b = mpmath.mpf(alpha), mpmath.mpf(2.5)

        def rise(x, n):
            return mpmath.loggamma(x + n) - mpmath.loggamma(x)

        ways = mpmath.loggamma(count + 4) - mpmath.loggamma(count + 1) - mpmath.loggamma(4)
        expected = float(ways + rise(a, count) + rise(b, 3) - rise(a + b, count + 3))
    found = float(log_dirichlet_multinomial([count, 3], [alpha, 2.5]))
    assert found == pytest.approx(expected, rel=1e-11, abs=2e-9)  # terms of 1e6 cancel


def test_batches_broadcast():
    votes, alpha = np.array([[1, 0], [2, 2]]), np.array([0.5, 1.5])
    together = log_dirichlet_multinomial(votes, alpha)
    assert together.shape == (2,)
    np.testing.assert_array_equal(together, [log_dirichlet_multinomial(row, alpha) for row in votes])


def test_shapes_that_do_not_broadcast_are_refused():
    with refused("votes"):
        log_dirichlet_multinomial([1, 0, 0], [1.0, 1.0])


def test_gamma_density_integrates_to_one():
    points = np.linspace(1e-9, 40, 400_001)
    density = np.exp(log_gamma_density(points, shape=3.0, rate=2.0))
    assert np.trapezoid(density, points) == pytest.approx(1, abs=1e-8)
