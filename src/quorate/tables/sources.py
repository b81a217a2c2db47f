"""What every opened source looks like to the readers: named columns, read in batches of bounded size.

Made by `open_files` and `frames`; used by the readers of votes and predictions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from quorate.errors import InvalidInput
from quorate.tables.arrow import pa
from quorate.tables.rules import Entry
from quorate.types import IntArray

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Some rows: an Arrow `table`, their numbers in the source, and how far reading is (`done` of `total`)."""

    table: Any
    rows: IntArray
    done: int
    total: int
    entries: tuple[Entry, ...] = ()


Reader = Callable[[Sequence[str] | None], Iterator[Batch]]


@dataclass(frozen=True, slots=True, eq=False)
class Opened:
    """A source with named columns. `read(columns)` gives its batches; None reads every column.

    `kind` "csv", "jsonl", "json", "parquet", "xlsx" or "frame"; `backend` the library a frame came from; `advice` what
    an error about missing columns should add: which other sheets there are.
    """

    name: str
    kind: str
    columns: tuple[str, ...]
    read: Reader
    decisions: tuple[str, ...] = ()
    entries: tuple[Entry, ...] = ()
    backend: str = "pyarrow"
    advice: str = ""


def head(opened: Opened) -> Any:  # noqa: ANN401
    """The first batch with every column, to see what is in it; an empty table if there are no rows."""
    for batch in opened.read(None):
        return batch.table
    return pa.table({name: pa.array([], type=pa.string()) for name in opened.columns})


def batches(opened: Opened, columns: Sequence[str] | None, progress: Progress | None) -> Iterator[Batch]:
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
        raise InvalidInput(f"{name} has several columns called {twice[0]!r}; expected each once; rename them.")
    return tuple(columns)
