"""Long, wide and count tables -> chunks of votes. Called by `formats`, which decides which layout a table has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from quorate.packed_files import check_votes
from quorate.tables.readers.arrow import TEXT, pa
from quorate.tables.readers.sources import Opened, Progress, TableBatch, as_numbers, batches, seconds, unread
from quorate.tables.rules import Fired
from quorate.tables.votes.clean import blank_cells, tidy_ids
from quorate.tables.votes.codes import Chunk, Coded, Raw, constant, encode, hits, merge
from quorate.tables.votes.people import sums_up
from quorate.types import IntArray
from quorate.validate import MOST_VOTES

PASSED_OVER = "not"


@dataclass(frozen=True, slots=True)
class LongColumns:
    """The column of each role, or None. `passed_over`: other columns that are named like labels."""

    task: str
    label: str
    worker: str | None = None
    timestamp: str | None = None
    passed_over: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """The columns to read, each once."""
        every = (self.task, self.label, self.worker, self.timestamp)
        return list(dict.fromkeys(name for name in every if name is not None))

    def describe(self) -> str:
        """The choice of columns as a phrase for the report."""
        worker = f"worker {self.worker!r}" if self.worker is not None else "no worker (votes are anonymous)"
        time = f"time {self.timestamp!r}" if self.timestamp is not None else "no time (rows are in order)"
        other = f" ({PASSED_OVER} {', '.join(map(repr, self.passed_over))})" if self.passed_over else ""
        return f"one vote per row: item {self.task!r}, label {self.label!r}{other}, {worker}, {time}"


def long_chunks(opened: Opened, columns: LongColumns, progress: Progress | None) -> Iterator[Chunk]:
    """The votes of a long table, batch by batch."""
    for batch in batches(opened, columns.names, progress):
        table, length = batch.table, batch.table.num_rows
        time = None if columns.timestamp is None else seconds(table[columns.timestamp])
        yield Chunk(
            task=encode(table[columns.task]),
            worker=constant(None, length) if columns.worker is None else encode(table[columns.worker]),
            label=encode(table[columns.label]),
            time=time,
            rows=batch.rows,
            entries=batch.entries,
            num_rows=length,
            odd_times=() if time is None else unread(table[columns.timestamp], time),
        )


MOST_CELLS = 4_000_000  # cells held as numbers at a time
FEWEST_CELLS = 10  # a column with this many filled cells and no value shared with the others does not hold votes
MOST_DISTINCT = 20  # a column with more different values, none shared, does not hold class names


def wide_chunks(opened: Opened, task: str, workers: Sequence[str], progress: Progress | None) -> Iterator[Chunk]:
    """The votes of a wide table, some rows at a time."""
    step = max(1, MOST_CELLS // max(len(workers), 1))
    for batch in batches(opened, [task, *workers], progress):
        for start in range(0, max(batch.table.num_rows, 1), step):
            yield _melted(batch, task, workers, slice(start, start + step))


def _melted(batch: TableBatch, task: str, workers: Sequence[str], part: slice) -> Chunk:
    table = batch.table.slice(part.start, part.stop - part.start)
    cells = [encode(table[name]) for name in workers]
    label = merge(cells)
    filled = ~blank_cells(label).reshape(len(workers), table.num_rows).T  # (rows, workers)
    row, column = np.nonzero(filled)
    items = encode(table[task])
    return Chunk(
        task=Coded(items.codes[row], items.names),
        worker=Coded(column.astype(np.int32), pa.array(list(workers), type=TEXT)),
        label=Coded(label.codes.reshape(len(workers), table.num_rows).T[row, column], label.names),
        time=None,
        rows=batch.rows[part][row],
        entries=batch.entries if part.start == 0 else (),
        num_rows=table.num_rows,
    )


def vote_columns(table: pa.Table, columns: Sequence[str], classes: Sequence[str] | None) -> list[str]:
    """The columns that hold votes: those with a class in them or, if no classes are given, all but the following.

    A column that shares no value with another one, if it has more than MOST_DISTINCT values, or if the others share
    values and it has FEWEST_CELLS filled cells or more; and a column named like the truth or a summary of the votes.
    """
    values = {name: distinct_values(table[name]) for name in columns if not sums_up(name)}
    if classes is not None:
        return [name for name, found in values.items() if found & set(classes)]
    seen: dict[str, int] = {}
    for found in values.values():
        for value in found:
            seen[value] = seen.get(value, 0) + 1
    sharing = {name for name, found in values.items() if any(seen[value] > 1 for value in found)}
    others = [name for name in values if name not in sharing]
    filled = {name: int((~blank_cells(encode(table[name]))).sum()) for name in others}
    meagre = {name for name in others if not sharing or filled[name] < FEWEST_CELLS}
    return [
        name for name, found in values.items() if name in sharing or (name in meagre and len(found) <= MOST_DISTINCT)
    ]


def distinct_values(column: pa.ChunkedArray) -> set[str]:
    """The different values of a column, without outer white space and without blanks."""
    found = encode(column).names.to_pylist()
    return {value.strip() for value in found if value is not None and value.strip()}


def read_counts(opened: Opened, task: str, classes: Sequence[str], progress: Progress | None) -> Raw:
    """The votes of a table of counts."""
    parts, items, rows = [], [], []
    entries: list[Fired] = []
    for batch in batches(opened, [task, *classes], progress):
        table = np.column_stack([as_numbers(batch.table[name], blank=0.0).values for name in classes])  # (n, K)
        items.append(encode(batch.table[task]))
        parts.append(table)
        rows.append(batch.rows)
        entries.extend(batch.entries)
    table = np.concatenate(parts) if parts else np.empty((0, len(classes)))
    row = np.concatenate(rows) if rows else np.empty(0, dtype=np.int64)
    item, more = tidy_ids(merge(items), opened.name, row)
    keep, refused = _usable(opened.name, item, table, row)
    counts = np.where(keep[:, None], table, 0).astype(np.int64)
    check_votes(opened.name, int(counts.sum()))
    at, column = np.nonzero(counts)
    times = counts[at, column]
    at, column = np.repeat(at, times), np.repeat(column, times)
    return Raw(
        source=opened.name,
        task=Coded(item.codes[at], item.names),
        worker=constant(None, len(at)),
        label=Coded(column.astype(np.int32), pa.array(list(classes), type=TEXT)),
        time=None,
        rows=row[at],
        entries=(*entries, *more, *refused),
        num_rows=len(row),
        has_workers=False,
        classes=tuple(classes),
    )


def looks_like_counts(table: pa.Table, columns: Sequence[str]) -> bool:
    """Whether every cell is a whole number, none is blank, and there are at least two columns."""
    if len(columns) < 2 or table.num_rows == 0:
        return False
    for name in columns:
        numbers = as_numbers(table[name], blank=np.nan).values
        if not np.all((numbers >= 0) & (numbers == np.floor(numbers))):
            return False
    return True


def _usable(source: str, task: Coded, table: np.ndarray, rows: IntArray) -> tuple[np.ndarray, list[Fired]]:
    """Rows with an item and proper counts, the last of each item; and entries for the others."""
    absent = task.codes < 0
    with np.errstate(invalid="ignore"):
        good = np.all((table >= 0) & (table <= MOST_VOTES) & (table == np.floor(table)), axis=1)
    usable = ~absent & good
    last = np.zeros(len(rows), dtype=bool)
    at = np.flatnonzero(usable)
    _, first_from_end = np.unique(task.codes[at][::-1], return_index=True)
    last[at[::-1][first_from_end]] = True

    def shown(at: IntArray) -> list[str]:
        return [" ".join(f"{number:g}" for number in table[each]) for each in at]

    found = (("missing-task", absent), ("bad-count", ~absent & ~good), ("repeated-counts", usable & ~last))
    entries = [entry for rule, hit in found for entry in hits(rule, source, rows, hit, task, value=shown)]
    return last, entries
