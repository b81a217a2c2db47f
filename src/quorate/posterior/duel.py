"""Two leading classes alone: an upper bound, many times cheaper than the posterior itself, of the leader's chance.

`duel` bounds InfExp, `finite_duel` FinExp. Each takes one item and returns one probability. Compiled, trusts its input.
For callers that only ask whether the leader's chance can reach a threshold: where the duel is below it, the posterior
can be skipped.
"""

from __future__ import annotations

import math

import numpy as np

from quorate.compiled import kernel
from quorate.densities import log_gamma
from quorate.posterior.finite_levels import PAD
from quorate.posterior.finite_pairs import add_pairs
from quorate.posterior.finite_weights import weights_into
from quorate.posterior.gamma_cdf import log_peak
from quorate.types import FloatArray, IntArray

_TINY = 1e-12  # betas of a smaller sum: beta / sum, to 1e-12
_LARGE = 4e6  # betas above this: the fraction would need thousands of steps, and the bound 1 is as true
_CERTAIN = 25.0  # a runner-up whose chance is below e^-25 = 1.4e-11 has none
_CANCELS = 30.0  # from this sum on, differences of log-gamma functions would lose digits
_WIDEST = 1e60  # concentrations beyond this, or below its inverse: no bound of a finite pool, that is 1


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


@kernel
def finite_duel(alpha: FloatArray, votes: IntArray, pool_size: int) -> float:
    """The larger chance of two classes against each other alone, P(H_a > H_b) + P(H_a = H_b) / 2, H the final counts.

    a has the most votes so far. No class can have a higher chance in `finite_into`: to win, or share a tie, none of
    the two may fall behind the other, and a class with no more votes and no more beta = alpha + votes than one of them
    has at most 1/2. Where a third class is neither, or where concentrations are extreme: 1, still a bound.

    >>> round(finite_duel(np.array([1.0, 1.0, 1.0]), np.array([1, 0, 0]), 2), 12)
    0.875
    """
    beta = alpha + votes
    remaining = pool_size - votes.sum()
    leader, largest, total = 0, 0, 0.0
    for k in range(votes.size):
        total += beta[k]
        if beta[k] > beta[largest]:
            largest = k
        if votes[k] > votes[leader] or (votes[k] == votes[leader] and beta[k] > beta[leader]):
            leader = k
    rival, closest = -1, -1.0
    for k in range(votes.size):
        if beta[k] > beta[leader] and votes[k] > votes[largest]:
            return 1.0
        expected = votes[k] + remaining * (beta[k] / total)
        if k != leader and (expected > closest or k == largest):
            rival, closest = k, expected if k != largest else math.inf
    if rival < 0 or not 1.0 / _WIDEST < alpha[rival] <= total < _WIDEST:
        return 1.0
    chance: float = _pair_chance(beta, votes, remaining, leader, rival)
    return max(chance, 1.0 - chance)


@kernel
def _pair_chance(betas: FloatArray, votes: IntArray, remaining: int, leader: int, rival: int) -> float:
    """The leader's chance against the rival; all other classes are merged into one, which cannot win."""
    beta, seen = np.array([betas[leader], betas[rival]]), np.array([votes[leader], votes[rival]])
    others = 0.0
    for k in range(votes.size):
        if k not in (leader, rival):
            others += betas[k]
    total_beta = others + beta[0] + beta[1]
    tilt = remaining / (remaining + total_beta)
    steps, work, stride = np.empty(remaining + 1), np.empty(remaining + 4), remaining + 1 + PAD
    for x in range(remaining + 1):
        steps[x] = tilt / (x + 1)
    total_shift = weights_into(total_beta, steps, work, 0, remaining)
    total = work[remaining]
    weights, shifts, win = np.zeros(2 * stride), np.empty(2, np.int64), np.ones(2)
    for i in range(2):
        shifts[i] = weights_into(beta[i], steps, weights, i * stride, remaining)
    add_pairs(seen[0], beta, others, seen, remaining, weights, shifts, np.ones(2), total, total_shift, steps, work, win)
    return float(min(win[0], 1.0))
