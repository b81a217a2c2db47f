"""The supermartingale: its inequality, its expectation by enumeration, and its solution against 40 digits."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate.audit.mixture import SCALED, lambdas, log_terms, solve_total, worst_log_terms

UNIT = st.floats(0, 1)
RATE = st.floats(0.01, 1)


def brute_force_total(u, q, audited, loss, *, min_rate, alpha):
    """The formula itself in 40 digits: solve mean_j exp(lambda_j (L - sum X) - psi_j V) = 1/alpha."""
    with mpmath.workdps(40):
        c = 1 / mpmath.mpf(min_rate)
        total_x, variation = mpmath.mpf(0), mpmath.mpf(0)
        for u_i, q_i, a_i, l_i in zip(u, q, audited, loss, strict=True):
            x_i = mpmath.mpf(u_i) + ((mpmath.mpf(l_i) - u_i) / mpmath.mpf(q_i) if a_i else 0)
            total_x, variation = total_x + x_i, variation + (x_i - u_i) ** 2
        lam = [mpmath.mpf(s) / c for s in SCALED]

        def excess(total):
            terms = [
                mpmath.exp(x * (total - total_x) - (-mpmath.log(1 - c * x) - c * x) / c**2 * variation) for x in lam
            ]
            return mpmath.log(mpmath.fsum(terms) / len(terms)) + mpmath.log(alpha)

        low, high = total_x - 1, total_x + 1
        while excess(high) < 0:
            high = total_x + 2 * (high - total_x)
        while excess(low) > 0:
            low = total_x - 2 * (total_x - low)
        for _ in range(120):
            middle = (low + high) / 2
            low, high = (middle, high) if excess(middle) < 0 else (low, middle)
        return float(low)


@pytest.mark.parametrize("seed", range(12))
def test_the_solution_agrees_with_forty_digits(seed):
    rng = np.random.default_rng(seed)
    size, min_rate = int(rng.integers(1, 400)), float(rng.choice([0.02, 0.1, 0.5, 1.0]))
    u, q = rng.beta(0.5, 3, size), np.maximum(min_rate, rng.random(size))
    audited, loss = rng.random(size) < q, 1.0 * (rng.random(size) < rng.random())
    for alpha in (0.001, 0.05, 0.5):
        terms = log_terms(u, np.where(audited, (loss - u) / q, 0), min_rate=min_rate)
        solved = solve_total(terms.sum(axis=0), min_rate=min_rate, alpha=alpha)
        expected = brute_force_total(u, q, audited, loss, min_rate=min_rate, alpha=alpha)
        assert solved == pytest.approx(expected, rel=1e-11, abs=1e-9)


def test_a_hand_worked_case_one_term_at_a_time():
    """One audited item, u = 0.1, q = 0.5, wrong: X = 0.1 + 0.9 / 0.5 = 1.9, (X - u)^2 = 3.24."""
    psi = (-np.log(1 - 0.9) - 0.9) * 0.25
    term = log_terms(0.1, 0.9 / 0.5, min_rate=0.5)[-1]
    assert term == pytest.approx(-0.45 * 1.9 - psi * 3.24)


def test_the_grid_is_the_published_one():
    assert (SCALED[0], SCALED[-1], len(SCALED)) == (0.05, 0.9, 8)
    assert lambdas(0.1)[-1] == pytest.approx(0.09)


@given(u=UNIT, loss=UNIT, q=RATE, ratio=UNIT)
def test_each_item_is_fair_at_best_whatever_its_loss_and_rate(u, loss, q, ratio):
    """E over the draw of exp(lambda (l - X) - psi (X - u)^2) <= 1: the guarantee depends on this inequality."""
    min_rate = max(q * ratio, 1e-3)
    idle = lambdas(min_rate) * loss + log_terms(u, 0.0, min_rate=min_rate)
    checked = lambdas(min_rate) * loss + log_terms(u, (loss - u) / q, min_rate=min_rate)
    assert np.all((1 - q) * np.exp(idle) + q * np.exp(checked) <= 1 + 1e-12)


@given(st.lists(st.tuples(UNIT, UNIT, st.booleans()), max_size=20), st.floats(0.01, 0.9))
def test_the_bound_lies_above_the_unbiased_estimate(items, alpha):
    """The direction: a bound from above on sum(l), at least log(1/alpha) / lambda_8 beyond sum(X)."""
    u, loss, audited = (np.array(column) for column in zip(*items, (0.5, 0.0, True), strict=True))
    residual = np.where(audited, (loss - u) / 0.2, 0)
    solved = solve_total(log_terms(u, residual, min_rate=0.2).sum(axis=0), min_rate=0.2, alpha=alpha)
    assert solved >= (u + residual).sum() - np.log(alpha) / lambdas(0.2)[-1] - 1e-9


@given(u=UNIT, loss=UNIT, q=RATE)
def test_an_unknown_loss_adds_no_more_than_any_loss_would(u, loss, q):
    worst = worst_log_terms(u, q, min_rate=0.01)
    assert np.all(worst <= log_terms(u, (loss - u) / q, min_rate=0.01) + 1e-12)


@given(u=st.floats(0, 0.82), q=RATE)
def test_an_unknown_loss_counts_as_wrong_unless_the_model_expected_it(u, q):
    assert worst_log_terms(u, q, min_rate=q) == pytest.approx(log_terms(u, (1 - u) / q, min_rate=q))


@given(st.lists(st.floats(-1e4, 1e3), min_size=8, max_size=8), st.floats(0.001, 1), st.floats(1e-6, 0.9))
@settings(max_examples=200)
def test_the_solution_solves_and_lies_between_its_brackets(sums, min_rate, alpha):
    sums = np.array(sums)
    total = solve_total(sums, min_rate=min_rate, alpha=alpha)
    lone = (np.log(1 / alpha) - sums) / lambdas(min_rate)
    widest = (np.log(8 / alpha) - sums) / lambdas(min_rate)
    slack = 1e-9 * (1 + np.abs(total))
    assert lone.min() - slack <= total <= widest.min() + slack
    exponents = lambdas(min_rate) * total + sums
    reached = exponents.max() + np.log(np.exp(exponents - exponents.max()).mean())
    assert reached == pytest.approx(-np.log(alpha), abs=1e-8)
