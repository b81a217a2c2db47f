"""Methods at many settings on the same streams -> points, and an error-cost curve for each method.

Every method meets the same items, voters and ties, so that two methods can be compared item by item. Between its points
a curve is read by mixing: a share of the items under one setting, the rest under the next. Called by
`commands.compare` and the benchmarks.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from quorate.methods import Method
from quorate.streams.grid import kind_of, parameter_grid
from quorate.streams.simulation import Simulation
from quorate.types import FloatArray, IntArray, Progress
from quorate.validate import invalid

Run = Callable[[Method], Sequence[Simulation]]  # the runs of a method, one for each stream
Place = TypeVar("Place")
NUM_BUDGETS = 101  # at which an area is read
CERTAINLY = 1.96  # standard errors in a 95 % interval


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """A method at one setting: votes and expected errors of each item (T,) of all streams; nan: not scored.

    `confidence` (T,) of the answers.
    """

    method: Method
    votes: FloatArray
    errors: FloatArray
    confidence: FloatArray

    @property
    def votes_per_item(self) -> float:
        """The mean of the votes."""
        return float(self.votes.mean())

    @property
    def error_rate(self) -> float:
        """Share of wrong answers, expectation over ties."""
        return float(np.nanmean(self.errors))


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """A curve at `votes` per item: a share `weight` of the items under `high`, the rest under `low`."""

    low: Point
    high: Point
    weight: float

    @property
    def votes_per_item(self) -> float:
        """Votes of the mixture."""
        return (1 - self.weight) * self.low.votes_per_item + self.weight * self.high.votes_per_item

    @property
    def error_rate(self) -> float:
        """Share of wrong answers of the mixture."""
        return (1 - self.weight) * self.low.error_rate + self.weight * self.high.error_rate

    @property
    def influence(self) -> FloatArray:
        """(T,) how much each item contributes to the error rate at this cost, to first order.

        Its error, and what its votes move the place at which the curve is read: e_t - slope (c_t - mean c).
        """
        low, high, weight = self.low, self.high, self.weight
        if weight == 0:
            return low.errors
        slope = (high.error_rate - low.error_rate) / (high.votes_per_item - low.votes_per_item)
        votes = (1 - weight) * low.votes + weight * high.votes
        errors = (1 - weight) * low.errors + weight * high.errors
        return np.asarray(errors - slope * (votes - votes.mean()))


@dataclass(frozen=True, slots=True)
class Difference:
    """A mean difference over the same items, with its 95 % interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """A method's points by rising votes, of equal votes the best; `runs` is everything that was run."""

    label: str
    points: tuple[Point, ...]
    runs: tuple[Point, ...]

    @property
    def name(self) -> str:
        """The method's name, without its parameters."""
        return self.runs[0].method.name

    @property
    def is_point(self) -> bool:
        """Whether there is only one setting."""
        return len(self.points) == 1

    def at(self, votes: float) -> Reading | None:
        """The curve at `votes` per item, at its end if it needs no more; None if it asks more at every setting.

        The end is at most that expensive, so its error can be had for that many votes.
        """
        costs = [point.votes_per_item for point in self.points]
        right = int(np.searchsorted(costs, votes, side="right"))
        if right == 0:
            return None
        if right == len(costs):
            return Reading(self.points[-1], self.points[-1], 0.0)
        low, high = self.points[right - 1 : right + 1]
        return Reading(low, high, float((votes - costs[right - 1]) / (costs[right] - costs[right - 1])))

    def area(self, least: float, most: float) -> tuple[float, FloatArray]:
        """The mean error rate between two numbers of votes per item, and the influence of each item on it (T,)."""
        if self.is_point:
            rule = "a method with several settings: one point has no area"
            raise invalid("methods", self.label, rule, "leave its parameter out, or give its policy a `grid`.")
        budgets = np.linspace(least, most, NUM_BUDGETS)
        readings = [reading for votes in budgets.tolist() if (reading := self.at(votes)) is not None]
        weights = np.full(len(readings), 1.0)
        weights[[0, -1]] = 0.5  # the trapezoidal rule
        weights /= weights.sum()
        influence: FloatArray = sum(w * each.influence for w, each in zip(weights, readings, strict=True))
        return float(weights @ [each.error_rate for each in readings]), influence


