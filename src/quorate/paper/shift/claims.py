"""The claims of the shift experiment, whether they hold, and the areas under curves that some of them use.

Areas: errors are expected over ties, the floor is not subtracted, costs are over the whole stream. Takes `Streams` and
cells, returns ratios and `Claim`s: fused classifiers against the best single one, dominance. Called by `shift`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from quorate.paper.jobs import BASELINES, HIGH, LOW, JobOutcome, area, at_cost, mean_se, seeds_se
from quorate.paper.published import Verdict
from quorate.paper.shift.streams import ARCHITECTURE_BUDGET, FUSED, LABELS, SETTLED, Cell, Course, Streams, count
from quorate.reports.section import Claim
from quorate.types import FloatArray

FRACTIONS = np.linspace(LOW, HIGH, 86)


class FusedRatio(NamedTuple):
    """Area of all classifiers fused, relative to the best single one (chosen in hindsight), for one seed.

    `ratio` over the common range of costs, `inner_ratio` from 5 to 90 % of the until-settled cost.
    """

    seed: int
    best: str
    ratio: float
    inner_ratio: float


class Dominance(NamedTuple):
    """The worst comparison of a method with a baseline: mean paired difference of errors (points) and its error.

    `worst` = max over costs of mean / se: above 2, the method is significantly above the baseline; NaN for fewer than
    two streams. `at` is that cost in votes per item; `area_ratio` the mean ratio of areas over the range.
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

    The fused streams are compared with every single one of their seed.
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
    """The fused ratio of the areas above the tie floor, which no method can beat; mean over seeds."""
    return _mean_ratio(streams, {each.seed: ("value", each.best) for each in fused}, float(streams.floors.mean()))


def best_single_finexp(streams: Streams) -> float:
    """Area of all fused, relative to FinExp with its best single classifier (in hindsight), mean over seeds."""
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
    """The worst comparison with a baseline between 5 and 90 % of the until-settled cost, paired over streams."""
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
    (fused,), singles = _of_seed(streams, FUSED, seed), _of_seed(streams, "value", seed)
    whole = common_range((fused, *singles))
    best = min(singles, key=lambda each: area_of(each, *whole))
    inner = _inner(_of_seed(streams, SETTLED, seed)[0])
    ratios = [area_of(fused, *ends) / area_of(best, *ends) for ends in (whole, inner)]
    return FusedRatio(seed, best.job.model, *ratios)


AGREEING = ("random", "entropy", "mp-released", "infexp")
COMPARED = (*AGREEING, "fixed-finexp", "finexp")
AT_LEAST, FUSED_AT_MOST, PAIRED_SE, COST_WITHIN, POINTS = 0.90, 0.80, 2.0, 0.1, 2.0
WELL_BELOW = 0.9  # of a baseline's area
GOOD: tuple[Verdict, ...] = ("agrees", "better")


def claims(
    streams: Streams, by_pre: Sequence[Cell], by_whole: Sequence[Cell], fused: Sequence[FusedRatio]
) -> tuple[Claim, ...]:
    """Every claim except that on the orderings."""
    return (
        _agreement(by_pre),
        _finexp(by_pre),
        _grouping(by_pre, by_whole),
        *(_below_baselines(streams, name) for name in ("infexp", "finexp")),
        _fused(streams, fused),
    )


def mp_sentence(table: Sequence[Cell]) -> str:
    """Where `mp` as the paper describes it differs from the printed MP figures, and whether `mp-released` does."""
    described, released = (
        [
            cell
            for cell in table
            if cell.method == name and cell.paper is not None and abs(cell.ours - cell.paper) > POINTS
        ]
        for name in ("mp", "mp-released")
    )
    return (
        f"By more than {POINTS:g} points, MP as the paper describes it differs from the printed MP figures at "
        f"{_listed(described) if described else 'no cell'}; MP as the released code computes it at "
        f"{_listed(released) if released else 'no cell'}."
    )


def fused_sentence(streams: Streams, fused: Sequence[FusedRatio]) -> str:
    """Fused against the best single classifier at one vote per item, with `value` and with FinExp."""
    best = fused[0].best
    labels = {FUSED: LABELS[FUSED], "value": f"quorate with {best}", "finexp": f"FinExp with {best}"}
    errors = []
    for name, label in labels.items():
        outcomes = streams.of(name, best)
        read = [100 * float(at_cost(each.mean_costs, each.mean_errors, 1.0)) for each in outcomes]
        errors.append((label, mean_se(read)[0]))
    return (
        "At 1 vote per item over the whole stream the share of wrong answers is "
        + ", ".join(f"{error:.1f} % for {label}" for label, error in errors)
        + ": part of what fusing gains over FinExp, the class bias and the rule of quorate gain with one classifier."
    )


