"""A table -> pieces of a fixed number of rows, each a small table of its own that knows its row numbers.

So what is computed does not depend on how a file was written, and memory is that of a piece. Called by
`score.predictions` and `score.votes`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from quorate.tables.options import HARD_LABEL_ACCURACY, Format
from quorate.tables.readers.arrow import pa
from quorate.tables.readers.sources import Opened, TableBatch
from quorate.tables.rules import Fired
from quorate.types import IntArray


class Told(Protocol):
    """Who is told what reading found: `add` the rules that fired, `decide` how a table was understood."""

    def add(self, entries: Sequence[Fired]) -> None:
        """Rules that fired."""

    def decide(self, decisions: Sequence[str]) -> None:
        """Sentences about a table."""


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How to read the tables; None: found out. `task` to `timestamp` and `format` are of the votes, `ids` of arrays.

    `accuracy` of hard labels, `abstain` labels that mean no answer, `ignore_columns` of the votes, `as_read` no table
    is doubted.
    """

    id_column: str | None = None
    ids: Sequence[object] | None = None
    task: str | None = None
    worker: str | Sequence[str] | None = None
    label: str | None = None
    timestamp: str | None = None
    format: Format = "auto"
    accuracy: float = HARD_LABEL_ACCURACY
    abstain: tuple[str, ...] = ()
    ignore_columns: str | Sequence[str] | None = None
    as_read: bool = False
    batch_rows: int = 50_000


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Some items: `ids`, and `values` (n, K): probabilities or counts; `done` of `total` of the source is read."""

    ids: list[str]
    values: np.ndarray
    done: int = 0
    total: int = 0


def parts(opened: Opened, batch_rows: int) -> Iterator[tuple[Opened, TableBatch]]:
    """The table in pieces of `batch_rows` rows, each opened as a table of its own that knows its row numbers."""
    first = True
    for batch in _even(opened.read(None), batch_rows):
        entries = (*(opened.entries if first else ()), *batch.entries)
        plain = replace(batch, entries=())
        yield replace(opened, read=reader(plain), entries=entries), batch
        first = False


def reader(batch: TableBatch) -> Callable[[Sequence[str] | None], Iterator[TableBatch]]:
    """What reads one batch, as a source that has no other."""

    def read(columns: Sequence[str] | None) -> Iterator[TableBatch]:
        yield batch if columns is None else replace(batch, table=batch.table.select(list(columns)))

    return read


def _even(batches: Iterator[TableBatch], size: int) -> Iterator[TableBatch]:
    """The same rows, `size` at a time, so that what is computed does not depend on how the file was written."""
    waiting: TableBatch | None = None
    for batch in batches:
        waiting = batch if waiting is None else joined(waiting, batch)
        while waiting.table.num_rows >= size:
            yield sliced(waiting, 0, size)
            waiting = replace(sliced(waiting, size, None), entries=())
    if waiting is not None and (waiting.table.num_rows or waiting.entries):
        yield waiting


def joined(one: TableBatch, two: TableBatch) -> TableBatch:
    """Both, end to end."""
    table = pa.concat_tables([one.table, two.table])
    rows: IntArray = np.concatenate([one.rows, two.rows])
    return TableBatch(table, rows, two.done, two.total, (*one.entries, *two.entries))


def sliced(batch: TableBatch, start: int, end: int | None) -> TableBatch:
    """Some of the rows."""
    length = None if end is None else end - start
    return replace(batch, table=batch.table.slice(start, length), rows=batch.rows[start:end])
