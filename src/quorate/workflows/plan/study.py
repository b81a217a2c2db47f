"""A pilot and the names of methods -> curves with what makes them uncertain, and the advice for any goal.

What `plan` does between reading the tables and writing the report; also what benchmarks/plan_coverage.py checks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from quorate.catalogue import parse_method
from quorate.methods import Method, method
from quorate.types import FloatArray
from quorate.workflows.plan.advice import Advice, Goal, advise, pilot_variances, refined
from quorate.workflows.plan.curves import Measured, PilotCurve, PilotSetting, Progress, measure, plan_grid
from quorate.workflows.plan.forecast import Forecast
from quorate.workflows.plan.pools import Pilot
from quorate.workflows.plan.variance import Inflation, inflations, resampled

REFERENCES = ("until-settled", "ask-all")
ENDLESS = 10**12  # a batch so long that only the pilot's own error is left: a confidence interval


@dataclass(frozen=True, slots=True, eq=False)
class Study:
    """Methods run on a pilot, the one to be advised first.

    `curves` and their `ratios`, one each   `references` until settled and asking everyone   `batch_size` m
    """

    pilot: Pilot
    curves: tuple[PilotCurve, ...]
    ratios: tuple[Inflation, ...]
    references: Mapping[str, PilotSetting]
    orderings: int
    batch_size: int
    seed: int

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
    """Run every method, at every value of its knob, on the orderings of the pilot and on pilots resampled from it."""
    families = [_family(name, pilot) for name in names] + [[method(name)] for name in REFERENCES]
    found = measure(pilot, families, orderings=orderings, batch_size=batch_size, seed=seed, progress=progress)
    curves = found[: len(names)]
    ratios = inflations(pilot, curves, seed=seed, progress=progress)
    references = {curve.name: curve.settings[0] for curve in found[len(names) :]}
    return Study(pilot, curves, ratios, references, orderings, batch_size, seed)


def _family(name: str, pilot: Pilot) -> list[Method]:
    """A method at every knob value; at one only if the name came with it: "quorum:votes=4"."""
    if ":" in name:
        return [parse_method(name)]
    grid = plan_grid(name, pool_size=pilot.largest, num_classes=pilot.dataset.num_classes)
    return [method(name, **knobs) for knobs in grid]


def advised(found: Study, goal: Goal, *, draws: int, progress: Progress | None = None) -> tuple[Study, Advice]:
    """The advice for a goal, and the study with the settings that were added near it."""
    curve, ratio = refined(
        found.pilot, found.curves[0], found.ratios[0], goal, orderings=found.orderings, batch_size=found.batch_size,
        seed=found.seed, progress=progress,
    )  # fmt: skip
    most = found.pilot.most_error
    (drawn,) = resampled([curve], [ratio], draws=draws, seed=found.seed, most=most)
    advice = advise(curve, drawn, ratio, goal, batch_size=found.batch_size, most=most)
    finer = replace(found, curves=(curve, *found.curves[1:]), ratios=(ratio, *found.ratios[1:]))
    return finer, advice


def band(curve: PilotCurve, ratio: Inflation, most: float, level: float) -> Band:
    """Where the pilot leaves each setting: items, orderings and what is learned from them all resampled."""

    def ends(measured: Sequence[Measured], ratios: FloatArray, top: float | None) -> FloatArray:
        variances = pilot_variances(measured, ratios, ratio.seen)
        return np.array(
            [
                Forecast(m.mean, float(v), m.spread, 1.0, len(m.items), ENDLESS, top).interval(level)
                for m, v in zip(measured, variances, strict=True)
            ]
        )

    return Band(
        ends([s.votes for s in curve.settings], ratio.votes, None),
        ends([s.errors for s in curve.settings], ratio.errors, most),
    )
