"""Runs whose cost is within 0.1 of a budget: `near_budgets` adds parameter values until there are some.

A budget means votes per item before the shift, or over the whole stream: both groupings are searched.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from quorate.types import FloatArray
from quorate_paper.jobs import ARRAYS, Job, JobOutcome, Parameters
from quorate_paper.settings import BUDGETS, WITHIN

Grouping = Literal["pre-shift cost", "whole-stream cost"]
GROUPINGS: tuple[Grouping, Grouping] = ("pre-shift cost", "whole-stream cost")
ROUNDS, ROUNDING = 4, 1e-4  # stored costs have five digits
Run = Callable[[Sequence[Job]], dict[Job, JobOutcome]]


def is_near(costs: FloatArray, budget: float) -> bool:
    """Whether a run costs within 0.1 votes of the budget."""
    return bool(np.abs(costs - budget).min() <= WITHIN + ROUNDING)


def grouped_costs(outcome: JobOutcome, grouping: Grouping) -> FloatArray:
    """(Q,) the cost that is compared with a budget."""
    return outcome.costs[:, 0] if grouping == "pre-shift cost" else outcome.mean_costs


def near_budgets(run: Run, jobs: Sequence[Job], budgets: Sequence[float] = BUDGETS) -> dict[Job, JobOutcome]:
    """The outcome of each job, with more parameter values between those that miss a budget."""
    found = run(jobs)
    for _ in range(ROUNDS):
        more = {job: _missing(outcome, budgets) for job, outcome in found.items()}
        again = {job: replace(job, parameters=values) for job, values in more.items() if values}
        if not again:
            break
        added = run(list(again.values()))
        found |= {job: _merged(found[job], added[other]) for job, other in again.items()}
    return found


def value_of(parameters: Parameters) -> tuple[str, float]:
    """Name and value of the number that a grid varies: a threshold, a rate, a scale or an error cost."""
    return next((name, float(value)) for name, value in parameters if not isinstance(value, str))


def parameter_at(outcome: JobOutcome, budget: float, grouping: Grouping) -> float:
    """The value of the parameter that spends the budget; outside the grid the nearest value.

    Between two values it is interpolated in the log of 1 - threshold, `scale` or `error_cost`; linearly for
    `query_rate` and next to 0.
    """
    name = value_of(outcome.job.parameters[0])[0]
    values = np.array([value_of(parameters)[1] for parameters in outcome.job.parameters])
    values = 1.0 - values if name == "threshold" else values
    costs = np.maximum.accumulate(grouped_costs(outcome, grouping))
    right = int(np.clip(np.searchsorted(costs, budget), 1, len(costs) - 1))
    value = _between(values[right - 1 : right + 1], costs[right - 1 : right + 1], budget, log=name != "query_rate")
    return float(f"{1.0 - value if name == 'threshold' else value:.6g}")


def _between(values: FloatArray, costs: FloatArray, budget: float, *, log: bool) -> float:
    log = log and bool(np.all(values > 0.0))
    ends = np.log(values) if log else values
    value = float(np.interp(budget, costs, ends)) if costs[1] > costs[0] else float(ends[0])
    return math.exp(value) if log else value


def _missing(outcome: JobOutcome, budgets: Sequence[float]) -> tuple[Parameters, ...]:
    """Settings to add: one for each budget and grouping without a run near it, where costs on both sides exist."""
    first = outcome.job.parameters[0]
    if not first:
        return ()
    name, known = value_of(first)[0], {value_of(parameters)[1] for parameters in outcome.job.parameters}
    wanted = set()
    for grouping in GROUPINGS:
        costs = grouped_costs(outcome, grouping)
        for budget in budgets:
            if costs.min() < budget < costs.max() and not is_near(costs, budget):
                wanted.add(parameter_at(outcome, budget, grouping))
    rest = tuple(pair for pair in first if pair[0] != name)
    return tuple(tuple(sorted((*rest, (name, value)))) for value in sorted(wanted - known))


def _merged(one: JobOutcome, other: JobOutcome) -> JobOutcome:
    """Both outcomes of a stream as one, by rising value of the parameter."""
    parameters = one.job.parameters + other.job.parameters
    order = np.argsort([value_of(each)[1] for each in parameters], kind="stable")
    kept = [name for name in ARRAYS if name not in ("sizes", "params")]  # params: nobody reads them here
    arrays: dict[str, Any] = {name: np.concatenate([getattr(one, name), getattr(other, name)])[order] for name in kept}
    job = replace(one.job, parameters=tuple(parameters[place] for place in order))
    return replace(one, job=job, params=np.zeros((len(order), 0)), **arrays)
