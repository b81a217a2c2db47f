"""CSV, TSV and other delimited text -> `Opened`. Encoding, delimiter and header are detected from the first bytes.

PyArrow reports rows with too many or too few cells while it parses, not in step with the good rows; so the row numbers
of the good rows are computed from how many good rows come before each bad one.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any
from weakref import finalize

import numpy as np

from quorate.arrow import TEXT, arrow_csv, pa
from quorate.errors import InvalidInput
from quorate.tables.readers.sources import Opened, TableBatch, unique_columns
from quorate.tables.readers.unpacked import Counted, encoding_of, packing
from quorate.tables.rules import Fired, fired
from quorate.types import IntArray
from quorate.validate import invalid

BLOCK_BYTES = 8 << 20  # text read at a time
MOST_RAGGED = 100_000  # rows with too many or too few cells that are listed; all are counted
HEAD_BYTES = 1 << 20  # the header must end within these
DELIMITERS = (",", "\t", ";", "|")
MOST_RECORDS = 30  # looked at to choose the delimiter
LONGEST_WAIT = 1.0  # seconds, for PyArrow's thread to end
SHOWN = 200  # characters of a row


def open_delimited(file: Path, encoding: str | None = None) -> Opened:
    """Open a text table, packed or not; `encoding` None: UTF-8, or what a byte-order mark says."""
    try:
        with pa.input_stream(str(file)) as stream:  # unpacks .gz and the like
            first = stream.read(HEAD_BYTES)
    except OSError as cause:
        raise invalid(
            "source", str(file), f"a file that can be read ({cause})", "save or compress it again."
        ) from cause
    sniffed = sniff(first, is_cut=len(first) == HEAD_BYTES, encoding=encoding)
    if not sniffed.columns:
        rule = f"a header in the first line, which is empty or beyond {HEAD_BYTES} bytes"
        raise invalid("source", str(file), rule, "put the header first.")
    names = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars"}
    return Opened(
        name=file.name,
        kind="csv",
        columns=unique_columns(sniffed.columns, file.name),
        read=partial(_read_text, file, sniffed),
        decisions=(f"{file.name}: {sniffed.encoding} text, columns separated by {names[sniffed.delimiter]}",),
    )


def _read_text(file: Path, found: Sniffed, columns: Sequence[str] | None) -> Iterator[TableBatch]:
    ragged = Ragged(file.name, MOST_RAGGED)
    total = file.stat().st_size
    bad_row, released = ragged.keep_apart, Event()
    finalize(bad_row, released.set)
    try:
        with pa.OSFile(str(file)) as raw, pa.input_stream(raw, compression=packing(file)) as stream:
            counted = Counted(stream, file) if packing(file) else stream
            for chunk in _csv_reader(counted, found, columns, bad_row):
                rows = ragged.row_numbers(chunk.num_rows)
                yield TableBatch(pa.Table.from_batches([chunk]), rows, raw.tell(), total, ragged.entries())
    except InvalidInput:
        raise
    except (pa.ArrowInvalid, OSError) as cause:
        raise invalid(
            "source", str(file), f"{found.encoding} text ({cause})", "name its `encoding`, or save it in UTF-8."
        ) from cause
    finally:  # PyArrow's thread may drop the callback last, which aborts the process if Python is already ending
        del bad_row
        released.wait(LONGEST_WAIT)
    if last := ragged.entries():
        yield _empty(columns or found.columns, total, last)


def _csv_reader(
    stream: pa.NativeFile | Counted,
    found: Sniffed,
    columns: Sequence[str] | None,
    bad_row: Callable[[arrow_csv.InvalidRow], str],
) -> arrow_csv.CSVStreamingReader:
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


def _empty(columns: Sequence[str], total: int, entries: tuple[Any, ...]) -> TableBatch:
    table = pa.table({name: pa.array([], type=TEXT) for name in columns})
    return TableBatch(table, np.empty(0, dtype=np.int64), total, total, entries)


@dataclass(frozen=True, slots=True)
class Sniffed:
    """What was detected from the head of a text table; `columns`: the header's names, in order."""

    encoding: str
    has_mark: bool
    delimiter: str
    columns: tuple[str, ...]


