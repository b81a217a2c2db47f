"""The runs of the shift experiment, and errors at the paper's budgets read from them.

`streams` returns the outcomes by method, all in the same order of (classifier, seed). `courses` and `orderings` run
again at the parameter that spends a budget and keep every item, for moving averages. `errors_at`: a stream's curve read
at a budget, if one of its runs costs within 0.1 of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from quorate.types import FloatArray, VoteDataset
from quorate_paper.jobs import METHOD_LABELS, Job, JobOutcome, Parameters, curve, error_costs, grid, mean_se, settings
from quorate_paper.report import Context
from quorate_paper.settings import BUDGETS, FINEXP_32, PHASES, REFIT_EVERY, Phase
from quorate_paper.shift.near import Grouping, grouped_costs, is_near, near_budgets, parameter_at

DATA = "imagenet16h_shift"
POOL_SIZE = 6
ALL = "all"
FUSED, SETTLED = "value-all", "until-settled"
LABELS: Mapping[str, str] = {**METHOD_LABELS, FUSED: "value, all five"}
# In a quick run, doubts (1 - threshold, or 2 / error_cost) that are dense near the budgets of the table, which the
# claims are about: `grid` is too coarse there for interpolation.
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
        """(B,) error (percent) of each phase that ties cause: the error when every pool is settled."""
        return np.asarray(100 * np.mean([outcome.errors[-1] for outcome in self.outcomes[SETTLED]], axis=0))

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of items of each phase."""
        return tuple(int(size) for size in next(iter(self.outcomes.values()))[0].sizes)

    @property
    def shift_at(self) -> int:
        """The number of items before the shift."""
        return self.sizes[0]

    @property
    def settled_cost(self) -> float:
        """Votes per item until every pool is settled: the most that is useful to spend."""
        return float(np.mean([outcome.mean_costs[-1] for outcome in self.outcomes[SETTLED]]))


def streams(context: Context, dataset: VoteDataset) -> Streams:
    """Run every method over its parameter on every classifier and seed."""
    jobs = {name: _jobs(name, dataset, context) for name in (*LABELS, SETTLED)}
    found = near_budgets(context.run, [job for group in jobs.values() for job in group])
    outcomes = {name: tuple(found[job] for job in group) for name, group in jobs.items()}
    return Streams(dataset.models, context.seeds, outcomes)


NEAR_RUNS = 6  # about how many runs `near_budgets` adds to a stream


