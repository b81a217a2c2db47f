"""What the paper says of its shift experiment, in its own words, beside what was measured here.

Takes `Streams`, the cells of the table and the courses over time; returns `Claim`s. Called by `shift`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from quorate.reports.section import Claim
from quorate.types import FloatArray
from quorate_paper.jobs import METHOD_LABELS, area, mean_se, ratio
from quorate_paper.settings import BUDGETS, PHASES, REFIT_EVERY, Phase
from quorate_paper.shift.near import GROUPINGS, Grouping
from quorate_paper.shift.streams import (
    ARCHITECTURE_BUDGET,
    FUSED,
    REFIT_THRESHOLD,
    Course,
    Streams,
    costs_at,
    moving_average,
)
from quorate_paper.shift.table import Reading, ShiftCell, reading

BASELINES = ("random", "entropy", "mp")
LEARNED, FIXED = ("finexp", "infexp"), ("fixed-finexp", "fixed-infexp")
PAPERS = (*BASELINES, "fixed-finexp", *LEARNED)
LOW, HIGH = 0.5, 3.0  # the paper's budgets
SAME_COST, ALIKE = 0.1, 0.5  # votes; points
QUARTER = 4

Errors = Mapping[tuple[str, float, Grouping, Phase], Reading]


def claims(
    streams: Streams, table: Sequence[ShiftCell], over_time: Mapping[tuple[str, str, float], Course],
    time: Mapping[str, Course], first: str, refits: Mapping[tuple[str, int], tuple[float, float]],
) -> tuple[Claim, ...]:  # fmt: skip
    """Every claim of the paper on this experiment, then our own checks."""
    whole = {(cell.method, cell.budget, cell.grouping, cell.phase): cell.read["exact"] for cell in table}
    return (
        _lower_errors(whole),
        _both_outperform(streams, first),
        _most_flexible(over_time, first),
        _under_and_over(streams),
        _converge(whole, streams),
        _outperform_at_high(whole),
        _fixed_is_less_sensitive(streams),
        _significant(whole),
        _time_average(time, streams.shift_at),
        _no_steady_state(time, streams.shift_at),
        _interval(refits, first),
        _orderings_spend_the_same(time),
        _fused(streams),
    )


def _lower_errors(errors: Errors) -> Claim:
    pairs = list(_pairs(LEARNED, BUDGETS, ("pre-shift cost",)))
    lower, total, missed = _lower(errors, pairs)
    worse = []
    for method, rival, budget, grouping, _ in pairs[::2]:
        ours, theirs = (
            errors[name, budget, grouping, "post"].value - errors[name, budget, grouping, "pre"].value
            for name in (method, rival)
        )
        if not ours < theirs:
            worse.append(f"{METHOD_LABELS[method]} against {METHOD_LABELS[rival]} at {budget:g}")
    return Claim(
        "our proposed methods possess lower error rates and demonstrate significantly lower performance degradation "
        "after the distribution shift occurs, even when pre-shift error rates are comparable",
        not missed and not worse,
        f"by pre-shift cost, mean of all classifiers: lower error in {lower} of {total} comparisons of FinExp and "
        f"InfExp with a baseline{_but(missed)}; smaller rise of the error in {len(pairs) // 2 - len(worse)} of "
        f"{len(pairs) // 2}{_but(worse)}",
        "section 4.4",
    )


def _both_outperform(streams: Streams, first: str) -> Claim:
    errors = {
        (name, ARCHITECTURE_BUDGET, grouping, phase):
            reading(streams.of(name, first), ARCHITECTURE_BUDGET, grouping, phase)
        for name in PAPERS for grouping in GROUPINGS for phase in PHASES
    }  # fmt: skip
    pairs = list(_pairs(("infexp", "fixed-finexp"), (ARCHITECTURE_BUDGET,), GROUPINGS))
    lower, total, missed = _lower(errors, pairs)
    return Claim(
        "Both before and after distribution shift, InfExp and Fixed consistently outperform the baselines",
        not missed if total else None,
        f"{first}, {ARCHITECTURE_BUDGET:g} votes, both groupings: lower error in {lower} of {total} comparisons"
        + _but(missed),
        "section 4.4, figure of 2 experts per sample",
    )


def _most_flexible(over_time: Mapping[tuple[str, str, float], Course], first: str) -> Claim:
    rows = {name: over_time[name, first, ARCHITECTURE_BUDGET] for name in PAPERS}
    shift = next(iter(rows.values())).costs.shape[1] // 2
    costs = {name: (course.costs[:, :shift].mean(), course.costs[:, shift:].mean()) for name, course in rows.items()}
    errors = {name: float(course.errors.mean()) for name, course in rows.items()}
    lowest, highest = min(costs, key=lambda name: costs[name][0]), max(costs, key=lambda name: costs[name][1])
    gap = abs(errors["infexp"] - errors["fixed-finexp"])
    return Claim(
        "though InfExp and Fixed maintain nearly identical error rates, InfExp has the lowest pre-shift and the "
        "highest post-shift querying costs",
        (lowest, highest) == ("infexp", "infexp") and gap <= ALIKE,
        f"{first}, {ARCHITECTURE_BUDGET:g} votes over the whole stream: error {errors['infexp']:.1f} % of InfExp, "
        f"{errors['fixed-finexp']:.1f} % of Fixed; votes before and after: "
        + ", ".join(f"{METHOD_LABELS[name]} {pre:.2f} and {post:.2f}" for name, (pre, post) in costs.items()),
        "section 4.4, figure of 2 experts per sample",
    )


def _under_and_over(streams: Streams) -> Claim:
    found = []
    for budget in BUDGETS:
        for model in streams.models:
            for name in LEARNED:
                for rival in BASELINES:
                    pre, post = (_gap(streams, name, rival, model, budget, phase) for phase in PHASES)
                    if not np.isnan(pre):
                        found.append(pre < 0.0 < post)
    return Claim(
        "our methods tend to under-query baselines pre-shift, but over-query post-shift",
        2 * sum(found) > len(found) if found else None,
        f"both in {sum(found)} of {len(found)} comparisons of FinExp and InfExp with a baseline at equal cost over the "
        "whole stream, by classifier and budget",
        "appendix C, distribution shift",
    )


def _converge(errors: Errors, streams: Streams) -> Claim:
    spreads = {}
    for budget in (LOW, HIGH):
        cost = np.ptp([np.nanmean(costs_at(streams.outcomes[name], budget, "pre")) for name in PAPERS
                       if not np.isnan(costs_at(streams.outcomes[name], budget, "pre")).all()])  # fmt: skip
        error = [errors[name, budget, "whole-stream cost", phase].value for name in PAPERS for phase in PHASES]
        spreads[budget] = (
            float(cost),
            *(float(np.nanmax(some) - np.nanmin(some)) for some in (error[::2], error[1::2])),
        )
    said = "; ".join(
        f"at {budget:g} votes, from the lowest to the highest method: {cost:.2f} votes before the shift, errors "
        f"{pre:.1f} points before and {post:.1f} after it" for budget, (cost, pre, post) in spreads.items()
    )  # fmt: skip
    return Claim(
        "At the highest budgets (i.e. 3 queries / sample), we naturally see the methods converge in budget and "
        "performance",
        all(high < low for low, high in zip(spreads[LOW], spreads[HIGH], strict=True)),
        f"at equal cost over the whole stream, mean of all classifiers: {said}",
        "appendix C, distribution shift",
    )


def _outperform_at_high(errors: Errors) -> Claim:
    pairs = list(_pairs((*LEARNED, "fixed-finexp"), (HIGH,), GROUPINGS))
    lower, total, missed = _lower(errors, pairs)
    return Claim(
        "Even so, in these settings we still consistently (slightly) outperform the baselines",
        not missed,
        f"at {HIGH:g} votes, both groupings: lower error in {lower} of {total} comparisons{_but(missed)}",
        "appendix C, distribution shift",
    )


def _fixed_is_less_sensitive(streams: Streams) -> Claim:
    held, total, rises = 0, 0, {}
    for model in streams.models:
        rise = {name: _rise(streams, name, model) for name in (*BASELINES, *FIXED, *LEARNED)}
        rises[model] = rise
        for fixed in FIXED:
            for learned in LEARNED:
                if not np.isnan(rise[fixed] + rise[learned]):
                    total, held = total + 1, held + (rise[fixed] < rise[learned])
    mean = {name: np.array([rise[name] for rise in rises.values()]) for name in (*BASELINES, *FIXED, *LEARNED)}
    said = ", ".join(
        f"{METHOD_LABELS[name]} {values[~np.isnan(values)].mean():+.2f}" if not np.isnan(values).all()
        else f"{METHOD_LABELS[name]} no runs" for name, values in mean.items()
    )  # fmt: skip
    return Claim(
        "fixed prior methods Fix-FinExp and Fix-InfExp do not demonstrate the same budget sensitivity to distribution "
        "shifts and possess similar querying budget behavior to the baselines",
        held == total if total else None,
        f"{ARCHITECTURE_BUDGET:g} votes over the whole stream: Fixed rises less than a method that learns in {held} of "
        f"{total} comparisons, by classifier; votes after the shift minus before, mean: {said}",
        "appendix C, distribution shift",
    )


def _significant(errors: Errors) -> Claim:
    pairs = list(_pairs(LEARNED, BUDGETS, GROUPINGS))
    lower, total, missed = _lower(errors, pairs, by_se=2.0)
    return Claim(
        "we note a significant and consistent improvement in error rate for all budgets with our proposed methods",
        not missed,
        f"lower by more than 2 combined standard errors in {lower} of {total} comparisons, both groupings"
        + _but(missed),
        "appendix C, distribution shift",
    )


def _time_average(time: Mapping[str, Course], shift: int) -> Claim:
    rows = {}
    for name in PAPERS:
        smooth = moving_average(time[name].errors).mean(axis=0)
        swing = float(np.mean([np.std(smooth[start:stop][len(smooth) // 10 :])
                               for start, stop in ((0, shift), (shift, None))]))  # fmt: skip
        rows[name] = (*(time[name].phase_errors(*ends)[0] for ends in ((0, shift), (shift, None))), swing)
    ours, theirs = ([rows[name] for name in names] for names in (("fixed-finexp", *LEARNED), BASELINES))
    holds = all(mine[part] < other[part] for mine in ours for other in theirs for part in range(3))
    return Claim(
        "our proposed methods consistently outperform the baselines and possess smaller fluctuations in error rate",
        holds,
        f"mean of {len(time['finexp'].costs)} orderings; error before, after and its spread over time: "
        + ", ".join(
            f"{METHOD_LABELS[name]} {pre:.1f}, {post:.1f}, {swing:.2f}" for name, (pre, post, swing) in rows.items()
        ),
        "appendix C, time-averaged distribution shift",
    )


def _no_steady_state(time: Mapping[str, Course], shift: int) -> Claim:
    found = []
    for name in LEARNED:
        after = time[name].errors[:, shift:]
        quarter = after.shape[1] // QUARTER
        found.append((name, *mean_se(after[:, :quarter].mean(axis=1) - after[:, -quarter:].mean(axis=1))))
    return Claim(
        "we are not able to identify any convergence behavior, where the model adjusts to the distribution shift and "
        'reaches a "steady-state" error rate',
        all(abs(mean) <= 2 * np.nan_to_num(se) for _, mean, se in found),
        "error in the first quarter after the shift minus the last, mean of the orderings: "
        + ", ".join(f"{METHOD_LABELS[name]} {mean:+.2f} ± {se:.2f} points" for name, mean, se in found),
        "appendix C, time-averaged distribution shift",
    )


def _interval(refits: Mapping[tuple[str, int], tuple[float, float]], first: str) -> Claim:
    gaps = [
        (abs(refits[name, REFIT_EVERY][0] - refits[name, 1][0]), abs(refits[name, REFIT_EVERY][1] - refits[name, 1][1]))
        for name in LEARNED
    ]
    return Claim(
        "we learn them at a fixed interval of 20 iterations for all experiments, noting a negligible difference in "
        "converged values",
        all(cost <= SAME_COST and error <= ALIKE for cost, error in gaps),
        f"{first}, threshold {REFIT_THRESHOLD:g}, mean over seeds: "
        + "; ".join(
            f"{METHOD_LABELS[name]} {cost:.2f} votes and {error:.1f} % wrong with a fit after every "
            f"{'item' if every == 1 else f'{every} items'}"
            for (name, every), (cost, error) in refits.items()
        ),
        "appendix B, learning MAP estimates",
    )


def _orderings_spend_the_same(time: Mapping[str, Course]) -> Claim:
    costs = {name: course.cost for name, course in time.items()}
    far = max(costs, key=lambda name: abs(costs[name] - ARCHITECTURE_BUDGET))
    return Claim(
        f"In the average over orderings every method spends {ARCHITECTURE_BUDGET:g} votes per item, within "
        f"{SAME_COST:g}.",
        abs(costs[far] - ARCHITECTURE_BUDGET) <= SAME_COST,
        f"{min(costs.values()):.2f} to {max(costs.values()):.2f}; farthest: {far}, {costs[far]:.2f}",
    )


def _fused(streams: Streams) -> Claim:
    """All classifiers fused against the best single one, chosen in hindsight, on the costs both reach."""
    ratios = []
    for fused in streams.outcomes[FUSED]:
        singles = [each for each in streams.outcomes["value"] if each.job.seed == fused.job.seed]
        low = max(float(each.mean_costs.min()) for each in (fused, *singles))
        high = min(float(each.mean_costs.max()) for each in (fused, *singles))
        areas = [area(each.mean_costs, each.mean_errors, low, high) for each in (fused, *singles)]
        ratios.append(ratio(areas[0], min(areas[1:])))
    return Claim(
        "All classifiers fused err less than the best single one, chosen in hindsight, over all budgets.",
        max(ratios) < 1.0,
        f"area under error against votes per item: {mean_se(ratios)[0]:.2f} of the best single one's",
    )


def _pairs(
    methods: Sequence[str], budgets: Sequence[float], groupings: Sequence[Grouping]
) -> Iterable[tuple[str, str, float, Grouping, Phase]]:
    for method in methods:
        for rival in BASELINES:
            for budget in budgets:
                for grouping in groupings:
                    for phase in PHASES:
                        yield method, rival, budget, grouping, phase


def _lower(
    errors: Errors, pairs: Iterable[tuple[str, str, float, Grouping, Phase]], by_se: float = 0.0
) -> tuple[int, int, list[str]]:
    """In how many comparisons the method errs less, how many have runs of both, and the others in words."""
    lower, missed = 0, []
    for method, rival, budget, grouping, phase in pairs:
        ours, theirs = (errors[name, budget, grouping, phase] for name in (method, rival))
        gap = theirs.value - ours.value
        if gap > by_se * np.hypot(*np.nan_to_num([ours.se, theirs.se])):
            lower += 1
        elif not np.isnan(gap):
            where = f"{METHOD_LABELS[method]} against {METHOD_LABELS[rival]}, {budget:g} {phase} by {grouping}"
            missed.append(f"{where}: {ours.value:.1f} and {theirs.value:.1f} %")
    return lower, lower + len(missed), missed


def _but(missed: Sequence[str], most: int = 4) -> str:
    """The exceptions in brackets, the first few."""
    more = f"; and {len(missed) - most} more" if len(missed) > most else ""
    return f" (not {'; '.join(missed[:most])}{more})" if missed else ""


def _seed_mean(read: Callable[..., FloatArray], *args: object) -> float:
    values = read(*args)
    return float(values[~np.isnan(values)].mean()) if not np.isnan(values).all() else float("nan")


def _gap(streams: Streams, name: str, rival: str, model: str, budget: float, phase: Phase) -> float:
    """Votes per item in a phase, more than the rival's, at equal cost over the whole stream; NaN without runs."""
    ours, theirs = (_seed_mean(costs_at, streams.of(each, model), budget, phase) for each in (name, rival))
    return ours - theirs


def _rise(streams: Streams, name: str, model: str) -> float:
    """Votes per item after the shift minus before it, at 2 votes over the whole stream; NaN without runs."""
    pre, post = (_seed_mean(costs_at, streams.of(name, model), ARCHITECTURE_BUDGET, phase) for phase in PHASES)
    return post - pre