def sniff(head: bytes, *, is_cut: bool = False, encoding: str | None = None) -> Sniffed:
    """Detect encoding, delimiter and header from the first bytes; if there are more (`is_cut`), drop the last line.

    `encoding`, if given, is used unless there is a byte-order mark.

    >>> sniff("task;worker;label\\n1;ann;cat\\n".encode("utf-8-sig"))
    Sniffed(encoding='utf-8', has_mark=True, delimiter=';', columns=('task', 'worker', 'label'))
    """
    guess, has_mark = encoding_of(head)
    encoding = guess if has_mark or encoding is None else encoding
    lines = head.decode(encoding, errors="replace").removeprefix("\ufeff").splitlines(keepends=True)
    whole = lines[:-1] if is_cut else lines
    parsed = {sign: _records(whole, sign) for sign in DELIMITERS}
    best = max(DELIMITERS, key=lambda sign: _score(parsed[sign]))
    header = parsed[best][0] if parsed[best] else []
    return Sniffed(encoding, has_mark, best, tuple(header))


def _records(lines: list[str], delimiter: str) -> list[list[str]]:
    records: list[list[str]] = []
    try:
        for record in csv.reader(lines, delimiter=delimiter):
            records.append(record)
            if len(records) == MOST_RECORDS:
                break
    except csv.Error:  # a field beyond csv's limit: what was read before it is enough
        pass
    return records


def _score(records: list[list[str]]) -> tuple[float, int]:
    """The share of records with as many cells as the header, then the number of these cells."""
    if not records or len(records[0]) < 2:
        return (0.0, 0)
    filled = [record for record in records if record]
    alike = sum(len(record) == len(records[0]) for record in filled)
    return (alike / len(filled), len(records[0]))


class Ragged:
    """The bad rows of one file and the row numbers of its good ones; the header is row 1."""

    def __init__(self, source: str, most: int) -> None:
        self._source, self._left = source, most
        self._num_bad = self._num_passed = self._num_good = self._unlisted = 0
        self._runs: list[list[int]] = []  # [good rows before it, length] of each run of bad rows ahead
        self._rows: list[int] = []  # to be listed in the next entry
        self._texts: list[str] = []

    def keep_apart(self, row: arrow_csv.InvalidRow) -> str:
        """PyArrow's callback for a bad row: record it and skip it."""
        good_before = row.number - 2 - self._num_bad
        self._num_bad += 1
        if self._runs and self._runs[-1][0] == good_before:
            self._runs[-1][1] += 1
        else:
            self._runs.append([good_before, 1])
        if self._left:
            self._left -= 1
            self._rows.append(row.number)
            self._texts.append(f"{row.actual_columns} cells, not {row.expected_columns}: {row.text[:SHOWN]}")
        else:
            self._unlisted += 1
        return "skip"

    def row_numbers(self, length: int) -> IntArray:
        """The numbers of the next `length` good rows among all rows."""
        good = np.arange(self._num_good, self._num_good + length, dtype=np.int64)
        starts, lengths = np.array(self._runs, dtype=np.int64).reshape(-1, 2).T
        before = np.append(0, np.cumsum(lengths))  # bad rows before each run
        numbers: IntArray = good + 2 + self._num_passed + before[np.searchsorted(starts, good, side="right")]
        self._num_good += length
        passed = int(np.searchsorted(starts, self._num_good, side="left"))
        self._num_passed += int(before[passed])
        del self._runs[:passed]
        return numbers

    def entries(self) -> tuple[Fired, ...]:
        """The entry for the bad rows since the last call, if there were any."""
        count = len(self._rows) + self._unlisted
        if not count:
            return ()
        entry = fired("unreadable", self._source, self._rows, count=count, values=self._texts)
        self._rows, self._texts, self._unlisted = [], [], 0
        return (entry,)
