"""How long jobs will take on this machine: each method is timed on a few items of the data, just before it starts.

Takes the jobs of each part; returns `Expected`, which knows the seconds of a job on one core. Called by `reproduce`,
which says the total and moves its progress bar by it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from quorate.errors import InvalidInput
from quorate.types import VoteDataset
from quorate_paper.jobs import Job
from quorate_paper.sweep import run_job

FEW_ITEMS = 600  # of the stream that is timed; more where experts are asked about the first 1000 only
Key = tuple[str, str, str, int]


@dataclass(frozen=True, slots=True)
class Expected:
    """`rates`: seconds on one core for each unit of a job's weight and item, by method, variant, data and pool."""

    rates: Mapping[Key, float]
    parts: Mapping[str, float]
    num_runs: int

    def seconds(self, job: Job, num_items: int) -> float:
        """Seconds of the job on one core."""
        return self.rates.get(_key(job), 0.0) * job.weight * _counted(job, num_items)


def expected(parts: Mapping[str, Iterable[Job]], datasets: Mapping[str, VoteDataset]) -> Expected:
    """Time every method; parts -> jobs to run; a job that several parts have counts for the first."""
    own: dict[Job, str] = {}
    for part, jobs in parts.items():
        for job in jobs:
            own.setdefault(job, part)
    rates: dict[Key, float] = {}
    for job in own:
        if _key(job) not in rates:
            rates[_key(job)] = _rate(job, datasets[job.data])
    found = Expected(rates, {}, sum(len(job.parameters) for job in own))
    seconds = dict.fromkeys(parts, 0.0)
    for job, part in own.items():
        seconds[part] += found.seconds(job, datasets[job.data].num_items)
    return replace(found, parts=seconds)


def _counted(job: Job, num_items: int) -> int:
    """The items that take time: where nobody is asked after the first 1000, hardly more than these."""
    return num_items if job.query_free_after is None else min(num_items, 6 * job.query_free_after // 5)


def _key(job: Job) -> Key:
    return job.method, job.variant, job.data.split("/")[0], job.pool_size


def _rate(job: Job, dataset: VoteDataset) -> float:
    """Seconds for each unit of weight and item, of one run with the job's middle parameter."""
    many = min(dataset.num_items, FEW_ITEMS) if job.query_free_after is None else _counted(job, dataset.num_items)
    few = dataset.rows(slice(0, many))
    one = replace(job, parameters=(job.parameters[len(job.parameters) // 2],), keep_items=False)
    try:
        run_job(one, few)  # prepares the stream and loads what is compiled
    except InvalidInput:  # too few items for this job: the experiment itself will say so
        return 0.0
    started = time.perf_counter()
    run_job(one, few)
    return (time.perf_counter() - started) / (one.weight * many)