def time_claim(time: Mapping[str, Course]) -> Claim:
    """The orderings compare methods at equal cost."""
    costs = {name: course.cost for name, course in time.items()}
    far = max(costs, key=lambda name: abs(costs[name] - ARCHITECTURE_BUDGET))
    return Claim(
        f"In the average over orderings every method spends {ARCHITECTURE_BUDGET:g} votes per item, within "
        f"{COST_WITHIN:g}.",
        abs(costs[far] - ARCHITECTURE_BUDGET) <= COST_WITHIN,
        f"{min(costs.values()):.2f} to {max(costs.values()):.2f}; farthest: {LABELS[far]}, {costs[far]:.2f}",
    )


def _agreement(table: Sequence[Cell]) -> Claim:
    good, total = count(table, AGREEING, GOOD)
    missed = [cell for cell in table if cell.method in AGREEING and cell.verdict == "not reproduced"]
    return Claim(
        "RANDOM, ENTROPY, MP (released) and InfExp agree with the printed table by pre-shift cost, within 2 points or "
        "3 combined standard errors, or are better, in at least 90 % of cells.",
        good >= AT_LEAST * total,
        f"{good} of {total} cells" + (f"; not {_listed(missed)}" if missed else ""),
    )


def _finexp(table: Sequence[Cell]) -> Claim:
    rows = [cell for cell in table if cell.method == "finexp"]
    missed = [cell for cell in rows if not cell.is_at_least_as_good]
    below = [cell for cell in rows if cell.paper is not None and cell.paper < cell.floor]
    return Claim(
        "FinExp is at least as good as printed, within 2 combined standard errors, in every cell; within 0.3 of the "
        "tie floor where it is printed below it.",
        not missed,
        f"{len(rows) - len(missed)} of {len(rows)} cells"
        + (f"; not {_listed(missed)}" if missed else "")
        + (f"; printed below the floor: {_listed(below)}" if below else ""),
    )


def _grouping(by_pre: Sequence[Cell], by_whole: Sequence[Cell]) -> Claim:
    (pre, total), (whole, _) = (count(table, COMPARED, ("agrees",)) for table in (by_pre, by_whole))
    return Claim(
        "The printed budgets are votes per item before the shift, not over the whole stream: more cells agree.",
        pre > whole,
        f"{pre} of {total} cells agree by pre-shift cost, {whole} by whole-stream cost",
    )


def _below_baselines(streams: Streams, name: str) -> Claim:
    found = [dominance(streams, name, baseline) for baseline in BASELINES]
    worst = max(found, key=lambda each: each.worst)
    areas = ", ".join(f"{each.area_ratio:.2f} of {LABELS[each.baseline]}" for each in found)
    return Claim(
        f"Between 5 and 90 % of the until-settled cost, {LABELS[name]} is nowhere above RANDOM, ENTROPY or MP by more "
        f"than 2 paired standard errors, and has at most {WELL_BELOW:g} of their area.",
        worst.worst <= PAIRED_SE and max(each.area_ratio for each in found) <= WELL_BELOW,
        f"worst: {worst.difference:+.2f} points ({worst.worst:+.1f} standard errors) against {LABELS[worst.baseline]} "
        f"at {worst.at:.2f} votes per item; area {areas}",
    )


def _fused(streams: Streams, fused: Sequence[FusedRatio]) -> Claim:
    ratio = mean_se([each.ratio for each in fused])[0]
    inner = mean_se([each.inner_ratio for each in fused])[0]
    best = ", ".join(dict.fromkeys(each.best for each in fused))
    return Claim(
        f"All five classifiers fused have at most {FUSED_AT_MOST:.2f} of the area of quorate with the best single one.",
        ratio <= FUSED_AT_MOST,
        f"{ratio:.3f} over all common costs, {inner:.3f} from 5 to 90 % of the until-settled cost (best single: {best})"
        f"; of the area above the tie floor {excess_ratio(streams, fused):.3f}; against FinExp with the best single "
        f"one {best_single_finexp(streams):.3f}",
        of_paper=False,
    )


def _listed(cells: Sequence[Cell]) -> str:
    return ", ".join(
        f"{LABELS[cell.method]} {cell.budget:g} {cell.phase} ({cell.ours:.2f}, printed {cell.paper:.2f})"
        for cell in cells
    )
