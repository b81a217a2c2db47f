"""Tables of counts -> votes: a row per item, a column per class with how many voted for it; nobody is named.

Called by `votes`. The order of the votes within an item is unknown; they come class by class.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from quorate.tables.arrow import TEXT, pa
from quorate.tables.clean import tidy_ids
from quorate.tables.codes import Coded, constant, encode, merge
from quorate.tables.gather import Raw
from quorate.tables.number_cells import as_numbers
from quorate.tables.rules import Entry, fired
from quorate.tables.sources import Opened, Progress, batches
from quorate.validate import MOST_VOTES


def read_counts(opened: Opened, task: str, classes: Sequence[str], progress: Progress | None) -> Raw:
    """The votes that the counts stand for."""
    parts, items, rows = [], [], []
    entries: list[Entry] = []
    for batch in batches(opened, [task, *classes], progress):
        table = np.column_stack([as_numbers(batch.table[name], blank=0.0).values for name in classes])  # (n, K)
        items.append(encode(batch.table[task]))
        parts.append(table)
        rows.append(batch.rows)
        entries.extend(batch.entries)
    table = np.concatenate(parts) if parts else np.empty((0, len(classes)))
    row = np.concatenate(rows) if rows else np.empty(0, dtype=np.int64)
    plain = _as_raw(opened.name, merge(items), row, tuple(entries))
    tidy, more = tidy_ids(plain.task, plain)
    keep, refused = _usable(opened.name, tidy, table, row)
    raw = _expanded(plain, tidy, np.where(keep[:, None], table, 0).astype(np.int64), classes)
    return Raw(
        *(raw.source, raw.task, raw.worker, raw.label, None, raw.rows, (*entries, *more, *refused)),
        num_rows=len(row),
        has_workers=False,
        classes=tuple(classes),
    )


def looks_like_counts(table: Any, columns: Sequence[str]) -> bool:  # noqa: ANN401
    """Whether every cell is a whole number, none is blank, and there are at least two columns."""
    if len(columns) < 2 or table.num_rows == 0:
        return False
    for name in columns:
        numbers = as_numbers(table[name], blank=np.nan).values
        if not np.all((numbers >= 0) & (numbers == np.floor(numbers))):
            return False
    return True


def _as_raw(source: str, task: Coded, rows: Any, entries: tuple[Entry, ...]) -> Raw:  # noqa: ANN401
    nobody = constant(None, len(rows))
    return Raw(source, task, nobody, nobody, None, rows, entries, len(rows), has_workers=False)


def _usable(source: str, task: Coded, table: np.ndarray, rows: Any) -> tuple[np.ndarray, list[Entry]]:  # noqa: ANN401
    """Rows with an item and proper counts, the last of each item; and entries for the others."""
    absent = task.codes < 0
    with np.errstate(invalid="ignore"):
        good = np.all((table >= 0) & (table <= MOST_VOTES) & (table == np.floor(table)), axis=1)
    usable = ~absent & good
    last = np.zeros(len(rows), dtype=bool)
    at = np.flatnonzero(usable)
    _, first_from_end = np.unique(task.codes[at][::-1], return_index=True)
    last[at[::-1][first_from_end]] = True
    entries = []
    for rule, hit in (("missing-task", absent), ("bad-count", ~absent & ~good), ("repeated-counts", usable & ~last)):
        where = np.flatnonzero(hit)
        if len(where):
            values = [" ".join(f"{number:g}" for number in table[each]) for each in where]
            entries.append(fired(rule, source, rows[where], tasks=task.texts(where), values=values))
    return last, entries


def _expanded(raw: Raw, task: Coded, table: np.ndarray, classes: Sequence[str]) -> Raw:
    row, column = np.nonzero(table)
    times = table[row, column]
    row, column = np.repeat(row, times), np.repeat(column, times)
    label = Coded(column.astype(np.int32), pa.array(list(classes), type=TEXT))
    items = Coded(task.codes[row], task.names)
    nobody = constant(None, len(row))
    return Raw(raw.source, items, nobody, label, None, raw.rows[row], (), len(raw.rows), has_workers=False)
