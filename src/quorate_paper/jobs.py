"""The jobs of experiments: a `Job` is one method at several parameter values on one stream, `JobOutcome` its result.

Also the grids of parameter values, and how curves of error against cost are read: error at a budget, area, mean and
standard error. Used by every experiment of `paper`.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

import numpy as np

from quorate.methods import LEARNERS
from quorate.types import FloatArray, IntArray
from quorate_paper.released import paper_method
from quorate_paper.settings import FINEXP_32, REFIT_EVERY, WINDOW, WITHIN

Parameters = tuple[tuple[str, float | int | str], ...]
USUAL = 0  # stands for the window of `usual_window`
Variant = Literal["exact", "as-published", "as-released"]

_FIXED = {"fixed-finexp": 10, "fixed-infexp": 4}  # microseconds for each member of the pool
_LEARNED = {  # microseconds, and more for each member of the pool
    "value": (20, 1.2),
    "finexp": (8, 0.7),
    FINEXP_32: (8, 0.7),
    "infexp": (15, 0.1),
    "fixed-ask-finexp": (8, 0.7),
    "fixed-ask-infexp": (15, 0.1),
}


@dataclass(frozen=True, slots=True)
class Job:
    """One method over `parameters` on one stream.

    `data` is a name in `sources`, `model` the classifier or "all". `parameters` are settings of the method, each as
    sorted pairs. `query_free_after`: from this item on nobody is asked. `keep_items`: also keep cost and error of each
    item. `variant`: the exact method, the paper's estimators, or those of the released code.
    """

    data: str
    pool_size: int
    model: str
    seed: int
    method: str
    parameters: tuple[Parameters, ...]
    window: int | None = USUAL
    refit_every: int = REFIT_EVERY
    query_free_after: int | None = None
    keep_items: bool = False
    variant: Variant = "exact"

    def __post_init__(self) -> None:
        """The usual window of the method, unless another is given."""
        if self.window == USUAL:
            object.__setattr__(self, "window", usual_window(self.method))

    @property
    def label(self) -> str:
        """The job in a few words, for progress."""
        return f"{self.method} on {self.data}, {self.model}, {self.pool_size} experts, seed {self.seed}"

    @property
    def weight(self) -> int:
        """The approximate time of the job, in microseconds per item of its stream: for order and estimates only.

        Measured on the shift set, CIFAR-10H with 3, 10 and 50 experts and ChaosNLI with 100, on one core; accurate to
        a factor of about two there.

        >>> random, learned = (Job("toy", 10, "model-0", 3, name, settings(None)) for name in ("random", "finexp"))
        >>> random.weight < learned.weight
        True
        """
        size, runs = self.pool_size, len(self.parameters)
        if self.variant != "exact":
            is_sampled = any(("likelihood", "sampled") in parameters for parameters in self.parameters)
            return runs * (12000 if is_sampled else 700)
        if self.method in _FIXED:  # all thresholds share one pass
            return _FIXED[self.method] * size + runs // 4
        if self.method not in _LEARNED:
            return runs * (1 + size // 30)
        if self.query_free_after is not None:
            return runs * 10  # few items have votes
        start, for_each = _LEARNED[self.method]
        return runs * round(start + for_each * size + (60 if self.model == "all" else 0))

    def as_dict(self) -> dict[str, Any]:
        """The job as JSON values."""
        return asdict(self)


def usual_window(method: str) -> int | None:
    """The window of a method in the experiments: its own."""
    return LEARNERS["value"].window if method == "value" else WINDOW


def settings(parameter: str | None, values: tuple[float, ...] | list[float] | range = ()) -> tuple[Parameters, ...]:
    """Values of one parameter as settings of a job; a method without a parameter has one setting.

    >>> settings("threshold", (0.5, 0.9))
    ((('threshold', 0.5),), (('threshold', 0.9),))
    >>> settings(None)
    ((),)
    """
    if parameter is None:
        return ((),)
    return tuple(((parameter, value),) for value in values)


def digest(job: Job, *, data: str, code: str) -> str:
    """Name of a job's result, from its content and the checksums of data and code, so that nothing stale is reused.

    >>> job = Job("toy", 3, "model-0", 3, "random", settings("query_rate", (0.5,)))
    >>> digest(job, data="a", code="b") == digest(job, data="a", code="b") != digest(job, data="a", code="c")
    True
    """
    text = json.dumps({"job": job.as_dict(), "data": data, "code": code}, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True, eq=False)
class JobOutcome:
    """A job's results: Q parameter settings, B phases (blocks of the data set, or with and without experts), T items.

    `sizes` (B,) items of each phase   `costs` (Q, B) votes per item   `errors` (Q, B) error rate, expected over ties
    `drawn_errors` (Q, B) error rate with ties drawn at random   `confidence` (Q, B) mean confidence;
    without experts, of the first 2 %
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


