"""The runs of the shift experiment, and the table of errors at the paper's budgets read from them.

`streams` returns the outcomes by method, all in the same order of (classifier, seed). `courses` and `orderings` run
again at the parameter that spends a budget and keep every item, for moving averages.
`cells`: a budget can mean votes per item before the shift (which the printed figures match) or over the whole stream
(the fair comparison). Each stream's curve is read at the budget; the paper's bin, all runs within 0.1, is given too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from quorate.paper.jobs import (
    METHOD_LABELS,
    Job,
    JobOutcome,
    Parameters,
    at_cost,
    error_costs,
    grid,
    mean_se,
    near_cost,
    seeds_se,
    settings,
)
from quorate.paper.published import (
    BUDGETS,
    PHASES,
    Phase,
    Verdict,
    at_least_as_good,
    difference_se,
    shift_error,
    verdict,
)
from quorate.paper.report import Context
from quorate.reports.format import plain
from quorate.types import FloatArray, VoteDataset

DATA = "imagenet16h_shift"
POOL_SIZE = 6
ALL = "all"
FUSED, SETTLED = "value-all", "until-settled"
LABELS: Mapping[str, str] = {**METHOD_LABELS, FUSED: "quorate, all five"}
PRINTED: Mapping[str, str] = {  # our row -> the paper's row it is compared with
    "random": "random",
    "entropy": "entropy",
    "mp": "mp",
    "mp-released": "mp",
    "fixed-finexp": "fixed-finexp",
    "finexp": "finexp",
    "infexp": "infexp",
}
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
    def shift_at(self) -> int:
        """The number of items before the shift."""
        return int(next(iter(self.outcomes.values()))[0].sizes[0])

    @property
    def settled_cost(self) -> float:
        """Votes per item until every pool is settled: the most that is useful to spend."""
        return float(np.mean([outcome.mean_costs[-1] for outcome in self.outcomes[SETTLED]]))


def streams(context: Context, dataset: VoteDataset) -> Streams:
    """Run every method over its parameter on every classifier and seed."""
    jobs = {name: _jobs(name, dataset, context) for name in (*LABELS, SETTLED)}
    found = context.run([job for group in jobs.values() for job in group])
    outcomes = {name: tuple(found[job] for job in group) for name, group in jobs.items()}
    return Streams(dataset.models, context.seeds, outcomes)


def method_of(name: str) -> str:
    """The package's method behind a row.

    >>> method_of("value-all"), method_of("mp")
    ('value', 'mp')
    """
    return "value" if name == FUSED else name


def _parameters(method: str, *, num_classes: int, quick: bool) -> tuple[Parameters, ...]:
    if quick and method in ("finexp", "infexp"):
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
    """Runs of one method on one classifier at one parameter value, item by item.

    `errors`, `costs` (S, T): percent wrong and votes asked of each run at each place of the stream.
    """

    method: str
    model: str
    budget: float
    errors: FloatArray
    costs: FloatArray
    parameter: float

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


def parameter_at(outcomes: Iterable[JobOutcome], budget: float) -> tuple[str, float]:
    """Name and value of the parameter that spends `budget` votes per item, read off the mean cost of these outcomes.

    Between two grid values it is interpolated in the log of 1 - threshold, `scale` or `error_cost`; linearly for
    `query_rate` and next to 0. Outside the grid the nearest value is used.
    """
    outcomes = list(outcomes)
    name = outcomes[0].job.parameters[0][0][0]
    values = np.array([float(setting[0][1]) for setting in outcomes[0].job.parameters])
    values = 1.0 - values if name == "threshold" else values
    costs = np.maximum.accumulate(np.mean([outcome.mean_costs for outcome in outcomes], axis=0))
    right = int(np.clip(np.searchsorted(costs, budget), 1, len(costs) - 1))
    value = _between(values[right - 1 : right + 1], costs[right - 1 : right + 1], budget, log=name != "query_rate")
    return name, float(f"{1.0 - value if name == 'threshold' else value:.6g}")


def _between(values: FloatArray, costs: FloatArray, budget: float, *, log: bool) -> float:
    log = log and bool(np.all(values > 0.0))
    ends = np.log(values) if log else values
    value = float(np.interp(budget, costs, ends)) if costs[1] > costs[0] else float(ends[0])
    return math.exp(value) if log else value


def courses(context: Context, streams: Streams) -> dict[tuple[str, str, float], Course]:
    """(method, model, budget) -> its course over the seeds: all budgets on one classifier, budget 2 on all."""
    first = first_model(streams)
    wanted = {(model, (ARCHITECTURE_BUDGET,)) for model in streams.models if model != first} | {(first, BUDGETS)}
    jobs: dict[tuple[str, str, int], Job] = {}
    for model, budgets in sorted(wanted):
        for name in LABELS:
            parameters = tuple((parameter_at(streams.of(name, model), budget),) for budget in budgets)
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
    parameters = {name: (parameter_at(streams.of(name, first), ARCHITECTURE_BUDGET),) for name in LABELS}
    jobs = {(name, seed): _job(name, first, seed, (parameters[name],)) for seed in range(many) for name in LABELS}
    found = context.run(list(jobs.values()))
    return {
        name: _course(name, first, ARCHITECTURE_BUDGET, 0, [found[jobs[name, seed]] for seed in range(many)])
        for name in LABELS
    }


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


def _course(name: str, model: str, budget: float, index: int, outcomes: list[JobOutcome]) -> Course:
    setting: Mapping[str, float | int | str] = dict(outcomes[0].job.parameters[index])
    return Course(
        method=name,
        model=model,
        budget=budget,
        errors=np.array([100.0 * outcome.item_errors[index] for outcome in outcomes], dtype=np.float64),
        costs=np.array([outcome.item_costs[index] for outcome in outcomes], dtype=np.float64),
        parameter=float(next(iter(setting.values()))),
    )


Grouping = Literal["pre-shift cost", "whole-stream cost"]
GROUPINGS: tuple[Grouping, Grouping] = ("pre-shift cost", "whole-stream cost")


@dataclass(frozen=True, slots=True)
class Cell:
    """Error of a method at a budget in one phase, in percent, with the printed one.

    `ours`: mean over streams of the curve read at the budget, NaN unless all reach it; `se`: its standard error over
    seeds with fixed classifiers; `streams_se`: over classifiers and seeds. `binned`: mean of the `num_runs` runs within
    0.1 of the budget, None if there are none. The printed figure and values derived from it are None if the paper has
    no such row. `floor`: the phase's tie floor.
    """

    method: str
    budget: float
    grouping: Grouping
    phase: Phase
    ours: float
    se: float
    streams_se: float
    binned: float | None
    num_runs: int
    floor: float
    paper: float | None = None
    paper_se: float | None = None

    @property
    def difference_se(self) -> float | None:
        """(ours - paper) in combined standard errors."""
        if self.paper is None or self.paper_se is None:
            return None
        return difference_se(self.ours, self.se, self.paper, self.paper_se)

    @property
    def verdict(self) -> Verdict | None:
        """Within 2 points or 3 combined standard errors, or better, or not reproduced."""
        if self.paper is None or self.paper_se is None:
            return None
        return verdict(self.ours, self.se, self.paper, self.paper_se, floor=self.floor)

    @property
    def is_at_least_as_good(self) -> bool:
        """At most the printed error within 2 combined standard errors, or near the floor (`at_least_as_good`)."""
        if self.paper is None or self.paper_se is None:
            return False
        return at_least_as_good(self.ours, self.se, self.paper, self.paper_se, floor=self.floor)


def cells(streams: Streams, grouping: Grouping) -> tuple[Cell, ...]:
    """The whole table by one grouping, each cell with the printed one if there is one."""
    return tuple(
        _cell(streams, name, budget, grouping, phase) for name in LABELS for budget in BUDGETS for phase in PHASES
    )


def as_row(cell: Cell) -> dict[str, Any]:
    """A cell for summary.json."""
    row = asdict(cell) | {"verdict": cell.verdict, "difference_se": cell.difference_se}
    del row["floor"]
    found: dict[str, Any] = plain(row)
    return found


def count(table: Iterable[Cell], methods: Iterable[str], verdicts: Iterable[Verdict]) -> tuple[int, int]:
    """How many printed cells of these methods have one of these verdicts, and how many there are."""
    wanted, methods = set(verdicts), set(methods)
    judged = [cell.verdict for cell in table if cell.method in methods and cell.verdict is not None]
    return sum(each in wanted for each in judged), len(judged)


def grouped_costs(outcome: JobOutcome, grouping: Grouping) -> FloatArray:
    """(Q,) the cost that is compared with a budget."""
    return outcome.costs[:, 0] if grouping == "pre-shift cost" else outcome.mean_costs


def errors_at(outcomes: Iterable[JobOutcome], budget: float, grouping: Grouping, phase: Phase) -> FloatArray:
    """(S,) error (percent) of each stream at the budget; NaN if its curve does not reach it."""
    index = PHASES.index(phase)
    return np.array(
        [100 * float(at_cost(grouped_costs(each, grouping), each.errors[:, index], budget)) for each in outcomes]
    )


def _cell(streams: Streams, name: str, budget: float, grouping: Grouping, phase: Phase) -> Cell:
    outcomes, index = streams.outcomes[name], PHASES.index(phase)
    read = errors_at(outcomes, budget, grouping, phase)
    reached = not np.isnan(read).any()
    near = np.concatenate(
        [near_cost(grouped_costs(each, grouping), 100 * each.errors[:, index], budget) for each in outcomes]
    )
    paper = shift_error(PRINTED[name], budget, phase) if name in PRINTED else None
    return Cell(
        method=name,
        budget=budget,
        grouping=grouping,
        phase=phase,
        ours=float(read.mean()),
        se=float(seeds_se(read, [each.job.model for each in outcomes])),
        streams_se=mean_se(read)[1] if reached else math.nan,
        binned=float(near.mean()) if len(near) else None,
        num_runs=len(near),
        floor=float(streams.floors[index]),
        paper=paper.value if paper else None,
        paper_se=paper.se if paper else None,
    )
