"""The streams of the shift experiment: which methods on which classifiers, and their outcomes by method.

Takes the data set and the seeds, gives jobs; takes the outcomes, gives `Streams`, in which every method's outcomes
stand in the same order of (classifier, seed). Called by `shift`; read by its tables, areas, time courses and plots.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from quorate.paper.design import METHOD_LABELS, Job, Knobs, grid, settings
from quorate.paper.readings import JobOutcome
from quorate.paper.section import Context
from quorate.types import FloatArray, VoteDataset

DATA = "imagenet16h_shift"
POOL_SIZE = 6
ALL = "all"
FUSED, SETTLED = "quorate-all", "until-settled"
LABELS: Mapping[str, str] = {**METHOD_LABELS, FUSED: "quorate, all five"}
PRINTED: Mapping[str, str] = {  # our row -> the paper's row it stands beside
    "random": "random",
    "entropy": "entropy",
    "mp": "mp",
    "mp-released": "mp",
    "fixed-finexp": "fixed-finexp",
    "finexp": "finexp",
    "infexp": "infexp",
}
# In a quick run, doubts (1 - threshold, or min_gain) close together where the table's budgets lie: `grid` is too coarse
# there for reading between its points, and the claims are about just these budgets.
QUICK_DOUBTS = (1.0, 0.7, 0.5, 0.36, 0.28, 0.22, 0.18, 0.14, 0.1, 0.06, 0.03, 0.01, 0.0)


@dataclass(frozen=True, slots=True)
class Streams:
    """Outcomes by method (`LABELS`, and `SETTLED`): one for each classifier and seed, for `FUSED` one for each seed."""

    models: tuple[str, ...]
    seeds: tuple[int, ...]
    outcomes: Mapping[str, tuple[JobOutcome, ...]]

    def of(self, name: str, model: str) -> tuple[JobOutcome, ...]:
        """The outcomes of a method on one classifier, by seed; the fused one has only "all"."""
        return tuple(outcome for outcome in self.outcomes[name] if name == FUSED or outcome.job.model == model)

    @property
    def floors(self) -> FloatArray:
        """(B,) percent of each phase that ties make wrong, whoever is asked: the error when all is settled."""
        return np.asarray(100 * np.mean([outcome.errors[-1] for outcome in self.outcomes[SETTLED]], axis=0))

    @property
    def settled_cost(self) -> float:
        """Votes per item until every pool is settled: the most any method has reason to spend."""
        return float(np.mean([outcome.mean_costs[-1] for outcome in self.outcomes[SETTLED]]))


def streams(context: Context, dataset: VoteDataset) -> Streams:
    """Run every method over its parameter on every classifier and seed."""
    jobs = {name: _jobs(name, dataset, context) for name in (*LABELS, SETTLED)}
    found = context.run([job for group in jobs.values() for job in group])
    outcomes = {name: tuple(found[job] for job in group) for name, group in jobs.items()}
    return Streams(dataset.models, context.seeds, outcomes)


def method_of(name: str) -> str:
    """The package's method behind a row.

    >>> method_of("quorate-all"), method_of("mp")
    ('quorate', 'mp')
    """
    return "quorate" if name == FUSED else name


def _knobs(method: str, *, num_classes: int, quick: bool) -> tuple[Knobs, ...]:
    if quick and method in ("finexp", "infexp"):
        return settings("threshold", tuple(1.0 - doubt for doubt in QUICK_DOUBTS))
    if quick and method == "quorate":
        return settings("min_gain", QUICK_DOUBTS)
    return grid(method, pool_size=POOL_SIZE, num_classes=num_classes)  # what is not learned costs next to nothing


def _jobs(name: str, dataset: VoteDataset, context: Context) -> list[Job]:
    method = method_of(name)
    knobs = _knobs(method, num_classes=dataset.num_classes, quick=context.quick)
    models = (ALL,) if name == FUSED else dataset.models
    return [Job(DATA, POOL_SIZE, model, seed, method, knobs) for model in models for seed in context.seeds]
