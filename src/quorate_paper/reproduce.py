"""Runs the paper's experiments in order and writes the results: a page, a summary, figures, tables, every run.

Takes a folder of data, returns a `Reproduction` and its files. Runs stored in out/runs are not repeated, so a stopped
or killed reproduction continues where it stopped. summary.json lists the files of its report, so that the next report
in the same folder can delete those it no longer has. Called by `quorate reproduce`.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path

from quorate.errors import InvalidInput, MissingExtra, QuorateError
from quorate.files import write_atomic
from quorate.reports.figures import DrawnFigure, draw
from quorate.reports.format import json_page
from quorate.reports.section import Section
from quorate.types import Progress, VoteDataset
from quorate.validate import invalid
from quorate_paper import calibration, curves, phase_runs, shift, two_phase
from quorate_paper.cluster import backend_for
from quorate_paper.datasets import data_folder
from quorate_paper.estimate import Expected, expected
from quorate_paper.jobs import Job, JobOutcome
from quorate_paper.report import Context, Part, Reproduction, page, summary_of
from quorate_paper.settings import SEEDS
from quorate_paper.sources import USES, Sources
from quorate_paper.store import Record, RunStore, distinct, run_records, table_csv, write_runs
from quorate_paper.sweep import Backend, sweep

Experiment = Callable[[Context], Section]
EXPERIMENTS: dict[str, Experiment] = {
    "curves": curves.section,
    "shift": shift.section,
    "two-phase": two_phase.section,
    "calibration": calibration.section,
}
JOBS: dict[str, Callable[[Context], list[Job]]] = {  # about what each will run, for an estimate of its time
    "curves": curves.jobs,
    "shift": shift.jobs,
    "two-phase": phase_runs.jobs,
    "calibration": phase_runs.jobs,
}
OUT = "quorate-reproduction"
QUICK_ITEMS = 1250  # a quick run takes every second, third, ... item of larger sets
_WRITTEN = re.compile(r"report\.html|runs\.(csv|parquet)|tables/[A-Za-z0-9.-]+\.csv|figures/[A-Za-z0-9.-]+\.(svg|png)")
EXTRAS = ("matplotlib", "statsmodels", "pyarrow")
STEPS = 1000  # of the progress bar


def reproduce(
    what: str = "all",
    *,
    data: str | Path | None = None,
    out: str | Path = OUT,
    seeds: Sequence[int] = SEEDS,
    quick: bool = False,
    jobs: int | None = None,
    cluster: str | None = None,
    progress: Progress | None = None,
    as_published: bool = False,
    announce: Callable[[str], None] | None = None,
    experiments: Mapping[str, Experiment] = EXPERIMENTS,
) -> Reproduction:
    """Run one experiment, or "all", on the data sets in `data`; write the report and all files to `out`.

    `jobs`: threads (None: one per core). `cluster`: address of a Dask scheduler, or "local:2". `experiments`:
    name -> experiment, to run your own. `as_published`: run the paper's own estimators, too,
    instead of showing their stored results, and write as_published.json. `announce(text)` gets how long it will
    take. The results do not depend on `jobs`, `cluster` or earlier stored runs.
    """
    parts = _parts(what, experiments)
    chosen_seeds = _checked_seeds(seeds)
    if jobs is not None and jobs < 1:
        raise invalid("jobs", jobs, "at least 1", "leave it out for one per core.")
    _need(EXTRAS)
    sources = Sources(data_folder(data), QUICK_ITEMS if quick else None)
    _need_data(sources, parts)
    folder = Path(out)
    _need_own(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with backend_for(cluster, jobs) as backend:
        tally = RunTally(sources, folder / "runs", backend, progress)
        context = Context(sources, chosen_seeds, quick, tally.run, _writer(folder) if as_published else None)
        if cluster is None:
            known = [name for name in parts if experiments[name] is EXPERIMENTS.get(name)]
            tally.expected = _expected(known, context, tally)
            if announce is not None:
                announce(_how_long(tally.expected, jobs or os.cpu_count() or 1))
        tried = {name: _part(name, experiments[name], context, tally) for name in parts}
    made = tuple(part for part in tried.values() if isinstance(part, Part))
    refused = {name: part for name, part in tried.items() if isinstance(part, InvalidInput)}
    if not made:
        raise next(iter(refused.values()))
    left_out = sources.left_out(part for part in parts if part in USES)
    left_out += tuple(f"{name} is left out: {problem}" for name, problem in refused.items())
    done = Reproduction(made, chosen_seeds, quick, folder, sources.checksums(), left_out)
    if progress is not None:
        progress(STEPS, STEPS, "drawing figures and writing files")
    return _written(done, tally)


def _writer(folder: Path) -> Callable[[str, str], None]:
    def write(name: str, content: str) -> None:
        write_atomic(folder / name, content)

    return write


def _expected(parts: Sequence[str], context: Context, tally: RunTally) -> Expected:
    """What the parts will run that is not stored yet, timed on this machine."""
    return expected({part: tally.missing(JOBS[part](context)) for part in parts}, context.datasets)


def _how_long(found: Expected, num_threads: int) -> str:
    seconds = sum(found.parts.values()) / num_threads
    said = f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} minutes"
    return (
        f"About {said} for {found.num_runs:,} runs, by the speed of this machine just now; then the figures. You can "
        "stop and continue at any time."
    )


def _parts(what: str, experiments: Mapping[str, Experiment]) -> tuple[str, ...]:
    if what != "all" and what not in experiments:
        raise invalid("what", what, f"one of {', '.join(experiments)}, or all", "name an experiment.")
    return tuple(experiments) if what == "all" else (what,)


def _checked_seeds(seeds: Sequence[int]) -> tuple[int, ...]:
    chosen = tuple(int(seed) for seed in seeds)
    if not chosen or len(set(chosen)) < len(chosen) or min(chosen) < 0:
        raise invalid("seeds", list(seeds), "one or more different numbers >= 0", "pass e.g. 3,4,5.")
    return chosen


def _need(modules: Sequence[str]) -> None:
    """Check that optional modules are installed, before the work starts."""
    missing = [name for name in modules if find_spec(name) is None]
    if missing:
        raise MissingExtra(f"reproducing needs {', '.join(missing)}: pip install 'quorate[reproduce]'")


def _need_data(sources: Sources, parts: Sequence[str]) -> None:
    known = [part for part in parts if part in USES]
    if known and not sources.any_of(known):
        rule = f"a folder with a data set of the paper ({'; '.join(sources.left_out(known))})"
        fix = "set QUORATE_DATA to it, or get one: quorate reproduce list, then quorate reproduce fetch NAME."
        raise invalid("data", str(sources.folder), rule, fix)


def _need_own(folder: Path) -> None:
    """Refuse a folder with the report of another command; one of an earlier reproduction is continued."""
    others = [name for name in ("report.html", "summary.json") if (folder / name).exists()]
    if others and not (folder / "runs").is_dir():
        rule = f"a new folder or one of an earlier reproduction; it contains {' and '.join(others)} of another command"
        raise invalid("out", str(folder), rule, "name another folder.")


def _part(name: str, experiment: Experiment, context: Context, tally: RunTally) -> Part | InvalidInput:
    """Run one experiment; an error about its data is returned, so that the other experiments still run."""
    started = time.perf_counter()
    tally.begin(name)
    try:
        section = experiment(context)
    except InvalidInput as problem:
        return problem
    seconds = time.perf_counter() - started
    return Part(name, section, seconds, tally.num_run, tally.num_stored, tally.work_seconds)


def _written(done: Reproduction, tally: RunTally) -> Reproduction:
    """Write all files, the page and the summary last; delete those of an earlier report that are no longer part."""
    started = time.perf_counter()
    earlier = _files_of_summary(done.out)
    summary_of(done)  # raises on an invalid section before anything is written
    records = distinct(record for found in tally.records.values() for record in found)
    files = [*_write_tables(done), *write_runs(records, done.out)]
    drawn = {part.stem(figure.key): draw(figure) for part in done.parts for figure in part.section.figures}
    files += _write_figures(done, drawn)
    done = replace(done, writing_seconds=time.perf_counter() - started)
    files.append(write_atomic(done.out / "report.html", page(done, drawn)))
    files.append(done.out / "summary.json")
    names = [file.relative_to(done.out).as_posix() for file in files]
    for name in earlier - set(names):
        (done.out / name).unlink(missing_ok=True)
    write_atomic(files[-1], json_page(summary_of(done) | {"files": names}, indent=1))
    return replace(done, files=tuple(files))


def _files_of_summary(out: Path) -> set[str]:
    """The files listed in the folder's summary.json, restricted to the kinds written here."""
    try:
        names = json.loads((out / "summary.json").read_bytes())["files"]
        return {name for name in names if _WRITTEN.fullmatch(name)}
    except (OSError, ValueError, KeyError, TypeError):  # no report yet, or one of another program
        return set()


