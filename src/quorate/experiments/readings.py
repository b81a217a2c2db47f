"""Reading curves: the error of a stream at a budget, the area under its curve, a mean with its standard error.

A curve is a stream's (cost, error) points over the knob, read between two points by linear interpolation. Used by every
experiment; pure.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np

from quorate.types import FloatArray

LOW, HIGH = 0.05, 0.9  # of what asking until settled costs: where methods are compared


def curve(costs: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(Q,) costs and values -> the same by rising cost, one point a cost (the mean of those that share it).

    >>> curve(np.array([1.0, 0.0, 1.0]), np.array([2.0, 5.0, 4.0]))
    (array([0., 1.]), array([5., 3.]))
    """
    at, where = np.unique(np.round(costs, 9), return_inverse=True)
    return at, np.bincount(where, weights=values) / np.bincount(where)


def at_cost(costs: FloatArray, values: FloatArray, budgets: FloatArray | float) -> FloatArray:
    """The curve read at the budgets; NaN where it does not reach.

    >>> at_cost(np.array([0.0, 2.0]), np.array([0.4, 0.2]), np.array([1.0, 3.0]))
    array([0.3, nan])
    """
    return np.asarray(np.interp(budgets, *curve(costs, values), left=np.nan, right=np.nan))


def near_cost(costs: FloatArray, values: FloatArray, budget: float, within: float = 0.1) -> FloatArray:
    """The values of the runs whose cost is within 0.1 of the budget: the paper's own way of grouping runs."""
    return np.asarray(values[np.abs(costs - budget) <= within])


def area(costs: FloatArray, values: FloatArray, low: float, high: float) -> float:
    """Area under the curve between two costs, trapezoids between its points.

    >>> round(area(np.array([0.0, 2.0]), np.array([0.4, 0.2]), 0.0, 1.0), 6)
    0.35
    """
    at, value = curve(costs, values)
    inside = at[(at > low) & (at < high)]
    grid = np.concatenate([[low], inside, [high]])
    return float(np.trapezoid(np.interp(grid, at, value), grid))


def mean_se(values: Sequence[float] | FloatArray) -> tuple[float, float]:
    """Mean and standard error of what is not NaN; the error of fewer than two values is NaN.

    >>> mean_se([1.0, 3.0])
    (2.0, 1.0)
    """
    known = np.asarray(values, dtype=np.float64)
    known = known[~np.isnan(known)]
    if len(known) < 2 or np.isinf(known).any():
        return (float(known.mean()) if len(known) else math.nan), math.nan
    return float(known.mean()), float(known.std(ddof=1) / math.sqrt(len(known)))


def seeds_se(values: FloatArray, classifiers: Sequence[Hashable]) -> FloatArray:
    """Standard error of the mean over streams (S, ...) when the classifiers are fixed and only the seeds are drawn.

    sqrt(sum over M classifiers of the variance over their S_m seeds / S_m) / M: how far classifiers lie apart is not
    chance. Where a classifier has a single seed, the standard error over all streams instead, which is larger.

    >>> seeds_se(np.array([1.0, 3.0, 11.0, 13.0]), ["a", "a", "b", "b"])
    array(0.70710678)
    """
    groups: dict[Hashable, list[int]] = {}
    for row, name in enumerate(classifiers):
        groups.setdefault(name, []).append(row)
    if len(values) < 2:
        return np.full(np.shape(values)[1:], np.nan)
    if min(len(rows) for rows in groups.values()) < 2:
        return np.asarray(values.std(axis=0, ddof=1) / math.sqrt(len(values)))
    within = [values[rows].var(axis=0, ddof=1) / len(rows) for rows in groups.values()]
    return np.asarray(np.sqrt(np.sum(within, axis=0)) / len(groups))
