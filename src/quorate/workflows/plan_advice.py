r"""Curves of a pilot and a goal -> the setting to use, and what to expect of the next batch, honestly.

The promise is an interval for the *next batch* of m other items, met once, in one order, learning anew. Its variance:

    V = r s^2 / m + V_pilot,      V_pilot = c (r - o + o / R) s^2 / n,      c = Var_b(x(k_b) - x_b(k_b)) / Var_b(x_b(k))

s^2 is the variance between items, r what learning makes of it, o the part of r that is the order's, which the pilot's R
orderings average out (`plan_curves.inflation`). c is what the choice of the setting k adds: on every resampled pilot b
the choice is made again, k_b, and what that pilot shows there is set against what the real one shows. The mean of the
difference corrects the winner's curse. Called by `plan`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import optimize, stats

from quorate.types import FloatArray, IntArray
from quorate.workflows.plan_curves import PILOTS, Inflation, Measured, PilotCurve, Resampled, Setting

KNOWN = (0.3, 20.0)  # V_pilot n / s^2: outside is noise of a few errors
Status = Literal["sure", "likely", "unreachable"]


@dataclass(frozen=True, slots=True)
class Goal:
    """Errors to stay within (`kind` "target-error") or votes per item to stay within ("budget"), and how surely."""

    kind: Literal["target-error", "budget"]
    limit: float
    sureness: float = 0.9


@dataclass(frozen=True, slots=True)
class Forecast:
    """What the mean of the next batch will be.

    `centre` expected   `pilot_variance` of that expectation, V_pilot   `spread` between items, s^2   `inflation` r
    `num_items` of the pilot   `batch_size` of the next batch   `is_share` errors, not votes
    """

    centre: float
    pilot_variance: float
    spread: float
    inflation: float
    num_items: int
    batch_size: int
    is_share: bool

    def interval(self, level: float = 0.9) -> tuple[float, float]:
        """Where the next batch's mean falls with probability `level`.

        Votes: centre -+ t sqrt(V). Errors: all x with (x - centre)^2 <= t^2 V(p), where V is scaled to the error rate p
        that pilot and batch would have together (a score interval: it has no negative end, and a width where the pilot
        shows no error at all).

        >>> seen = Forecast(0.02, 0.0196 / 500, 0.0196, 1.0, 500, 500, True)
        >>> [round(end, 4) for end in seen.interval(0.9)]
        [0.0075, 0.038]
        """
        reach = float(stats.t.ppf(0.5 + level / 2, _freedom(self.num_items)))
        if not self.is_share:
            half = reach * self.deviation(self.centre)
            return max(self.centre - half, 0.0), self.centre + half
        return self._end(0.0, -reach), self._end(1.0, reach)

    def _end(self, last: float, reach: float) -> float:
        """Where (x - centre) / sqrt(V) is `reach`, between the centre and `last`."""

        def beyond(x: float) -> float:
            return x - self.centre - reach * self.deviation(x)

        sign = float(np.sign(reach))
        first = self.centre + sign * 1e-12  # at a centre of 0 the width is 0 there, and only there
        if beyond(last) * sign <= 0:
            return last
        return float(optimize.brentq(beyond, first, last)) if beyond(first) * sign < 0 else self.centre

    def deviation(self, x: float) -> float:
        """sqrt(V) if the next batch came to `x`."""
        return float(
            _deviation(
                self.centre, x, self.pilot_variance, self.spread, self.inflation, self.num_items, self.batch_size,
                self.is_share,
            )
        )  # fmt: skip

    def at_most(self, x: float) -> float:
        """Probability that the next batch's mean is at most `x`.

        >>> seen = Forecast(0.02, 0.0196 / 500, 0.0196, 1.0, 500, 500, True)
        >>> round(seen.at_most(seen.interval(0.9)[1]), 3)
        0.95
        """
        return float(_probability((x - self.centre), self.deviation(x), self.num_items))


def _deviation(
    centre: Any,  # noqa: ANN401 - number or array
    x: float,
    pilot_variance: Any,  # noqa: ANN401
    spread: Any,  # noqa: ANN401
    inflation: Any,  # noqa: ANN401
    num_items: int,
    batch_size: int,
    is_share: bool,
) -> Any:  # noqa: ANN401
    """sqrt(V); for shares, the parts between items scaled from the rate seen to the rate of pilot and batch together.

    The dispersion spread / (centre (1 - centre)) is below 1 where ties are half errors. A single half error is too
    little to say so: it, and V_pilot n / spread, are drawn to 1 by one item.
    """
    if not is_share:
        return np.sqrt(pilot_variance + inflation * spread / batch_size)
    both = (num_items * centre + batch_size * x) / (num_items + batch_size)
    one = both * (1 - both)
    dispersion = (num_items * spread + one) / (num_items * centre * (1 - centre) + one + 1e-300)
    known = (num_items**2 * pilot_variance + one) / (num_items * spread + one + 1e-300)
    return np.sqrt(dispersion * one * (np.clip(known, *KNOWN) / num_items + inflation / batch_size))


def _freedom(num_items: int) -> int:
    """Degrees of freedom: r rests on `PILOTS` runs at each of several settings, averaged with their neighbours."""
    return min(num_items - 1, 2 * (PILOTS - 1))


def _probability(distance: Any, deviation: Any, num_items: int) -> Any:  # noqa: ANN401
    safe = np.where(deviation > 0, deviation, 1.0)
    return np.where(
        deviation > 0, stats.t.cdf(distance / safe, _freedom(num_items)), np.where(np.asarray(distance) >= 0, 1.0, 0.0)
    )


@dataclass(frozen=True, slots=True, eq=False)
class Advice:
    """The setting to use and what to expect of it.

    `status` "sure" if a setting meets the goal as surely as asked, "likely" if only by the pilot's own figures,
    "unreachable" if not even so: then the setting nearest to it.
    """

    goal: Goal
    setting: Setting
    status: Status
    votes: Forecast
    errors: Forecast

    @property
    def chance(self) -> float:
        """Probability that the next batch meets the goal."""
        forecast = self.errors if self.goal.kind == "target-error" else self.votes
        return forecast.at_most(self.goal.limit)


def advise(curve: PilotCurve, drawn: Resampled, ratio: Inflation, goal: Goal, *, batch_size: int) -> Advice:
    """The setting of `curve` for the goal: the cheapest within the errors, or the one that asks most in the budget."""
    is_error = goal.kind == "target-error"
    measured = [setting.errors if is_error else setting.votes for setting in curve.settings]
    table = drawn.errors if is_error else drawn.votes
    estimates = curve.errors if is_error else curve.votes
    ratios = ratio.errors if is_error else ratio.votes
    parts = (pilot_variances(measured, ratios), np.array([m.spread for m in measured]), ratios[:, 0])
    num_items = len(measured[0].items)

    def chosen(values: FloatArray) -> tuple[IntArray, FloatArray]:
        deviation = _deviation(values, goal.limit, *parts, num_items, batch_size, is_error)
        chances = _probability(goal.limit - values, deviation, num_items)
        return _choose(values, chances, goal), chances

    place, chances = chosen(estimates[None])
    k = int(place[0])
    again, _ = chosen(table)
    return Advice(
        goal,
        curve.settings[k],
        _status(float(chances[0, k]), float(estimates[k]), goal),
        _forecast([s.votes for s in curve.settings], drawn.votes, again, k, ratio.votes, batch_size, is_share=False),
        _forecast([s.errors for s in curve.settings], drawn.errors, again, k, ratio.errors, batch_size, is_share=True),
    )


def pilot_variances(measured: Sequence[Measured], ratios: FloatArray) -> FloatArray:
    """(S,) (r - o + o / R) s^2 / n: how far the pilot's own figures may be off, before any choice."""
    orderings, num_items = len(measured[0].runs), len(measured[0].items)
    left = ratios[:, 0] - ratios[:, 1] * (1 - 1 / orderings)
    return np.asarray(left * np.array([m.spread for m in measured]) / num_items)


