"""Runs many jobs through the store: stored jobs are not repeated, results are stored at once, progress is counted."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue

from quorate.errors import QuorateError
from quorate.paper.design import Job
from quorate.paper.readings import JobOutcome
from quorate.paper.runs import run_job
from quorate.paper.sources import Sources
from quorate.paper.store import Record, RunStore, run_records
from quorate.types import VoteDataset
from quorate.validate import broken, whole

SHARES = {"curves": 75.0, "shift": 15.0, "two-phase": 9.0, "calibration": 1.0, "as-published": 40.0}
FIRST_SHARE = 0.8  # share of the rest of a part that the current jobs count for, because more may follow
STEPS = 1000  # of the progress bar


@dataclass(slots=True)
class RunTally:
    """Runs jobs through the store and counts them; `begin` starts a part. The counts are for the current part.

    `work_seconds`: time of its jobs, now or earlier, summed over cores; a job shared with an earlier part is counted
    there.
    """

    sources: Sources
    folder: Path
    backend: Backend
    progress: Progress | None = None
    parts: tuple[str, ...] = ()
    records: dict[Job, list[Record]] = field(default_factory=dict)
    part: str = ""
    num_run: int = 0
    num_stored: int = 0
    work_seconds: float = 0.0
    _before: float = 0.0  # share of the part that was done before the current jobs
    _known: float = 0.0
    _done: float = 0.0
    _shown: int = 0

    def begin(self, part: str) -> None:
        """Start a part."""
        self.part, self.num_run, self.num_stored = part, 0, 0
        self.work_seconds = self._before = self._known = self._done = 0.0
        self._say("starting")

    def run(self, jobs: Sequence[Job]) -> dict[Job, JobOutcome]:
        """The outcome of each job; jobs that are not stored are run and stored."""
        wanted = list(dict.fromkeys(jobs))
        names = dict.fromkeys(job.data for job in wanted)
        store = RunStore(self.folder, {name: self.sources.checksum(name) for name in names})
        datasets = {name: self.sources[name] for name in names}
        before = self.num_run
        outcomes = sweep(wanted, datasets, store, backend=self._counted)
        self.num_stored += sum(len(job.knobs) for job in wanted) - (self.num_run - before)
        taken = store.seconds()
        self.work_seconds += sum(taken.get(store.name(job), 0.0) for job in wanted if job not in self.records)
        for job, outcome in outcomes.items():
            self.records.setdefault(job, run_records(self.part, outcome))
        return outcomes

    def _counted(self, jobs: Sequence[Job], datasets: Mapping[str, VoteDataset]) -> Iterator[JobOutcome]:
        """The backend, with each job counted when it is done."""
        self._before, self._done = self._within(), 0.0
        self._known = sum(job.weight * datasets[job.data].num_items for job in jobs)
        for outcome in self.backend(jobs, datasets):
            yield outcome  # it is stored before this continues
            self.num_run += len(outcome.job.knobs)
            self._done += outcome.job.weight * datasets[outcome.job.data].num_items
            self._say(outcome.job.label)

    def _say(self, what: str) -> None:
        if self.progress is None:
            return
        shares = [SHARES.get(part, 10.0) for part in self.parts]
        number = self.parts.index(self.part)
        reached = (sum(shares[:number]) + shares[number] * self._within()) / sum(shares)
        self._shown = max(self._shown, int(STEPS * reached))  # if more jobs follow, the bar waits; it never moves back
        self.progress(self._shown, STEPS, f"{self.part}: {what}")

    def _within(self) -> float:
        """The share of the part that is done, 0 to 1."""
        now = self._done / self._known if self._known else 0.0
        return self._before + FIRST_SHARE * (1.0 - self._before) * now


Progress = Callable[[int, int, str], None]
Backend = Callable[[Sequence[Job], Mapping[str, VoteDataset]], Iterator[JobOutcome]]
_LOOK_EVERY = 0.2  # seconds: some systems deliver Ctrl-C only between two waits


def on_threads(num_threads: int) -> Backend:
    """A backend that runs jobs on this machine, `num_threads` at a time; yields outcomes as they finish.

    Uses daemon threads: after Ctrl-C the process ends at once, without waiting for running jobs.
    """
    many = whole(num_threads, where="num_threads")

    def run(jobs: Sequence[Job], datasets: Mapping[str, VoteDataset]) -> Iterator[JobOutcome]:
        todo, finished, stop = deque(jobs), SimpleQueue[JobOutcome | BaseException](), threading.Event()
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
    finished: SimpleQueue[JobOutcome | BaseException],
    stop: threading.Event,
) -> None:
    """One thread: run jobs until none is left, one fails, or the caller has stopped."""
    while not stop.is_set():
        try:
            job = todo.popleft()
        except IndexError:
            return
        try:
            finished.put(run_job(job, datasets[job.data]))
        except BaseException as problem:  # raised again in the caller's thread
            problem.add_note(f"while running {job.label}")
            finished.put(problem)
            return


def _next(finished: SimpleQueue[JobOutcome | BaseException]) -> JobOutcome | BaseException:
    while True:
        try:
            return finished.get(timeout=_LOOK_EVERY)
        except Empty:
            continue


def sweep(
    jobs: Iterable[Job],
    datasets: Mapping[str, VoteDataset],
    store: RunStore,
    *,
    backend: Backend,
    progress: Progress | None = None,
) -> dict[Job, JobOutcome]:
    """The outcome of every job, in the order given; only jobs that are not stored are run.

    `progress(done, total, what)` counts expected work, not jobs, and only work that was not stored, so that the
    remaining time can be estimated from it.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from quorate.datasets import synthetic
    >>> from quorate.paper.design import settings
    >>> data = {"toy": synthetic(num_items=50, pool_size=5, seed=1)}
    >>> jobs = [Job("toy", 5, "model-0", seed, "random", settings("query_rate", (0.0, 1.0))) for seed in (3, 4)]
    >>> with TemporaryDirectory() as folder:
    ...     found = sweep(jobs, data, RunStore(Path(folder), {"toy": "its checksum"}), backend=on_threads(1))
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
    finally:  # after Ctrl-C or on a full disk no more jobs start
        getattr(outcomes, "close", lambda: None)()
    known = {job: outcome for job, outcome in found.items() if outcome is not None}
    if len(known) < len(found):
        raise QuorateError(f"{len(found) - len(known)} of {len(missing)} jobs did not finish; run it again.")
    return known


def _check(jobs: Sequence[Job], datasets: Mapping[str, VoteDataset]) -> None:
    for name in dict.fromkeys(job.data for job in jobs):
        if name not in datasets:
            raise broken("data", name, f"one of the loaded data sets: {sorted(datasets)}", "load it first.")


def _work_of(job: Job, datasets: Mapping[str, VoteDataset]) -> int:
    return job.weight * datasets[job.data].num_items


def _longest_first(jobs: Iterable[Job]) -> list[Job]:
    """Large pools first, so that no long job runs alone at the end; the jobs of a stream stay together."""
    return sorted(jobs, key=lambda job: (job.variant == "exact", -job.pool_size, _stream(job), -job.weight, job.method))


def _stream(job: Job) -> tuple[str, str, int]:
    return job.data, job.model, job.seed
