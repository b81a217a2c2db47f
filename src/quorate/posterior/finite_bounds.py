"""Bounds for FinExp in large pools: which levels of the winner matter, and how many points the circle needs.

All bounds are in logarithms, and a few digits are enough. Compiled; input is trusted. Called by `finite`.
"""

from __future__ import annotations

import math

from quorate.compiled import kernel
from quorate.types import FloatArray, IntArray

_LOG_ALIAS = -27.0  # log of what other coefficients may add to an answer: 2e-12
_LARGEST_BETA = 1e9  # beyond, counts are almost independent, and the choice of the circle no longer depends on beta
_LOG_UNDER = -30.0  # log of the allowed probability, 1e-13, that the winner has fewer votes than the lowest level


@kernel
def capacity_of(level: int, votes: IntArray) -> int:
    """How many votes the classes can receive before one exceeds `level`."""
    capacity = 0
    for count in votes:
        capacity += level - count
    return capacity


@kernel
def log_rising(x: float, steps: float) -> float:
    """log Gamma(x + steps) / Gamma(x) within 1e-3, for 0 < x <= 1e9; for bounds only."""
    if x < 10.0:
        return math.lgamma(x + steps) - math.lgamma(x)
    end = x + steps
    return (end - 0.5) * math.log1p(steps / x) + steps * (math.log(x) - 1.0) + (1.0 / end - 1.0 / x) / 12.0


@kernel
def _log_loss(beta: float, remaining: int, shrink: float) -> float:
    """log of how much less likely R votes are with the radius R / (R + shrink beta) than with the best, shrink = 1."""
    return (remaining + beta) * math.log1p((shrink - 1.0) * beta / (remaining + beta)) - beta * math.log(shrink)


@kernel
def _log_alias(beta: float, remaining: int, shrink: float, size: int) -> float:
    """log of all coefficients R + t size, t != 0, of prod_j (1 - z)^-beta_j relative to that of R; an upper bound."""
    log_radius = -math.log1p(shrink * beta / remaining)
    above = log_rising(beta + remaining, size) - log_rising(remaining + 1.0, size) + size * log_radius
    largest = above
    if size <= remaining:
        low = remaining - size
        below = log_rising(low + 1.0, size) - size * log_radius
        below -= log_rising(beta + low, size)
        largest = max(above, below)
    return largest + 1.4  # times four: there are two sides, and on each the terms at least halve


@kernel
def _smallest_circle(beta: float, remaining: int, shrink: float, most: int) -> int:
    """The fewest points, up to `most`, whose aliases stay below e^_LOG_ALIAS at this radius; else `most`."""
    low, high = 8, most
    while low < high:
        middle = (low + high) // 2
        if _log_alias(beta, remaining, shrink, middle) <= _LOG_ALIAS:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def circle_of(
    last: int,
    total_beta: float,
    others_beta: float,
    votes: IntArray,
    remaining: int,
    weights: FloatArray,
    stride: int,
    log_scale: float,
    log_loss: float,
) -> tuple[int, float]:
    """Number of points (odd) and `shrink`, for the radius R / (R + shrink sum(beta)), of the cheapest circle.

    The coefficients of a product of truncated series are at most those of the full series, which gives the bound, and
    0 above its degree. In between, up to the level `last`, the bound of `lowest_level` may show that R + 1 points are
    enough; weights and log_scale as there. A smaller radius allows fewer points but loses digits: round-off grows by up
    to e^log_loss.
    """
    beta = min(total_beta, _LARGEST_BETA)
    most = 40 * (remaining + 10)
    if others_beta == 0.0:
        most = max(remaining, capacity_of(last, votes) - remaining) + 1
    size, shrink = _smallest_circle(beta, remaining, 1.0, most), 1.0
    low, high = 0.0, 60.0  # logarithm of the largest shrink that loses at most log_loss
    for _ in range(30):
        middle = 0.5 * (low + high)
        if _log_loss(beta, remaining, math.exp(middle)) <= log_loss:
            low = middle
        else:
            high = middle
    for part in (0.5, 1.0):
        tried = math.exp(part * low)
        points = _smallest_circle(beta, remaining, tried, most)
        if points < size - 2:
            size, shrink = points, tried
    if others_beta == 0.0 and size > remaining + 2:
        tried = math.exp(low)
        gain = math.log1p(tried * total_beta / remaining) - math.log1p(total_beta / remaining)
        tilt = 0.0
        for part in (0.0, 0.25, 0.5, 0.75):
            points = remaining + 1 + int(part * (size - remaining))
            enough = _LOG_ALIAS + gain * points
            bound, tilt = _log_coefficient(
                last, remaining + points, votes, remaining, weights, stride, log_scale, tilt, enough
            )
            if bound < enough:
                size, shrink = points, tried
                break
    return size | 1, shrink


@kernel
def lowest_level(
    lowest: int,
    end: int,
    votes: IntArray,
    remaining: int,
    weights: FloatArray,
    stride: int,
    log_scale: float,
) -> int:
    """The first level in lowest..end such that the winner is below it with probability at most e^_LOG_UNDER.

    For any s >= 0, P(max H <= m) <= exp(log_scale - s R) prod_j sum_{x <= m - v_j} w_j(x) e^(s x); log_scale is
    -log of [z^R] prod_j (sum_x w_j(x) z^x), including the shifts of all weights. s comes from a few Newton steps.
    """
    while lowest < end and capacity_of(lowest, votes) < remaining:
        lowest += 1
    low, high = lowest, end
    tilt = 0.0
    while low < high:
        level = (low + high) // 2
        bound, tilt = _log_coefficient(level, remaining, votes, remaining, weights, stride, log_scale, tilt, _LOG_UNDER)
        if bound < _LOG_UNDER:
            low = level + 1
        else:
            high = level
    return low


@kernel
def _log_coefficient(
    level: int,
    degree: int,
    votes: IntArray,
    remaining: int,
    weights: FloatArray,
    stride: int,
    log_scale: float,
    tilt: float,
    enough: float,
) -> tuple[float, float]:
    """A bound of log_scale + log [z^degree] prod_j sum_{x <= level - v_j} w_j(x) z^x, and the s = log z that gave it.

    At most eight Newton steps from `tilt`, or bisections where a step would leave the bracket of the minimum, which
    Newton's steps alone jump over. Stops when the bound is below `enough` or as low as it gets.
    """
    best, low, high = math.inf, 0.0, math.inf
    for _ in range(8):
        factor = math.exp(-tilt)
        bound, capacity, above, slope = log_scale, 0, 0.0, 0.0
        for i in range(votes.size):
            most = min(level - votes[i], remaining)
            total, first, second = 0.0, 0.0, 0.0  # sums of w_i factor^y and its derivatives; y = most - x
            for x in range(most + 1):
                second = second * factor + first
                first = first * factor + total
                total = total * factor + weights[i * stride + x]
            if total <= 0.0:  # underflow: this s gives no bound
                return best, 0.0
            mean = first * factor / total
            bound += math.log(total)
            capacity += most
            above += mean
            slope += 2.0 * second * factor * factor / total + mean - mean * mean
        best = min(best, bound + tilt * (capacity - degree))
        excess = capacity - above - degree  # the slope of the bound, which is convex
        if best < enough or (excess >= 0.0 and tilt == 0.0):
            break
        if excess > 0.0:
            high = tilt
        else:
            low = tilt
        tried = tilt - excess / max(slope, 1e-9)
        if tried < low or tried > high:
            tried = 0.5 * (low + high)
        if abs(tried - tilt) * abs(excess) < 0.1:  # what is left to gain
            break
        tilt = tried
    return best, tilt
