"""What should hold on the shift stream, whether it does, and what was measured.

Takes the tables and areas of the shift experiment, gives `Claim`s. Called by `shift`; pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from quorate.paper.published import Verdict
from quorate.paper.readings import at_cost, mean_se
from quorate.paper.shift.areas import FusedRatio, best_single_finexp, dominance, excess_ratio
from quorate.paper.shift.streams import ARCHITECTURE_BUDGET, FUSED, LABELS, Course, Streams
from quorate.paper.shift.table import Cell, count
from quorate.reports.section import Claim

AGREEING = ("random", "entropy", "mp-released", "infexp")
COMPARED = (*AGREEING, "fixed-finexp", "finexp")
BASELINES = ("random", "entropy", "mp", "mp-released")
AT_LEAST, FUSED_AT_MOST, PAIRED_SE, COST_WITHIN, POINTS = 0.90, 0.80, 2.0, 0.1, 2.0
WELL_BELOW = 0.9  # of a baseline's area
GOOD: tuple[Verdict, ...] = ("agrees", "better")


def claims(
    streams: Streams, by_pre: Sequence[Cell], by_whole: Sequence[Cell], fused: Sequence[FusedRatio]
) -> tuple[Claim, ...]:
    """Every claim but that on the orderings."""
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
    """Fused against the best single classifier at one vote per item, with `quorate` and with FinExp."""
    best = fused[0].best
    labels = {FUSED: LABELS[FUSED], "quorate": f"quorate with {best}", "finexp": f"FinExp with {best}"}
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
