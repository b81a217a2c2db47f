"""Wide tables -> chunks of votes: a row per item, a column per annotator, a blank cell where one did not vote.

Called by `votes`. Votes come row by row and, within a row, in the order of the columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from quorate.tables.aggregates import sums_up
from quorate.tables.arrow import TEXT, pa
from quorate.tables.clean import blank_cells
from quorate.tables.codes import Coded, encode, merge
from quorate.tables.gather import Chunk
from quorate.tables.sources import Batch, Opened, Progress, batches

MOST_CELLS = 4_000_000  # cells held as numbers at a time
FEWEST_CELLS = 10  # filled cells from which on a column that shares no value with the others holds no votes
MOST_DISTINCT = 20  # a column with more different values than this, none shared, holds no class names


def wide_chunks(opened: Opened, task: str, workers: Sequence[str], progress: Progress | None) -> Iterator[Chunk]:
    """The votes of a wide table, some rows at a time."""
    step = max(1, MOST_CELLS // max(len(workers), 1))
    for batch in batches(opened, [task, *workers], progress):
        for start in range(0, max(batch.table.num_rows, 1), step):
            yield _melted(batch, task, workers, slice(start, start + step))


def _melted(batch: Batch, task: str, workers: Sequence[str], part: slice) -> Chunk:
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


def vote_columns(table: Any, columns: Sequence[str], classes: Sequence[str] | None) -> list[str]:  # noqa: ANN401
    """The columns that hold votes: those with a class in them or, if no classes are given, all that are not other text.

    Other text is a column none of whose values any other column has, if it has more than MOST_DISTINCT, or if the
    others share theirs and it is filled FEWEST_CELLS times or more; and a column called after the right answer or a
    summary of the votes.
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
    meagre = {name for name in others if not sharing or _num_filled(table[name]) < FEWEST_CELLS}
    return [
        name for name, found in values.items() if name in sharing or (name in meagre and len(found) <= MOST_DISTINCT)
    ]


def _num_filled(column: Any) -> int:  # noqa: ANN401
    return int((~blank_cells(encode(column))).sum())


def distinct_values(column: Any) -> set[str]:  # noqa: ANN401
    """The different values of a column, without outer white space; blanks are none."""
    found = encode(column).names.to_pylist()
    return {value.strip() for value in found if value is not None and value.strip()}
