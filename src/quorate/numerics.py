"""Roots, minima, distribution functions and quantiles with NumPy only.

SciPy would be a third of a base installation; tests compare these functions with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from quorate.types import FloatArray

HALVINGS = 60  # of an interval of length 1: then it is as short as rounding
GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
TINY, SMALLEST = 1e-300, 5e-324  # SMALLEST is the smallest float above 0
FARTHEST, PER_UNIT = 9.0, 4096  # range and resolution of the normal table; beyond it the values are 0 and 1


def find_root(function: Callable[[float], float], low: float, high: float, *, within: float = 1e-12) -> float:
    """A root of `function` between `low` and `high`, where its signs differ, by bisection.

    >>> round(find_root(lambda x: x * x - 2.0, 0.0, 2.0), 9)
    1.414213562
    """
    at_low, at_high = function(low), function(high)
    if at_low == 0.0 or at_high == 0.0:
        return low if at_low == 0.0 else high
    if (at_low < 0) == (at_high < 0):
        raise ValueError(f"the function has the same sign at {low} and {high}")
    middle = (low + high) / 2
    while abs(high - low) > within and middle not in (low, high):
        is_before = (function(middle) < 0) == (at_low < 0)
        low, high = (middle, high) if is_before else (low, middle)
        middle = (low + high) / 2
    return middle


def find_minimum(function: Callable[[float], float], low: float, high: float, *, within: float = 1e-7) -> float:
    """The minimum of a `function` that first falls and then rises: golden-section search.

    >>> round(find_minimum(lambda x: (x - 1.5) ** 2, 0.0, 5.0), 6)
    1.5
    """
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    f_left, f_right = function(left), function(right)
    while high - low > within:
        if f_left <= f_right:
            high, right, f_right = right, left, f_left
            left = high - GOLDEN * (high - low)
            f_left = function(left)
        else:
            low, left, f_left = left, right, f_right
            right = low + GOLDEN * (high - low)
            f_right = function(right)
    return (low + high) / 2


def softmax(values: FloatArray) -> FloatArray:
    """exp(values) / sum(exp(values)) along the last axis."""
    powers = np.exp(values - values.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


@cache  # a controller asks for the same one after every item
def normal_quantile(level: float) -> float:
    """The z with P(Z <= z) = level.

    >>> round(normal_quantile(0.975), 6)
    1.959964
    """
    return NormalDist().inv_cdf(level)


def share_interval(share: float, num: int) -> tuple[float, float]:
    """The exact 95 % interval of a share of `num`, by Clopper and Pearson: with k = share * num

        low = the 2.5 % quantile of Beta(k, num - k + 1),   high = the 97.5 % quantile of Beta(k + 1, num - k)

    >>> tuple(round(end, 3) for end in share_interval(0.9, 100)), share_interval(0.0, 8)[0]
    ((0.824, 0.951), 0.0)
    """
    k = share * num
    low = 0.0 if k <= 0 else float(beta_quantile(k, num - k + 1, np.array([0.025]))[0])
    high = 1.0 if k >= num else float(beta_quantile(k + 1, num - k, np.array([0.975]))[0])
    return low, high


def normal_cdf(values: FloatArray) -> FloatArray:
    """P(Z <= values): a Taylor series of order 3 from the nearest point of a table.

    >>> normal_cdf(np.array([-1.0, 0.0, 1.96])).round(6)
    array([0.158655, 0.5     , 0.975002])
    """
    x = np.clip(values, -FARTHEST, FARTHEST)
    nearest = np.rint(x * PER_UNIT)
    d = x - nearest / PER_UNIT
    index = (nearest + FARTHEST * PER_UNIT).astype(np.int64)
    cdf, first, second, third = _normal_table()
    return np.asarray(cdf[index] + d * (first[index] + d * (second[index] + d * third[index])))


@cache
def _normal_table() -> tuple[FloatArray, ...]:
    """The distribution function at the points of the table, and its derivatives over 1, 2 and 6."""
    points = np.arange(-FARTHEST * PER_UNIT, FARTHEST * PER_UNIT + 1) / PER_UNIT
    cdf = np.array([0.5 * math.erfc(-x / math.sqrt(2)) for x in points])
    density = np.exp(-0.5 * points**2) / math.sqrt(2 * math.pi)
    return cdf, density, -points * density / 2, (points**2 - 1) * density / 6


def beta_cdf(a: float, b: float, x: ArrayLike) -> FloatArray:
    """I_x(a, b) = P(Beta(a, b) <= x), by its continued fraction.

    >>> beta_cdf(2.0, 3.0, [0.0, 0.5, 1.0]).round(4)
    array([0.    , 0.6875, 1.    ])
    """
    x = np.asarray(x, dtype=np.float64)
    mirrored = x > (a + 1) / (a + b + 2)
    p, q = np.where(mirrored, b, a), np.where(mirrored, a, b)
    y = np.clip(np.where(mirrored, 1 - x, x), SMALLEST, 1.0)
    log_front = p * np.log(y) + q * np.log1p(-np.minimum(y, 1 - 1e-16)) - _log_beta(a, b)
    part = np.exp(log_front) / p * _beta_fraction(p, q, y)
    part = np.where(np.where(mirrored, 1 - x, x) <= 0, 0.0, part)
    return np.asarray(np.where(mirrored, 1 - part, part))


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def _beta_fraction(p: FloatArray, q: FloatArray, y: FloatArray) -> FloatArray:
    """The continued fraction of I_y(p, q), by Lentz's method."""
    c = np.ones_like(y)
    d = 1 / (1 - (p + q) * y / (p + 1))
    value = d
    for m in range(1, 500):
        for term in (
            m * (q - m) * y / ((p + 2 * m - 1) * (p + 2 * m)),
            -(p + m) * (p + q + m) * y / ((p + 2 * m) * (p + 2 * m + 1)),
        ):
            d, c = 1 / _not_zero(1 + term * d), _not_zero(1 + term / c)
            value = value * d * c
        if np.all(np.abs(d * c - 1) < 1e-16 * 4):
            break
    return value


def _not_zero(values: FloatArray) -> FloatArray:
    return np.where(np.abs(values) < TINY, TINY, values)


def beta_quantile(a: float, b: float, levels: FloatArray) -> FloatArray:
    """The x with P(Beta(a, b) <= x) = levels, by bisection.

    >>> beta_quantile(2.0, 3.0, np.array([0.6875])).round(6)
    array([0.5])
    """
    low, high = np.zeros_like(levels), np.ones_like(levels)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        is_below = beta_cdf(a, b, middle) < levels
        low, high = np.where(is_below, middle, low), np.where(is_below, high, middle)
    return (low + high) / 2


def hypergeometric_cdf(wrong: int, whole: int, all_wrong: int, drawn: int) -> float:
    """P(at most `wrong` of `drawn` are wrong), drawn from `whole` of which `all_wrong` are, without replacement.

    >>> round(hypergeometric_cdf(1, 10, 3, 4), 6)  # (C(7, 4) + 3 C(7, 3)) / C(10, 4)
    0.666667
    """
    first, last = max(0, drawn - (whole - all_wrong)), min(drawn, all_wrong)
    if wrong < first or wrong >= last:
        return 0.0 if wrong < first else 1.0
    k = np.arange(first, last, dtype=np.float64)
    ratios = np.log(all_wrong - k) + np.log(drawn - k) - np.log(k + 1) - np.log(whole - all_wrong - drawn + k + 1)
    logs = np.concatenate([[0.0], np.cumsum(ratios)])
    weights = np.exp(logs - logs.max())
    return float(weights[: wrong - first + 1].sum() / weights.sum())
