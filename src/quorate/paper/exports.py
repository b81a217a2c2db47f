"""Results -> files: tables as CSV, every run as CSV and Parquet, the summary as strict JSON."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from quorate.errors import MissingExtra
from quorate.files import write_atomic
from quorate.paper.design import Knobs
from quorate.paper.readings import JobOutcome
from quorate.reports.format import Cell
from quorate.reports.plain_json import plain
from quorate.reports.section import Table

RUN_COLUMNS = (
    "part", "data", "pool_size", "model", "method", "variant", "knob", "value", "also", "seed", "window",
    "refit_every", "query_free_after", "num_items", "votes_per_item", "error", "drawn_error", "confidence",
)  # fmt: skip
PHASE_COLUMNS = ("num_items", "votes_per_item", "error", "drawn_error", "confidence")
Record = dict[str, Any]


def csv_text(heads: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """Rows as CSV; what is not known is empty.

    >>> csv_text(("method", "error"), [("finexp", 0.25), ("mp", float("nan"))])
    'method,error\\nfinexp,0.25\\nmp,\\n'
    """
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(heads)
    writer.writerows([_known(cell) for cell in row] for row in rows)
    return file.getvalue()


def table_csv(table: Table) -> str:
    """A table as CSV, all its digits."""
    return csv_text(table.heads, table.rows)


def run_records(part: str, outcome: JobOutcome) -> list[Record]:
    """One flat record for each parameter setting of a job: what was run, what it cost, how often it was wrong.

    Columns that end in _1, _2, ... are the phases of the stream: the blocks of the data set, or before and after the
    experts leave.
    """
    job = outcome.job
    design: Record = {
        "part": part, "data": job.data, "pool_size": job.pool_size, "model": job.model, "method": job.method,
        "variant": job.variant, "seed": job.seed, "window": job.window, "refit_every": job.refit_every,
        "query_free_after": job.query_free_after, "num_items": int(outcome.sizes.sum()),
    }  # fmt: skip
    return [design | _named(knobs) | _measured(outcome, row) for row, knobs in enumerate(job.knobs)]


def _named(knobs: Knobs) -> Record:
    """The parameter that varies, as name and value; whatever else is set, as text."""
    number = next((pair for pair in knobs if not isinstance(pair[1], str | bool)), None)
    also = " ".join(f"{name}={value}" for name, value in knobs if (name, value) != number)
    name, value = number if number is not None else (None, None)
    return {"knob": name, "value": value, "also": also or None}


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
    """The first record of each design: two jobs may hold the same run, whose result is then the same."""
    by_design = ("data", "pool_size", "model", "method", "variant", "knob", "value", "also", "seed", "window",
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
    values = zip(*([_known(cell) for cell in row] for row in rows), strict=True) if rows else ((),) * len(columns)
    table = pyarrow.table(
        {name: pyarrow.array(list(column), type=_kind(name)) for name, column in zip(columns, values, strict=True)}
    )
    file = io.BytesIO()
    parquet.write_table(table, file, compression="zstd")
    return file.getvalue()


def _kind(name: str) -> str:
    """The Arrow type of a column, which does not depend on which runs happen to be there."""
    text = {"part", "data", "model", "method", "variant", "knob", "also"}
    whole = {"pool_size", "seed", "window", "refit_every", "query_free_after"}
    is_whole = name in whole or name.startswith("num_items")
    return "string" if name in text else "int64" if is_whole else "float64"


def _known(cell: Cell) -> Cell:
    return None if isinstance(cell, float) and math.isnan(cell) else cell


def json_text(content: Mapping[str, Any]) -> str:
    """Strict JSON that a person can read."""
    return json.dumps(plain(content), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
