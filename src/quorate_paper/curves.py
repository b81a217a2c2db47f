"""The curves experiment: error against votes per item for every method, data set, pool size and classifier; claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from quorate.reports.section import Section
from quorate.types import VoteDataset
from quorate_paper.curve_claims import claims
from quorate_paper.curve_panels import FUSED, CurvePanel, SeedCurve, figures, summary, tables
from quorate_paper.datasets import accuracies
from quorate_paper.jobs import PAPER_METHODS, Job, JobOutcome, grid, settings
from quorate_paper.report import Context

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
    by_setup = {setup: jobs_of(setup, context) for setup in wanted}
    outcomes = context.run([job for some in by_setup.values() for job in some])
    panels = tuple(panel(setup, context.datasets[setup.data], some, outcomes) for setup, some in by_setup.items())
    return Section(
        key="curves",
        title="Error-cost curves",
        lead=_lead(panels, context),
        claims=claims(panels),
        tables=tables(panels),
        figures=figures(panels),
        cautions=CAUTIONS,
        summary=summary(panels),
    )


def jobs(context: Context) -> list[Job]:
    """The jobs that the section runs, for an estimate of its time."""
    context = replace(context, seeds=context.seeds[:1]) if context.quick else context
    return [job for setup in setups(context) for job in jobs_of(setup, context)]


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
    found = []
    for seed in context.seeds[: WHOLE_POOL_SEEDS if is_whole else None]:
        for name in names:
            found.append(Job(setup.data, setup.pool_size, setup.model, seed, name, grid_of(name)))
        found.append(Job(setup.data, setup.pool_size, setup.model, seed, "until-settled", settings(None)))
    return found


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
        name = FUSED if setup.model == "all" else job.method
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
