"""Long, wide and count tables, and tables with all votes of an item in one cell -> votes.

Such cells hold a list of labels, a mapping of label to count, or one of person to label; they come from JSONL, from
Parquet's lists and structs, from frames, and as text of a CSV: JSON, Python, or a|b|c. Called by `formats`, which
decides which layout a table has.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal, cast

import numpy as np

from quorate.arrow import TEXT, pa
from quorate.packed_files import check_votes
from quorate.tables.readers.sources import Opened, TableBatch, as_numbers, batches, nested_cell, seconds, unread
from quorate.tables.rules import Fired, fired
from quorate.tables.texts import name_text
from quorate.tables.votes.clean import blank_cells, tidy_ids
from quorate.tables.votes.codes import Chunk, Coded, Raw, collect, constant, encode, first_of_each, hits, merge
from quorate.types import IntArray, Progress
from quorate.validate import MOST_VOTES

MOST_CELLS = 4_000_000  # cells held as numbers at a time
Parts = Literal["labels", "bars", "counts", "people"]
CellVotes = list[tuple[str | None, str | None, int]]  # who, label, how often


def read_long(
    opened: Opened, task: str, label: str, worker: str | None, timestamp: str | None, progress: Progress | None
) -> Raw:
    """The votes of a table with a row per vote."""
    columns = list(dict.fromkeys(name for name in (task, label, worker, timestamp) if name is not None))

    def chunks() -> Iterator[Chunk]:
        for batch in batches(opened, columns, progress):
            table, length = batch.table, batch.table.num_rows
            time = None if timestamp is None else seconds(table[timestamp])
            yield Chunk(
                task=encode(table[task]),
                worker=constant(None, length) if worker is None else encode(table[worker]),
                label=encode(table[label]),
                time=time,
                rows=batch.rows,
                entries=batch.entries,
                num_rows=length,
                odd_times=() if time is None else unread(table[timestamp], time),
            )

    return collect(chunks(), opened.name, has_workers=worker is not None)


def read_wide(opened: Opened, task: str, workers: Sequence[str], progress: Progress | None) -> Raw:
    """The votes of a table with a column per person, some rows at a time."""
    step = max(1, MOST_CELLS // max(len(workers), 1))
    chunks = (
        _melted(batch, task, workers, slice(start, start + step))
        for batch in batches(opened, [task, *workers], progress)
        for start in range(0, max(batch.table.num_rows, 1), step)
    )
    return collect(chunks, opened.name)


def _melted(batch: TableBatch, task: str, workers: Sequence[str], part: slice) -> Chunk:
    table = batch.table.slice(part.start, part.stop - part.start)
    label = merge([encode(table[name]) for name in workers])
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


def read_counts(opened: Opened, task: str, classes: Sequence[str], progress: Progress | None) -> Raw:
    """The votes of a table with a column per class."""
    parts, items, rows = [], [], []
    entries: list[Fired] = []
    for batch in batches(opened, [task, *classes], progress):
        parts.append(np.column_stack([as_numbers(batch.table[name], blank=0.0).values for name in classes]))  # (n, K)
        items.append(encode(batch.table[task]))
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


def _usable(source: str, task: Coded, table: np.ndarray, rows: IntArray) -> tuple[np.ndarray, list[Fired]]:
    """Rows with an item and proper counts, the first of each item; and entries for the others."""
    absent = task.codes < 0
    with np.errstate(invalid="ignore"):
        good = np.all((table >= 0) & (table <= MOST_VOTES) & (table == np.floor(table)), axis=1)
    usable = ~absent & good
    first = first_of_each(task.codes, usable)

    def shown(at: IntArray) -> list[str]:
        return [" ".join(f"{number:g}" for number in table[row]) for row in at]

    by_rule = (("no-item", absent), ("bad-number", ~absent & ~good), ("duplicate", usable & ~first))
    entries = [entry for rule, hit in by_rule for entry in hits(rule, source, rows, hit, task, value=shown)]
    return first, entries


def are_by_person(cells: Sequence[object]) -> bool:
    """Whether mappings are of person to label: not all of their values are numbers."""
    values = [value for cell in cells if isinstance(cell, dict) for value in cell.values()]
    return any(_whole(value) is None for value in values)


def read_cells(opened: Opened, task: str, column: str, progress: Progress | None, *, parts: Parts) -> Raw:
    """The votes of a table with all votes of an item in one cell; `parts`: what a cell holds."""
    has_counts = parts == "counts"
    classes: dict[str, None] = {}

    def chunks() -> Iterator[Chunk]:
        num_votes = 0
        for batch in batches(opened, [task, column], progress):
            cells = batch.table[column].to_pylist()
            votes = [_cell_votes(nested_cell(cell, bars=parts == "bars"), parts) for cell in cells]
            every = [(cell_number, *vote) for cell_number, cell in enumerate(votes) for vote in cell or ()]
            cell_number, people, labels, times = map(list, zip(*every, strict=True)) if every else ([],) * 4
            if has_counts:
                classes.update(dict.fromkeys(name for name in labels if name is not None))
                num_votes += sum(times)
                check_votes(opened.name, num_votes)
            items, at = encode(batch.table[task]), np.repeat(np.asarray(cell_number, dtype=np.int64), times)
            coded, who = (encode(pa.array(names, type=TEXT)) for names in (labels, people))
            bad = [cell_number for cell_number, cell in enumerate(votes) if cell is None]
            yield Chunk(
                task=Coded(items.codes[at], items.names),
                worker=Coded(np.repeat(who.codes, times), who.names),
                label=Coded(np.repeat(coded.codes, times), coded.names),
                time=None,
                rows=batch.rows[at],
                entries=(*batch.entries, *_unread_cells(opened.name, items, batch.table[column], batch.rows, bad)),
                num_rows=batch.table.num_rows,
            )

    raw = collect(chunks(), opened.name, has_workers=parts == "people")
    return replace(raw, classes=tuple(classes)) if has_counts else raw


def _unread_cells(source: str, items: Coded, cells: pa.ChunkedArray, rows: IntArray, bad: Sequence[int]) -> list[Fired]:
    if not bad:
        return []
    at = np.asarray(bad, dtype=np.int64)
    values = [str(cells[row].as_py())[:200] for row in bad]
    return [fired("unreadable", source, rows[at], tasks=items.texts(at), values=values)]


def _cell_votes(cell: object, parts: Parts) -> CellVotes | None:
    """The parts of a cell; None if the cell has another form."""
    if parts in ("labels", "bars"):
        if not isinstance(cell, list) or not all(map(_is_label, cell)):
            return None
        return [(None, name_text(label), 1) for label in cell if label is not None] or [(None, None, 1)]
    if not isinstance(cell, dict):
        return [] if cell == [] else None
    if parts == "people":
        if not all(map(_is_label, cell.values())):
            return None
        return [(str(who), name_text(label), 1) for who, label in cell.items() if label is not None]
    counts = {str(name): _whole(value) for name, value in cell.items()}
    votes: CellVotes = [(None, name, count) for name, count in counts.items() if count is not None]
    return votes if len(votes) == len(cell) else None


def _is_label(value: object) -> bool:
    return value is None or isinstance(value, (str, bool, int)) or (isinstance(value, float) and value.is_integer())


def _whole(value: object) -> int | None:
    """A count, written as a number or as text (numbers of JSONL are kept as they are written)."""
    try:
        number = float(cast(Any, value))
    except (TypeError, ValueError, OverflowError):
        return None
    is_count = not isinstance(value, bool) and number.is_integer() and 0 <= number <= MOST_VOTES
    return int(number) if is_count else None
