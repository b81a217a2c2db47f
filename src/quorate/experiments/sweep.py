"""Runs many jobs, each once: what is stored is not run again, what is run is stored as soon as it is done.

So a sweep can be stopped or killed at any time and continues where it was. On this machine the jobs share its cores
as threads (the kernels release the GIL); `cluster` runs them on other processes or machines. The results are the same
wherever and in whatever order they were run. Called by `reproduce`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from quorate.errors import MissingExtra
from quorate.experiments.design import Job
from quorate.experiments.outcome import Outcome
from quorate.experiments.runs import run_job
from quorate.experiments.store import Store
from quorate.types import VoteDataset

Progress = Callable[[int, int, str], None]
Backend = Callable[[Sequence[Job], Mapping[str, VoteDataset]], Iterator[Outcome]]


def on_threads(num_threads: int) -> Backend:
    """A backend that runs jobs on this machine, `num_threads` at a time, in any order."""

    def run(jobs: Sequence[Job], datasets: Mapping[str, VoteDataset]) -> Iterator[Outcome]:
        try:
            from joblib import Parallel, delayed  # noqa: PLC0415
        except ImportError as cause:
            raise MissingExtra("joblib is not installed; to reproduce: pip install 'quorate[reproduce]'") from cause
        parallel = Parallel(n_jobs=num_threads, backend="threading", return_as="generator_unordered", batch_size=1)
        yield from parallel(delayed(run_job)(job, datasets[job.data]) for job in jobs)

    return run


def sweep(
    jobs: Iterable[Job],
    datasets: Mapping[str, VoteDataset],
    store: Store,
    *,
    backend: Backend,
    progress: Progress | None = None,
) -> dict[Job, Outcome]:
    """The outcome of every job, in the order given; only those not stored yet are run."""
    wanted = list(dict.fromkeys(jobs))
    found = {job: store.get(job) for job in wanted}
    missing = _longest_first(job for job, outcome in found.items() if outcome is None)
    done = len(wanted) - len(missing)
    for outcome in backend(missing, datasets) if missing else ():
        store.put(outcome)
        found[outcome.job] = outcome
        done += 1
        if progress is not None:
            progress(done, len(wanted), outcome.job.label)
    return {job: outcome for job, outcome in found.items() if outcome is not None}


def _longest_first(jobs: Iterable[Job]) -> list[Job]:
    """Big pools first, so that no core is left with a long job at the end; a stream's jobs stay together."""
    return sorted(jobs, key=lambda job: (-job.pool_size, job.data, job.model, job.seed, job.method))
