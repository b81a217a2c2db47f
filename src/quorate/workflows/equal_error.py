"""Curves -> votes at equal error: what the others must ask to be wrong as seldom as quorate is at the middle budget.

Read from the same curves as the errors at equal cost, so a claim like "x % fewer votes for the same error" comes from
the run. Called by `demo`, `records` and `report`; pure.
"""

from __future__ import annotations

from dataclasses import dataclass

from quorate.workflows.catalogue import is_simple
from quorate.workflows.comparison import CLEAR, REFERENCES, Comparison, percent
from quorate.workflows.sweep import Curve, Reading, paired

COUPLED = (
    "Standard errors treat the items as independent, although a method that learns couples them: they are somewhat "
    "optimistic."
)


@dataclass(frozen=True, slots=True)
class EqualError:
    """Votes per item at which others reach quorate's error, read between the points of their curves.

    `simple` the rule that counts votes and gets there with the fewest, None if none gets there; `low`, `high` where
    its curve is two standard errors (of the difference, item by item) above and below; `high` None: never that low.
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
        """Share of the simple rule's votes that quorate does without; negative if it asks more."""
        return None if self.votes is None else 1 - self.ours / self.votes if self.votes else 0.0

    @property
    def is_clear(self) -> bool:
        """True if quorate's cost lies outside of the range of the rule's."""
        below = self.low is not None and self.ours < self.low
        return below or (self.high is not None and self.ours > self.high)


def equal_error(comparison: Comparison) -> EqualError:
    """Who needs how many votes for the error quorate has at the middle budget."""
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
    """The rule that counts votes and reaches `error_rate` with the fewest; None if none does."""
    able = [
        (cost, curve)
        for curve in curves
        if curve.name not in REFERENCES and is_simple(curve.points[0].method)
        if (cost := curve.cost_of(error_rate)) is not None
    ]
    return min(able, key=lambda pair: pair[0])[1] if able else None


def _range(curve: Curve, ours: Reading) -> tuple[float | None, float | None]:
    cost = curve.cost_of(ours.error_rate)
    if cost is None:
        return None, None
    _, error = paired(ours, curve.at(cost))
    return curve.cost_of(ours.error_rate + CLEAR * error), curve.cost_of(ours.error_rate - CLEAR * error)


def equal_error_sentence(comparison: Comparison) -> str:
    """The same as a sentence, whoever wins."""
    found = equal_error(comparison)
    settled = (
        f"Asking until settled takes {found.until_settled:.2f} and is wrong on {percent(found.settled_error_rate)}."
    )
    start = f"To be wrong on {percent(found.error_rate)} quorate needs {found.ours:.2f} votes per item"
    if found.votes is None:
        return f"{start}; no simple rule gets there. {settled}"
    spread = f"at least {found.low:.2f}" if found.high is None else f"{found.low:.2f} to {found.high:.2f}"
    return (
        f"{start}, the best simple rule ({found.simple}) {found.votes:.2f} ({spread} within two standard errors): "
        f"{savings(found)} for the same error. {settled}"
    )


def savings(found: EqualError) -> str:
    """What quorate saves for the same error, in words."""
    if found.fewer is None or not found.is_clear:
        return "no clear difference in votes"
    return f"quorate asks {100 * abs(found.fewer):.0f} % {'fewer' if found.fewer > 0 else 'more'}"
