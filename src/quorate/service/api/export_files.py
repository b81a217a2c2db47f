"""A table that is read as it is written -> a file of JSON, JSON lines, CSV or Parquet, in bounded memory.

Small files stay in memory, large ones go to a temporary file. In CSV, text that a spreadsheet would take for a formula
is made inert. Called by `decisions`.
"""

from __future__ import annotations

import csv
import io
import json
import re
import tempfile
from collections.abc import Callable, Iterator
from itertools import islice
from typing import IO, Any, Literal

from quorate.service.api.export_tables import Cell, Export, Kind
from quorate.tables.arrow import pa, pq

Format = Literal["json", "jsonl", "csv", "parquet"]
MEDIA_TYPES: dict[Format, str] = {
    "json": "application/json",
    "jsonl": "application/x-ndjson",
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
}
IN_MEMORY = 8_000_000  # bytes; beyond them a temporary file is used
ROWS = 5000  # of a Parquet row group
CHUNK = 1 << 16
FORMULA = re.compile(r"(^|[;,\t\r\n|])([\s\"']*[=+\-@\t\r])")  # also after what a spreadsheet may split cells at
NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")


def spooled() -> IO[bytes]:
    """A file that nobody else sees and that is gone when it is closed."""
    return tempfile.SpooledTemporaryFile(IN_MEMORY)


def chunks(file: IO[bytes]) -> Iterator[bytes]:
    """The file from its beginning, piece by piece; closed at the end."""
    with file:
        file.seek(0)
        while piece := file.read(CHUNK):
            yield piece


def write(export: Export, format_: Format, file: IO[bytes]) -> None:
    """All rows into the file."""
    WRITERS[format_](export, file)


def _json(export: Export, file: IO[bytes]) -> None:
    for number, line in enumerate(_lines(export)):
        file.write((b"[" if number == 0 else b",\n") + line)
    file.write(b"]\n" if file.tell() else b"[]\n")


def _jsonl(export: Export, file: IO[bytes]) -> None:
    for line in _lines(export):
        file.write(line + b"\n")


def _lines(export: Export) -> Iterator[bytes]:
    names = list(export.columns)
    for row in export.rows:
        yield json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False, allow_nan=False).encode()


def _csv(export: Export, file: IO[bytes]) -> None:
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text)
    writer.writerow([inert(name) for name in export.columns])
    for row in export.rows:
        writer.writerow([inert(cell) if isinstance(cell, str) else cell for cell in row])
    text.detach()


def inert(cell: str) -> str:
    """The text, with an apostrophe wherever a spreadsheet would take what follows for a formula. A number is none.

    A file with commas that is opened where semicolons divide cells is split at those: each part is made inert.

    >>> inert("=1+1"), inert("cat"), inert("-1"), inert("-1+2"), inert("x;=1+1")
    ("'=1+1", 'cat', '-1', "'-1+2", "x;'=1+1")
    """
    return cell if NUMBER.fullmatch(cell) else FORMULA.sub(lambda found: f"{found[1]}'{found[2]}", cell)


def _parquet(export: Export, file: IO[bytes]) -> None:
    types: dict[Kind, Any] = {"text": pa.string(), "float": pa.float64(), "int": pa.int64(), "bool": pa.bool_()}
    schema = pa.schema([(name, types[kind]) for name, kind in export.columns.items()])
    with pq.ParquetWriter(file, schema) as writer:
        while rows := list(islice(export.rows, ROWS)):
            writer.write_batch(_batch(rows, schema))


def _batch(rows: list[tuple[Cell, ...]], schema: Any) -> Any:  # noqa: ANN401
    columns = [pa.array(column, type=field.type) for column, field in zip(zip(*rows, strict=True), schema, strict=True)]
    return pa.record_batch(columns, schema=schema)


WRITERS: dict[Format, Callable[[Export, IO[bytes]], None]] = {
    "json": _json,
    "jsonl": _jsonl,
    "csv": _csv,
    "parquet": _parquet,
}