def expected_jobs(context: Context, dataset: VoteDataset) -> list[Job]:
    """Jobs like those of the whole experiment, for an estimate of its time; the parameters of most follow from runs."""
    found = []
    for name in (*LABELS, SETTLED):
        for job in _jobs(name, dataset, context):
            values = job.parameters
            again = (values[len(values) // 2],) * (NEAR_RUNS + 2 * len(BUDGETS)) if name != SETTLED else ()
            found.append(replace(job, parameters=values + again))
    many = QUICK_ORDERINGS if context.quick else ORDERINGS
    for name in LABELS:
        value = _jobs(name, dataset, context)[0].parameters
        found.append(_job(name, dataset.models[0], 0, (value[len(value) // 2],) * many))
    return found


def method_of(name: str) -> str:
    """The package's method behind a row.

    >>> method_of("value-all"), method_of("mp")
    ('value', 'mp')
    """
    return "value" if name == FUSED else name


def _parameters(method: str, *, num_classes: int, quick: bool) -> tuple[Parameters, ...]:
    if quick and method in ("finexp", "infexp", FINEXP_32):
        return settings("threshold", tuple(1.0 - doubt for doubt in QUICK_DOUBTS))
    if quick and method == "value":
        return settings("error_cost", error_costs(QUICK_DOUBTS))
    return grid(method, pool_size=POOL_SIZE, num_classes=num_classes)  # methods without learning are very cheap


def _jobs(name: str, dataset: VoteDataset, context: Context) -> list[Job]:
    method = method_of(name)
    parameters = _parameters(method, num_classes=dataset.num_classes, quick=context.quick)
    models = (ALL,) if name == FUSED else dataset.models
    return [Job(DATA, POOL_SIZE, model, seed, method, parameters) for model in models for seed in context.seeds]


WINDOW = 200  # items of the moving average; the paper does not state its own
ARCHITECTURE_BUDGET = 2.0
ORDERINGS, QUICK_ORDERINGS = 100, 10
FIRST_MODEL = "densenet"


@dataclass(frozen=True, slots=True, eq=False)
class Course:
    """Runs of one method on one classifier, item by item.

    `errors`, `costs` (S, T): percent wrong and votes asked of each run at each place of the stream.
    """

    method: str
    model: str
    budget: float
    errors: FloatArray
    costs: FloatArray

    @property
    def cost(self) -> float:
        """Votes per item, over all runs."""
        return float(self.costs.mean())

    def phase_errors(self, start: int, stop: int | None) -> tuple[float, float]:
        """Mean and standard error over runs of the error between two places, percent."""
        return mean_se(self.errors[:, start:stop].mean(axis=1))


def moving_average(values: FloatArray, window: int = WINDOW) -> FloatArray:
    """Simple moving average of the last `window` values, fewer at the start: (..., T) -> (..., T).

    >>> moving_average(np.array([1.0, 3.0, 5.0, 7.0]), window=2)
    array([1., 2., 4., 6.])
    """
    total = np.cumsum(values, axis=-1, dtype=np.float64)
    total[..., window:] -= total[..., :-window].copy()
    return np.asarray(total / np.minimum(np.arange(1, values.shape[-1] + 1), window))


def courses(context: Context, streams: Streams) -> dict[tuple[str, str, float], Course]:
    """(method, model, budget) -> its course over the seeds: all budgets on one classifier, budget 2 on all."""
    first = first_model(streams)
    wanted = {(model, (ARCHITECTURE_BUDGET,)) for model in streams.models if model != first} | {(first, BUDGETS)}
    jobs: dict[tuple[str, str, int], Job] = {}
    for model, budgets in sorted(wanted):
        for name in LABELS:
            parameters = tuple(_parameter(streams.of(name, model), budget) for budget in budgets)
            for seed in streams.seeds:
                jobs[name, model, seed] = _job(name, model, seed, parameters)
    found = context.run(list(jobs.values()))
    return {
        (name, model, budget): _course(name, model, budget, index, [found[jobs[name, model, s]] for s in streams.seeds])
        for model, budgets in wanted
        for name in LABELS
        for index, budget in enumerate(budgets)
    }


def orderings(context: Context, streams: Streams) -> dict[str, Course]:
    """method -> its course over many orderings of one classifier's stream, at about 2 votes per item over the whole."""
    first, many = first_model(streams), QUICK_ORDERINGS if context.quick else ORDERINGS
    parameters = {name: _parameter(streams.of(name, first), ARCHITECTURE_BUDGET) for name in LABELS}
    jobs = {(name, seed): _job(name, first, seed, (parameters[name],)) for seed in range(many) for name in LABELS}
    found = context.run(list(jobs.values()))
    return {
        name: _course(name, first, ARCHITECTURE_BUDGET, 0, [found[jobs[name, seed]] for seed in range(many)])
        for name in LABELS
    }


REFIT_THRESHOLD = 0.9


def refits(context: Context, streams: Streams) -> dict[tuple[str, int], tuple[float, float]]:
    """(method, closed items between two fits) -> votes per item and percent wrong on one classifier, mean over
    seeds."""
    setting = settings("threshold", (REFIT_THRESHOLD,))
    jobs = {
        (name, every): [Job(DATA, POOL_SIZE, first_model(streams), seed, name, setting, refit_every=every)
                        for seed in streams.seeds]
        for name in ("finexp", "infexp") for every in (REFIT_EVERY, 1)
    }  # fmt: skip
    found = context.run([job for some in jobs.values() for job in some])
    return {
        key: (float(np.mean([found[job].mean_costs for job in some])),
              float(100 * np.mean([found[job].mean_errors for job in some])))
        for key, some in jobs.items()
    }  # fmt: skip


def first_model(streams: Streams) -> str:
    """DenseNet, as in the paper's figures; the first classifier if there is none."""
    return FIRST_MODEL if FIRST_MODEL in streams.models else streams.models[0]


def band(course: Course) -> tuple[FloatArray, FloatArray]:
    """(T,) mean over runs of the moving average of the error, and 1.96 standard errors of it."""
    smooth = moving_average(course.errors)
    spread = smooth.std(axis=0, ddof=1) / math.sqrt(len(smooth)) if len(smooth) > 1 else np.zeros(smooth.shape[1])
    return smooth.mean(axis=0), 1.96 * spread


def _job(name: str, model: str, seed: int, parameters: tuple[Parameters, ...]) -> Job:
    fused = ALL if name == FUSED else model
    return Job(DATA, POOL_SIZE, fused, seed, method_of(name), parameters, keep_items=True)


def _parameter(outcomes: tuple[JobOutcome, ...], budget: float) -> Parameters:
    """The setting that spends the budget over the whole stream: the median of the streams' own."""
    name = outcomes[0].job.parameters[0][-1][0]
    values = [parameter_at(each, budget, "whole-stream cost") for each in outcomes]
    return ((name, float(f"{np.median(values):.6g}")),)


def _course(name: str, model: str, budget: float, index: int, outcomes: list[JobOutcome]) -> Course:
    return Course(
        method=name,
        model=model,
        budget=budget,
        errors=np.array([100.0 * outcome.item_errors[index] for outcome in outcomes], dtype=np.float64),
        costs=np.array([outcome.item_costs[index] for outcome in outcomes], dtype=np.float64),
    )


def errors_at(outcomes: Iterable[JobOutcome], budget: float, grouping: Grouping, phase: Phase) -> FloatArray:
    """(S,) error (percent) of each stream at the budget; NaN if none of its runs costs within 0.1 of the budget."""
    return np.array([100 * _at(each, each.errors[:, PHASES.index(phase)], budget, grouping) for each in outcomes])


def costs_at(outcomes: Iterable[JobOutcome], budget: float, phase: Phase) -> FloatArray:
    """(S,) votes per item in a phase where the whole stream costs the budget; NaN as in `errors_at`."""
    return np.array([_at(each, each.costs[:, PHASES.index(phase)], budget, "whole-stream cost") for each in outcomes])


def _at(outcome: JobOutcome, values: FloatArray, budget: float, grouping: Grouping) -> float:
    costs = grouped_costs(outcome, grouping)
    if not is_near(costs, budget):
        return math.nan
    return float(np.interp(budget, *curve(costs, values)))
