"""Root finding, minimisation and assignment with NumPy only: SciPy would be a third of a base installation."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from quorate.types import FloatArray, IntArray

RELATIVE = 8.881784197001252e-16  # four units in the last place
GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


def find_root(function: Callable[[float], float], low: float, high: float, *, within: float = 2e-12) -> float:
    """A root of `function` between `low` and `high`, where its signs differ: Brent's method (1973).

    >>> round(find_root(lambda x: x * x - 2.0, 0.0, 2.0), 12)
    1.414213562373
    """
    before, now, other = low, high, low
    f_before, f_now = function(before), function(now)
    if f_before == 0.0 or f_now == 0.0:
        return low if f_before == 0.0 else high
    if (f_before < 0) == (f_now < 0):
        raise ValueError(f"the function has the same sign at {low} and {high}")
    f_other = f_before
    last = step = now - before
    while True:
        if f_before != 0.0 and (f_before < 0) != (f_now < 0):
            other, f_other = before, f_before
            last = step = now - before
        if abs(f_other) < abs(f_now):
            before, now, other = now, other, now
            f_before, f_now, f_other = f_now, f_other, f_now
        least, half = (within + RELATIVE * abs(now)) / 2, (other - now) / 2
        if f_now == 0.0 or abs(half) < least:
            return now
        tried = _interpolated(before, now, other, f_before, f_now, f_other) if abs(f_now) < abs(f_before) else math.inf
        if abs(last) > least and 2 * abs(tried) < min(abs(last), 3 * abs(half) - least):
            last, step = step, tried
        else:
            last = step = half
        before, f_before = now, f_now
        now += step if abs(step) > least else math.copysign(least, half)
        f_now = function(now)


def _interpolated(before: float, now: float, other: float, f_before: float, f_now: float, f_other: float) -> float:
    """The step to the root of a line, or an inverse parabola, through the last points."""
    if before == other:
        return -f_now * (now - before) / (f_now - f_before)
    slope = (f_before - f_now) / (before - now)
    other_slope = (f_other - f_now) / (other - now)
    return -f_now * (f_other * other_slope - f_before * slope) / (other_slope * slope * (f_other - f_before))


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


def assign(cost: FloatArray) -> IntArray:
    """The column assigned to each row of a square matrix at the lowest total cost: the Hungarian method.

    >>> assign(np.array([[4.0, 1.0, 3.0], [2.0, 0.0, 5.0], [3.0, 2.0, 2.0]]))
    array([1, 0, 2])
    """
    size = len(cost)
    row_price, column_price = np.zeros(size), np.zeros(size)
    row_of = np.full(size, -1)  # row assigned to each column; -1: none yet
    for row in range(size):
        _augment(cost, row, row_price, column_price, row_of)
    columns = np.empty(size, dtype=np.int64)
    columns[row_of] = np.arange(size)
    return columns


def _augment(cost: FloatArray, row: int, row_price: FloatArray, column_price: FloatArray, row_of: IntArray) -> None:
    """Assign a column to `row`, moving earlier rows along the cheapest path to a free column; prices stay feasible."""
    gap, previous = np.full(len(cost), np.inf), np.full(len(cost), -1)
    reached = np.zeros(len(cost), dtype=bool)
    column, at = -1, row
    while at >= 0:
        found = cost[at] - row_price[at] - column_price
        better = ~reached & (found < gap)
        gap[better], previous[better] = found[better], column
        column = int(np.argmin(np.where(reached, np.inf, gap)))
        rise = gap[column]
        row_price[row] += rise
        row_price[row_of[reached]] += rise
        column_price[reached] -= rise
        gap[~reached] -= rise
        reached[column] = True
        at = int(row_of[column])
    while column >= 0:
        come_from = int(previous[column])
        row_of[column] = row if come_from < 0 else row_of[come_from]
        column = come_from
