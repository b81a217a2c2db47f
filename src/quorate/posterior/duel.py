"""Two leading classes alone: an upper bound, many times cheaper than InfExp itself, of the leader's chance to win.

Takes beta = alpha + votes of one item; returns one probability. Compiled, trusts its input. For callers that only
ask whether the leader's chance can reach a threshold: where the duel is below it, the integral can be skipped.
"""

from __future__ import annotations

import math

from quorate.compiled import kernel
from quorate.densities import log_gamma
from quorate.posterior.gamma_cdf import log_peak
from quorate.types import FloatArray

_TINY = 1e-12  # betas of a smaller sum: beta / sum, to 1e-12
_LARGE = 4e6  # betas above this: the fraction would need thousands of steps, and the bound 1 is as true
_CERTAIN = 25.0  # a runner-up whose chance is below e^-25 = 1.4e-11 has none
_CANCELS = 30.0  # from this sum on, differences of log-gamma functions would lose digits


@kernel
def duel(beta: FloatArray) -> float:
    """P(pi_a > pi_b) = I_{1/2}(beta_b, beta_a) for the largest and second largest entry of beta (K,), K >= 2.

    No class has a higher probability in `plurality_infinite`: the class of the largest beta has the highest, and to win
    it must beat the second. Accurate to 1e-10 for beta up to 4e6; returns 1, still a bound, for larger ones.

    >>> import numpy as np
    >>> round(duel(np.array([1.0, 2.0, 0.5])), 12)
    0.75
    """
    top = 0.0
    second = 0.0
    for value in beta:
        second = max(second, min(value, top))
        top = max(top, value)
    total = top + second
    if total < _TINY:
        return top / total
    if top > _LARGE:
        return 1.0
    if total < _CANCELS:
        log_density = log_gamma(total) - log_gamma(top) - log_gamma(second) - total * math.log(2.0)
    else:
        lead = (top - second) / total
        log_density = -top * math.log1p(lead)
        if lead < 1.0:
            log_density -= second * math.log1p(-lead)
        if log_density < -_CERTAIN:  # Chernoff: the runner-up's probability is below the exponential of this
            return 1.0
        log_density += log_peak(top) + log_peak(second) - log_peak(total)
    return 1.0 - math.exp(log_density) / _fraction(top, second)


@kernel
def _fraction(a: float, b: float) -> float:
    """2^-(a + b) / (B(a, b) I_{1/2}(a, b)) for a >= b > 0, by the even part of its continued fraction (DLMF 8.17.22).

    Gains 1.5 digits a step for small a and b; needs O(sqrt(a)) steps if they are large and similar. Lentz's method.
    """
    lead = 0.5 * (a - b) + 1.0
    fraction = a * lead / (a + 1.0)
    c = fraction
    d = 0.0
    odd = a + 1.0  # a + 2m - 1
    for m in range(1, 10_000):
        numerator = (a + m - 1.0) * (a + b + m - 1.0) * m * (b - m) * 0.25 / (odd * odd)
        denominator = m + 0.5 * m * (b - m) / odd + (a + m) * (lead + 1.5 * m) / (odd + 2.0)
        d = 1.0 / (denominator + numerator * d)
        c = denominator + numerator / c
        fraction *= c * d
        if abs(c * d - 1.0) < 1e-12:
            break
        odd += 2.0
    return fraction
