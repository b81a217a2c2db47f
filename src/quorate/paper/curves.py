"""The curves experiment: error against votes per item for every method, data set, pool size and classifier; claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from quorate.datasets import accuracies
from quorate.paper.curve_panels import CurvePanel, SeedCurve, figures, groups, mean_ratio, summary, tables
from quorate.paper.jobs import (
    BASELINES,
    HIGH,
    LOW,
    PAPER_METHODS,
    Job,
    JobOutcome,
    grid,
    seeds_se,
    settings,
)
from quorate.paper.report import Context
from quorate.reports.section import Claim, Section
from quorate.types import FloatArray, VoteDataset

SHARES = np.linspace(LOW, HIGH, 18)
LIMITS = (("imagenet16h_shift", 6, 0.88), ("cifar10h", 10, 0.97), ("chaosnli", 100, 0.95))
NOWHERE_ABOVE = 1.02
WELL_BELOW = 0.9  # of a baseline's area
APART = 0.5  # of RANDOM's area: the limit for the claim that FinExp does not meet RANDOM


def claims(panels: Sequence[CurvePanel], *, dense: bool = True) -> tuple[Claim, ...]:
    """All claims that these panels can test; those on areas need a dense grid."""
    single = [panel for panel in panels if panel.model != "all"]
    found = []
    for pool_size in sorted({panel.pool_size for panel in single if panel.family == "imagenet16h"}):
        some = [panel for panel in single if panel.family == "imagenet16h" and panel.pool_size == pool_size]
        found += [_nowhere_above(some, method) for method in ("infexp", "finexp")]
    found += [_apart(some) for some in _of(single, "cifar10h", 50)]
    for family, pool_size, limit in LIMITS if dense else ():
        found += [_at_most(some, limit) for some in _of(single, family, pool_size)]
    if single and dense:
        found.append(_never_much_worse(single))
    return tuple(found)


def _of(panels: Sequence[CurvePanel], family: str, pool_size: int) -> list[list[CurvePanel]]:
    some = [panel for panel in panels if panel.family == family and panel.pool_size == pool_size]
    return [some] if some else []


def paired(panels: Sequence[CurvePanel], ours: str, theirs: str) -> tuple[FloatArray, FloatArray]:
    """(B,) mean and standard error of error(ours) - error(theirs) at `SHARES`, over all streams."""
    streams = np.concatenate([panel.errors_at(ours, SHARES) - panel.errors_at(theirs, SHARES) for panel in panels])
    classifiers = [panel.model for panel in panels for _ in panel.until_settled]
    return streams.mean(axis=0), seeds_se(streams, classifiers)


def _nowhere_above(panels: Sequence[CurvePanel], method: str) -> Claim:
    worst, holds, areas = [], True, {}
    for rival in BASELINES:
        mean, error = paired(panels, method, rival)
        above = mean > 2 * np.nan_to_num(error) + 1e-12
        holds = holds and not above.any()
        at = int(np.argmax(mean))
        worst.append(f"{rival} {100 * mean[at]:+.2f} points at {100 * SHARES[at]:.0f} %")
        areas[rival] = float(np.concatenate([panel.inner_ratios(method, rival) for panel in panels]).mean())
    return Claim(
        text=f"{panels[0].name}: {method} is nowhere above RANDOM, ENTROPY or MP by more than 2 paired standard errors "
        f"between 5 and 90 % of the until-settled cost, and has at most {WELL_BELOW:g} of their area.",
        holds=holds and max(areas.values()) <= WELL_BELOW,
        measured=f"Largest difference to {'; '.join(worst)}. Area relative to "
        + ", ".join(f"{rival} {ratio:.2f}" for rival, ratio in areas.items())
        + ".",
    )


def _apart(panels: Sequence[CurvePanel]) -> Claim:
    mean, error = paired(panels, "finexp", "random")
    ratio = np.concatenate([panel.inner_ratios("finexp", "random") for panel in panels])
    closest = int(np.argmax(mean))
    return Claim(
        text=f"{panels[0].name}: FinExp no longer meets RANDOM (in the paper it does): it is below at every budget "
        f"from 5 to 90 % of the until-settled cost, with less than {APART:g} of the area.",
        holds=bool(np.all(mean < 0) and ratio.max() < APART),
        measured=f"Area relative to RANDOM {ratio.mean():.2f} (at most {ratio.max():.2f}); FinExp is below RANDOM by "
        f"at least {-100 * mean[closest]:.2f} points{_give_or_take(error[closest])} at every budget.",
        of_paper=False,
    )


def _give_or_take(error: float) -> str:
    """The standard error as text; empty for a single stream."""
    return "" if np.isnan(error) else f" (standard error {100 * error:.2f})"


def _at_most(panels: Sequence[CurvePanel], limit: float) -> Claim:
    (common, se), (inner, inner_se) = mean_ratio(panels, "value"), mean_ratio(panels, "value", inner=True)
    return Claim(
        text=f"{panels[0].name}: quorate's area is at most {limit:g} of FinExp's.",
        holds=common <= limit,
        measured=f"{common:.3f} (standard error {se:.3f}) over the common range of costs; {inner:.3f} ({inner_se:.3f}) "
        "between 5 and 90 % of the until-settled cost.",
        of_paper=False,
    )


def _never_much_worse(panels: Sequence[CurvePanel]) -> Claim:
    ratios = {name: mean_ratio(some, "value")[0] for name, some in groups(panels).items()}
    by_model = {(panel.name, panel.model): float(panel.ratios("value").mean()) for panel in panels}
    (where, model), most = max(by_model.items(), key=lambda pair: pair[1])
    top = max(ratios, key=lambda name: ratios[name])
    return Claim(
        text=f"quorate's area is nowhere above {NOWHERE_ABOVE:g} of FinExp's: with no data, pool and classifier.",
        holds=most <= NOWHERE_ABOVE,
        measured=f"Largest mean of a data set and pool size: {ratios[top]:.3f} ({top}); of a single classifier: "
        f"{most:.3f} ({where}, {model}).",
        of_paper=False,
    )


POOLS = {"cifar10h": (3, 10, 50), "imagenet16h": (3, 6), "imagenet16h_shift": (6,), "chaosnli": (100,)}
METHODS = (*PAPER_METHODS, "value")
# With everybody in the pool a seed only changes the order: two are enough for sets of 5000 items or more.
WHOLE_POOL_SEEDS, LARGE_SET = 2, 5000
QUICK_LARGE = 20  # in a quick run, one classifier is enough for pools above this
CAUTIONS = (
    "The paper prints no figures for these curves, and its CIFAR-10H classifiers are ResNet-18s of 50, 70 and 85 %. "
    "Unless the data folder contains the paper's own files, the CIFAR-10H classifiers here, and most of those of "
    "ImageNet-16H, are others: this is the same experiment on other classifiers.",
    "ChaosNLI is not in the paper: it is text, with a hundred annotators.",
)


@dataclass(frozen=True, slots=True)
class CurveSetting:
    """A data set (by its name in the context), its family, a pool size and a classifier or "all"."""

    data: str
    family: str
    pool_size: int
    model: str


def section(context: Context) -> Section:
    """Run the curves and report them."""
    if context.quick:
        context = replace(context, seeds=context.seeds[:1])
    wanted = setups(context)
    if not wanted:
        return Section("curves", "Error-cost curves", ("No data set was found.",))
    jobs = {setup: jobs_of(setup, context) for setup in wanted}
    outcomes = context.run([job for some in jobs.values() for job in some])
    panels = tuple(panel(setup, context.datasets[setup.data], some, outcomes) for setup, some in jobs.items())
    held = claims(panels, dense=not context.quick)
    return Section(
        key="curves",
        title="Error-cost curves",
        lead=_lead(panels, context),
        claims=held,
        tables=tables(panels),
        figures=figures(panels),
        cautions=CAUTIONS,
        summary=summary(panels),
    )


def setups(context: Context) -> list[CurveSetting]:
    """Every panel, single classifiers first."""
    found = []
    for data, dataset in context.datasets.items():
        family = data.split("/")[0]
        for pool_size in POOLS.get(family, ()):
            names = [] if data == "imagenet16h/all" else list(dataset.models)
            if context.quick and len(names) > 1:
                names = names[:1] if pool_size > QUICK_LARGE else [names[0], names[-1]]
            if len(dataset.models) > 1 and not (context.quick and pool_size > QUICK_LARGE):
                names.append("all")
            found += [CurveSetting(data, family, pool_size, name) for name in names]
    if context.quick:
        found = [
            setup for setup in found if setup.family != "imagenet16h" or setup.pool_size == 6 or setup.model == "all"
        ]
    return sorted(found, key=lambda setup: setup.model == "all")


def jobs_of(setup: CurveSetting, context: Context) -> list[Job]:
    """All methods on the seeds; fused classifiers only with `value`, which alone can use them.

    Where the pool is everybody, seeds only change the order: on a large set two are enough. Fused classifiers are a
    line in the figures, of fewer values, except in the shift set, whose experiment shares the runs.
    """
    dataset = context.datasets[setup.data]
    is_whole = dataset.num_items >= LARGE_SET and setup.pool_size == dataset.votes.shape[1]
    coarse = setup.model == "all" and setup.family != "imagenet16h_shift"
    many = dataset.num_classes
    grid_of = partial(grid, pool_size=setup.pool_size, num_classes=many, quick=context.quick, coarse=coarse)
    names = ("value",) if setup.model == "all" else METHODS
    jobs = []
    for seed in context.seeds[: WHOLE_POOL_SEEDS if is_whole else None]:
        for name in names:
            jobs.append(Job(setup.data, setup.pool_size, setup.model, seed, name, grid_of(name)))
        jobs.append(Job(setup.data, setup.pool_size, setup.model, seed, "until-settled", settings(None)))
    return jobs


def panel(
    setup: CurveSetting, dataset: VoteDataset, jobs: Sequence[Job], outcomes: Mapping[Job, JobOutcome]
) -> CurvePanel:
    """The panel's streams by method, and the reference of asking until settled."""
    streams: dict[str, list[SeedCurve]] = {}
    settled, floors = [], []
    for job in jobs:
        outcome = outcomes[job]
        if job.method == "until-settled":
            settled.append(float(outcome.mean_costs[0]))
            floors.append(float(outcome.mean_errors[0]))
            continue
        name = "quorate, all fused" if setup.model == "all" else job.method
        streams.setdefault(name, []).append(SeedCurve(outcome.mean_costs, outcome.mean_errors))
    return CurvePanel(
        family=setup.family,
        pool_size=setup.pool_size,
        model=setup.model,
        accuracy=None if setup.model == "all" else float(accuracies(dataset)[dataset.models.index(setup.model)]),
        methods={name: tuple(some) for name, some in streams.items()},
        until_settled=np.array(settled),
        tie_floor=np.array(floors),
    )


def _lead(panels: Sequence[CurvePanel], context: Context) -> tuple[str, ...]:
    runs = sum(len(stream.costs) for panel in panels for some in panel.methods.values() for stream in some)
    fewer = {panel.name for panel in panels if len(panel.until_settled) < len(context.seeds)}
    only = f"the first {WHOLE_POOL_SEEDS} for {', '.join(sorted(fewer))}: a seed only changes the order there"
    return (
        f"{runs} runs on {len(panels)} settings of data set, pool size and classifier, seeds "
        f"{', '.join(map(str, context.seeds))}{f' ({only})' if fewer else ''}. Lines are LOWESS fits (fraction 0.2) to "
        "the runs of all seeds, as in the paper; the band is the range of the seeds. Errors count ties of the pool by "
        "their expectation; the dotted line is what no method can beat because of ties.",
    )
