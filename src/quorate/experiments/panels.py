"""A panel: one classifier on one data set with one pool size, every method's streams, read at any budget.

Made by `curves`, read by its tables, claims and figures. Areas are means of the error over a range of costs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from quorate.experiments.readings import HIGH, LOW, area, at_cost, curve
from quorate.types import FloatArray

NAMES = {"cifar10h": "CIFAR-10H", "imagenet16h": "ImageNet-16H", "imagenet16h_shift": "ImageNet-16H shift",
         "chaosnli": "ChaosNLI"}  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Stream:
    """One seed of one method: votes per item and share wrong at each knob value."""

    costs: FloatArray
    errors: FloatArray

    def at(self, budgets: FloatArray) -> FloatArray:
        """Error at the budgets; a method that never spends as much keeps what it has reached."""
        at, errors = curve(self.costs, self.errors)
        return np.asarray(np.interp(budgets, at, errors))

    def reached(self, budgets: FloatArray) -> FloatArray:
        """Error at the budgets; NaN beyond its largest cost."""
        return at_cost(self.costs, self.errors, budgets)


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """`methods`: streams by method, one a seed; `until_settled`, `tie_floor` (S,): cost, error of asking until settled.

    `accuracy`: how often the classifier agrees with the plurality of all votes; None where several are fused.
    """

    family: str
    pool_size: int
    model: str
    accuracy: float | None
    methods: Mapping[str, tuple[Stream, ...]]
    until_settled: FloatArray
    tie_floor: FloatArray

    @property
    def name(self) -> str:
        """Data set and pool size, for people."""
        return f"{NAMES[self.family]}, {self.pool_size} experts"

    def auc(self, method: str) -> FloatArray:
        """(S,) mean error over 0 .. until settled."""
        pairs = zip(self.methods[method], self.until_settled, strict=True)
        return np.array([_mean_error(stream, 0.0, float(most)) for stream, most in pairs])

    def ratios(self, method: str, reference: str = "finexp") -> FloatArray:
        """(S,) area to that of the reference on the range of costs both reach."""
        found = []
        for ours, theirs in zip(self.methods[method], self.methods[reference], strict=True):
            low = max(ours.costs.min(), theirs.costs.min())
            high = min(ours.costs.max(), theirs.costs.max())
            found.append(_ratio(_mean_error(ours, low, high), _mean_error(theirs, low, high)))
        return np.array(found)

    def inner_ratios(self, method: str, reference: str = "finexp") -> FloatArray:
        """(S,) area to that of the reference between 5 and 90 % of what asking until settled costs."""
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
    """1 where neither errs; infinite where only we do."""
    if theirs > 0:
        return ours / theirs
    return 1.0 if ours == theirs else math.inf


def _mean_error(stream: Stream, low: float, high: float) -> float:
    """Area over a range of costs divided by its width; beyond the largest cost the last error stands."""
    reach = float(stream.costs.max())
    if high <= reach:
        return area(stream.costs, stream.errors, low, high) / (high - low)
    inside = area(stream.costs, stream.errors, low, reach) if reach > low else 0.0
    last = float(stream.at(np.array(reach)))
    return (inside + last * (high - max(reach, low))) / (high - low)
