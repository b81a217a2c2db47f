"""An opened table -> its layout: long, wide, counts or cells, and which columns are read.

The names of the columns and `format` decide; where they do not, the table is refused with the options that settle it.
Called by `read_votes`. The decisions go into the report.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from quorate.arrow import pa
from quorate.frames import TEXTS, OwnTypes
from quorate.tables.columns import find_column, is_numbered_person, is_summary, label_like, refuse_own_output
from quorate.tables.options import Format, TableOptions
from quorate.tables.readers.frames import cell_type, header_type
from quorate.tables.readers.sources import Opened, as_numbers, head, nested_cell
from quorate.tables.rules import Fired, fired_whole
from quorate.tables.votes.clean import blank_cells
from quorate.tables.votes.codes import Raw, encode, merge
from quorate.tables.votes.layouts import Parts, are_by_person, read_cells, read_counts, read_long, read_wide
from quorate.types import Progress
from quorate.validate import invalid

Kind = Literal["long", "wide", "counts", "cells"]
FEWEST = 10  # with fewer rows no conclusion is drawn from the content
MOST_ROWS, MOST_LABELS = 1000, 100  # in which a column is compared with the others
LOOKED_AT = 100  # cells from which the form of a column is taken


@dataclass(frozen=True, slots=True)
class Layout:
    """How a table is read, with the decision for the report.

    `own`: the types of its ids, workers and labels; `passed_over`: other columns of a long table that are named like
    labels; `warnings`: columns that may not be people.
    """

    kind: Kind
    read: Callable[[Progress | None], Raw]
    decision: str
    entries: tuple[Fired, ...] = ()
    own: OwnTypes = TEXTS
    passed_over: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def choose(opened: Opened, options: TableOptions) -> Layout:
    """The layout that `format` requests, or the one that the names of the columns say."""
    if options.label is None:
        refuse_own_output(opened.columns, opened.name, expected="votes")
    _found(opened, "label", options.label)
    people = _people(opened, options.worker)
    kind = _kind(opened, options, people) if options.format in ("auto", "label-studio") else options.format
    if kind in ("long", "cells") and people is not None:
        raise invalid("worker", people, "one worker column in a long table", "name one column.")
    if kind == "long":
        return _long(opened, options)
    item = _item(opened, options.task, "item")
    rest = [name for name in opened.columns if name != item]
    if kind == "cells":
        return _cells(opened, item, rest, options.label)
    if kind == "counts":
        return _counts(opened, item, rest, options.classes)
    one = [options.worker] if isinstance(options.worker, str) else None
    return _wide(opened, item, rest, people or one, options.classes)


def _people(opened: Opened, worker: str | Sequence[str] | None) -> list[str] | None:
    """The columns of people, if several are named; a text with commas names several."""
    if isinstance(worker, str):
        worker = [worker] if worker in opened.columns or "," not in worker else worker.split(",")
        named = [str(_found(opened, "worker", name.strip())) for name in worker]
        return named if len(named) > 1 else None
    return None if worker is None else [str(_found(opened, "worker", name)) for name in worker]


def _kind(opened: Opened, options: TableOptions, people: list[str] | None) -> Format:
    """The layout that the names of the columns say."""
    item = _found(opened, "task", options.task)
    rest = [name for name in opened.columns if name != item]
    answer = options.label or find_column("label", rest)
    if people is not None or (options.label is None and len([name for name in rest if is_numbered_person(name)]) > 1):
        return "wide"
    if item is not None and answer is not None:
        return "cells" if _is_nested(head(opened), answer) else "long"
    if opened.headed and find_column("worker", [opened.headed]) is not None:  # a pivot names what its columns are
        return "wide"
    is_titled = opened.headed and find_column("label", [opened.headed]) is not None
    if is_titled or len([name for name in rest if name in (options.classes or ())]) > 1:
        return "counts"
    if find_column("cells", rest) is not None:
        return "cells"
    if answer is not None:
        _item(opened, options.task, "task")
    raise invalid(
        "votes",
        opened.name,
        f"a column named like a label; it has {list(opened.columns)[:12]}",
        "name it: `label=...`, or pass `format='wide'` for a column per person, `format='counts'` for one per class"
        f"{opened.advice}.",
    )


def _found(opened: Opened, role: str, named: str | None, argument: str | None = None) -> str | None:
    return find_column(
        role, opened.columns, named=named, source=opened.name, argument=argument, advice=opened.advice
    )  # fmt: skip


def _item(opened: Opened, task: str | None, role: str) -> str:
    column = _found(opened, role, task, "task")
    if column is None:
        rule = f"a column for the item; it has {list(opened.columns)[:12]}"
        raise invalid("votes", opened.name, rule, f"name it: `task=...`{opened.advice}.")
    return column


def _long(opened: Opened, options: TableOptions) -> Layout:
    worker, label, timestamp = options.worker, options.label, options.timestamp
    item = _item(opened, options.task, "task")
    rest = [name for name in opened.columns if name != item]
    answer = label if label is not None else find_column("label", rest)
    if answer is None:
        rule = f"a column for the label; it has {list(opened.columns)[:12]}"
        raise invalid("votes", opened.name, rule, f"name it: `label=...`{opened.advice}.")
    rest = [name for name in rest if name != answer]
    who = _found(opened, "worker", worker) if isinstance(worker, str) else find_column("worker", rest)
    when = _found(opened, "timestamp", timestamp) if timestamp is not None else find_column("timestamp", rest)
    if _is_nested(head(opened), answer):
        rule = "one label in each cell, not a list or a mapping"
        raise invalid("label", answer, rule, "pass `format='cells'`.", place=opened.name)
    passed_over = () if label is not None else label_like([name for name in rest if name not in (who, when)])
    by = "no worker" if who is None else f"worker {who!r}"
    time = "" if when is None else f", time {when!r}"
    return Layout(
        "long",
        lambda progress: read_long(opened, item, answer, who, when, progress),
        f"item {item!r}, label {answer!r}, {by}{time}",
        _ignored(opened, [item, answer, who, when]),
        OwnTypes(cell_type(opened, item), cell_type(opened, who) if who else None, cell_type(opened, answer)),
        passed_over,
    )


def _cells(opened: Opened, item: str, rest: Sequence[str], label: str | None) -> Layout:
    column = _found(opened, "label", label) if label is not None else find_column("cells", rest)
    column = column or find_column("label", rest)
    cells = [] if column is None else list(filter(None, _nested_cells(head(opened), column)))
    bars = [] if column is None or cells else _nested_cells(head(opened), column, bars=True)
    if column is None or not (cells or any(len(cell) > 1 for cell in bars if isinstance(cell, list))):
        rule = f"a column of {opened.name} with a list of labels or a mapping of label to count in each cell"
        raise invalid("label", column, rule, "name it: `label=...`, or pass another format.")
    parts: Parts = "bars" if bars else "labels"
    kind = cell_type(opened, column)
    if cells and isinstance(cells[0], dict):
        parts, kind = "people" if are_by_person(cells) else "counts", None
    return Layout(
        "cells",
        lambda progress: read_cells(opened, item, column, progress, parts=parts),
        f"item {item!r}, all votes of an item in {column!r}",
        _ignored(opened, [item, column]),
        OwnTypes(task=cell_type(opened, item), label=kind),
    )


def _counts(opened: Opened, item: str, rest: Sequence[str], classes: Sequence[str] | None) -> Layout:
    picked = _counted(opened, rest) if classes is None else [name for name in rest if name in classes]
    if not picked:
        rule = f"a column of {opened.name} for each class; it has {list(rest)[:12]}"
        raise invalid("classes", list(classes or ()), rule, "use the names of the columns.")
    return Layout(
        "counts",
        lambda progress: read_counts(opened, item, picked, progress),
        f"item {item!r}, counts of {_listed(picked)}",
        _ignored(opened, [item, *picked]),
        OwnTypes(task=cell_type(opened, item), label=header_type(opened, picked)),
    )


def _counted(opened: Opened, columns: Sequence[str]) -> list[str]:
    """The columns of numbers that are not named like a summary; one that is the sum of the others is refused."""
    table = head(opened)
    cells_of = {name: as_numbers(table[name], blank=0.0).values for name in columns if not is_summary(name)}
    picked = [name for name, cells in cells_of.items() if np.isnan(cells).sum() <= len(cells) / 2]
    if len(picked) < 3 or table.num_rows < FEWEST:
        return picked
    numbers = np.column_stack([cells_of[name] for name in picked])
    total = (2 * numbers == numbers.sum(axis=1, keepdims=True)).mean(axis=0) >= 0.98
    if total.any():
        name = picked[int(total.argmax())]
        rule = "the votes for one class in each column; this one is the sum of the others"
        fix = f"pass `ignore_columns={name!r}`, or list all classes: `classes=[...]`."
        raise invalid("columns", [name], rule, fix, place=opened.name)
    return picked


def _wide(
    opened: Opened, item: str, rest: Sequence[str], people: list[str] | None, classes: Sequence[str] | None
) -> Layout:
    first = head(opened)
    warnings: tuple[str, ...] = ()
    numbered = [name for name in rest if is_numbered_person(name)]
    picked = people if people is not None else numbered if len(numbered) > 1 else _voters(first, rest, classes)
    if not picked:
        rule = f"a column per person; none of {list(rest)[:12]} holds votes"
        raise invalid("votes", opened.name, rule, "name them: `worker=[...]`.")
    if people is None:
        warnings = tuple(
            f"Column {name!r} of {opened.name} equals the majority of the others: if it is no person, "
            f"pass `ignore_columns={name!r}`."
            for name in _majorities(first, picked)
        )
    return Layout(
        "wide",
        lambda progress: read_wide(opened, item, picked, progress),
        f"item {item!r}, a column for each of {_listed(picked)}",
        _ignored(opened, [item, *picked]),
        OwnTypes(cell_type(opened, item), header_type(opened, picked), cell_type(opened, *picked)),
        warnings=warnings,
    )


def _voters(table: pa.Table, columns: Sequence[str], classes: Sequence[str] | None) -> list[str]:
    """The columns that hold a class or a label of another column, and are not named like a summary of the votes."""
    values = {name: _distinct(table[name]) for name in columns if not is_summary(name)}
    if classes is not None:
        return [name for name, labels in values.items() if labels & set(classes)]
    several = {label for labels in values.values() for label in labels}
    alone = {label for label in several if sum(label in labels for labels in values.values()) == 1}
    few = [name for name in values if (~blank_cells(encode(table[name]))).sum() < FEWEST]
    return [name for name, labels in values.items() if labels - alone or name in few]


def _distinct(column: pa.ChunkedArray) -> set[str]:
    """The different values of a column, without outer white space and without blanks."""
    return {text.strip() for text in encode(column).names.to_pylist() if text and text.strip()}


def _majorities(table: pa.Table, columns: Sequence[str]) -> list[str]:
    """The one column that equals the majority of the others in every row where these disagree and have one."""
    cells = merge([encode(table.slice(0, MOST_ROWS)[name]) for name in columns])
    num_labels = len(cells.names)
    if len(columns) < 4 or not 2 <= num_labels <= MOST_LABELS:
        return []
    codes = np.where(blank_cells(cells), -1, cells.codes).reshape(len(columns), -1).T  # (rows, columns)
    ballots = codes[:, :, None] == np.arange(num_labels)
    rest = ballots.sum(axis=1, keepdims=True, dtype=np.int16) - ballots  # (rows, columns, labels): votes of the others
    top, votes = rest.max(axis=2), rest.sum(axis=2)
    disputed = (top < votes) & (2 * top > votes) & (codes >= 0)
    differs = disputed & (rest.argmax(axis=2) != codes)
    hits = (disputed.sum(axis=0) >= FEWEST) & ~differs.any(axis=0)
    return [name for name, hit in zip(columns, hits, strict=True) if hit] if hits.sum() == 1 else []


def _is_nested(table: pa.Table, column: str) -> bool:
    """Whether a column holds lists or mappings; they may be JSON in text."""
    return column in table.column_names and any(_nested_cells(table, column))


def _nested_cells(table: pa.Table, column: str, *, bars: bool = False) -> list[object]:
    return [nested_cell(cell, bars=bars) for cell in table[column].slice(0, LOOKED_AT).to_pylist()]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:8])) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def _ignored(opened: Opened, read: Sequence[str | None]) -> tuple[Fired, ...]:
    left = [name for name in opened.columns if name not in read]
    return tuple(fired_whole("ignored-column", opened.name, left, of="columns"))