def _choose(values: FloatArray, chances: FloatArray, goal: Goal) -> IntArray:
    """(B,) settings chosen on pilots that show `values` (B, S). Settings are in the order of their cost."""
    sure = chances >= goal.sureness
    if goal.kind == "budget":
        last = sure.shape[1] - 1 - sure[:, ::-1].argmax(axis=1)
        return np.asarray(np.where(sure.any(axis=1), last, 0))
    likely = values <= goal.limit + 1e-12
    second = np.where(likely.any(axis=1), likely.argmax(axis=1), values.argmin(axis=1))
    return np.asarray(np.where(sure.any(axis=1), sure.argmax(axis=1), second))


def _status(chance: float, estimate: float, goal: Goal) -> Status:
    if chance >= goal.sureness:
        return "sure"
    return "likely" if estimate <= goal.limit + 1e-12 else "unreachable"


def _forecast(
    measured: Sequence[Measured],
    table: FloatArray,
    again: IntArray,
    place: int,
    ratio: FloatArray,
    batch_size: int,
    *,
    is_share: bool,
) -> Forecast:
    means = np.array([each.mean for each in measured])
    plain = float(table[:, place].var(ddof=1))
    off = means[again] - table[np.arange(len(again)), again]  # what the choice hides, on every resampled pilot
    centre = max(float(means[place] + off.mean()), 0.0)
    return Forecast(
        min(centre, 1.0) if is_share else centre,
        float(pilot_variances(measured, ratio)[place] * (off.var(ddof=1) / plain if plain > 0 else 1.0)),
        measured[place].spread,
        float(ratio[place, 0]),
        len(measured[place].items),
        batch_size,
        is_share,
    )


