"""Curves of a pilot and a goal -> the setting to use, and what to expect of the next batch, with its uncertainty.

The promise is an interval for the *next batch* of m other items, met once, in one order, learning anew. Its variance:

    V = r s^2 / m + V_pilot,   V_pilot = c (r - o + o / R) s^2 / (n q),   c = Var_b(x(k_b) - x_b(k_b)) / Var_b(x_b(k))

s^2 is the variance between items, r what learning makes of it, o the part of r that is the order's, which the pilot's
R orderings average out (`plan.forecast.inflations`); q the share of the votes that were cast and not drawn. c is what
the choice of the setting k adds: on every resampled pilot b the choice is made again, k_b, and what that pilot shows
there is compared with what the real one shows. The mean difference corrects the winner's curse. `study` runs the
methods, `advised` chooses. Called by `plan` and by benchmarks/plan_coverage.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from quorate.methods import Method, method
from quorate.numerics import normal_quantile
from quorate.types import FloatArray, IntArray
from quorate.workflows.plan.curves import (
    PEOPLE_COSTS,
    Measured,
    Meter,
    PilotCurve,
    PilotSetting,
    Progress,
    curve_of,
    halfway,
    measure,
    plan_grid,
    work,
)
from quorate.workflows.plan.forecast import (
    PILOTS,
    Forecast,
    Inflation,
    Resampled,
    deviations,
    inflation_work,
    inflations,
    probability,
    resampled,
)
from quorate.workflows.plan.pools import Pilot

ROUNDS = 8  # halvings of the parameter between the setting chosen and the next one, at most
PEOPLE_ROUNDS = 2  # the same for methods that know people, whose runs take a session
REFINED = 4  # the usual number of them
ABOUT = 0.01  # probabilities that differ by less are called equal
CLOSE = 0.02  # of the votes per item: nearer than this no setting is looked for
Status = Literal["sure", "likely", "unreachable"]


@dataclass(frozen=True, slots=True)
class Goal:
    """Errors to stay within (`kind` "target-error") or votes per item to stay within ("budget"), and how surely."""

    kind: Literal["target-error", "budget"]
    limit: float
    sureness: float = 0.9


@dataclass(frozen=True, slots=True, eq=False)
class Advice:
    """The setting to use and what to expect of it.

    `status` "sure" if a setting meets the goal as surely as asked; "likely" if only by the pilot's own figures: then
    the safest setting; "unreachable" if not even so: then the setting nearest to it.
    `safest`: the safest setting, if the one to use turned out less sure than asked once the choice was allowed for.
    """

    goal: Goal
    setting: PilotSetting
    status: Status
    votes: Forecast
    errors: Forecast
    safest: Advice | None = None

    @property
    def chance(self) -> float:
        """Probability that the next batch meets the goal."""
        forecast = self.errors if self.goal.kind == "target-error" else self.votes
        return forecast.at_most(self.goal.limit)


def advise(
    curve: PilotCurve, drawn: Resampled, ratio: Inflation, goal: Goal, *, batch_size: int, most: float = 1.0
) -> Advice:
    """The setting of `curve` for the goal: the cheapest within the errors, or the one that asks most in the budget.

    If no setting is surely within the errors, the safest. `most`: what one item can add to the errors.
    """
    table = drawn.errors if goal.kind == "target-error" else drawn.votes
    place, chances = _chosen(curve, ratio, goal, batch_size, most)
    again, _ = _chosen(curve, ratio, goal, batch_size, most, table)
    votes, errors = [s.votes for s in curve.settings], [s.errors for s in curve.settings]
    measured = errors if goal.kind == "target-error" else votes

    def of(k: int) -> Advice:
        return Advice(
            goal,
            curve.settings[k],
            _status(float(chances[0, k]), measured[k].mean, goal),
            _forecast(votes, drawn.votes, again, k, ratio.votes, ratio.seen, batch_size, None),
            _forecast(errors, drawn.errors, again, k, ratio.errors, ratio.seen, batch_size, most),
        )

    chosen = of(int(place[0]))
    if goal.kind == "budget" or chosen.chance >= goal.sureness:
        return chosen
    safest = of(int(_safest(chances)[0]))
    return replace(chosen, safest=safest if safest.chance > chosen.chance + ABOUT else None)


def _chosen(
    curve: PilotCurve, ratio: Inflation, goal: Goal, batch_size: int, most: float, shown: FloatArray | None = None
) -> tuple[IntArray, FloatArray]:
    """(B,) settings chosen on pilots that show `shown` (B, S), and (B, S) the chances; None: this pilot."""
    is_error = goal.kind == "target-error"
    measured = [setting.errors if is_error else setting.votes for setting in curve.settings]
    ratios = ratio.errors if is_error else ratio.votes
    values = np.array([[each.mean for each in measured]]) if shown is None else shown
    spreads, num_items = np.array([each.spread for each in measured]), len(measured[0].items)
    deviation = deviations(
        values, goal.limit, pilot_variances(measured, ratios, ratio.seen), spreads, ratios[:, 0], num_items, batch_size,
        most if is_error else None,
    )  # fmt: skip
    chances = probability(goal.limit - values, deviation, num_items)
    return _choose(values, chances, goal), chances


def refined(
    pilot: Pilot,
    curve: PilotCurve,
    ratio: Inflation,
    goal: Goal,
    *,
    orderings: int,
    batch_size: int,
    seed: int,
    meter: Meter | None = None,
) -> tuple[PilotCurve, Inflation]:
    """The curve with settings added between the one chosen for the goal and the next, until they are `CLOSE`.

    The next one spends more, and not surely within the budget; or less, and errs not surely within the target. The
    pilot is met in the same orderings as before, so `seed` and `orderings` must be those of the curve.
    """
    for _ in range(PEOPLE_ROUNDS if curve.settings[0].method.needs_people else ROUNDS):
        k = int(_chosen(curve, ratio, goal, batch_size, pilot.most_counted)[0][0])
        beside = k + 1 if goal.kind == "budget" else k - 1
        if not 0 <= beside < len(curve.settings):
            break
        here, there = curve.settings[k], curve.settings[beside]
        if abs(here.votes.mean - there.votes.mean) <= CLOSE * max(here.votes.mean, there.votes.mean):
            break
        between = halfway(here.method, there.method)
        if between is None:
            break
        (found,) = measure(pilot, [[between]], orderings=orderings, batch_size=batch_size, seed=seed, meter=meter)
        wider = curve_of([*curve.settings, *found.settings])
        if len(wider.settings) == len(curve.settings):  # as many votes as a setting that is there
            break
        curve, ratio = wider, ratio.between(curve.votes, wider.votes)
    return curve, ratio


def pilot_variances(measured: Sequence[Measured], ratios: FloatArray, seen: float) -> FloatArray:
    """(S,) (r - o + o / R) s^2 / (n q): how far the pilot's own figures may be off, before any choice.

    q = `seen` is the share of the pools' votes that were cast: a pilot with drawn votes is trusted as one of n q items.
    Never less than the items alone give: r and o rest on a few runs.
    """
    orderings, num_items = len(measured[0].runs), len(measured[0].items)
    left = ratios[:, 0] - ratios[:, 1] * (1 - 1 / orderings)
    by_items = np.array([m.items.var() for m in measured])
    return np.asarray(np.maximum(left * np.array([m.spread for m in measured]), by_items) / (num_items * seen))


def _choose(values: FloatArray, chances: FloatArray, goal: Goal) -> IntArray:
    """(B,) settings chosen on pilots that show `values` (B, S). Settings are in the order of their cost."""
    sure = chances >= goal.sureness
    if goal.kind == "budget":
        last = sure.shape[1] - 1 - sure[:, ::-1].argmax(axis=1)
        return np.asarray(np.where(sure.any(axis=1), last, 0))
    likely = values <= goal.limit + 1e-12
    second = np.where(likely.any(axis=1), _safest(chances), values.argmin(axis=1))
    return np.asarray(np.where(sure.any(axis=1), sure.argmax(axis=1), second))


def _safest(chances: FloatArray) -> IntArray:
    """(B,) the cheapest of the settings whose chances (B, S) are about the highest."""
    return np.asarray((chances >= chances.max(axis=1, keepdims=True) - ABOUT).argmax(axis=1))


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
    seen: float,
    batch_size: int,
    most: float | None,
) -> Forecast:
    means = np.array([each.mean for each in measured])
    plain = float(table[:, place].var(ddof=1))
    off = means[again] - table[np.arange(len(again)), again]  # what the choice hides, on every resampled pilot
    centre = max(float(means[place] + off.mean()), 0.0)
    return Forecast(
        centre if most is None else min(centre, most),
        float(pilot_variances(measured, ratio, seen)[place] * (off.var(ddof=1) / plain if plain > 0 else 1.0)),
        measured[place].spread,
        float(ratio[place, 0]),
        len(measured[place].items),
        batch_size,
        most,
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
    k, place = next(
        (k, place)
        for k, curve in enumerate(curves)
        for place, setting in enumerate(curve.settings)
        if setting is advice.setting
    )
    cost, mine = advice.setting.votes.mean, drawn[k].errors[:, place]
    others = [each for j, each in enumerate(zip(curves, drawn, strict=True)) if j != k and len(each[0].settings) > 1]
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
    reach = normal_quantile(goal.sureness)
    whole = forecast.deviation(goal.limit) ** 2
    ratio = forecast.pilot_variance / (
        forecast.pilot_variance + forecast.inflation * forecast.spread / forecast.batch_size or 1.0
    )
    by_pilot = whole * ratio
    left = (gap / reach) ** 2 - (whole - by_pilot)
    if left <= 0:
        return None
    return int(np.ceil(forecast.num_items * by_pilot / left))


REFERENCES = ("until-settled", "ask-all")
ENDLESS = 10**12  # a batch so long that only the pilot's own error is left: a confidence interval


@dataclass(frozen=True, slots=True, eq=False)
class Study:
    """Methods run on a pilot, the one to be advised first.

    `curves` and their `ratios`, one each   `references` until settled and asking everyone   `batch_size` m   `meter`
    tells how far all runs are
    """

    pilot: Pilot
    curves: tuple[PilotCurve, ...]
    ratios: tuple[Inflation, ...]
    references: Mapping[str, PilotSetting]
    orderings: int
    batch_size: int
    seed: int
    meter: Meter

    @property
    def floor(self) -> float:
        """What ties alone cost: the errors of asking until settled."""
        return self.references["until-settled"].errors.mean


@dataclass(frozen=True, slots=True, eq=False)
class Band:
    """(S, 2) where a curve's settings really are: votes per item and errors."""

    votes: FloatArray
    errors: FloatArray


