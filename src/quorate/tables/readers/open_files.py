"""Files -> `Opened` tables: the ending of the name decides which reader opens them.

Called by `votes` and `predictions`. Cells are read as text (ids keep their zeros), in blocks; nothing is unpickled.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from quorate.arrow import pa, pq
from quorate.errors import NotFound
from quorate.packed_files import VOTE_BYTES, check_size, parquet_batches
from quorate.tables.readers.delimited import open_delimited
from quorate.tables.readers.json_files import first_records, is_lines, json_text, records
from quorate.tables.readers.sheets import open_sheet, sheet_of
from quorate.tables.readers.sources import Opened, Reader, TableBatch, text_batches, unique_columns
from quorate.tables.readers.unpacked import PACKINGS
from quorate.validate import invalid

_TEXT_ENDINGS = (".csv", ".tsv", ".tab", ".txt")


def open_file(path: str | Path, encoding: str | None = None) -> Opened:
    """A table of named columns, chosen by the ending of the file's name. `encoding` of delimited text; None: found."""
    file = existing(path)
    ending = ending_of(file)
    openers: dict[str, Callable[[Path], Opened]] = {
        **dict.fromkeys(_TEXT_ENDINGS, partial(open_delimited, encoding=_known(encoding))),
        **dict.fromkeys((".jsonl", ".ndjson", ".json"), _open_json),
        **dict.fromkeys((".parquet", ".pq"), _open_parquet),
        **dict.fromkeys((".xlsx", ".xlsm"), open_sheet),
    }
    if ending not in openers:
        raise invalid(
            "source", str(path), f"a file that ends in one of {sorted(openers)}", "save it as CSV or Parquet."
        )
    opened = openers[ending](file)
    is_packed = file.suffix.lower() in PACKINGS or opened.kind in ("parquet", "xlsx")
    return replace(opened, read=partial(_counted, file, opened.read)) if is_packed else opened


def _counted(file: Path, read: Reader, columns: Sequence[str] | None) -> Iterator[TableBatch]:
    """The batches of a compressed file, limited by their size in memory: short rows need more as votes than as text."""
    num_rows = 0
    for batch in read(columns):
        num_rows += batch.table.num_rows
        check_size(sheet_of(file)[0], VOTE_BYTES * num_rows)
        yield batch


def existing(path: str | Path) -> Path:
    """The path, checked: the file exists and is not empty. `book.xlsx#sheet` keeps the name of its sheet."""
    file, sheet = sheet_of(Path(path))
    if not file.is_file():
        raise invalid("source", str(path), "a file that exists", "check its name and folder.", error=NotFound)
    if file.stat().st_size == 0:
        raise invalid("source", str(path), "a header and rows; the file is empty", "export it again.")
    return file if sheet is None else Path(path)


def ending_of(file: Path) -> str:
    """The ending that decides the format: .csv for .csv.gz, .xlsx for book.xlsx#sheet."""
    file, _ = sheet_of(file)
    suffixes = [suffix.lower() for suffix in file.suffixes]
    return suffixes[-2] if len(suffixes) > 1 and suffixes[-1] in PACKINGS else suffixes[-1] if suffixes else ""


def _known(encoding: str | None) -> str | None:
    """The encoding, if Python knows it."""
    try:
        return None if encoding is None else codecs.lookup(encoding).name
    except LookupError as cause:
        raise invalid("encoding", encoding, "the name of an encoding", "pass utf-8, latin-1, cp1252, ...") from cause


def _open_parquet(file: Path) -> Opened:
    try:
        columns = pq.read_schema(file).names
    except (pa.ArrowInvalid, OSError) as cause:
        raise invalid("source", str(file), f"a Parquet file ({cause})", "save it again.") from cause
    return Opened(file.name, "parquet", unique_columns(columns, file.name), partial(_read_parquet, file))


def _read_parquet(file: Path, columns: Sequence[str] | None) -> Iterator[TableBatch]:
    done, total = 0, pq.read_metadata(file).num_rows
    for chunk in parquet_batches(file, columns):
        rows = np.arange(done, done + chunk.num_rows, dtype=np.int64) + 1
        done += chunk.num_rows
        yield TableBatch(pa.Table.from_batches([chunk]), rows, done, total)


def _open_json(file: Path) -> Opened:
    first = first_records(file)
    columns = tuple(dict.fromkeys(key for record in first for key in record))
    if not columns:
        raise invalid("source", str(file), "a JSON object in each record; the first have none", "export it again.")
    kind = "jsonl" if is_lines(file) else "json"
    return Opened(file.name, kind, columns, partial(_read_json, file, columns))


def _read_json(file: Path, every: Sequence[str], columns: Sequence[str] | None) -> Iterator[TableBatch]:
    wanted = list(columns if columns is not None else every)
    rows = (
        (number, None if record is None else [json_text(record.get(name)) for name in wanted], done)
        for number, record, done in records(file)
    )
    return text_batches(file.name, wanted, rows, file.stat().st_size)
