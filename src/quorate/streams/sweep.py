"""Runs methods at many parameter values on the same streams -> an error-cost curve for each method.

Between its points a curve is read by mixing: a share of the items under one value, the rest under the next. Every
method sees the same items, experts and ties, so two methods can be compared item by item. Called by `demo` and by
the plots.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from quorate.catalogue import parameter_text
from quorate.decision.error_costs import DEFAULT_ERROR_COST
from quorate.methods import METHODS, Method, Target, method
from quorate.streams import simulate
from quorate.types import FloatArray, VoteDataset

Progress = Callable[[int, int, str], None]
Place = TypeVar("Place")

THRESHOLDS = (0.0, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 0.99, 1.0)
UNTIL_SETTLED = 1e9  # an error cost at which every vote that can change the answer is asked
ERROR_COSTS = (1.0, 2.0, 4.0, 8.0, 16.0, 50.0, DEFAULT_ERROR_COST, 1000.0, UNTIL_SETTLED)
BETA_THRESHOLDS = (0.0, 0.6, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99, 0.996, 0.999, 1.0)
RATES = tuple(float(rate) for rate in np.linspace(0.0, 1.0, 13))
SCALES = (0.0, 0.1, 0.25, 0.5, 0.8, 1.2, 1.8, 2.5, 4.0, 7.0, 15.0, 50.0, 300.0, 1e4, 1e6)


@dataclass(frozen=True, slots=True, eq=False)
class Replicate:
    """A data set with the seed of its stream. `pool_size`, `model` and the others as in `simulate`."""

    dataset: VoteDataset
    seed: int
    pool_size: int | None = None
    model: int | str = 0
    target: Target | None = None
    voter_costs: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """One method at one parameter value: `votes_per_item` over all replicates, `errors` of scored items.

    `paid`: what the votes of an item cost, where people differ in cost; None: as much as their number.
    """

    method: Method
    votes_per_item: float
    errors: FloatArray
    paid: float | None = None

    @property
    def cost_per_item(self) -> float:
        """What curves are drawn against: the cost of the votes, by default their number."""
        return self.votes_per_item if self.paid is None else self.paid

    @property
    def error_rate(self) -> float:
        """Share of wrong answers, expectation over ties."""
        return float(self.errors.mean())

    @property
    def parameter(self) -> str:
        """The parameter as text."""
        return parameter_text(self.method.parameters)


@dataclass(frozen=True, slots=True, eq=False)
class CurveReading:
    """A curve read at a budget: a share `weight` of the items under `high`, the rest under `low`."""

    low: Point
    high: Point
    weight: float

    @property
    def name(self) -> str:
        """The method."""
        return self.low.method.name

    @property
    def votes_per_item(self) -> float:
        """Votes of the mixture."""
        return (1 - self.weight) * self.low.votes_per_item + self.weight * self.high.votes_per_item

    @property
    def errors(self) -> FloatArray:
        """Expected error of the mixture on each item."""
        return (1 - self.weight) * self.low.errors + self.weight * self.high.errors

    @property
    def error_rate(self) -> float:
        """Share of wrong answers of the mixture."""
        return float(self.errors.mean())

    @property
    def parameter(self) -> str:
        """The parameter: between two values of a continuous one, both values of a whole-numbered one."""
        return parameter_text(between(self.low.method.parameters, self.high.method.parameters, self.weight))


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """A method's points by rising cost, one for each cost; `runs` is everything that was run."""

    name: str
    points: tuple[Point, ...]
    runs: tuple[Point, ...]

    def at(self, budget: float) -> CurveReading:
        """The curve at a cost of `budget` per item; its nearest end if the budget is outside its range."""
        costs = np.array([point.cost_per_item for point in self.points])
        right = int(np.searchsorted(costs, budget))
        if right == 0 or right == len(costs):
            end = self.points[min(right, len(costs) - 1)]
            return CurveReading(end, end, 0.0)
        low, high = self.points[right - 1], self.points[right]
        return CurveReading(low, high, float((budget - costs[right - 1]) / (costs[right] - costs[right - 1])))

    def cost_of(self, error_rate: float) -> float | None:
        """The lowest cost per item at which the curve reaches `error_rate`; None if it never does.

        The inverse of `at`: a mixture between two points.
        """
        wanted = error_rate + 1e-12
        for number, point in enumerate(self.points):
            if point.error_rate > wanted:
                continue
            if number == 0:
                return point.cost_per_item
            before = self.points[number - 1]
            share = (before.error_rate - wanted) / (before.error_rate - point.error_rate)
            return before.cost_per_item + share * (point.cost_per_item - before.cost_per_item)
        return None


