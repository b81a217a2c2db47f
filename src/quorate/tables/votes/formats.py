"""An opened table -> its layout: long, wide, counts or cells, and which columns are read; doubtful tables are refused.

Called by `read_votes`. The decisions go into the report.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from quorate.tables.readers import pa
from quorate.tables.readers.frames import TEXTS, OwnTypes, cell_type, header_type
from quorate.tables.readers.sources import Opened, Progress, as_numbers, head
from quorate.tables.rules import Fired, fired, fired_whole
from quorate.tables.votes.codes import Raw, collect, encode
from quorate.tables.votes.layouts import (
    LongColumns,
    distinct_values,
    long_chunks,
    looks_like_counts,
    nested_columns,
    read_cells,
    read_counts,
    vote_columns,
    wide_chunks,
)
from quorate.tables.votes.names import (
    find_column,
    find_label,
    label_like,
    looks_like_worker,
    refuse_own_output,
)
from quorate.tables.votes.people import (
    only_people,
    refuse_summed_counts,
    refuse_wrong_people,
    summary_columns,
    unread_people,
)
from quorate.validate import invalid

FEWEST = 10  # with fewer rows no conclusion is drawn
MOST_REPEATED = 0.1  # share of rows whose item occurred before
MOST_NUMBERS = 20  # different numbers that are not whole; with more they are not classes
_FORMS = {1.0: "probabilities", 100.0: "percentages"}


def refuse_other_tables(table: pa.Table, source: str, item: str, columns: Sequence[str], *, layout: str) -> None:
    """Refuse predictions read as votes, rows per vote read as rows per item, and columns that share no value."""
    if table.num_rows < FEWEST or not columns:
        return
    _refuse_probabilities(table, source, columns)
    _refuse_repeated_items(table, source, item, columns, layout)
    if layout == "wide":
        _refuse_unlike_columns(table, source, item, columns)


def _refuse_probabilities(table: pa.Table, source: str, columns: Sequence[str]) -> None:
    cells = {name: as_numbers(table[name], blank=np.nan).values for name in columns}
    cells = {name: each for name, each in cells.items() if np.isfinite(each).mean() >= 0.9}
    if len(cells) < 2:
        return
    numbers = np.column_stack(list(cells.values()))
    fractions = numbers[np.isfinite(numbers) & (numbers % 1 != 0)]
    form = next((what for total, what in _FORMS.items() if _mostly_sum_to(numbers, total)), None)
    if len(fractions) and (form or (len(cells) == len(columns) and len(np.unique(fractions)) > MOST_NUMBERS)):
        rule = f"labels or counts of votes, but the columns {list(cells)[:10]} hold {form or 'numbers'}"
        fix = (
            "are `votes` and `predictions` swapped? A table of votes has an item, a label and perhaps a worker per row"
        )
        raise invalid("source", source, rule, f"{fix}.")


def _mostly_sum_to(numbers: np.ndarray, total: float) -> bool:
    return bool(np.mean(np.abs(np.nansum(numbers, axis=1) - total) <= 0.05 * total) > 0.5)


def has_repeated_items(table: pa.Table, item: str) -> bool:
    """Whether more than a few rows repeat an item, as in a table with a row per vote."""
    again, named = _repeated(table, item)
    return again > MOST_REPEATED * named


def _repeated(table: pa.Table, item: str) -> tuple[int, int]:
    codes = encode(table[item]).codes
    named = codes[codes >= 0]
    return len(named) - len(np.unique(named)), len(named)


def _refuse_repeated_items(table: pa.Table, source: str, item: str, columns: Sequence[str], layout: str) -> None:
    again, named = _repeated(table, item)
    if again > MOST_REPEATED * named:
        rule = (
            f"a label column, or one row per item; no column is named like labels, so {item!r} was read as the item "
            f"and {list(columns)[:10]} as {'annotators' if layout == 'wide' else 'classes'}, but {again} of {named} "
            "rows repeat an item, as in a table with a row per vote"
        )
        fix = f"name the columns: `task=...`, `label=...`, `worker=...`; or pass `format={layout!r}`"
        raise invalid("source", source, rule, f"{fix}.")


def _refuse_unlike_columns(table: pa.Table, source: str, item: str, columns: Sequence[str]) -> None:
    values = [distinct_values(table[name]) for name in columns]
    filled = [found for found in values if found]
    if len(filled) >= 2 and len(set().union(*filled)) == sum(len(found) for found in filled):
        rule = (
            f"a label column, or annotators who use the same labels; no column is named like labels, so {item!r} was "
            f"read as the item and {list(columns)[:10]} as annotators, but no two of them share a label"
        )
        fix = (
            "for a row per vote name the columns: `task=...`, `label=...`, `worker=...`; for a column per annotator "
            "list them: `worker=[...]`"
        )
        raise invalid("source", source, rule, f"{fix}.")


GUESSED_COUNTS = "every cell is a whole number"


@dataclass(frozen=True, slots=True)
class Layout:
    """How a table is read, with the decisions for the report; `own`: the types of its ids, workers and labels."""

    kind: Literal["long", "wide", "counts", "cells"]
    read: Callable[[Progress | None], Raw]
    decisions: tuple[str, ...]
    entries: tuple[Fired, ...] = ()
    own: OwnTypes = TEXTS


def choose(
    opened: Opened,
    *,
    format: str,  # noqa: A002
    task: str | None,
    worker: str | Sequence[str] | None,
    label: str | None,
    timestamp: str | None,
    classes: Sequence[str] | None,
) -> Layout:
    """The layout that `format` requests, or the one that fits the columns; a guess is checked."""
    if label is None:
        refuse_own_output(opened.columns, opened.name, expected="votes")
    about = {"source": opened.name, "advice": opened.advice}
    item = find_column("task", opened.columns, named=task, **about)
    rest = [name for name in opened.columns if name != item]
    answer = find_column("label", rest, named=label, **about) if label is not None else _label(opened, item, rest)
    worker = _several(worker, opened.columns)
    listed = None if worker is None or isinstance(worker, str) else list(worker)
    if format == "cells" or (format in ("auto", "long") and worker is None):
        cells = _cells(opened, task, label, requested=format == "cells")
        if cells is not None:
            return cells
    if format == "long" or label is not None or (format == "auto" and item and answer and listed is None):
        return _long(opened, item, answer, worker, timestamp, label_named=label is not None)
    known = find_column("item", opened.columns, named=task, argument="task", **about)
    item = known if known is not None else _first_column(opened, format)
    others = [name for name in opened.columns if name != item]
    if listed is not None:
        others = [str(find_column("worker", opened.columns, named=name, **about)) for name in listed]
    if format == "counts" or (format == "auto" and listed is None and _are_counts(opened, others, classes)):
        return _counts(opened, item, others, classes, requested=format == "counts")
    return _wide(opened, item, others, classes, requested=format == "wide", listed=listed is not None)


def _label(opened: Opened, item: str | None, rest: Sequence[str]) -> str | None:
    return find_label(rest, is_per_vote=lambda: item is not None and has_repeated_items(head(opened), item))


def _several(worker: str | Sequence[str] | None, columns: Sequence[str]) -> str | Sequence[str] | None:
    """Split annotators' columns that are named in one text with commas."""
    if not isinstance(worker, str) or worker in columns or "," not in worker:
        return worker
    return [name.strip() for name in worker.split(",")]


