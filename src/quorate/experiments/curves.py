"""Error against votes per item, for every method on every data set, pool size and classifier: the paper's main figures.

Takes a context, runs every method over its knob on each stream, gives the curves, the area under each and what must
hold of them. One panel is one classifier on one data set with one pool size; its streams are the seeds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from quorate.datasets import accuracies
from quorate.experiments.curves_claims import claims
from quorate.experiments.curves_plots import figures
from quorate.experiments.curves_tables import summary, tables
from quorate.experiments.design import Job, settings
from quorate.experiments.grids import PAPER_METHODS, grid
from quorate.experiments.outcome import Outcome
from quorate.experiments.panels import Panel, Stream
from quorate.experiments.section import Context, Section
from quorate.types import VoteDataset

POOLS = {"cifar10h": (3, 10, 50), "imagenet16h": (3, 6), "imagenet16h_shift": (6,), "chaosnli": (100,)}
METHODS = (*PAPER_METHODS, "quorate")
QUICK_LARGE = 20  # in a quick run, one classifier is enough for pools above this
CAUTIONS = (
    "The paper prints no figures for these curves, and its CIFAR-10H classifiers are ResNet-18s of 50, 70 and 85 %. "
    "Unless you named a folder with the paper's own files, the CIFAR-10H classifiers here, and most of those of "
    "ImageNet-16H, are others: the same experiment on other classifiers.",
    "ChaosNLI is not in the paper: it is text, with a hundred annotators.",
)


@dataclass(frozen=True, slots=True)
class Setting:
    """A data set (as the context names it), its family, a pool size and a classifier or "all"."""

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
        return Section("curves", "Error-cost curves", ("No data set is at hand.",), (), (), ())
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


def setups(context: Context) -> list[Setting]:
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
            found += [Setting(data, family, pool_size, name) for name in names]
    if context.quick:
        found = [
            setup for setup in found if setup.family != "imagenet16h" or setup.pool_size == 6 or setup.model == "all"
        ]
    return sorted(found, key=lambda setup: setup.model == "all")


def jobs_of(setup: Setting, context: Context) -> list[Job]:
    """All methods on all seeds; fused classifiers are for `quorate`, which alone can use them."""
    num_classes = context.datasets[setup.data].num_classes
    names = ("quorate",) if setup.model == "all" else METHODS
    jobs = []
    for seed in context.seeds:
        for name in names:
            knobs = grid(name, pool_size=setup.pool_size, num_classes=num_classes, quick=context.quick)
            jobs.append(Job(setup.data, setup.pool_size, setup.model, seed, name, knobs))
        jobs.append(Job(setup.data, setup.pool_size, setup.model, seed, "until-settled", settings(None)))
    return jobs


def panel(setup: Setting, dataset: VoteDataset, jobs: Sequence[Job], outcomes: Mapping[Job, Outcome]) -> Panel:
    """The panel's streams by method, and the reference of asking until settled."""
    streams: dict[str, list[Stream]] = {}
    settled, floors = [], []
    for job in jobs:
        outcome = outcomes[job]
        if job.method == "until-settled":
            settled.append(float(outcome.mean_costs[0]))
            floors.append(float(outcome.mean_errors[0]))
            continue
        name = "quorate, all fused" if setup.model == "all" else job.method
        streams.setdefault(name, []).append(Stream(outcome.mean_costs, outcome.mean_errors))
    return Panel(
        family=setup.family,
        pool_size=setup.pool_size,
        model=setup.model,
        accuracy=None if setup.model == "all" else float(accuracies(dataset)[dataset.models.index(setup.model)]),
        methods={name: tuple(some) for name, some in streams.items()},
        until_settled=np.array(settled),
        tie_floor=np.array(floors),
    )


def _lead(panels: Sequence[Panel], context: Context) -> tuple[str, ...]:
    runs = sum(len(stream.costs) for panel in panels for some in panel.methods.values() for stream in some)
    return (
        f"{runs} runs on {len(panels)} settings of data set, pool size and classifier, seeds "
        f"{', '.join(map(str, context.seeds))}. Lines are LOWESS fits (fraction 0.2) to the runs of all seeds, as in "
        "the paper; the band is the range of the seeds. Errors count ties of the pool by their expectation; the dotted "
        "line is what no method can beat because of ties.",
    )