def between(low: Mapping[str, Any], high: Mapping[str, Any], weight: float) -> dict[str, Any]:
    """A mixture of two settings of the same parameters.

    >>> between({"first": 2, "cap": 5}, {"first": 3, "cap": 5}, 0.5)
    {'first': '2-3', 'cap': 5}
    >>> between({"threshold": 0.5}, {"threshold": 0.6}, 0.5)
    {'threshold': 0.55}
    """
    return {key: _between(value, high[key], weight) for key, value in low.items()}


def _between(low: Any, high: Any, weight: float) -> Any:  # noqa: ANN401
    if low == high or weight in (0.0, 1.0):
        return high if weight == 1.0 else low
    return (1 - weight) * low + weight * high if isinstance(low, float) else f"{low}-{high}"


def parameter_grid(name: str, *, pool_size: int, num_classes: int, quick: bool = False) -> tuple[dict[str, Any], ...]:
    """Parameter values of a method that cover its whole range of cost; every second one if `quick`.

    >>> parameter_grid("quorum", pool_size=3, num_classes=2)
    ({'votes': 0}, {'votes': 1}, {'votes': 2}, {'votes': 3})
    """
    if name == "unanimous-then-cap":
        return tuple({"first": first, "cap": cap} for cap in range(pool_size + 1) for first in range(cap + 1))
    key, values = _parameter_values(name, pool_size, num_classes)
    if key is None:
        return ({},)
    chosen = list(values)
    if quick and name not in ("quorum", "value"):
        chosen = [*chosen[:-1:2], chosen[-1]]
    return tuple({key: value} for value in chosen)


def _parameter_values(name: str, pool_size: int, num_classes: int) -> tuple[str | None, Sequence[float]]:
    if name == "value":
        return "error_cost", ERROR_COSTS
    if name == "beta":
        return "threshold", BETA_THRESHOLDS
    if name == "random":
        return "query_rate", RATES
    if name == "entropy":  # as defined in the paper, the entropy is at most ln K / K
        return "scale", [float(f"{scale * num_classes / math.log(num_classes):.3g}") for scale in SCALES]
    if name == "mp":
        return "scale", SCALES
    if name == "quorum":
        return "votes", range(pool_size + 1)
    if name in METHODS and "threshold" in method(name).parameters:
        return "threshold", THRESHOLDS
    return None, ()


def grid_methods(
    names: Iterable[str], *, pool_size: int, num_classes: int, quick: bool = False
) -> tuple[tuple[Method, ...], ...]:
    """Each named method at every value of its grid."""
    return tuple(
        tuple(
            method(name, **parameters)
            for parameters in parameter_grid(name, pool_size=pool_size, num_classes=num_classes, quick=quick)
        )
        for name in names
    )


def run_point(chosen: Method, replicates: Sequence[Replicate]) -> Point:
    """One method over all replicates."""
    runs = [
        simulate(
            r.dataset, chosen, seed=r.seed, pool_size=r.pool_size, model=r.model, target=r.target,
            voter_costs=r.voter_costs,
        )
        for r in replicates
    ]  # fmt: skip
    errors = np.concatenate([run.expected_errors for run in runs])
    votes, paid = (float(np.concatenate(each).mean()) for each in zip(*((r.costs, r.paid) for r in runs), strict=True))
    return Point(chosen, votes, errors[~np.isnan(errors)], paid)


