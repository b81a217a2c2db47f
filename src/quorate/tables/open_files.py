"""Files -> `Opened` tables: CSV, TSV and other delimited text, JSONL, JSON arrays, Parquet, Excel sheets; and arrays.

Text is read as text (ids keep their zeros), in blocks; nothing is ever unpickled. Called by `votes` and `predictions`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from quorate.errors import InvalidInput
from quorate.parquet import parquet_batches
from quorate.tables import json_records
from quorate.tables.arrow import TEXT, Counted, arrow_csv, pa, pq
from quorate.tables.rules import fired
from quorate.tables.sheets import open_sheet, sheet_of
from quorate.tables.sniff import Sniffed, sniff
from quorate.tables.sources import Batch, Opened, unique_columns

BLOCK_BYTES = 8 << 20  # text read at a time
BLOCK_ROWS = 1 << 17  # rows of JSON read at a time
HEAD_BYTES = 1 << 20  # the header must end within these
_TEXT_ENDINGS = (".csv", ".tsv", ".tab", ".txt")
_PACKED = (".gz", ".bz2", ".zst")


def open_file(path: str | Path) -> Opened:
    """A table of named columns, chosen by the ending of the file's name."""
    file = existing(path)
    ending = ending_of(file)
    openers: dict[str, Callable[[Path], Opened]] = {
        **dict.fromkeys(_TEXT_ENDINGS, _open_text),
        **dict.fromkeys((".jsonl", ".ndjson", ".json"), _open_json),
        **dict.fromkeys((".parquet", ".pq"), _open_parquet),
        **dict.fromkeys((".xlsx", ".xlsm"), open_sheet),
    }
    if ending not in openers:
        raise InvalidInput(
            f"source={str(path)!r} ends in {ending!r}; expected one of {sorted(openers)}. Save it as CSV or Parquet."
        )
    return openers[ending](file)


def existing(path: str | Path) -> Path:
    """The path, if a file with something in it is there; `book.xlsx#sheet` keeps the name of its sheet."""
    file, sheet = sheet_of(Path(path))
    if not file.is_file():
        raise InvalidInput(f"source={str(path)!r} is not a file; name one that exists.")
    if file.stat().st_size == 0:
        raise InvalidInput(f"source={str(path)!r} is empty; expected a header and rows. Export it again.")
    return file if sheet is None else Path(path)


def ending_of(file: Path) -> str:
    """The ending that says the format; .csv.gz is .csv, book.xlsx#sheet is .xlsx."""
    file, _ = sheet_of(file)
    suffixes = [suffix.lower() for suffix in file.suffixes]
    return suffixes[-2] if len(suffixes) > 1 and suffixes[-1] in _PACKED else suffixes[-1] if suffixes else ""


def _open_text(file: Path) -> Opened:
    try:
        with pa.input_stream(str(file)) as stream:  # unpacks .gz and the like
            first = stream.read(HEAD_BYTES)
    except OSError as cause:
        raise InvalidInput(f"source={str(file)!r} cannot be read: {cause}; save or pack it again.") from cause
    found = sniff(first, is_cut=len(first) == HEAD_BYTES)
    if not found.columns:
        raise InvalidInput(
            f"source={str(file)!r} begins with an empty line, or one beyond {HEAD_BYTES} bytes; expected a header; "
            "put it first."
        )
    names = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars"}
    entries = (fired("byte-order-mark", file.name, count=1),) if found.has_mark else ()
    return Opened(
        name=file.name,
        kind="csv",
        columns=unique_columns(found.columns, file.name),
        read=partial(_read_text, file, found),
        decisions=(f"{file.name}: {found.encoding} text, columns parted by {names[found.delimiter]}",),
        entries=entries,
    )


def _read_text(file: Path, found: Sniffed, columns: Sequence[str] | None) -> Iterator[Batch]:
    bad: list[Any] = []  # rows PyArrow could not part into cells; filled as it parses

    def keep_apart(row: Any) -> str:  # noqa: ANN401
        bad.append(row)
        return "skip"

    total = file.stat().st_size
    good = told = 0
    try:
        with pa.OSFile(str(file)) as raw, pa.input_stream(raw, compression=_packing(file)) as stream:
            counted = Counted(stream, file) if _packing(file) else stream
            for chunk in _csv_reader(counted, found, columns, keep_apart):
                rows = _row_numbers(good, chunk.num_rows, [row.number for row in bad])
                new, told = bad[told:], len(bad)
                yield Batch(pa.Table.from_batches([chunk]), rows, raw.tell(), total, _ragged(file.name, new))
                good += chunk.num_rows
    except InvalidInput:
        raise
    except (pa.ArrowInvalid, OSError) as cause:
        raise InvalidInput(
            f"source={str(file)!r} cannot be read as {found.encoding} text: {cause}. Save it as CSV in UTF-8."
        ) from cause
    if len(bad) > told:
        yield _empty(columns or found.columns, total, _ragged(file.name, bad[told:]))