def study(
    pilot: Pilot,
    names: Sequence[str],
    *,
    orderings: int,
    batch_size: int,
    seed: int,
    progress: Progress | None = None,
) -> Study:
    """Run every method, at every value of its parameter, on the orderings of the pilot and on resampled pilots."""
    families = [_family(name, pilot) for name in names]
    every = [*families, *([method(name)] for name in REFERENCES)]
    once = sum(work(chosen, pilot.num_items) for family in every for chosen in family)
    between = (PEOPLE_ROUNDS if families[0][0].needs_people else REFINED) * work(families[0][0], pilot.num_items)
    meter = Meter(progress, orderings * (once + between) + inflation_work(pilot, families))
    found = measure(pilot, every, orderings=orderings, batch_size=batch_size, seed=seed, meter=meter)
    curves = found[: len(names)]
    ratios = inflations(pilot, curves, seed=seed, meter=meter)
    references = {curve.name: curve.settings[0] for curve in found[len(names) :]}
    return Study(pilot, curves, ratios, references, orderings, batch_size, seed, meter)


def _family(name: str, pilot: Pilot) -> list[Method]:
    """A method at every value of its parameter; at one only if the name has it: "quorum:votes=4"."""
    if ":" in name:
        chosen = method(name)
        if name != f"{chosen.name}:choose={chosen.choose}":
            return [chosen]
        return [method(chosen.name, choose=chosen.choose, error_cost=cost) for cost in PEOPLE_COSTS]
    grid = plan_grid(name, pool_size=pilot.largest, num_classes=pilot.dataset.num_classes)
    return [method(name, **parameters) for parameters in grid]


