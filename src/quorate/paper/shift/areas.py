"""Whole curves on the shift stream: areas under them, all classifiers fused against the best single one, dominance.

Errors are expected over ties, the floor is not subtracted, costs are over the whole stream. Takes `Streams`, gives
ratios and paired differences. Called by `shift`; pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from quorate.paper.readings import HIGH, LOW, JobOutcome, area, at_cost, mean_se, seeds_se
from quorate.paper.shift.streams import FUSED, SETTLED, Streams
from quorate.types import FloatArray

FRACTIONS = np.linspace(LOW, HIGH, 86)


class FusedRatio(NamedTuple):
    """Area of all classifiers fused over that of the best single one, chosen in hindsight, for one seed.

    `ratio` over the common range of costs, `inner_ratio` from 5 to 90 % of the until-settled cost.
    """

    seed: int
    best: str
    ratio: float
    inner_ratio: float


class Dominance(NamedTuple):
    """Where a method stands worst against a baseline: mean paired difference of errors, points, over its error.

    `worst` = max over costs of mean / se: above 2, the method is above the baseline beyond chance; NaN
    of fewer than two streams. `at` is that cost in votes per item; `area_ratio` the mean ratio of areas over the range.
    """

    method: str
    baseline: str
    worst: float
    at: float
    difference: float
    area_ratio: float


def common_range(outcomes: Iterable[JobOutcome]) -> tuple[float, float]:
    """The costs that every curve reaches."""
    costs = [outcome.mean_costs for outcome in outcomes]
    return max(float(each.min()) for each in costs), min(float(each.max()) for each in costs)


def area_of(outcome: JobOutcome, low: float, high: float) -> float:
    """Area under a stream's curve of error (percent) against votes per item."""
    return area(outcome.mean_costs, 100 * outcome.mean_errors, low, high)


def area_ratios(streams: Streams, name: str, reference: str) -> tuple[float, float]:
    """Mean and standard error over streams of the ratio of areas on the common range of costs.

    The fused streams are set against every single one of their seed.
    """
    ratios = []
    for other in streams.outcomes[reference]:
        mine = next(each for each in streams.of(name, other.job.model) if each.job.seed == other.job.seed)
        low, high = common_range((mine, other))
        ratios.append(area_of(mine, low, high) / area_of(other, low, high))
    return mean_se(ratios)


def fused_ratios(streams: Streams) -> tuple[FusedRatio, ...]:
    """All classifiers fused against the best single one, seed by seed."""
    return tuple(_fused_ratio(streams, seed) for seed in streams.seeds)


def excess_ratio(streams: Streams, fused: Iterable[FusedRatio]) -> float:
    """The fused ratio of the areas above the tie floor, mean over seeds: nobody can gain below it."""
    return _mean_ratio(streams, {each.seed: ("quorate", each.best) for each in fused}, float(streams.floors.mean()))


def best_single_finexp(streams: Streams) -> float:
    """Area of all fused over that of FinExp with its best single classifier, chosen in hindsight, mean over seeds."""
    best = {}
    for seed in streams.seeds:
        singles = _of_seed(streams, "finexp", seed)
        low, high = common_range(singles)
        best[seed] = ("finexp", min(singles, key=lambda each: area_of(each, low, high)).job.model)
    return _mean_ratio(streams, best, 0.0)


def _mean_ratio(streams: Streams, best: Mapping[int, tuple[str, str]], floor: float) -> float:
    ratios = []
    for seed, (name, model) in best.items():
        (fused,) = _of_seed(streams, FUSED, seed)
        single = next(each for each in _of_seed(streams, name, seed) if each.job.model == model)
        low, high = common_range((fused, single))
        below = floor * (high - low)
        ratios.append((area_of(fused, low, high) - below) / (area_of(single, low, high) - below))
    return mean_se(ratios)[0]


def _of_seed(streams: Streams, name: str, seed: int) -> list[JobOutcome]:
    return [each for each in streams.outcomes[name] if each.job.seed == seed]


def dominance(streams: Streams, name: str, baseline: str) -> Dominance:
    """The worst a method does against a baseline between 5 and 90 % of the until-settled cost, paired over streams."""
    settled = streams.outcomes[SETTLED]
    pairs = list(zip(streams.outcomes[name], streams.outcomes[baseline], settled, strict=True))
    gaps = np.array([_gaps(*pair) for pair in pairs])  # (S, cost)
    ratios = [area_of(ours, *_inner(end)) / area_of(theirs, *_inner(end)) for ours, theirs, end in pairs]
    reached = np.flatnonzero(~np.isnan(gaps).any(axis=0))
    if len(gaps) < 2 or not len(reached):
        return Dominance(name, baseline, np.nan, np.nan, np.nan, mean_se(ratios)[0])
    means = gaps[:, reached].mean(axis=0)
    spread = seeds_se(gaps[:, reached], [ours.job.model for ours, _, _ in pairs])
    scores = means / np.maximum(spread, 1e-12)
    worst = int(np.argmax(scores))
    cost = float(FRACTIONS[reached[worst]] * streams.settled_cost)
    return Dominance(name, baseline, float(scores[worst]), cost, float(means[worst]), mean_se(ratios)[0])


def _gaps(ours: JobOutcome, theirs: JobOutcome, settled: JobOutcome) -> FloatArray:
    budgets = FRACTIONS * settled.mean_costs[-1]
    at = [at_cost(each.mean_costs, 100 * each.mean_errors, budgets) for each in (ours, theirs)]
    return np.asarray(at[0] - at[1])


def _inner(settled: JobOutcome) -> tuple[float, float]:
    cost = float(settled.mean_costs[-1])
    return LOW * cost, HIGH * cost


def _fused_ratio(streams: Streams, seed: int) -> FusedRatio:
    (fused,), singles = _of_seed(streams, FUSED, seed), _of_seed(streams, "quorate", seed)
    whole = common_range((fused, *singles))
    best = min(singles, key=lambda each: area_of(each, *whole))
    inner = _inner(_of_seed(streams, SETTLED, seed)[0])
    ratios = [area_of(fused, *ends) / area_of(best, *ends) for ends in (whole, inner)]
    return FusedRatio(seed, best.job.model, *ratios)