def _write_tables(done: Reproduction) -> list[Path]:
    stems = [(part.stem(table.key), table) for part in done.parts for table in part.section.tables]
    _once([stem for stem, _ in stems])
    return [write_atomic(done.out / "tables" / f"{stem}.csv", table_csv(table)) for stem, table in stems]


def _write_figures(done: Reproduction, drawn: Mapping[str, DrawnFigure]) -> list[Path]:
    _once([part.stem(figure.key) for part in done.parts for figure in part.section.figures])
    folder = done.out / "figures"
    return [
        write_atomic(folder / f"{stem}.{kind}", content)
        for stem, picture in drawn.items()
        for kind, content in (("svg", picture.svg), ("png", picture.png))
    ]


def _once(stems: Sequence[str]) -> None:
    twice = sorted({stem for stem in stems if stems.count(stem) > 1})
    if twice:
        raise QuorateError(f"two tables or figures are called {', '.join(twice)}: give each its own key.")


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
    expected: Expected = field(default_factory=lambda: Expected({}, {}, 0))
    records: dict[Job, list[Record]] = field(default_factory=dict)
    part: str = ""
    num_run: int = 0
    num_stored: int = 0
    work_seconds: float = 0.0
    _before: float = 0.0  # expected seconds of the parts before this one
    _done: float = 0.0
    _shown: int = 0

    def begin(self, part: str) -> None:
        """Start a part."""
        self._before += self.expected.parts.get(self.part, 0.0)
        self.part, self.num_run, self.num_stored, self.work_seconds, self._done = part, 0, 0, 0.0, 0.0
        self._say("starting")

    def missing(self, jobs: Sequence[Job]) -> list[Job]:
        """The jobs that are not stored."""
        store = self._store(jobs)
        return [job for job in jobs if store.get(job) is None]

    def run(self, jobs: Sequence[Job]) -> dict[Job, JobOutcome]:
        """The outcome of each job; jobs that are not stored are run and stored."""
        wanted = list(dict.fromkeys(jobs))
        store = self._store(wanted)
        datasets = {job.data: self.sources[job.data] for job in wanted}
        before = self.num_run
        outcomes = sweep(wanted, datasets, store, backend=self._counted)
        self.num_stored += sum(len(job.parameters) for job in wanted) - (self.num_run - before)
        taken = store.seconds()
        self.work_seconds += sum(taken.get(store.name(job), 0.0) for job in wanted if job not in self.records)
        for job, outcome in outcomes.items():
            self.records.setdefault(job, run_records(self.part, outcome))
        return outcomes

    def _store(self, jobs: Sequence[Job]) -> RunStore:
        names = dict.fromkeys(job.data for job in jobs)
        return RunStore(self.folder, {name: self.sources.checksum(name) for name in names})

    def _counted(self, jobs: Sequence[Job], datasets: Mapping[str, VoteDataset]) -> Iterator[JobOutcome]:
        """The backend, with each job counted when it is done."""
        for outcome in self.backend(jobs, datasets):
            yield outcome  # it is stored before this continues
            self.num_run += len(outcome.job.parameters)
            self._done += self.expected.seconds(outcome.job, datasets[outcome.job.data].num_items)
            self._say(outcome.job.label)

    def _say(self, what: str) -> None:
        if self.progress is None:
            return
        within = min(self._done, self.expected.parts.get(self.part, 0.0))
        total = sum(self.expected.parts.values())
        reached = (self._before + within) / total if total else 0.0
        self._shown = max(self._shown, int(STEPS * reached))  # the bar never moves back
        self.progress(self._shown, STEPS, f"{self.part}: {what}")