def _long(
    opened: Opened,
    task: str | None,
    label: str | None,
    worker: str | Sequence[str] | None,
    timestamp: str | None,
    *,
    label_named: bool,
) -> Layout:
    if task is None or label is None:
        missing = "item" if task is None else "label"
        rule = f"a column for the {missing}; it has {list(opened.columns)[:30]}"
        raise invalid(
            "source", opened.name, rule, f"name it: `{'task' if task is None else 'label'}=...`{opened.advice}."
        )
    if worker is not None and not isinstance(worker, str):
        raise invalid("worker", list(worker), "one worker column in a long table", "name one column.")
    rest = [name for name in opened.columns if name not in (task, label)]
    about = {"source": opened.name, "advice": opened.advice}
    who = find_column("worker", opened.columns if worker else rest, named=worker, **about)
    when = find_column("timestamp", opened.columns if timestamp else rest, named=timestamp, **about)
    others = () if label_named else label_like([name for name in rest if name not in (who, when)])
    columns = LongColumns(task, label, who, when, others)

    def read(progress: Progress | None) -> Raw:
        return collect(long_chunks(opened, columns, progress), opened.name, has_workers=who is not None)

    unread = [name for name in opened.columns if name not in columns.names]
    entries = _ignored(opened, opened.columns, columns.names)
    if worker is None and unread:
        first = head(opened)
        if who is not None:
            refuse_wrong_people(first, opened.name, task, who, label, unread)
        else:
            people = unread_people(first, task, unread)
            entries += (fired("unread-people", opened.name, [0], values=people[:1]),) if people else ()
    own = OwnTypes(cell_type(opened, task), cell_type(opened, who) if who else None, cell_type(opened, label))
    return Layout("long", read, (f"{opened.name}: {columns.describe()}",), entries, own)


