r"""The mixture of eight exponential supermartingales behind the running bound, and its solution for the sum of losses.

Why it holds. Item i has u_i and q_i fixed before its draw A_i, and an unknown loss l_i in [0, 1]. Y = -(A/q)(l - u) has
mean u - l and is at least -c, c = 1/q_min. For such Y and 0 <= c x < 1, exp(x Y - psi(x) Y^2) <= 1 + x Y with
psi(x) = (-log(1 - c x) - c x) / c^2 (Fan, Grama and Liu, 2015), so with X = u - Y, which has mean l,

    E exp(x (l - X) - psi(x) (X - u)^2) <= (1 + x (u - l)) exp(x (l - u)) <= 1.

Products over items, and means over x, are nonnegative supermartingales that start at 1; by Ville's inequality the mean
ever reaches 1/alpha with probability at most alpha. It grows with sum(l), so the sum(l) at which it equals 1/alpha is
an upper bound at all times at once. Called by `running`; checks nothing.
"""

from __future__ import annotations

import numpy as np

from quorate.types import FloatArray

SCALED = np.linspace(0.05, 0.9, 8)  # c * lambda_j: small ones suit long streams with many errors, large ones few errors
SCALED.flags.writeable = False
_PSI = -np.log1p(-SCALED) - SCALED  # c^2 * psi(lambda_j)
_MOST_STEPS = 100


def lambdas(min_rate: float) -> FloatArray:
    """lambda_j = SCALED_j / c, with c = 1 / min_rate; (8,)."""
    return SCALED * min_rate


def log_terms(expected_loss: FloatArray | float, residual: FloatArray | float, *, min_rate: float) -> FloatArray:
    """What items add to each exponent: -lambda_j X - psi(lambda_j) (X - u)^2; (...,) -> (..., 8).

    `residual` = X - u = (A / q) (l - u): 0 for an item that was not audited.
    """
    gap = np.asarray(residual)[..., None]
    drift = (np.asarray(expected_loss)[..., None] + gap) * lambdas(min_rate)
    return np.asarray(-drift - gap**2 * (_PSI * min_rate**2))


def worst_log_terms(expected_loss: FloatArray | float, rate: FloatArray | float, *, min_rate: float) -> FloatArray:
    """As `log_terms`, for an audited item whose loss is unknown: the least it can add, for each lambda.

    The exponent is concave in the loss, so its minimum is at loss 0 or 1: at 1 unless u is above 0.82. The bound with
    these terms is never below the bound with the true loss.
    """
    right = log_terms(expected_loss, -expected_loss / rate, min_rate=min_rate)
    wrong = log_terms(expected_loss, (1 - expected_loss) / rate, min_rate=min_rate)
    return np.minimum(right, wrong)


def solve_total(sums: FloatArray, *, min_rate: float, alpha: float) -> FloatArray:
    """The L at which mean_j exp(lambda_j L + sums_j) = 1/alpha; sums (..., 8) -> (...,).

    Newton's method on the logarithm, which is convex and increasing in L, starting where one term alone reaches
    1/alpha, i.e. above the solution: the steps decrease and never pass it, so even an early stop would give a bound.
    """
    rates = lambdas(min_rate)
    target = np.log(len(SCALED) / alpha)
    total: FloatArray = np.asarray(((target - sums) / rates).min(axis=-1))
    for _ in range(_MOST_STEPS):
        exponents = rates * total[..., None] + sums
        top = exponents.max(axis=-1)
        weights = np.exp(exponents - top[..., None])
        mass = weights.sum(axis=-1)
        step = (np.log(mass) + top - target) * mass / (weights * rates).sum(axis=-1)
        total = total - np.maximum(step, 0.0)
        if np.all(step <= 1e-12 * (1 / min_rate + np.abs(total))):
            break
    return total
