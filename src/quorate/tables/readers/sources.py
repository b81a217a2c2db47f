"""What every opened source looks like to the readers: named columns, read in batches of bounded size.

Made by `open_files` and `frames`; used by the readers of votes and predictions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from quorate.tables.readers.arrow import pa
from quorate.tables.rules import Fired, fired
from quorate.types import IntArray
from quorate.validate import broken

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True, eq=False)
class TableBatch:
    """Some rows: an Arrow `table`, their numbers in the source, and how far reading is (`done` of `total`)."""

    table: pa.Table
    rows: IntArray
    done: int
    total: int
    entries: tuple[Fired, ...] = ()


Reader = Callable[[Sequence[str] | None], Iterator[TableBatch]]


@dataclass(frozen=True, slots=True, eq=False)
class Opened:
    """A source with named columns. `read(columns)` gives its batches; None reads every column.

    `kind` "csv", "jsonl", "json", "parquet", "xlsx" or "frame"; `backend` the library a frame came from; `advice` what
    an error about missing columns should add: which other sheets there are. Of a frame: `frame` the whole Arrow table,
    `headers` its own names of the columns where these are no text, `headed` what a pivot or a crosstab calls them all.
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
    headers: Mapping[str, Any] = field(default_factory=dict)
    headed: str = ""


def without_columns(opened: Opened, names: str | Sequence[str] | None) -> Opened:
    """The table without the columns that the caller said to ignore, which are counted as such."""
    if names is None:
        return opened
    listed = [names] if isinstance(names, str) and names in opened.columns else names
    parts = [part.strip() for part in listed.split(",")] if isinstance(listed, str) else list(listed)
    for name in parts:
        if name not in opened.columns:
            fix = f"name columns of {opened.name}{opened.advice}."
            raise broken("ignore_columns", name, f"some of {list(opened.columns)[:30]}", fix)
    kept = tuple(name for name in opened.columns if name not in parts)

    def read(columns: Sequence[str] | None) -> Iterator[TableBatch]:
        return opened.read(list(kept if columns is None else columns))

    told = fired("ignored-column", opened.name, [0] * min(len(parts), 5), count=len(parts), values=parts[:5])
    return replace(opened, columns=kept, read=read, entries=(*opened.entries, told))


def head(opened: Opened) -> pa.Table:
    """The first batch with every column, to see what is in it; an empty table if there are no rows."""
    for batch in opened.read(None):
        return batch.table
    return pa.table({name: pa.array([], type=pa.string()) for name in opened.columns})


def batches(opened: Opened, columns: Sequence[str] | None, progress: Progress | None) -> Iterator[TableBatch]:
    """The batches, with progress told after each, and once at the end."""
    total = 0
    what = f"reading {opened.name}"
    for batch in opened.read(columns):
        total = batch.total
        yield batch
        if progress is not None:
            progress(min(batch.done, total), total, what)
    if progress is not None:
        progress(total, total, what)


def unique_columns(columns: Sequence[str], name: str) -> tuple[str, ...]:
    """The columns, if no name is there twice."""
    twice = sorted({column for column in columns if columns.count(column) > 1})
    if twice:
        raise broken("columns", twice, f"each name once in {name}", "rename the columns; 1 and '1' are the same name.")
    return tuple(columns)