def sweep(
    families: Sequence[Sequence[Method]], replicates: Sequence[Replicate], *, progress: Progress | None = None
) -> tuple[Curve, ...]:
    """A curve for every family (one method at several parameter values), in the order given."""
    jobs = [chosen for family in families for chosen in family]
    report = progress or _silent
    report(0, len(jobs), jobs[0].name)
    points = [run_point(jobs[0], replicates)]  # alone first: it compiles, and prepares the streams that all share
    for point in _in_threads(lambda job: run_point(job, replicates), jobs[1:]):
        points.append(point)
        report(len(points), len(jobs), point.method.name)
    results = iter(points)
    return tuple(curve([next(results) for _ in family]) for family in families)


def refine(
    curves: Sequence[Curve],
    replicates: Sequence[Replicate],
    budgets: Sequence[float],
    *,
    rounds: int = 1,
    progress: Progress | None = None,
) -> tuple[Curve, ...]:
    """The curves with parameter values added close to each budget, so that less interpolation is needed there."""
    report = progress or _silent
    refined: list[Curve] = []
    for finer in _in_threads(lambda each: _refined(each, replicates, budgets, rounds), curves):
        refined.append(finer)
        report(len(refined), len(curves), finer.name)
    return tuple(refined)


def _refined(coarse: Curve, replicates: Sequence[Replicate], budgets: Sequence[float], rounds: int) -> Curve:
    for budget in budgets:
        for _ in range(rounds):
            reading = coarse.at(budget)
            gap = reading.high.cost_per_item - reading.low.cost_per_item
            chosen = _mixed(reading)
            if chosen is None or reading.weight * (1 - reading.weight) * gap < 0.01 * budget:
                break
            coarse = curve([*coarse.runs, run_point(chosen, replicates)])
    return coarse


def _mixed(reading: CurveReading) -> Method | None:
    """The method at a value between the two of the reading; None for whole-numbered parameters."""
    low, high = reading.low.method, reading.high.method
    differing = [key for key, value in low.parameters.items() if value != high.parameters[key]]
    if len(differing) != 1 or not isinstance(low.parameters[differing[0]], float):
        return None
    key = differing[0]
    first, second = low.parameters[key], high.parameters[key]
    share = min(max(reading.weight, 0.1), 0.9)
    if min(first, second) > 0 and max(first, second) > 2 * min(first, second):
        return method(low.name, **{**low.parameters, key: first ** (1 - share) * second**share})
    return method(low.name, **{**low.parameters, key: (1 - share) * first + share * second})


def _in_threads(work: Callable[[Any], Any], jobs: Sequence[Any]) -> Iterator[Any]:
    """Results in order. The kernels release the GIL, so threads use all cores."""
    threads = ThreadPoolExecutor(os.cpu_count())
    try:
        yield from threads.map(work, jobs)
    finally:  # also on Ctrl-C, which must not wait for the whole queue
        threads.shutdown(wait=False, cancel_futures=True)


def _silent(done: int, total: int, name: str) -> None:
    """Report no progress."""


def curve(points: Sequence[Point]) -> Curve:
    """Points of one method as a curve by cost, the best of equal costs; methods with two parameters: the lower hull."""
    best: list[Point] = []
    for point in sorted(points, key=lambda p: (p.cost_per_item, p.error_rate)):
        if not best or point.cost_per_item - best[-1].cost_per_item > 1e-9:
            best.append(point)
    name = points[0].method.name
    return Curve(
        name, tuple(lower_hull(best, at=cost_and_error) if name == "unanimous-then-cap" else best), tuple(points)
    )


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
    """The cost and error of a point."""
    return point.cost_per_item, point.error_rate


def paired(ours: CurveReading, theirs: CurveReading) -> tuple[float, float]:
    """How many more errors `theirs` makes on the same items, and its standard error."""
    difference = theirs.errors - ours.errors
    return float(difference.mean()), float(difference.std(ddof=1) / math.sqrt(len(difference)))
