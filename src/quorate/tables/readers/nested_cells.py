"""Cells that hold a list or a mapping -> the votes of an item, or a prediction with a column per class.

Such cells come from JSONL, from Parquet's lists and structs, from frames, and as JSON in the text of a CSV. Votes: a
list of labels or a mapping of label to count; they are anonymous, and those of a mapping have no order. Predictions:
{"cat": 0.7, ...} or [0.7, ...]. Called by `votes.formats` and `predictions.forms`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from quorate.packed_files import check_votes
from quorate.tables.readers.arrow import TEXT, pa
from quorate.tables.readers.sources import Opened, Progress, TableBatch, batches, unique_columns
from quorate.tables.rules import Fired, fired
from quorate.tables.votes.codes import Chunk, Coded, Raw, collect, constant, encode
from quorate.tables.votes.names import name_text
from quorate.tables.votes.people import sums_up
from quorate.types import IntArray
from quorate.validate import MOST_VOTES, broken

NOT_A_PREDICTION = "no prediction"  # not a number, so the rule "bad-probability" applies


def unnested(
    opened: Opened,
    first: pa.Table,
    others: Sequence[str],
    classes: tuple[str, ...] | None,
) -> tuple[Opened, tuple[str, ...]]:
    """The table with its column of lists or mappings split into one column per class, and the names of these columns.

    Returns (`opened`, ()) if no column holds such cells. `first`: the first batch. A class that a mapping leaves out
    has probability 0; the numbers of a list are those of `classes`, in order.
    """
    column = next((name for name in others if first_vector(first[name]) is not None), None)
    if column is None:
        return opened, ()
    names = _names(opened, column, first[column], classes)
    kept = tuple(name for name in opened.columns if name != column)

    def read(columns: Sequence[str] | None) -> Iterator[TableBatch]:
        wanted = list(kept) + list(names) if columns is None else list(columns)
        plain = [name for name in wanted if name in kept]
        for batch in opened.read([*plain, column]):
            yield replace(batch, table=_split(batch.table, column, names, wanted))

    return replace(opened, columns=unique_columns((*kept, *names), opened.name), read=read), names


def _names(opened: Opened, column: str, cells: pa.ChunkedArray, classes: tuple[str, ...] | None) -> tuple[str, ...]:
    """The classes: the keys of mappings in order of appearance, or `classes` for lists."""
    found = first_vector(cells)
    if isinstance(found, dict):
        return tuple(dict.fromkeys(str(key) for cell in _predictions(cells) if isinstance(cell, dict) for key in cell))
    if classes is None or found is None or len(classes) != len(found):
        given = "" if classes is None else f"; {len(classes)} are given, {list(classes[:10])}"
        rule = f"the classes of {column!r}, which is a list of {len(found or ())}{given}"
        raise broken("source", opened.name, rule, "name them in order: `classes=['a', 'b', ...]`.")
    return classes


def _split(table: pa.Table, column: str, names: Sequence[str], wanted: Sequence[str]) -> pa.Table:
    cells = [_row(cell, names) for cell in _predictions(table[column])]
    by_name = dict(zip(names, zip(*cells, strict=True), strict=True)) if cells else dict.fromkeys(names, ())
    return pa.table({name: pa.array(by_name[name], type=TEXT) if name in by_name else table[name] for name in wanted})


def _row(cell: Mapping[str, object] | Sequence[object] | None, names: Sequence[str]) -> list[str | None]:
    if cell is None:
        return [None] * len(names)
    if isinstance(cell, dict):
        return [str(cell.get(name, 0)) for name in names]
    return list(map(str, cell)) if len(cell) == len(names) else [NOT_A_PREDICTION] * len(names)


def first_vector(column: pa.ChunkedArray) -> dict[str, Any] | list[Any] | None:
    """The first cell that is not blank, if it is a mapping or a list of numbers."""
    for cell in column.slice(0, 100):
        if cell.is_valid and cell.as_py() not in ("", [], {}):
            return _prediction(cell.as_py())
    return None


def _predictions(column: pa.ChunkedArray) -> Iterator[dict[str, Any] | list[Any] | None]:
    """Each cell as a mapping or a list of numbers; None if it is blank, an empty list if it is something else."""
    for cell in column.to_pylist():
        yield None if cell is None or cell == "" else (_prediction(cell) or [])


def _prediction(cell: object) -> dict[str, Any] | list[Any] | None:
    """A mapping or list of numbers, given as such or as JSON text; None otherwise.

    >>> _prediction('{"cat": "0.7", "dog": 0.3}'), _prediction("cat"), _prediction('["a"]')
    ({'cat': '0.7', 'dog': 0.3}, None, None)
    """
    found = _parsed(cell)
    values = found.values() if isinstance(found, dict) else found
    return found if values and all(map(_is_number, values)) else None


def _is_number(value: object) -> bool:
    try:
        float(cast(Any, value))
    except (TypeError, ValueError):
        return False
    return not isinstance(value, bool)


LOOKED_AT = 100  # cells from which the content of a column is detected
_VOTES = re.compile(r"label|vote|annotat|answer|rating|choice|response|judg|class|count|opinion|tag")


def nested_columns(table: pa.Table, columns: Sequence[str], *, requested: bool = False) -> dict[str, str]:
    """Column -> "list" or "counts", for the columns whose cells hold all votes of an item.

    Unless the user `requested` this format or column, lists in columns named like a summary (`old_labels`) are left
    out, and numbers and counts are read only from columns named like votes or labels: `[640, 480]` may be anything.
    """
    forms = {name: _form(table[name]) for name in columns}
    found = {name: form for name, form in forms.items() if form is not None}
    if not requested:
        found = {name: form for name, form in found.items() if form == "counts" or not sums_up(name)}
        found = {name: form for name, form in found.items() if form == "list" or _VOTES.search(name.casefold())}
    return {name: "list" if form == "numbers" else form for name, form in found.items()}


def read_cells(opened: Opened, task: str, column: str, form: str, progress: Progress | None) -> Raw:
    """The votes of the cells of a column."""
    classes: dict[str, None] = {}
    raw = collect(_chunks(opened, task, column, form, classes, progress), opened.name, has_workers=False)
    return raw if form == "list" else replace(raw, classes=tuple(classes))


def _chunks(
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
            votes = _votes(_parsed(cell), form)
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
            entries=(*batch.entries, *_unread(opened.name, items, batch.table[column], batch.rows, bad)),
            num_rows=batch.table.num_rows,
        )


def _unread(source: str, items: Coded, cells: pa.ChunkedArray, rows: IntArray, bad: Sequence[int]) -> list[Fired]:
    if not bad:
        return []
    at = np.asarray(bad, dtype=np.int64)
    values = [str(cells[place].as_py())[:200] for place in bad]
    return [fired("bad-cell", source, rows[at], tasks=items.texts(at), values=values)]


def _form(column: pa.ChunkedArray) -> str | None:
    """What the cells hold: a "list" of labels, "numbers" that may be labels, "counts", or None: something else."""
    cells = [cell.as_py() for cell in column.slice(0, LOOKED_AT)]
    if not any(
        isinstance(cell, (list, dict)) or (isinstance(cell, str) and cell.strip()[:1] in "[{") for cell in cells
    ):
        return None
    parsed = [_parsed(cell) for cell in cells if cell is not None and cell != ""]
    filled = [cell for cell in parsed if cell not in ([], {})]
    if not filled:
        return None
    if all(isinstance(cell, dict) and _votes(cell, "counts") for cell in filled):
        return "counts"
    if not all(isinstance(cell, list) and _votes(cell, "list") for cell in filled):
        return None
    labels = [name for cell in filled for name, _ in _votes(cell, "list") or ()]
    if len(labels) == len(filled) or len(set(labels)) > max(10, len(labels) / 2):
        return None  # one per cell, or nearly all different: free text
    numbers = [name for name in labels if re.fullmatch(r"-?\d+(\.\d*)?(e-?\d+)?", name)]
    if len(numbers) < len(labels):
        return "list"
    return None if any(not float(name).is_integer() for name in numbers) else "numbers"


def _parsed(cell: object) -> dict[str, Any] | list[Any] | None:
    """A cell as a list or a mapping; blank: an empty list; None: it is neither."""
    if cell is None or (isinstance(cell, str) and not cell.strip()):
        return []
    if isinstance(cell, str):
        try:
            cell = json.loads(cell) if cell.lstrip()[:1] in ("[", "{") else None
        except (ValueError, RecursionError):  # RecursionError: brackets nested too deeply
            return None
    if isinstance(cell, dict):  # a struct of Parquet has every key in every row
        return {key: value for key, value in cell.items() if value is not None}
    return cell if isinstance(cell, list) else None


def _votes(cell: object, form: str) -> list[tuple[str, int]] | None:
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
