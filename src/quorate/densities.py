"""The two densities of the model: Dirichlet-multinomial and Gamma.

Counts are whole numbers, so ln Gamma(alpha + h) - ln Gamma(alpha) is a sum of h logarithms: no special functions.
Takes concentrations and counts; called by `prior` and, through the kernels, by `learning`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from quorate import validate
from quorate.compiled import kernel
from quorate.types import FloatArray, IntArray

_DIRECT = 48  # counts above this are grouped: 16 terms one by one, the rest by Stirling's series
_SERIES_FROM = 16.0  # at x >= 16 the series below are good to 1e-14


@kernel
def log_gamma(x: float) -> float:
    """ln Gamma(x) for x > 0, within 1e-14: Stirling's series from 16 on, below it through ln Gamma(x + n).

    Not `math.lgamma`, whose last digit differs between interpreted and compiled code.
    """
    product = 1.0
    while x < _SERIES_FROM:
        product *= x
        x += 1.0
    z = 1.0 / (x * x)
    stirling_error = (1 / 12 - z * (1 / 360 - z * (1 / 1260 - z * (1 / 1680 - z / 1188)))) / x
    return (x - 0.5) * math.log(x) - x + 0.5 * math.log(2.0 * math.pi) + stirling_error - math.log(product)


@kernel
def rise(alpha: float, count: int) -> tuple[float, float, float]:
    """ln Gamma(alpha + h) - ln Gamma(alpha) for a whole h = `count`, with its first two derivatives in alpha.

    (sum_{s<h} ln(alpha+s),  sum_{s<h} 1/(alpha+s),  -sum_{s<h} 1/(alpha+s)^2)
    """
    direct = count
    if count > _DIRECT:
        direct = 0
        while alpha + direct < _SERIES_FROM:
            direct += 1
    log_rise = 0.0
    slope = 0.0
    bend = 0.0
    product = 1.0  # one logarithm for many factors; flushed long before it can overflow
    for step in range(direct):
        factor = alpha + step
        inverse = 1.0 / factor
        product *= factor
        slope += inverse
        bend -= inverse * inverse
        if product > 1e150 or product < 1e-150:
            log_rise += math.log(product)
            product = 1.0
    if product != 1.0:
        log_rise += math.log(product)
    if direct < count:
        tail = _series(alpha + direct, count - direct)
        log_rise += tail[0]
        slope += tail[1]
        bend += tail[2]
    return log_rise, slope, bend


@kernel
def _series(low: float, count: int) -> tuple[float, float, float]:
    """`rise(low, count)` by differences of Stirling's series, in a form that loses no digits at low = 1e9."""
    high = low + count
    log_ratio = math.log1p(count / low)
    u = 1.0 / low
    v = 1.0 / high
    uu = u * u
    vv = v * v
    log_rise = count * math.log(high) + low * log_ratio - count - 0.5 * log_ratio
    log_rise += v * (1 / 12 - vv * (1 / 360 - vv * (1 / 1260 - vv / 1680)))
    log_rise -= u * (1 / 12 - uu * (1 / 360 - uu * (1 / 1260 - uu / 1680)))
    slope = log_ratio + 0.5 * count * u * v
    slope -= vv * (1 / 12 - vv * (1 / 120 - vv * (1 / 252 - vv / 240)))
    slope += uu * (1 / 12 - uu * (1 / 120 - uu * (1 / 252 - uu / 240)))
    bend = -count * u * v
    bend += vv * (0.5 + v * (1 / 6 - vv * (1 / 30 - vv * (1 / 42 - vv / 30))))
    bend -= uu * (0.5 + u * (1 / 6 - uu * (1 / 30 - uu * (1 / 42 - uu / 30))))
    return log_rise, slope, bend


@kernel
def _dirichlet_multinomial(votes: IntArray, alpha: FloatArray, out: FloatArray) -> None:
    """Fill out (B,) with the log probability of votes (B, K) given alpha (B, K)."""
    for row in range(votes.shape[0]):
        total_alpha = 0.0
        total_votes = 0
        log_pmf = 0.0
        for k in range(votes.shape[1]):
            total_alpha += alpha[row, k]
            total_votes += votes[row, k]
            log_pmf += rise(alpha[row, k], votes[row, k])[0] - rise(1.0, votes[row, k])[0]  # rise(1, h) = ln h!
        out[row] = log_pmf - rise(total_alpha, total_votes)[0] + rise(1.0, total_votes)[0]


def log_dirichlet_multinomial(votes: ArrayLike, alpha: ArrayLike) -> FloatArray:
    r"""Log probability of a histogram of votes: the likelihood of InfExp, and (votes being exchangeable) of FinExp.

    ln [n! / prod_k h_k!] + sum_k sum_{s<h_k} ln(alpha_k + s) - sum_{s<n} ln(sum_k alpha_k + s)

    votes (..., K) counts, alpha (..., K) > 0 -> (...). The multinomial coefficient IS included: over all histograms
    of n votes the probabilities sum to 1. (`learning` works with the votes in their order, hence without it.)

    >>> float(np.exp(log_dirichlet_multinomial([1, 1], [1.0, 1.0])).round(6))
    0.333333
    """
    counts, concentrations = validate.counts(votes), validate.concentrations(alpha)
    try:
        counts, concentrations = np.broadcast_arrays(counts, concentrations)
    except ValueError as cause:
        rule = f"a shape that broadcasts with {concentrations.shape}, that of `alpha`, not {counts.shape}"
        raise validate.invalid("votes", votes, rule, "pass one row of votes for each row of `alpha`.") from cause
    log_pmf = np.empty(math.prod(counts.shape[:-1]))
    flat_votes = np.array(counts, order="C").reshape(-1, counts.shape[-1])
    flat_alpha = np.array(concentrations, order="C").reshape(flat_votes.shape)
    _dirichlet_multinomial(flat_votes, flat_alpha, log_pmf)
    return log_pmf.reshape(counts.shape[:-1])


def log_gamma_density(value: ArrayLike, *, shape: float, rate: float) -> FloatArray:
    """Log density of Gamma(shape, rate) at `value` (...), normalised.

    shape ln(rate) - ln Gamma(shape) + (shape - 1) ln(value) - rate value

    >>> float(log_gamma_density(1.0, shape=1.0, rate=2.0).round(6))
    -1.306853
    """
    points = np.asarray(value, dtype=np.float64)
    constant = shape * math.log(rate) - log_gamma(shape)
    return np.asarray(constant + (shape - 1) * np.log(points) - rate * points)
