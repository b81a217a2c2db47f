"""Results on disk: one file per job, named by a digest of its design; and the exported files of a reproduction.

`RunStore` writes results atomically and finds them again. A file that cannot be read, or belongs to another job, is
treated as missing and replaced. Each file records its origin: the design, the version and revision of the package, the
versions of the libraries, and the checksums of data and code. The time of a job is not part of its result; it is in
`timings.jsonl`. Exports: tables as CSV, every run as CSV and Parquet, the summary as strict JSON.
"""

from __future__ import annotations

import csv
import io
import json
import math
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from quorate.core import sources_digest
from quorate.errors import MissingExtra
from quorate.files import UNFINISHED, write_atomic
from quorate.reports.format import Cell
from quorate.reports.section import Table
from quorate.validate import invalid
from quorate.version import __version__
from quorate_paper.jobs import ARRAYS, Job, JobOutcome, Parameters, digest

_ALSO = (  # sources that can change a result, besides those that `sources_digest` covers
    "as_published.py",
    "jobs.py",
    "released.py",
    "settings.py",
    "sweep.py",
)
_LIBRARIES = ("numpy",)  # other versions may round differently
_TRIES = 20


@cache
def code_digest() -> str:
    """Digest of all that can change a result besides design and data: our sources and the libraries' versions."""
    package = Path(__file__).parent
    found = sha256(sources_digest().encode())
    found.update(json.dumps(libraries(), sort_keys=True).encode())
    for name in _ALSO:
        found.update(sha256((package / name).read_bytes()).digest())
    return found.hexdigest()[:32]


def libraries() -> dict[str, str]:
    """The versions of the libraries that compute.

    >>> sorted(libraries())
    ['numpy']
    """
    return {name: version(name) for name in _LIBRARIES}


@cache
def revision() -> str:
    """The git revision of this code; "" if it is not under version control."""
    here = Path(__file__)
    try:
        for command in (["ls-files", "--error-unmatch", here.name], ["rev-parse", "HEAD"]):  # not an outer repository
            done = subprocess.run(
                ["git", *command], cwd=here.parent, capture_output=True, text=True, check=True, timeout=10
            )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


@dataclass(frozen=True, slots=True)
class RunStore:
    """The results in one folder. `checksums`: of each data set by its name.

    >>> from tempfile import TemporaryDirectory
    >>> from quorate.datasets import synthetic
    >>> from quorate_paper.jobs import settings
    >>> from quorate_paper.sweep import run_job
    >>> job = Job("toy", 5, "model-0", 3, "random", settings("query_rate", (0.0, 1.0)))
    >>> with TemporaryDirectory() as folder:
    ...     store = RunStore(Path(folder), {"toy": "checksum of the toy"})
    ...     before = store.get(job)
    ...     path = store.put(run_job(job, synthetic(num_items=20, pool_size=5, seed=1)))
    ...     before, store.get(job).costs.shape
    (None, (2, 1))
    """

    folder: Path
    checksums: dict[str, str]

    def name(self, job: Job) -> str:
        """The name of the job's result: a digest of design, data and code."""
        if job.data not in self.checksums:
            known = ", ".join(sorted(self.checksums)) or "none"
            raise invalid("data", job.data, f"a data set with a known checksum: {known}", "load it first.")
        return digest(job, data=self.checksums[job.data], code=code_digest())

    def path(self, job: Job) -> Path:
        """The path of the job's result."""
        name = self.name(job)
        return self.folder / name[:2] / f"{name}.npz"

    def get(self, job: Job) -> JobOutcome | None:
        """The stored result; None if there is none, or if it cannot be read."""
        path = self.path(job)
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
                birth = json.loads(str(archive["birth"]))
                arrays = {name: archive[name] for name in ARRAYS}
        except Exception:  # a damaged file may make zip, zlib, numpy or json raise anything: not a result
            return None
        wanted = _design(job, self.checksums[job.data])
        return JobOutcome(job=job, **arrays) if {key: birth.get(key) for key in wanted} == wanted else None

    def put(self, outcome: JobOutcome) -> Path:
        """Store a result atomically: write a temporary file next to it, then rename it."""
        path = self.path(outcome.job)
        birth = _design(outcome.job, self.checksums[outcome.job.data])
        birth |= {"version": __version__, "revision": revision(), "libraries": libraries()}
        content = io.BytesIO()
        arrays: dict[str, Any] = outcome.arrays()
        np.savez_compressed(content, birth=np.array(json.dumps(birth, sort_keys=True)), **arrays)
        for _ in range(_TRIES):
            try:
                return write_atomic(path, content.getvalue(), durable=False)  # it can be computed again
            except FileNotFoundError:  # another sweep just started in this folder and removed the temporary file
                continue
        raise OSError(f"{path}: could not be written; its temporary file was removed {_TRIES} times")

    def tidy(self) -> int:
        """Remove temporary files of killed writers (running writers try again); returns how many there were."""
        halves = list(self.folder.glob(f"*/{UNFINISHED}*"))
        for half in halves:
            half.unlink(missing_ok=True)
        return len(halves)

    def note_seconds(self, job: Job, seconds: float) -> None:
        """Append the time of the job to `timings.jsonl`."""
        line = {"name": self.name(job), "label": job.label, "runs": len(job.parameters), "seconds": round(seconds, 4)}
        self.folder.mkdir(parents=True, exist_ok=True)
        # A single write, so that the lines of two sweeps in one folder never mix.
        with (self.folder / "timings.jsonl").open("ab", buffering=0) as file:
            file.write(json.dumps(line).encode() + b"\n")

    def seconds(self) -> dict[str, float]:
        """The recorded times of the jobs, by `name` of their results."""
        try:
            lines = (self.folder / "timings.jsonl").read_bytes().splitlines()
        except FileNotFoundError:
            return {}
        found = (_timing(line) for line in lines)
        return {name: seconds for name, seconds in found if name}


