"""`Opened`: any source as named columns, read in batches of bounded size; and cells as numbers, times, lists, mappings.

Created by `open_files` and `frames`; used by the readers of votes and predictions. Numbers and times may be stored as
text: they become floats and seconds since 1970, NaN where they cannot be read.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import numpy as np

from quorate.arrow import TEXT, pa, pc
from quorate.tables.rules import MOST_SAMPLES, Fired, fired, fired_whole
from quorate.tables.votes.codes import encode
from quorate.types import FloatArray, IntArray, Progress
from quorate.validate import invalid

TEXT_BYTES, TEXT_ROWS, TEXT_CELLS = 1 << 26, 1 << 17, 1 << 22  # of a batch of text; a sheet may be 16384 columns wide
CELL_BYTES = 8  # of a cell besides its text
MOST_PYTHON = 20_000  # characters of a list as Python writes it: reading it takes some hundred bytes for each
_MICRO, _UTC = pa.timestamp("us"), pa.timestamp("us", tz="UTC")


@dataclass(frozen=True, slots=True, eq=False)
class TableBatch:
    """Some rows: an Arrow `table`, their row numbers in the source, and the progress (`done` of `total`)."""

    table: pa.Table
    rows: IntArray
    done: int
    total: int
    entries: tuple[Fired, ...] = ()


Reader = Callable[[Sequence[str] | None], Iterator[TableBatch]]


@dataclass(frozen=True, slots=True, eq=False)
class Opened:
    """A source with named columns. `read(columns)` yields its batches; None reads every column.

    `kind` "csv", "jsonl", "json", "parquet", "xlsx" or "frame"; `backend` the library of a frame; `advice` what an
    error about missing columns should add: the other sheets. For a frame: `frame` the whole Arrow table, `headers` the
    original column names that are not text, `headed` the title of the columns in a pivot or crosstab.
    """

    name: str
    kind: str
    columns: tuple[str, ...]
    read: Reader
    decisions: tuple[str, ...] = ()
    entries: tuple[Fired, ...] = ()
    backend: str = "pyarrow"
    advice: str = ""
    frame: pa.Table | None = None
    headers: Mapping[str, object] = field(default_factory=dict)
    headed: str = ""


def without_columns(opened: Opened, names: str | Sequence[str] | None) -> Opened:
    """The table without the columns to ignore; an entry lists them."""
    if names is None:
        return opened
    listed = [names] if isinstance(names, str) and names in opened.columns else names
    parts = [part.strip() for part in listed.split(",")] if isinstance(listed, str) else list(listed)
    for name in parts:
        if name not in opened.columns:
            fix = f"name columns of {opened.name}{opened.advice}."
            raise invalid("ignore_columns", name, f"some of {list(opened.columns)[:30]}", fix)
    kept = tuple(name for name in opened.columns if name not in parts)

    def read(columns: Sequence[str] | None) -> Iterator[TableBatch]:
        return opened.read(list(kept if columns is None else columns))

    entries = fired_whole("ignored-column", opened.name, parts, of="columns")
    return replace(opened, columns=kept, read=read, entries=(*opened.entries, *entries))


def head(opened: Opened) -> pa.Table:
    """The first batch with every column, to detect what it holds; an empty table if there are no rows."""
    for batch in opened.read(None):
        return batch.table
    return pa.table({name: pa.array([], type=pa.string()) for name in opened.columns})


def batches(opened: Opened, columns: Sequence[str] | None, progress: Progress | None) -> Iterator[TableBatch]:
    """The batches; reports progress after each, and once at the end."""
    total = 0
    what = f"reading {opened.name}"
    for batch in opened.read(columns):
        total = batch.total
        yield batch
        if progress is not None:
            progress(min(batch.done, total), total, what)
    if progress is not None:
        progress(total, total, what)


def text_batches(
    name: str, wanted: Sequence[str], rows: Iterable[tuple[int, list[str | None] | None, int]], total: int | None = None
) -> Iterator[TableBatch]:
    """Rows of text (number, cells or None if the record cannot be read, progress) in batches of bounded size.

    `total`: the progress at the end; None: the progress of the current row.
    """
    cells: list[list[str | None]] = []
    numbers: list[int] = []
    bad: list[int] = []
    size = done = 0

    def batch() -> TableBatch:
        by_column = list(zip(*cells, strict=True)) or [()] * len(wanted)
        table = pa.table({title: pa.array(column, type=TEXT) for title, column in zip(wanted, by_column, strict=True)})
        entries = (fired("unreadable", name, bad),) if bad else ()
        return TableBatch(table, np.asarray(numbers, dtype=np.int64), done, done if total is None else total, entries)

    for number, row, done in rows:  # noqa: B007 - `batch` reads it
        if row is None:
            bad.append(number)
        else:
            cells.append(row)
            numbers.append(number)
            size += text_size(row)
        if size >= TEXT_BYTES or len(numbers) + len(bad) >= min(TEXT_ROWS, TEXT_CELLS // max(1, len(wanted))):
            yield batch()
            cells, numbers, bad, size = [], [], [], 0
    if numbers or bad:
        yield batch()


def text_size(row: Sequence[str | None]) -> int:
    """Approximate size of a row in memory, in bytes."""
    return sum(CELL_BYTES + len(cell or "") for cell in row)


def unique_columns(columns: Sequence[str], name: str) -> tuple[str, ...]:
    """The columns; an error if a name occurs twice."""
    twice = sorted({column for column in columns if columns.count(column) > 1})
    if twice:
        raise invalid("columns", twice, f"each name once in {name}", "rename the columns; 1 and '1' are the same name.")
    return tuple(columns)


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """`values` (n,); `is_blank` (n,) where the cell was empty; `num_commas` cells written with a decimal comma."""

    values: FloatArray
    is_blank: np.ndarray
    num_commas: int


def as_numbers(column: pa.ChunkedArray, *, blank: float) -> Numbers:
    """Every cell as a float; empty cells become `blank`, cells that are not numbers NaN; "0,7" is read as 0.7.

    >>> as_numbers(pa.array(["0.5", "", "x", "0,25"]), blank=0.0).values
    array([0.5 , 0.  ,  nan, 0.25])
    """
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        is_blank = pc.is_null(column).to_numpy(zero_copy_only=False)
        values = pc.cast(column, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        return Numbers(np.where(is_blank, blank, values), np.asarray(is_blank), 0)
    coded = encode(column)
    parsed = [_number(text, blank) for text in coded.names.to_pylist()] + [(blank, True, False)]
    values, blanks, commas = (np.array(part) for part in zip(*parsed, strict=True))
    return Numbers(
        values.astype(np.float64)[coded.codes],
        blanks.astype(bool)[coded.codes],
        int(commas.astype(bool)[coded.codes].sum()),
    )


def _number(text: str | None, blank: float) -> tuple[float, bool, bool]:
    """(value, is blank, was written with a decimal comma)."""
    bare = "" if text is None else text.strip()
    if not bare:
        return blank, True, False
    try:
        return float(bare), False, False
    except ValueError:
        pass
    try:
        return float(bare.replace(",", ".")), False, "," in bare
    except ValueError:
        return np.nan, False, False


def seconds(column: pa.ChunkedArray) -> FloatArray:
    """Times as seconds; text without a time zone is read as UTC.

    >>> seconds(pa.array(["1970-01-01T00:01:00Z", "60", "soon"]))
    array([60., 60., nan])
    """
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_temporal(column.type) and not pa.types.is_time(column.type):
        return _micros(column.cast(_UTC if getattr(column.type, "tz", None) else _MICRO))
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_null(column.type):
        return _scaled(column.cast(pa.float64()).to_numpy(zero_copy_only=False))
    return _from_text(column.cast(TEXT))


def unread(column: pa.ChunkedArray, time: FloatArray) -> tuple[str, ...]:
    """The first few cells that are not blank and whose time could not be read.

    >>> unread(pa.chunked_array([["31/12/2026", "", "60"]]), np.array([np.nan, np.nan, 60.0]))
    ('31/12/2026',)
    """
    if not np.isnan(time).any():
        return ()
    texts = column.filter(pa.array(np.isnan(time))).slice(0, 1000).drop_null().to_pylist()
    return tuple(str(text).strip() for text in texts if str(text).strip())[:MOST_SAMPLES]


def filled(time: FloatArray) -> FloatArray:
    """Times with each missing one replaced by the previous row's; minus infinity before the first.

    >>> filled(np.array([np.nan, 5.0, np.nan]))
    array([-inf,   5.,   5.])
    """
    at = np.maximum.accumulate(np.where(np.isnan(time), -1, np.arange(len(time))))
    return np.where(at < 0, -np.inf, time[np.maximum(at, 0)])


def _micros(stamps: pa.Array) -> FloatArray:
    numbers = pc.cast(stamps, pa.int64()).cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return np.asarray(numbers / 1e6, dtype=np.float64)


def _scaled(numbers: pa.Array) -> FloatArray:
    """Epoch numbers as seconds: 1e11 seconds is the year 5138, so larger numbers have a finer unit."""
    values = np.asarray(numbers, dtype=np.float64)
    size = np.abs(values)
    unit = np.select([size >= 1e17, size >= 1e14, size >= 1e11], [1e9, 1e6, 1e3], 1.0)
    return np.where(np.isfinite(values), values / unit, np.nan)


def _from_text(texts: pa.Array) -> FloatArray:
    trimmed = pc.utf8_trim_whitespace(texts)
    texts = pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, TEXT), trimmed)
    for kind in (_MICRO, _UTC):  # usually all cells have one format: try to cast the whole column
        try:
            return _micros(texts.cast(kind))
        except pa.ArrowInvalid:
            continue
    try:
        return _scaled(texts.cast(pa.float64()).to_numpy(zero_copy_only=False))
    except pa.ArrowInvalid:
        return np.array([_one(text) for text in texts.to_pylist()], dtype=np.float64)


def _one(text: str | None) -> float:
    if text is None:
        return np.nan
    try:
        return float(_scaled(np.array([float(text)]))[0])
    except ValueError:
        pass
    try:
        stamp = datetime.fromisoformat(text)
    except ValueError:
        return np.nan
    return (stamp if stamp.tzinfo else stamp.replace(tzinfo=UTC)).timestamp()


def nested_cell(cell: object, *, bars: bool = False) -> dict[str, object] | list[object] | None:
    """A cell as a list or a mapping; blank: an empty list; None: it is neither. `bars`: "a|b" is a list, and so is "a".

    >>> nested_cell('{"a": 2}'), nested_cell("['a', 'b']"), nested_cell("a|b"), nested_cell("a|b", bars=True)
    ({'a': 2}, ['a', 'b'], None, ['a', 'b'])
    """
    if cell is None or (isinstance(cell, str) and not cell.strip()):
        return []
    if isinstance(cell, str):
        text = cell.strip()
        if text[:1] not in ("[", "{"):
            return [part.strip() or None for part in text.split("|")] if bars else None
        cell = _literal(text)
    if isinstance(cell, dict):  # a struct of Parquet has every key in every row
        return {key: value for key, value in cell.items() if value is not None}
    return cell if isinstance(cell, list) else None


def _literal(text: str) -> object:
    """A list or a mapping as JSON writes it, or as Python and pandas do; None: it is neither."""
    for read in (json.loads, ast.literal_eval)[: 1 if len(text) > MOST_PYTHON else 2]:
        try:
            return read(text)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):  # the last: nested too deeply
            continue
    return None