def advised(found: Study, goal: Goal, *, draws: int) -> tuple[Study, Advice]:
    """The advice for a goal, and the study with the settings that were added near it."""
    curve, ratio = refined(
        found.pilot, found.curves[0], found.ratios[0], goal, orderings=found.orderings, batch_size=found.batch_size,
        seed=found.seed, meter=found.meter,
    )  # fmt: skip
    most = found.pilot.most_counted
    (drawn,) = resampled([curve], [ratio], draws=draws, seed=found.seed, most=most)
    advice = advise(curve, drawn, ratio, goal, batch_size=found.batch_size, most=most)
    finer = replace(found, curves=(curve, *found.curves[1:]), ratios=(ratio, *found.ratios[1:]))
    return finer, advice


def band(curve: PilotCurve, ratio: Inflation, most: float, level: float) -> Band:
    """Where the pilot leaves each setting: items, orderings and what is learned from them all resampled."""

    pilots = len(ratio.paths) or PILOTS

    def ends(measured: Sequence[Measured], ratios: FloatArray, top: float | None) -> FloatArray:
        variances = pilot_variances(measured, ratios, ratio.seen)
        return np.array(
            [
                Forecast(m.mean, float(v), m.spread, 1.0, len(m.items), ENDLESS, top, pilots).interval(level)
                for m, v in zip(measured, variances, strict=True)
            ]
        )

    return Band(
        ends([s.votes for s in curve.settings], ratio.votes, None),
        ends([s.errors for s in curve.settings], ratio.errors, most),
    )
