"""Counts what a reproduction runs and what it finds stored, and says how far it is.

`Tally.run` is what experiments get as `Context.run`. Progress is in work, not in jobs, because a job with fifty experts
takes many times as long as one with three: parts share the bar by the time they took when measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from quorate.experiments.design import Job
from quorate.experiments.exports import Record, run_records
from quorate.experiments.outcome import Outcome
from quorate.experiments.sources import Sources
from quorate.experiments.store import Store
from quorate.experiments.sweep import Backend, Progress, sweep
from quorate.types import VoteDataset

SHARES = {"curves": 75.0, "shift": 15.0, "two-phase": 9.0, "calibration": 1.0, "as-published": 40.0}
FIRST_SHARE = 0.8  # of what is left of a part: what the jobs asked for now are taken to be; more may be asked for
STEPS = 1000  # of the bar


@dataclass(slots=True)
class Tally:
    """Runs jobs through the store and counts; `begin` starts a part. The counts are of the present part.

    `work_seconds`: what its jobs took when they were run, now or earlier, added up over cores; a job that
    an earlier part used too is counted there.
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
    _before: float = 0.0  # of the part: what was done when the present jobs were asked for
    _known: float = 0.0
    _done: float = 0.0
    _shown: int = 0

    def begin(self, part: str) -> None:
        """Start a part."""
        self.part, self.num_run, self.num_stored = part, 0, 0
        self.work_seconds = self._before = self._known = self._done = 0.0
        self._say("starting")

    def run(self, jobs: Sequence[Job]) -> dict[Job, Outcome]:
        """The outcome of each job; what was never run is run and stored."""
        wanted = list(dict.fromkeys(jobs))
        names = dict.fromkeys(job.data for job in wanted)
        store = Store(self.folder, {name: self.sources.checksum(name) for name in names})
        datasets = {name: self.sources[name] for name in names}
        before = self.num_run
        outcomes = sweep(wanted, datasets, store, backend=self._counted)
        self.num_stored += sum(len(job.knobs) for job in wanted) - (self.num_run - before)
        taken = store.seconds()
        self.work_seconds += sum(taken.get(store.name(job), 0.0) for job in wanted if job not in self.records)
        for job, outcome in outcomes.items():
            self.records.setdefault(job, run_records(self.part, outcome))
        return outcomes

    def _counted(self, jobs: Sequence[Job], datasets: Mapping[str, VoteDataset]) -> Iterator[Outcome]:
        """The backend, with each job counted when it is done."""
        self._before, self._done = self._within(), 0.0
        self._known = sum(job.weight * datasets[job.data].num_items for job in jobs)
        for outcome in self.backend(jobs, datasets):
            yield outcome  # the store has it when we go on
            self.num_run += len(outcome.job.knobs)
            self._done += outcome.job.weight * datasets[outcome.job.data].num_items
            self._say(outcome.job.label)

    def _say(self, what: str) -> None:
        if self.progress is None:
            return
        shares = [SHARES.get(part, 10.0) for part in self.parts]
        number = self.parts.index(self.part)
        reached = (sum(shares[:number]) + shares[number] * self._within()) / sum(shares)
        self._shown = max(self._shown, int(STEPS * reached))  # more jobs may come: the bar waits, it never goes back
        self.progress(self._shown, STEPS, f"{self.part}: {what}")

    def _within(self) -> float:
        """How much of the part is done, 0 to 1."""
        now = self._done / self._known if self._known else 0.0
        return self._before + FIRST_SHARE * (1.0 - self._before) * now