def _cells(opened: Opened, task: str | None, label: str | None, *, requested: bool) -> Layout | None:
    """All votes of an item in one cell, if a column holds such cells and each item has one row; else None."""
    first = head(opened)
    item = task or find_column("item", opened.columns)
    if item is None and requested:
        raise invalid("task", None, f"a column of {opened.name} for the item", "name it: `task=...`.")
    if item is None or (not requested and has_repeated_items(first, item)):
        return None
    others = [name for name in opened.columns if name != item] if label is None else [label]
    found = nested_columns(first, others, requested=requested or label is not None)
    if len(found) > 1:
        fix = "name the column of the votes: `label=...`, or leave others out: `ignore_columns=...`."
        raise invalid("label", list(found), f"one column of {opened.name} with all votes of an item in a cell", fix)
    if not found:
        if requested:
            rule = f"a column of {opened.name} with a list of labels or a mapping of label to count in each cell"
            raise invalid("format", "cells", rule, "name it: `label=...`, or pass another format.")
        return None
    (column, form), *_ = found.items()
    what = "a list of labels" if form == "list" else "how many voted for each label"
    decision = f"{opened.name}: all votes of an item in one cell: item {item!r}, {what} in {column!r}"

    def read(progress: Progress | None) -> Raw:
        return read_cells(opened, item, column, form, progress)

    entries = _ignored(opened, opened.columns, [item, column])
    own = OwnTypes(task=cell_type(opened, item), label=cell_type(opened, column) if form == "list" else None)
    return Layout("cells", read, (decision,), entries, own)


def _first_column(opened: Opened, format: str) -> str:  # noqa: A002
    if len(opened.columns) < 2:
        rule = f"an item and a label column at least; it has {list(opened.columns)}"
        raise invalid("source", opened.name, rule, f"name them: `task=...`, `label=...`{opened.advice}.")
    if format == "auto" and find_label(opened.columns, is_per_vote=lambda: False) is not None:
        rule = f"a column for the item beside the label; it has {list(opened.columns)[:30]}"
        raise invalid("source", opened.name, rule, f"name it: `task=...`{opened.advice}.")
    return opened.columns[0]


def _are_counts(opened: Opened, others: Sequence[str], classes: Sequence[str] | None) -> bool:
    """Whether every cell is a whole number and the columns are not named like annotators."""
    if any(looks_like_worker(name) for name in others):
        return False
    if classes is not None and not set(others) & set(classes):
        return False
    if opened.headed and find_column("worker", [opened.headed]) is not None:  # a pivot names what its columns are
        return False
    first = head(opened)
    summaries = summary_columns(first, others)
    return looks_like_counts(first, [name for name in others if name not in summaries])


def _counts(
    opened: Opened, task: str, others: Sequence[str], classes: Sequence[str] | None, *, requested: bool
) -> Layout:
    picked = [name for name in others if classes is None or name in classes]
    if classes is None:
        summaries = summary_columns(head(opened), picked)
        picked = [name for name in picked if name not in summaries]
    if not picked:
        rule = f"a column of {opened.name} for each class; it has {list(others)[:30]}"
        raise invalid("classes", list(classes or ()), rule, "use the names of the columns.")
    if not requested:
        refuse_other_tables(head(opened), opened.name, task, picked, layout="counts")
    if classes is None:
        refuse_summed_counts(head(opened), opened.name, picked)
    why = "" if requested else f"; {GUESSED_COUNTS}: pass `format='wide'` if the columns are annotators"
    decision = f"{opened.name}: counts of votes: item {task!r}, classes {picked[:30]}{why}"

    def read(progress: Progress | None) -> Raw:
        return read_counts(opened, task, picked, progress)

    own = OwnTypes(task=cell_type(opened, task), label=header_type(opened, picked))
    return Layout("counts", read, (decision,), _ignored(opened, others, picked), own)


def _wide(
    opened: Opened,
    task: str,
    others: Sequence[str],
    classes: Sequence[str] | None,
    *,
    requested: bool,
    listed: bool,
) -> Layout:
    first = head(opened)
    if not (requested or listed):
        refuse_other_tables(first, opened.name, task, others, layout="wide")
    picked = list(others) if listed else vote_columns(first, others, classes)
    if not picked:
        rule = f"a column per annotator; none of {list(others)[:30]} holds votes"
        raise invalid("source", opened.name, rule, "name the annotators' columns: `worker=[...]`.")
    if not listed:
        picked = only_people(first, opened.name, picked)
    why = "" if requested or listed else "; pass `format='long'` or name the columns if that is wrong"
    decision = f"{opened.name}: a column per annotator: item {task!r}, annotators {picked[:30]}{why}"

    def read(progress: Progress | None) -> Raw:
        return collect(wide_chunks(opened, task, picked, progress), opened.name)

    own = OwnTypes(cell_type(opened, task), header_type(opened, picked), cell_type(opened, *picked))
    return Layout("wide", read, (decision,), _ignored(opened, others, picked), own)


def _ignored(opened: Opened, others: Sequence[str], picked: Sequence[str]) -> tuple[Fired, ...]:
    left = [name for name in others if name not in picked]
    return tuple(fired_whole("ignored-column", opened.name, left, of="columns"))
