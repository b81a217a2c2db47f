"""Compares error-cost curves of several methods on one stream: errors at equal cost, and votes at equal error.

Called by `demo` and `simulate`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from quorate.catalogue import is_simple
from quorate.datasets.synthetic import Scenario
from quorate.methods import DEFAULT_ERROR_COST
from quorate.streams.sweep import Curve, CurveReading, Point, paired

OURS = "value"
SHARES = (0.25, 0.5, 0.7)  # budgets, as shares of the cost of asking until settled
REFERENCES = ("ask-all", "until-settled")
CLEAR = 2.0  # standard errors for a clear difference


@dataclass(frozen=True, slots=True, eq=False)
class Matched:
    """All methods with a parameter at one budget, best first; those without are references."""

    budget: float
    readings: tuple[CurveReading, ...]

    @property
    def ours(self) -> CurveReading:
        """quorate's own reading."""
        return next(reading for reading in self.readings if reading.name == OURS)

    @property
    def best_rival(self) -> CurveReading:
        """The best of all others."""
        return next(reading for reading in self.readings if reading.name != OURS)

    @property
    def best_simple(self) -> CurveReading:
        """The best of the rules that only count votes."""
        return next(reading for reading in self.readings if is_simple(reading.low.method))


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """A setting, its curves, the reference costs and the methods at each budget."""

    setting: Scenario
    seeds: tuple[int, ...]
    curves: tuple[Curve, ...]
    matched: tuple[Matched, ...]
    ask_all: float
    until_settled: float
    tie_floor: float

    @property
    def num_items(self) -> int:
        """Items judged, over all seeds."""
        return len(self.curves[0].points[0].errors)

    @property
    def middle(self) -> Matched:
        """The budget of the tables and of the headline: half the cost of asking until settled."""
        return self.matched[SHARES.index(0.5)]

    @property
    def references(self) -> tuple[CurveReading, ...]:
        """ask-all and until-settled: one point each."""
        return tuple(CurveReading(point, point, 0.0) for name in REFERENCES for point in self.curve(name).points)

    @property
    def default(self) -> Point | None:
        """quorate with default settings, if its default `error_cost` was among those swept."""
        runs = self.curve(OURS).runs
        return next((point for point in runs if point.method.parameters["error_cost"] == DEFAULT_ERROR_COST), None)

    def curve(self, name: str) -> Curve:
        """The curve of that method."""
        return next(curve for curve in self.curves if curve.name == name)

    def saved(self, votes_per_item: float) -> tuple[float, float]:
        """Share of votes saved compared with asking everyone, and with asking until settled."""
        return 1 - votes_per_item / self.ask_all, 1 - votes_per_item / self.until_settled


def budgets_of(curves: Sequence[Curve]) -> tuple[float, ...]:
    """Votes per item at which methods are compared: shares of the cost of asking until settled."""
    settled = next(curve for curve in curves if curve.name == "until-settled").points[0]
    return tuple(share * settled.votes_per_item for share in SHARES)


def compare(setting: Scenario, seeds: Sequence[int], curves: Sequence[Curve]) -> Comparison:
    """Read every curve at the budgets."""
    by_name = {curve.name: curve for curve in curves}
    settled, everyone = by_name["until-settled"].points[0], by_name["ask-all"].points[0]
    return Comparison(
        setting=setting,
        seeds=tuple(seeds),
        curves=tuple(curves),
        matched=tuple(match(curves, budget) for budget in budgets_of(curves)),
        ask_all=everyone.votes_per_item,
        until_settled=settled.votes_per_item,
        tie_floor=settled.error_rate,
    )


def match(curves: Sequence[Curve], budget: float) -> Matched:
    """All methods that have a parameter at `budget` votes per item, best first; quorate first among equals."""
    readings = [curve.at(budget) for curve in curves if curve.name not in REFERENCES]
    return Matched(budget, tuple(sorted(readings, key=lambda reading: (reading.error_rate, reading.name != OURS))))


@dataclass(frozen=True, slots=True)
class EqualError:
    """Votes per item at which others reach quorate's error, interpolated on their curves.

    `simple` the vote-counting rule that needs the fewest, None if none reaches it; `low`, `high` where its curve is two
    standard errors (of the difference, item by item) above and below; `high` None: it never gets that low.
    """

    error_rate: float
    ours: float
    simple: str | None
    votes: float | None
    low: float | None
    high: float | None
    until_settled: float
    settled_error_rate: float

    @property
    def fewer(self) -> float | None:
        """Share of the simple rule's votes that quorate saves; negative if it asks more."""
        return None if self.votes is None else 1 - self.ours / self.votes if self.votes else 0.0

    @property
    def is_clear(self) -> bool:
        """True if quorate's cost is outside the range of the rule's cost."""
        below = self.low is not None and self.ours < self.low
        return below or (self.high is not None and self.ours > self.high)


def equal_error(comparison: Comparison) -> EqualError:
    """The votes that each method needs for quorate's error at the middle budget."""
    ours = comparison.middle.ours
    best = best_simple_curve(comparison.curves, ours.error_rate)
    votes = low = high = None
    if best is not None:
        votes = best.cost_of(ours.error_rate)
        low, high = _range(best, ours)
    return EqualError(
        ours.error_rate,
        ours.votes_per_item,
        best.name if best else None,
        votes,
        low,
        high,
        comparison.until_settled,
        comparison.tie_floor,
    )


def best_simple_curve(curves: tuple[Curve, ...], error_rate: float) -> Curve | None:
    """The vote-counting rule that reaches `error_rate` with the fewest votes; None if none does."""
    able = [
        (cost, curve)
        for curve in curves
        if curve.name not in REFERENCES and is_simple(curve.points[0].method)
        if (cost := curve.cost_of(error_rate)) is not None
    ]
    return min(able, key=lambda pair: pair[0])[1] if able else None


def _range(curve: Curve, ours: CurveReading) -> tuple[float | None, float | None]:
    cost = curve.cost_of(ours.error_rate)
    if cost is None:
        return None, None
    _, error = paired(ours, curve.at(cost))
    return curve.cost_of(ours.error_rate + CLEAR * error), curve.cost_of(ours.error_rate - CLEAR * error)
