"""The outcome of a job (`JobOutcome`), and how curves are read: error at a budget, area, mean and standard error."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np

from quorate.paper.design import Job
from quorate.types import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class JobOutcome:
    """A job's results: Q parameter settings, B phases (blocks of the data set, or with and without experts), T items.

    `sizes` (B,) items of each phase   `costs` (Q, B) votes per item   `errors` (Q, B) error rate, expected over ties
    `drawn_errors` (Q, B) error rate with ties drawn at random   `confidence` (Q, B) mean confidence; in a phase without
    experts, of the first tenth of the items
    `params` (Q, P) packed parameters at the end, (Q, 0) if nothing is learned, NaN at threshold 1
    `item_costs`, `item_errors` (Q, T) if the job keeps items, else (Q, 0)
    `seconds` if it was run just now; not part of the result, hence not stored with it
    """

    job: Job
    sizes: IntArray
    costs: FloatArray
    errors: FloatArray
    drawn_errors: FloatArray
    confidence: FloatArray
    params: FloatArray
    item_costs: np.ndarray
    item_errors: np.ndarray
    seconds: float = math.nan

    @property
    def mean_costs(self) -> FloatArray:
        """(Q,) votes per item over the whole stream."""
        return np.asarray(self.costs @ self.sizes / self.sizes.sum())

    @property
    def mean_errors(self) -> FloatArray:
        """(Q,) share wrong over the whole stream, expected over ties."""
        return np.asarray(self.errors @ self.sizes / self.sizes.sum())

    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays to store: everything but the job and its time."""
        return {name: getattr(self, name) for name in ARRAYS}


ARRAYS = tuple(field.name for field in fields(JobOutcome) if field.name not in ("job", "seconds"))


LOW, HIGH = 0.05, 0.9  # range in which methods are compared, relative to the cost of asking until settled


def curve(costs: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(Q,) costs and values -> the same by rising cost, one point per cost (the mean of those with equal cost).

    >>> curve(np.array([1.0, 0.0, 1.0]), np.array([2.0, 5.0, 4.0]))
    (array([0., 1.]), array([5., 3.]))
    """
    at, where = np.unique(np.round(costs, 9), return_inverse=True)
    return at, np.bincount(where, weights=values) / np.bincount(where)


def at_cost(costs: FloatArray, values: FloatArray, budgets: FloatArray | float) -> FloatArray:
    """The curve read at the budgets; NaN outside its range.

    >>> at_cost(np.array([0.0, 2.0]), np.array([0.4, 0.2]), np.array([1.0, 3.0]))
    array([0.3, nan])
    """
    return np.asarray(np.interp(budgets, *curve(costs, values), left=np.nan, right=np.nan))


def near_cost(costs: FloatArray, values: FloatArray, budget: float, within: float = 0.1) -> FloatArray:
    """The values of the runs whose cost is within 0.1 of the budget: the grouping used in the paper."""
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
    """Mean and standard error of the values that are not NaN; NaN error for fewer than two.

    >>> mean_se([1.0, 3.0])
    (2.0, 1.0)
    """
    known = np.asarray(values, dtype=np.float64)
    known = known[~np.isnan(known)]
    if len(known) < 2 or np.isinf(known).any():
        return (float(known.mean()) if len(known) else math.nan), math.nan
    return float(known.mean()), float(known.std(ddof=1) / math.sqrt(len(known)))


def seeds_se(values: FloatArray, classifiers: Sequence[Hashable]) -> FloatArray:
    """Standard error of the mean over streams (S, ...) with fixed classifiers and random seeds.

    sqrt(sum over M classifiers of the variance over their S_m seeds / S_m) / M: differences between classifiers are not
    random. If a classifier has a single seed, the standard error over all streams instead, which is larger.

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


NAMES = {"cifar10h": "CIFAR-10H", "imagenet16h": "ImageNet-16H", "imagenet16h_shift": "ImageNet-16H shift",
         "chaosnli": "ChaosNLI"}  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class SeedCurve:
    """One seed of one method: votes per item and share wrong at each parameter value."""

    costs: FloatArray
    errors: FloatArray

    def at(self, budgets: FloatArray) -> FloatArray:
        """Error at the budgets; beyond its largest cost the last error."""
        at, errors = curve(self.costs, self.errors)
        return np.asarray(np.interp(budgets, at, errors))

    def reached(self, budgets: FloatArray) -> FloatArray:
        """Error at the budgets; NaN beyond its largest cost."""
        return at_cost(self.costs, self.errors, budgets)


@dataclass(frozen=True, slots=True, eq=False)
class CurvePanel:
    """`methods`: streams by method, by seed; `until_settled`, `tie_floor` (S,): cost, error of asking until settled.

    `accuracy`: how often the classifier agrees with the plurality of all votes; None for fused classifiers.
    """

    family: str
    pool_size: int
    model: str
    accuracy: float | None
    methods: Mapping[str, tuple[SeedCurve, ...]]
    until_settled: FloatArray
    tie_floor: FloatArray

    @property
    def name(self) -> str:
        """Data set and pool size, for titles."""
        return f"{NAMES[self.family]}, {self.pool_size} experts"

    def auc(self, method: str) -> FloatArray:
        """(S,) mean error over 0 .. until settled."""
        pairs = zip(self.methods[method], self.until_settled, strict=True)
        return np.array([_mean_error(stream, 0.0, float(most)) for stream, most in pairs])

    def ratios(self, method: str, reference: str = "finexp") -> FloatArray:
        """(S,) area relative to the reference, on the range of costs that both reach."""
        found = []
        for ours, theirs in zip(self.methods[method], self.methods[reference], strict=True):
            low = max(ours.costs.min(), theirs.costs.min())
            high = min(ours.costs.max(), theirs.costs.max())
            found.append(_ratio(_mean_error(ours, low, high), _mean_error(theirs, low, high)))
        return np.array(found)

    def inner_ratios(self, method: str, reference: str = "finexp") -> FloatArray:
        """(S,) area relative to the reference, between 5 and 90 % of the cost of asking until settled."""
        found = []
        pairs = zip(self.methods[method], self.methods[reference], self.until_settled, strict=True)
        for ours, theirs, most in pairs:
            low, high = LOW * most, HIGH * most
            found.append(_ratio(_mean_error(ours, low, high), _mean_error(theirs, low, high)))
        return np.array(found)

    def errors_at(self, method: str, shares: FloatArray) -> FloatArray:
        """(S, B) errors at shares of the until-settled cost."""
        pairs = zip(self.methods[method], self.until_settled, strict=True)
        return np.array([stream.at(shares * most) for stream, most in pairs])


def _ratio(ours: float, theirs: float) -> float:
    """ours / theirs; 1 if both are 0, infinite if only theirs is."""
    if theirs > 0:
        return ours / theirs
    return 1.0 if ours == theirs else math.inf


def _mean_error(stream: SeedCurve, low: float, high: float) -> float:
    """Area over a range of costs divided by its width; beyond the largest cost the last error is used."""
    reach = float(stream.costs.max())
    if high <= reach:
        return area(stream.costs, stream.errors, low, high) / (high - low)
    inside = area(stream.costs, stream.errors, low, reach) if reach > low else 0.0
    last = float(stream.at(np.array(reach)))
    return (inside + last * (high - max(reach, low))) / (high - low)
