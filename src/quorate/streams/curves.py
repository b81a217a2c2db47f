"""Compares error-cost curves of several methods on one stream: errors at equal cost.

Called by `demo` and `simulate`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from quorate.catalogue import is_simple
from quorate.datasets.synthetic import Scenario
from quorate.streams.sweep import Curve, CurveReading

OURS = "value"
SHARES = (0.25, 0.5, 0.7)  # budgets, as shares of the cost of asking until settled
REFERENCES = ("ask-all", "until-settled")


@dataclass(frozen=True, slots=True, eq=False)
class Matched:
    """All methods with a parameter at one budget, best first; those without are references."""

    budget: float
    readings: tuple[CurveReading, ...]

    @property
    def ours(self) -> CurveReading:
        """Our own reading."""
        return next(reading for reading in self.readings if reading.name == OURS)

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
    """All methods that have a parameter at `budget` votes per item, best first; ours first among equals."""
    readings = [curve.at(budget) for curve in curves if curve.name not in REFERENCES]
    return Matched(budget, tuple(sorted(readings, key=lambda reading: (reading.error_rate, reading.name != OURS))))