def near_cost(costs: FloatArray, values: FloatArray, budget: float, within: float = WITHIN) -> FloatArray:
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


def area_ratio(
    costs: FloatArray,
    errors: FloatArray,
    their_costs: FloatArray,
    their_errors: FloatArray,
    part: tuple[float, float] = (0.0, 1.0),
) -> float:
    """Area relative to that under their curve, on this part of the costs that both reach; NaN if they share none.

    1 if both areas are 0, infinite if only theirs is.

    >>> costs = np.array([0.0, 2.0])
    >>> round(area_ratio(costs, np.array([0.4, 0.2]), costs, np.array([0.8, 0.4])), 6)
    0.5
    """
    low, high = max(costs.min(), their_costs.min()), min(costs.max(), their_costs.max())
    if not low < high:
        return math.nan
    first, last = (float(low + share * (high - low)) for share in part)
    return ratio(area(costs, errors, first, last), area(their_costs, their_errors, first, last))


def ratio(ours: float, theirs: float) -> float:
    """ours / theirs; 1 if both are 0, infinite if only theirs is."""
    if theirs > 0:
        return ours / theirs
    return 1.0 if ours == theirs else math.inf


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


SMALL_POOL = 10
PAPER_METHODS = ("random", "entropy", "mp", "mp-released", "fixed-finexp", "fixed-infexp", "finexp", "infexp",
                 FINEXP_32)  # fmt: skip
METHOD_LABELS = {  # as in the paper, in the order of its tables
    "random": "RANDOM",
    "entropy": "ENTROPY",
    "mp": "MP",
    "mp-released": "MP (released)",
    "fixed-finexp": "Fix-FinExp",
    "fixed-infexp": "Fix-InfExp",
    "finexp": "FinExp",
    "infexp": "InfExp",
    FINEXP_32: "FinExp, Gamma(3, 2)",
    "value": "value",
}
FIXED = ("fixed-finexp", "fixed-infexp")
BASELINES = ("random", "entropy", "mp", "mp-released")


def grid(
    name: str, *, pool_size: int, num_classes: int, quick: bool = False, coarse: bool = False
) -> tuple[Parameters, ...]:
    """Settings of the method by rising cost. `coarse`: half as many, as for large pools.

    >>> len(grid("infexp", pool_size=6, num_classes=16)), len(grid("finexp", pool_size=50, num_classes=10))
    (24, 12)
    """
    small = pool_size <= SMALL_POOL and not coarse
    many = 25 if small else 13
    if name in ("until-settled", "ask-all"):
        return settings(None)
    if name in BASELINES:
        many = 81 if small else 41  # these runs are very cheap
    if name in FIXED:
        many = 121  # all thresholds share one pass
    if quick:
        many = max(7, many // 3)  # at least enough to draw
    if name == "random":
        return settings("query_rate", _rounded(np.linspace(0.0, 1.0, many)))
    if name in BASELINES:
        unit = num_classes / math.log(num_classes) if name == "entropy" else 1.0  # the paper's entropy is <= ln K / K
        most, last = many * 3 // 4 - 1, many - many * 3 // 4  # budgets move most while few rates are clipped at 1
        scales = np.concatenate([[0.0], np.geomspace(0.05, 40.0, most), np.geomspace(60.0, 1e6, last)])
        return settings("scale", _rounded(unit * scales))
    doubts = _doubts(many, num_classes)
    if name == "value":
        return settings("error_cost", error_costs(doubts))
    if "threshold" in paper_method(name).parameters:
        asking = doubts[doubts < 1.0 - 1.0 / num_classes]  # threshold 1 / K asks only where all classes are equal
        return settings("threshold", _rounded(1.0 - np.concatenate([[1.0], asking])))
    raise AssertionError(name)


def _doubts(many: int, num_classes: int) -> np.ndarray:
    """From 1 = never ask down to 0 = until settled: first evenly spaced, then evenly in the log.

    A threshold is 1 - doubt.
    """
    wide = (many - 2) * 3 // 5
    evenly = np.linspace(1.0 - 1.0 / num_classes, 0.08, wide)
    return np.concatenate([[1.0], evenly, np.geomspace(0.06, 2e-4, many - 2 - wide), [0.0]])


def error_costs(doubts: Iterable[float]) -> tuple[float, ...]:
    """Error costs of `value` for these doubts: a vote gains at most about half of the doubt.

    >>> error_costs((1.0, 0.5, 0.01, 0.0))
    (1.0, 4.0, 200.0, 1000000000.0)
    """
    return _rounded(np.array([1.0 if doubt == 1.0 else 2.0 / doubt if doubt else 1e9 for doubt in doubts]))


def _rounded(values: np.ndarray) -> tuple[float, ...]:
    return tuple(float(f"{value:.6g}") for value in values)
