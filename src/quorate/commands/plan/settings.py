"""The settings that a plan compares: one method over the whole range of the parameter that says how far to ask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, isinf

import numpy as np

from quorate.methods import Method, method
from quorate.model import DEFAULT_ERROR_COST, ErrorCosts
from quorate.session import tuned
from quorate.streams import kind_of, parameter_grid

ERROR_COSTS = (2.0, 4.0, 8.0, 17.0, 33.0, 67.0, 140.0, 280.0, 560.0, 1100.0, 2500.0)
THRESHOLDS = (0.0, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999, 1.0)
MOST_COUNTS = 12  # values of a number of votes
BESIDE = 5  # settings tried between the one chosen and its neighbour
OPEN_END = 16.0  # beside a setting that asks for everything, or for nothing, so many times the neighbour's value
OF_METHOD = {
    "value": "error_cost", "panel": "error_cost", "quorum": "votes", "unanimous-then-cap": "first",
    "random": "query_rate", "entropy": "scale", "mp": "scale",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Candidate:
    """A setting to try: a method; `scale`: what its table of error costs was multiplied by, if that is varied."""

    method: Method
    scale: float | None = None

    @property
    def parameter(self) -> str:
        """The name of what says how far to ask; "": the method has no such parameter."""
        name = OF_METHOD.get(self.method.name, "threshold")
        return "scale" if self.scale is not None else name if name in self.method.parameters else ""

    @property
    def value(self) -> float | None:
        """Its value."""
        return self.scale if self.scale is not None else self.method.parameters.get(self.parameter)

    @property
    def reach(self) -> float:
        """How far it asks, on a scale from 0 to infinity: thresholds by their distance to 1."""
        if self.value is None:
            return inf
        if self.parameter != "threshold":
            return float(self.value)
        return inf if self.value == 1 else 1 / (1 - self.value) - 1

    def at(self, reach: float) -> Candidate:
        """The setting with another reach, in three digits, so that what is run is what is printed."""
        value: float = float(f"{reach:.3g}")
        if self.parameter == "threshold":
            value = 1 - float(f"{1 / (1 + reach):.3g}")
        elif isinstance(self.value, int):
            value = round(reach)
        return self.turned(value)

    def turned(self, value: float) -> Candidate:
        """The setting with another value of its parameter."""
        if self.scale is not None and self.method.costs is not None:
            costs = ErrorCosts.of(value / self.scale * self.method.costs.votes)
            return Candidate(replace(self.method, costs=costs), value)
        return Candidate(tuned(self.method, {self.parameter: value}))


def grid(base: Candidate, *, pool_size: int, num_classes: int) -> list[Candidate]:
    """The method over the range of its parameter; `value` until the pool is settled, too.

    >>> [each.value for each in grid(Candidate(method("quorum")), pool_size=4, num_classes=2)]
    [1, 2, 3, 4]
    """
    chosen, name = base.method, base.parameter
    settled = [until_settled(base)] if chosen.name == "value" and not chosen.needs_people else []
    if name == "":
        return [base]
    values: Sequence[float] = THRESHOLDS
    if name == "error_cost":
        values = ERROR_COSTS
    elif name == "scale" and base.scale is not None:
        values = [cost / DEFAULT_ERROR_COST for cost in ERROR_COSTS]
    elif name in ("votes", "first"):
        most = min(pool_size, int(chosen.parameters.get("cap", pool_size)))
        values = sorted({round(float(count)) for count in np.geomspace(1, most, MOST_COUNTS)})
    elif name != "threshold" or chosen.name == "beta":
        points = parameter_grid(kind_of(chosen), pool_size=pool_size, num_classes=num_classes)
        values = [point[name] for point in points]
    if chosen.needs_people:
        values = values[1::2]  # a replay of named people takes a millisecond per vote
    return [*map(base.turned, values), *settled]


def until_settled(base: Candidate) -> Candidate:
    """Asking until the pool is settled, with the same costs of errors."""
    return Candidate(replace(method("until-settled"), costs=base.method.costs))


def between(one: Candidate, other: Candidate) -> list[Candidate]:
    """Up to `BESIDE` settings between two, evenly in the logarithm of their reach.

    >>> low, high = Candidate(method("quorum", votes=2)), Candidate(method("quorum", votes=5))
    >>> [each.value for each in between(low, high)]
    [3, 4]
    """
    near, far = sorted((one, other), key=lambda each: each.reach)
    low, high = near.reach or far.reach / OPEN_END, far.reach
    high = low * OPEN_END if isinf(high) else high
    if not 0 < low < high:
        return []
    found = [near.at(reach) for reach in np.geomspace(low, high, BESIDE + 2)[1:-1].tolist()]
    new = {each.value: each for each in found if each.value not in (one.value, other.value)}
    return list(new.values())