def _csv_reader(stream: Any, found: Sniffed, columns: Sequence[str] | None, bad_row: Any) -> Any:  # noqa: ANN401
    return arrow_csv.open_csv(
        stream,
        read_options=arrow_csv.ReadOptions(use_threads=False, block_size=BLOCK_BYTES, encoding=found.encoding),
        parse_options=arrow_csv.ParseOptions(
            delimiter=found.delimiter, newlines_in_values=True, ignore_empty_lines=False, invalid_row_handler=bad_row
        ),
        convert_options=arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(found.columns, pa.string()),
            include_columns=list(columns) if columns is not None else None,
            strings_can_be_null=False,
        ),
    )


def _packing(file: Path) -> str | None:
    return {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}.get(file.suffix.lower())


def _row_numbers(good: int, length: int, bad: Sequence[int]) -> Any:  # noqa: ANN401
    """Numbers of the rows `good`, good + 1, ... among all rows, where the header is 1 and `bad` rows are left out."""
    rows = np.arange(good, good + length, dtype=np.int64) + 2
    if bad:  # the i-th bad row stands before every good row whose number without bad rows is at least bad[i] - i
        thresholds = np.asarray(bad, dtype=np.int64) - np.arange(len(bad))
        rows += np.searchsorted(thresholds, rows, side="right")
    return rows


def _ragged(name: str, bad: Sequence[Any]) -> tuple[Any, ...]:
    if not bad:
        return ()
    texts = [f"{row.actual_columns} cells, not {row.expected_columns}: {row.text[:200]}" for row in bad]
    return (fired("ragged-row", name, [row.number for row in bad], values=texts),)


def _empty(columns: Sequence[str], total: int, entries: tuple[Any, ...]) -> Batch:
    table = pa.table({name: pa.array([], type=TEXT) for name in columns})
    return Batch(table, np.empty(0, dtype=np.int64), total, total, entries)


def _open_parquet(file: Path) -> Opened:
    try:
        columns = pq.read_schema(file).names
    except (pa.ArrowInvalid, OSError) as cause:
        raise InvalidInput(f"source={str(file)!r} is not a Parquet file: {cause}; save it again.") from cause
    return Opened(file.name, "parquet", unique_columns(columns, file.name), partial(_read_parquet, file))


def _read_parquet(file: Path, columns: Sequence[str] | None) -> Iterator[Batch]:
    done, total = 0, pq.read_metadata(file).num_rows
    for chunk in parquet_batches(file, columns):
        rows = np.arange(done, done + chunk.num_rows, dtype=np.int64) + 1
        done += chunk.num_rows
        yield Batch(pa.Table.from_batches([chunk]), rows, done, total)


def _open_json(file: Path) -> Opened:
    first = json_records.first_records(file)
    columns = tuple(dict.fromkeys(key for record in first for key in record))
    if not columns:
        raise InvalidInput(f"source={str(file)!r} has no JSON object in its first records; expected one per vote.")
    entries = (fired("byte-order-mark", file.name, count=1),) if json_records.has_mark(file) else ()
    kind = "jsonl" if json_records.is_lines(file) else "json"
    return Opened(file.name, kind, columns, partial(_read_json, file, columns), entries=entries)


def _read_json(file: Path, every: Sequence[str], columns: Sequence[str] | None) -> Iterator[Batch]:
    wanted = list(columns if columns is not None else every)
    total = file.stat().st_size
    cells: list[list[str | None]] = []
    rows: list[int] = []
    bad: list[int] = []
    for number, record, done in json_records.records(file):
        if record is None:
            bad.append(number)
            continue
        cells.append([json_records.plain(record.get(name)) for name in wanted])
        rows.append(number)
        if len(rows) >= BLOCK_ROWS:
            yield _json_batch(file.name, wanted, cells, rows, bad, done, total)
            cells, rows, bad = [], [], []
    if rows or bad:
        yield _json_batch(file.name, wanted, cells, rows, bad, total, total)


def _json_batch(
    name: str, wanted: list[str], cells: list[list[str | None]], rows: list[int], bad: list[int], done: int, total: int
) -> Batch:
    by_column = list(zip(*cells, strict=True)) or [()] * len(wanted)
    table = pa.table({each: pa.array(column, type=TEXT) for each, column in zip(wanted, by_column, strict=True)})
    entries = (fired("bad-line", name, bad),) if bad else ()
    return Batch(table, np.asarray(rows, dtype=np.int64), done, total, entries)