def _design(job: Job, data: str) -> dict[str, Any]:
    """The design that determines the name of a result, after a round trip through JSON."""
    design = json.loads(json.dumps(job.as_dict()))
    return {"design": design, "data": data, "code": code_digest()}


def _timing(line: bytes) -> tuple[str, float]:
    try:
        entry = json.loads(line)
        return str(entry["name"]), float(entry["seconds"])
    except (ValueError, KeyError, TypeError):  # a truncated line
        return "", 0.0


RUN_COLUMNS = (
    "part", "data", "pool_size", "model", "method", "variant", "parameter", "value", "also", "seed", "window",
    "refit_every", "query_free_after", "num_items", "votes_per_item", "error", "drawn_error", "confidence",
)  # fmt: skip
PHASE_COLUMNS = ("num_items", "votes_per_item", "error", "drawn_error", "confidence")
Record = dict[str, Any]


def csv_text(heads: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """Rows as CSV; unknown values are empty.

    >>> csv_text(("method", "error"), [("finexp", 0.25), ("mp", float("nan"))])
    'method,error\\nfinexp,0.25\\nmp,\\n'
    """
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(heads)
    writer.writerows([known(cell) for cell in row] for row in rows)
    return file.getvalue()


def table_csv(table: Table) -> str:
    """A table as CSV, with all digits."""
    return csv_text(table.heads, table.rows)


def run_records(part: str, outcome: JobOutcome) -> list[Record]:
    """One flat record for each parameter setting of a job: the design, its cost, its error rate.

    Columns that end in _1, _2, ... are the phases of the stream: the blocks of the data set, or with and without
    experts.
    """
    job = outcome.job
    design: Record = {
        "part": part, "data": job.data, "pool_size": job.pool_size, "model": job.model, "method": job.method,
        "variant": job.variant, "seed": job.seed, "window": job.window, "refit_every": job.refit_every,
        "query_free_after": job.query_free_after, "num_items": int(outcome.sizes.sum()),
    }  # fmt: skip
    return [design | _named(parameters) | _measured(outcome, row) for row, parameters in enumerate(job.parameters)]


def _named(parameters: Parameters) -> Record:
    """The parameter that varies, as name and value; all other settings as text."""
    number = next((pair for pair in parameters if not isinstance(pair[1], str | bool)), None)
    also = " ".join(f"{name}={value}" for name, value in parameters if (name, value) != number)
    name, value = number if number is not None else (None, None)
    return {"parameter": name, "value": value, "also": also or None}


def _measured(outcome: JobOutcome, row: int) -> Record:
    phases = {
        "votes_per_item": outcome.costs[row],
        "error": outcome.errors[row],
        "drawn_error": outcome.drawn_errors[row],
        "confidence": outcome.confidence[row],
    }
    sizes = outcome.sizes
    found: Record = {name: float(values @ sizes / sizes.sum()) for name, values in phases.items()}
    if len(sizes) > 1:
        for phase, size in enumerate(sizes, start=1):
            found[f"num_items_{phase}"] = int(size)
            found |= {f"{name}_{phase}": float(values[phase - 1]) for name, values in phases.items()}
    return found


def distinct(records: Iterable[Record]) -> list[Record]:
    """The first record of each design: two jobs may contain the same run, with the same result."""
    by_design = ("data", "pool_size", "model", "method", "variant", "parameter", "value", "also", "seed", "window",
                 "refit_every", "query_free_after")  # fmt: skip
    found: dict[tuple[Any, ...], Record] = {}
    for record in records:
        found.setdefault(tuple(record[name] for name in by_design), record)
    return list(found.values())


def run_columns(records: Sequence[Record]) -> tuple[str, ...]:
    """The columns these records need."""
    phases = 0
    while any(f"num_items_{phases + 1}" in record for record in records):
        phases += 1
    return RUN_COLUMNS + tuple(f"{name}_{phase + 1}" for phase in range(phases) for name in PHASE_COLUMNS)


def write_runs(records: Sequence[Record], folder: Path) -> tuple[Path, Path]:
    """runs.csv and runs.parquet."""
    columns = run_columns(records)
    rows = [[record.get(name) for name in columns] for record in records]
    return (
        write_atomic(folder / "runs.csv", csv_text(columns, rows)),
        write_atomic(folder / "runs.parquet", _parquet(columns, rows)),
    )


def _parquet(columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> bytes:
    try:
        import pyarrow  # noqa: PLC0415
        from pyarrow import parquet  # noqa: PLC0415
    except ImportError as cause:
        raise MissingExtra("pyarrow is not installed; to reproduce: pip install 'quorate[reproduce]'") from cause
    values = zip(*([known(cell) for cell in row] for row in rows), strict=True) if rows else ((),) * len(columns)
    table = pyarrow.table(
        {name: pyarrow.array(list(column), type=_kind(name)) for name, column in zip(columns, values, strict=True)}
    )
    file = io.BytesIO()
    parquet.write_table(table, file, compression="zstd")
    return file.getvalue()


def _kind(name: str) -> str:
    """The Arrow type of a column; it does not depend on the runs."""
    text = {"part", "data", "model", "method", "variant", "parameter", "also"}
    whole = {"pool_size", "seed", "window", "refit_every", "query_free_after"}
    is_whole = name in whole or name.startswith("num_items")
    return "string" if name in text else "int64" if is_whole else "float64"


def known(cell: Cell) -> Cell:
    """The value, or None for a NaN."""
    return None if isinstance(cell, float) and math.isnan(cell) else cell
