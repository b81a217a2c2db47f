"""Runs many jobs, each once: what is stored is not run again, what is run is stored as soon as it is done.

So a sweep can be stopped or killed at any time and continues where it was. On this machine the jobs share its cores
as threads (the kernels release the GIL); `cluster` runs them on other processes or machines. The results are the same
wherever and in whatever order they were run. Called by `reproduce`.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from queue import Empty, SimpleQueue

from quorate.errors import InvalidInput, QuorateError
from quorate.experiments.design import Job
from quorate.experiments.outcome import Outcome
from quorate.experiments.runs import run_job
from quorate.experiments.store import Store
from quorate.types import VoteDataset
from quorate.validate import whole

Progress = Callable[[int, int, str], None]
Backend = Callable[[Sequence[Job], Mapping[str, VoteDataset]], Iterator[Outcome]]
_LOOK_EVERY = 0.2  # seconds: some systems deliver Ctrl-C only between two waits


def on_threads(num_threads: int) -> Backend:
    """A backend that runs jobs on this machine, `num_threads` at a time; outcomes come as they are done.

    Plain daemon threads: after Ctrl-C the process ends at once, without waiting for the jobs that were running.
    """
    many = whole(num_threads, where="num_threads")

    def run(jobs: Sequence[Job], datasets: Mapping[str, VoteDataset]) -> Iterator[Outcome]:
        todo, finished, stop = deque(jobs), SimpleQueue[Outcome | BaseException](), threading.Event()
        for _ in range(min(many, len(jobs))):
            threading.Thread(target=_work, args=(todo, datasets, finished, stop), daemon=True).start()
        try:
            for _ in jobs:
                outcome = _next(finished)
                if isinstance(outcome, BaseException):
                    raise outcome
                yield outcome
        finally:
            stop.set()

    return run


def _work(
    todo: deque[Job],
    datasets: Mapping[str, VoteDataset],
    finished: SimpleQueue[Outcome | BaseException],
    stop: threading.Event,
) -> None:
    """One thread: job after job until none is left, one fails or nobody waits any more."""
    while not stop.is_set():
        try:
            job = todo.popleft()
        except IndexError:
            return
        try:
            finished.put(run_job(job, datasets[job.data]))
        except BaseException as problem:  # raised again where the outcomes are awaited
            problem.add_note(f"while running {job.label}")
            finished.put(problem)
            return


def _next(finished: SimpleQueue[Outcome | BaseException]) -> Outcome | BaseException:
    while True:
        try:
            return finished.get(timeout=_LOOK_EVERY)
        except Empty:
            continue


def sweep(
    jobs: Iterable[Job],
    datasets: Mapping[str, VoteDataset],
    store: Store,
    *,
    backend: Backend,
    progress: Progress | None = None,
) -> dict[Job, Outcome]:
    """The outcome of every job, in the order given; only those not stored yet are run.

    `progress(done, total, what)` counts expected work, not jobs, and only work that was not stored, so that the time
    left can be told from it.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from quorate.datasets import synthetic
    >>> from quorate.experiments.design import settings
    >>> data = {"toy": synthetic(num_items=50, pool_size=5, seed=1)}
    >>> jobs = [Job("toy", 5, "model-0", seed, "random", settings("query_rate", (0.0, 1.0))) for seed in (3, 4)]
    >>> with TemporaryDirectory() as folder:
    ...     found = sweep(jobs, data, Store(Path(folder), {"toy": "its checksum"}), backend=on_threads(1))
    >>> [float(found[job].mean_costs[0]) for job in jobs]
    [0.0, 0.0]
    """
    wanted = list(dict.fromkeys(jobs))
    _check(wanted, datasets)
    store.tidy()
    found = {job: store.get(job) for job in wanted}
    missing = _longest_first(job for job, outcome in found.items() if outcome is None)
    total = sum(_work_of(job, datasets) for job in missing)
    done = 0
    outcomes = backend(missing, datasets) if missing else iter(())
    try:
        for outcome in outcomes:
            store.put(outcome)
            store.note_seconds(outcome.job, outcome.seconds)
            found[outcome.job] = outcome
            done += _work_of(outcome.job, datasets)
            if progress is not None:
                progress(done, total, outcome.job.label)
    finally:  # on Ctrl-C or a full disk no more jobs are begun
        getattr(outcomes, "close", lambda: None)()
    known = {job: outcome for job, outcome in found.items() if outcome is not None}
    if len(known) < len(found):
        raise QuorateError(f"{len(found) - len(known)} of {len(missing)} jobs came to nothing; run it again.")
    return known


def _check(jobs: Sequence[Job], datasets: Mapping[str, VoteDataset]) -> None:
    for name in dict.fromkeys(job.data for job in jobs):
        if name not in datasets:
            raise InvalidInput(f"data={name!r} is not loaded; there are: {', '.join(sorted(datasets)) or 'none'}.")


def _work_of(job: Job, datasets: Mapping[str, VoteDataset]) -> int:
    return job.weight * datasets[job.data].num_items


def _longest_first(jobs: Iterable[Job]) -> list[Job]:
    """Big pools first, so that no core is left with a long job at the end; a stream's jobs stay together."""
    return sorted(jobs, key=lambda job: (job.variant == "exact", -job.pool_size, _stream(job), -job.weight, job.method))


def _stream(job: Job) -> tuple[str, str, int]:
    return job.data, job.model, job.seed