def difference(ours: FloatArray, theirs: FloatArray, items: IntArray) -> Difference:
    """theirs - ours over the scored of (T,); `items`: entries with the same number are one item, seen several times.

    The items are independent, what is seen of one is not: deviations from the mean are summed by item first.

    >>> difference(np.array([0.0, 0.0]), np.array([1.0, 0.0]), np.array([0, 1])).mean
    0.5
    """
    scored = ~np.isnan(ours)
    each = (theirs - ours)[scored]
    mean = float(each.mean())
    _, by_item = np.unique(items[scored], return_inverse=True)
    sums = np.bincount(by_item, each - mean)
    error = math.sqrt(sums @ sums * len(sums) / max(len(sums) - 1, 1)) / len(each)
    return Difference(mean, mean - CERTAINLY * error, mean + CERTAINLY * error)


def swept(families: Mapping[str, Sequence[Method]], run: Run, *, progress: Progress | None = None) -> tuple[Curve, ...]:
    """A curve for every family: label -> one method at several settings."""
    jobs = [chosen for family in families.values() for chosen in family]
    points = []
    for point in in_threads(lambda job: point_of(job, run(job)), jobs):
        points.append(point)
        if progress is not None:
            progress(len(points), len(jobs), point.method.name)
    results = iter(points)
    return tuple(curve(label, [next(results) for _ in family]) for label, family in families.items())


def point_of(chosen: Method, runs: Sequence[Simulation]) -> Point:
    """One method over all its runs."""
    votes, errors, confidence = zip(*((run.costs, run.expected_errors, run.confidence) for run in runs), strict=True)
    return Point(chosen, np.concatenate(votes), np.concatenate(errors), np.concatenate(confidence))


def in_threads(work: Callable[[Any], Any], jobs: Sequence[Any]) -> Iterator[Any]:
    """Results in order; the compiled core releases the GIL."""
    threads = ThreadPoolExecutor(os.cpu_count())
    try:
        yield from threads.map(work, jobs)
    finally:  # also on Ctrl-C, which must not wait for the whole queue
        threads.shutdown(wait=False, cancel_futures=True)


def curve(label: str, points: Sequence[Point]) -> Curve:
    """Points of one method as a curve; of a method with two parameters the lower hull."""
    best: list[Point] = []
    for point in sorted(points, key=cost_and_error):
        if not best or point.votes_per_item - best[-1].votes_per_item > 1e-9:
            best.append(point)
    has_two = len(parameter_grid(kind_of(points[0].method), pool_size=1, num_classes=2)[0]) > 1
    return Curve(label, tuple(lower_hull(best, at=cost_and_error) if has_two else best), tuple(points))


def lower_hull(points: Iterable[Place], *, at: Callable[[Place], tuple[float, float]]) -> list[Place]:
    """The points, by rising cost, that no mixture of two others beats; `at(point)` is its cost and error.

    >>> lower_hull([(0.0, 1.0), (1.0, 0.9), (2.0, 0.0)], at=lambda point: point)
    [(0.0, 1.0), (2.0, 0.0)]
    """
    hull: list[Place] = []
    for point in points:
        while len(hull) > 1 and _above(at(hull[-2]), at(hull[-1]), at(point)):
            hull.pop()
        hull.append(point)
    return hull


def _above(left: tuple[float, float], middle: tuple[float, float], right: tuple[float, float]) -> bool:
    share = (middle[0] - left[0]) / (right[0] - left[0])
    return middle[1] >= (1 - share) * left[1] + share * right[1]


def cost_and_error(point: Point) -> tuple[float, float]:
    """The votes per item and the error rate of a point."""
    return point.votes_per_item, point.error_rate
