"""Files -> `Opened` tables: CSV, TSV and other delimited text, JSONL, JSON arrays, Parquet, Excel sheets; and arrays.

Called by `votes` and `predictions`. Cells are read as text (ids keep their zeros), in blocks; nothing is ever
unpickled. Encoding, delimiter and header of delimited text are detected from the first bytes. PyArrow reports rows with
too many or too few cells while it parses, not in step with the good rows; so the row numbers of the good rows are
computed from how many good rows come before each bad one. Of an Excel workbook the first sheet is read, or the one
named after a #; that needs openpyxl, which the extra `tables` installs.
"""

from __future__ import annotations

import codecs
import csv
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

import numpy as np

from quorate.arrow import INSTALL, TEXT, arrow_csv, pa, pq
from quorate.errors import InvalidInput, MissingExtra
from quorate.packed_files import VOTE_BYTES, check_size, parquet_batches
from quorate.tables.readers.json_files import first_records, is_lines, json_text, records
from quorate.tables.readers.sources import Opened, Reader, TableBatch, text_batches, text_size, unique_columns
from quorate.tables.readers.unpacked import PACKINGS, Counted, encoding_of, packing
from quorate.tables.rules import Fired, fired
from quorate.tables.votes.names import cell_text
from quorate.types import IntArray
from quorate.validate import invalid

BLOCK_BYTES = 8 << 20  # text read at a time
MOST_RAGGED = 100_000  # rows with too many or too few cells that are listed; all are counted
HEAD_BYTES = 1 << 20  # the header must end within these
_TEXT_ENDINGS = (".csv", ".tsv", ".tab", ".txt")


def open_file(path: str | Path, encoding: str | None = None) -> Opened:
    """A table of named columns, chosen by the ending of the file's name. `encoding` of delimited text; None: found."""
    file = existing(path)
    ending = ending_of(file)
    openers: dict[str, Callable[[Path], Opened]] = {
        **dict.fromkeys(_TEXT_ENDINGS, partial(_open_text, encoding=_known(encoding))),
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
        raise invalid("source", str(path), "a file that exists", "check its name and folder.")
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


def _open_text(file: Path, encoding: str | None = None) -> Opened:
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
    try:
        with pa.OSFile(str(file)) as raw, pa.input_stream(raw, compression=packing(file)) as stream:
            counted = Counted(stream, file) if packing(file) else stream
            for chunk in _csv_reader(counted, found, columns, ragged.keep_apart):
                rows = ragged.row_numbers(chunk.num_rows)
                yield TableBatch(pa.Table.from_batches([chunk]), rows, raw.tell(), total, ragged.entries())
    except InvalidInput:
        raise
    except (pa.ArrowInvalid, OSError) as cause:
        raise invalid(
            "source", str(file), f"{found.encoding} text ({cause})", "name its `encoding`, or save it in UTF-8."
        ) from cause
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


DELIMITERS = (",", "\t", ";", "|")
MOST_RECORDS = 30  # looked at to choose the delimiter


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


SHOWN = 200  # characters of a row


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


XML_IN_MEMORY = 5  # bytes that a byte of a workbook's XML takes while it is read
MOST_NAMED = 10  # sheets in a message


def sheet_of(path: Path) -> tuple[Path, str | None]:
    """A workbook and the sheet named after a #, or None; if a file has exactly this name, the # is part of the name.

    >>> book, sheet = sheet_of(Path("book.xlsx#probs"))
    >>> book.name, sheet, sheet_of(Path("votes#2.xlsx"))[1]
    ('book.xlsx', 'probs', None)
    """
    parts = re.fullmatch(r"(.+\.xls[xm])#(.+)", path.name, flags=re.IGNORECASE)
    if parts is None or path.is_file():
        return path, None
    return path.with_name(parts[1]), parts[2]


def open_sheet(path: Path) -> Opened:
    """Open the first sheet of a workbook, or that of `book.xlsx#sheet`; the report names the sheets not read."""
    file, sheet = sheet_of(path)
    rows = _rows(file, sheet)
    header = next(rows, ())
    titles = next(rows, ())  # the names of the sheets come second
    columns = [cell_text(cell) or "" for cell in header]
    while columns and not columns[-1]:
        columns.pop()
    read = titles[0] if sheet is None else sheet
    others = [title for title in titles if title != read]
    if not columns:
        rule = f"a header in the first row of the sheet {read!r}, which is empty"
        raise invalid("source", str(path), rule, f"put the header first{_instead(file, others)}.")
    more = f"; not read: {', '.join(map(repr, others[:MOST_NAMED]))}{' ...' if others[MOST_NAMED:] else ''}"
    return Opened(
        name=path.name,
        kind="xlsx",
        columns=unique_columns(columns, path.name),
        read=partial(_read, file, sheet, tuple(columns)),
        decisions=(f"{path.name}: sheet {read!r}{more if others else ''}",),
        advice=_instead(file, others),
    )


def _instead(file: Path, others: Sequence[str]) -> str:
    """Which other sheets there are, and how to name one."""
    if not others:
        return ""
    return f"; other sheets are {list(others[:MOST_NAMED])}: to read one, name it: {file.name}#{others[0]}"


def _rows(file: Path, sheet: str | None) -> Iterator[tuple[Any, ...]]:
    """The header, the titles of the sheets, then the rows."""
    try:
        import openpyxl  # noqa: PLC0415
    except ImportError as cause:  # pragma: no cover - the tests have it
        raise MissingExtra(f"Excel sheets are read with openpyxl, which is not installed: {INSTALL}") from cause
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # openpyxl warns about lost styles and validations, not about data
        try:
            with ZipFile(file) as archive:
                check_size(file, XML_IN_MEMORY * sum(part.file_size for part in archive.infolist()))
            book = openpyxl.load_workbook(file, read_only=True, data_only=True)
        except InvalidInput:
            raise
        except (BadZipFile, KeyError, ValueError, OSError) as cause:
            raise invalid("source", str(file), f"an Excel workbook ({cause})", "save it as .xlsx.") from cause
        try:
            titles = tuple(sheet_read.title for sheet_read in book.worksheets)
            if sheet is not None and sheet not in titles:
                rule = f"one of the sheets {list(titles[:MOST_NAMED])} after the #"
                raise invalid("source", f"{file}#{sheet}", rule, "name one of them.")
            rows = book.worksheets[0 if sheet is None else titles.index(sheet)].iter_rows(values_only=True)
            yield next(rows, ())
            yield titles
            yield from rows
        finally:
            book.close()


def _read(file: Path, sheet: str | None, every: tuple[str, ...], columns: Sequence[str] | None) -> Iterator[TableBatch]:
    wanted = list(columns if columns is not None else every)
    places = [every.index(name) for name in wanted]
    return text_batches(file.name, wanted, _numbered(file, sheet, places))


def _numbered(file: Path, sheet: str | None, places: Sequence[int]) -> Iterator[tuple[int, list[str | None], int]]:
    """The rows below the header as text; an error once they take more memory than the limit for a file."""
    num_bytes = 0
    for number, row in enumerate(islice(_rows(file, sheet), 2, None), start=2):
        cells = [cell_text(row[at]) if at < len(row) else None for at in places]
        num_bytes += text_size(cells)  # a shared string counts in every cell
        check_size(file, num_bytes)
        yield number, cells, number
