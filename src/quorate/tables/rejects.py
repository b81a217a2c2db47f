"""What was set aside -> a file: source, row number, rule, reason, and the item, worker and value of each row.

Called by `Report.write_rejects`; nothing that a rule sets aside is missing from it,
except ragged rows beyond the first 100,000 of a file (`open_files.MOST_RAGGED`), which are only counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from quorate.tables.readers.arrow import TEXT, arrow_csv, pa, pq
from quorate.tables.rules import RULES, Fired
from quorate.validate import broken

SCHEMA = pa.schema(
    [("source", TEXT), ("row", pa.int64())] + [(name, TEXT) for name in ("rule", "reason", "task", "worker", "value")]
)
BLOCK = 100_000  # rows written at a time


def write_rejects(entries: Iterable[Fired], path: str | Path) -> int:
    """Write the rows set aside to a .csv, .tsv or .parquet file; returns how many there are.

    `row` is the number a spreadsheet or editor shows: the header of a CSV or sheet is row 1; lines of JSONL, rows of
    Parquet and of frames, and tasks of a Label Studio export are counted from 1.
    """
    file = Path(path)
    kind = file.suffix.lower()
    if kind not in (".csv", ".tsv", ".parquet"):
        raise broken("path", str(path), "a name that ends in .csv, .tsv or .parquet", "rename the file.")
    written = 0
    with _writer(file, kind) as out:
        for table in reject_tables(entries):
            out.write_table(table)
            written += table.num_rows
    return written


def reject_tables(entries: Iterable[Fired]) -> Iterator[pa.Table]:
    """The rows set aside, as Arrow tables of bounded size, rule by rule."""
    for entry in entries:
        if RULES[entry.rule].set_aside:
            for start in range(0, len(entry.rows), BLOCK):
                yield _table(entry, start)


def _table(entry: Fired, start: int) -> pa.Table:
    rows = entry.rows[start : start + BLOCK]
    rule = RULES[entry.rule]

    def texts(values: pa.Array | None) -> pa.Array:
        return pa.nulls(len(rows), TEXT) if values is None else values.slice(start, len(rows))

    def same(text: str) -> pa.Array:
        return pa.repeat(pa.scalar(text, TEXT), len(rows))

    columns = [same(entry.source), pa.array(rows), same(rule.name), same(rule.met)]
    columns += [texts(entry.tasks), texts(entry.workers), texts(entry.values)]
    return pa.Table.from_arrays(columns, schema=SCHEMA)


def _writer(file: Path, kind: str) -> pq.ParquetWriter | arrow_csv.CSVWriter:
    try:
        if kind == ".parquet":
            return pq.ParquetWriter(file, SCHEMA)
        delimiter = "\t" if kind == ".tsv" else ","
        options = arrow_csv.WriteOptions(delimiter=delimiter, quoting_style="needed")
        return arrow_csv.CSVWriter(str(file), SCHEMA, write_options=options)
    except OSError as cause:
        rule = f"a file that can be written ({cause})"
        raise broken("path", str(file), rule, "name a file in a folder that exists.") from cause
