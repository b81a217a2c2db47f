"""Long, wide and count tables, and tables with all votes of an item in one cell -> votes.

Such cells hold a list of labels or a mapping of label to count; they come from JSONL, from Parquet's lists and structs,
from frames, and as JSON in the text of a CSV. Called by `formats`, which decides which layout a table has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from quorate.packed_files import check_votes
from quorate.tables.readers import TEXT, pa
from quorate.tables.readers.sources import (
    Opened,
    Progress,
    TableBatch,
    as_numbers,
    batches,
    nested_cell,
    seconds,
    unread,
)
from quorate.tables.rules import Fired, fired
from quorate.tables.votes.clean import blank_cells, tidy_ids
from quorate.tables.votes.codes import Chunk, Coded, Raw, collect, constant, encode, hits, last_of_each, merge
from quorate.tables.votes.names import name_text
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
    last = last_of_each(task.codes, usable)

    def shown(at: IntArray) -> list[str]:
        return [" ".join(f"{number:g}" for number in table[each]) for each in at]

    found = (("missing-task", absent), ("bad-count", ~absent & ~good), ("repeated-counts", usable & ~last))
    entries = [entry for rule, hit in found for entry in hits(rule, source, rows, hit, task, value=shown)]
    return last, entries


LOOKED_AT = 100  # cells from which the content of a column is detected
_VOTES = re.compile(r"label|vote|annotat|answer|rating|choice|response|judg|class|count|opinion|tag")


def nested_columns(table: pa.Table, columns: Sequence[str], *, requested: bool = False) -> dict[str, str]:
    """Column -> "list" or "counts", for the columns whose cells hold all votes of an item.

    Unless the user `requested` this format or column, lists in columns named like a summary (`old_labels`) are left
    out, and numbers and counts are read only from columns named like votes or labels: `[640, 480]` may be anything.
    """
    forms = {name: _cell_form(table[name]) for name in columns}
    found = {name: form for name, form in forms.items() if form is not None}
    if not requested:
        found = {name: form for name, form in found.items() if form == "counts" or not sums_up(name)}
        found = {name: form for name, form in found.items() if form == "list" or _VOTES.search(name.casefold())}
    return {name: "list" if form == "numbers" else form for name, form in found.items()}


def read_cells(opened: Opened, task: str, column: str, form: str, progress: Progress | None) -> Raw:
    """The votes of the cells of a column."""
    classes: dict[str, None] = {}
    raw = collect(_cell_chunks(opened, task, column, form, classes, progress), opened.name, has_workers=False)
    return raw if form == "list" else replace(raw, classes=tuple(classes))


def _cell_chunks(
    opened: Opened, task: str, column: str, form: str, classes: dict[str, None], progress: Progress | None
) -> Iterator[Chunk]:
    num_votes = 0
    for batch in batches(opened, [task, column], progress):
        items = encode(batch.table[task])
        places: list[int] = []
        labels: list[str | None] = []
        times: list[int] = []  # how many votes each label stands for
        bad: list[int] = []
        for place, cell in enumerate(batch.table[column].to_pylist()):
            votes = _cell_votes(nested_cell(cell), form)
            if votes is None:
                bad.append(place)
            elif form == "counts":
                classes |= dict.fromkeys(name for name, _ in votes)
                labels += [name for name, _ in votes]
                times += [count for _, count in votes]
                places += [place] * len(votes)
            else:
                labels += [name for name, _ in votes] or [None]
                times += [1] * max(len(votes), 1)
                places += [place] * max(len(votes), 1)
        num_votes += sum(times)
        if form == "counts":
            check_votes(opened.name, num_votes)
        at = np.repeat(np.asarray(places, dtype=np.int64), times)
        coded = encode(pa.array(labels, type=TEXT))
        yield Chunk(
            task=Coded(items.codes[at], items.names),
            worker=constant(None, len(at)),
            label=Coded(np.repeat(coded.codes, times), coded.names),
            time=None,
            rows=batch.rows[at],
            entries=(*batch.entries, *_unread_cells(opened.name, items, batch.table[column], batch.rows, bad)),
            num_rows=batch.table.num_rows,
        )


def _unread_cells(source: str, items: Coded, cells: pa.ChunkedArray, rows: IntArray, bad: Sequence[int]) -> list[Fired]:
    if not bad:
        return []
    at = np.asarray(bad, dtype=np.int64)
    values = [str(cells[place].as_py())[:200] for place in bad]
    return [fired("bad-cell", source, rows[at], tasks=items.texts(at), values=values)]


def _cell_form(column: pa.ChunkedArray) -> str | None:
    """What the cells hold: a "list" of labels, "numbers" that may be labels, "counts", or None: something else."""
    cells = [cell.as_py() for cell in column.slice(0, LOOKED_AT)]
    if not any(
        isinstance(cell, (list, dict)) or (isinstance(cell, str) and cell.strip()[:1] in "[{") for cell in cells
    ):
        return None
    parsed = [nested_cell(cell) for cell in cells if cell is not None and cell != ""]
    filled = [cell for cell in parsed if cell not in ([], {})]
    if not filled:
        return None
    if all(isinstance(cell, dict) and _cell_votes(cell, "counts") for cell in filled):
        return "counts"
    if not all(isinstance(cell, list) and _cell_votes(cell, "list") for cell in filled):
        return None
    labels = [name for cell in filled for name, _ in _cell_votes(cell, "list") or ()]
    if len(labels) == len(filled) or len(set(labels)) > max(10, len(labels) / 2):
        return None  # one per cell, or nearly all different: free text
    numbers = [name for name in labels if re.fullmatch(r"-?\d+(\.\d*)?(e-?\d+)?", name)]
    if len(numbers) < len(labels):
        return "list"
    return None if any(not float(name).is_integer() for name in numbers) else "numbers"


def _cell_votes(cell: object, form: str) -> list[tuple[str, int]] | None:
    """Label and number of votes, for each part of a cell; None if the cell has another form."""
    if form == "counts" and isinstance(cell, dict):
        counts = [_whole(value) for value in cell.values()]
        return None if None in counts else list(zip(map(str, cell), counts, strict=True))  # type: ignore[arg-type]
    if form == "counts":
        return [] if cell == [] else None
    if not isinstance(cell, list) or not all(_is_label(each) for each in cell):
        return None
    return [(name_text(each), 1) for each in cell if each is not None]


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