@dataclass(frozen=True, slots=True)
class Rival:
    """Another method at the same votes per item: how much its error is above ours, and the interval of that."""

    name: str
    difference: float
    low: float
    high: float

    @property
    def is_better(self) -> bool:
        """It errs less, beyond noise."""
        return self.high < 0


def rivals(
    advice: Advice, curves: Sequence[PilotCurve], drawn: Sequence[Resampled], *, level: float = 0.9
) -> tuple[Rival, ...]:
    """Every other method against the advised setting, at its votes per item (between two settings: a mix).

    The intervals hold together: each at 1 - (1 - level) / number of methods. Methods that cannot ask so much are left
    out. Differences are taken on the same resampled pilots.
    """
    ours = next(c for c in curves if c.name == advice.setting.method.name)
    place = next(k for k, setting in enumerate(ours.settings) if setting is advice.setting)
    cost = advice.setting.votes.mean
    others = [(c, d) for c, d in zip(curves, drawn, strict=True) if c is not ours and len(c.settings) > 1]
    mine = drawn[list(curves).index(ours)].errors[:, place]
    tail = (1 - level) / 2 / max(len(others), 1)
    found = []
    for curve, theirs in others:
        if not curve.votes[0] <= cost <= curve.votes[-1]:
            continue
        right = min(max(int(np.searchsorted(curve.votes, cost)), 1), len(curve.settings) - 1)
        share = (cost - curve.votes[right - 1]) / (curve.votes[right] - curve.votes[right - 1])
        mix = (1 - share) * curve.errors[right - 1] + share * curve.errors[right]
        spread = (1 - share) * theirs.errors[:, right - 1] + share * theirs.errors[:, right] - mine
        low, high = np.quantile(spread, (tail, 1 - tail))
        found.append(Rival(curve.name, float(mix - advice.setting.errors.mean), float(low), float(high)))
    return tuple(sorted(found, key=lambda rival: rival.difference))


def needed_pilot(forecast: Forecast, goal: Goal) -> int | None:
    """Items a pilot needs so that the same figures meet the goal as surely as asked; None if no pilot would do.

    Solves limit - centre = z sqrt(V_pilot n0 / n + r s^2 / m) for n, all else as in this pilot of n0.
    """
    gap = goal.limit - forecast.centre
    if gap <= 0:
        return None
    reach = float(stats.norm.ppf(goal.sureness))
    whole = forecast.deviation(goal.limit) ** 2
    ratio = forecast.pilot_variance / (
        forecast.pilot_variance + forecast.inflation * forecast.spread / forecast.batch_size or 1.0
    )
    by_pilot = whole * ratio
    left = (gap / reach) ** 2 - (whole - by_pilot)
    if left <= 0:
        return None
    return int(np.ceil(forecast.num_items * by_pilot / left))
