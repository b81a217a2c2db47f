"""A column whose cells hold a prediction each, {"cat": 0.7, ...} or [0.7, ...] -> a column per class.

Called by `forms`: such cells come from JSONL, from Parquet's structs and lists, and as JSON in the text of
a CSV.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from quorate.tables.readers.arrow import TEXT, pa
from quorate.tables.readers.sources import Opened, TableBatch, unique_columns
from quorate.validate import broken

NOT_A_PREDICTION = "no prediction"  # is no number, so that the rule for bad probabilities meets it


def unnested(
    opened: Opened,
    first: pa.Table,
    others: Sequence[str],
    classes: tuple[str, ...] | None,
) -> tuple[Opened, tuple[str, ...]]:
    """The table with its one such column taken apart, and the names of the columns it gave; (as it is, ()) if none.

    `first`: its first batch. A class that a mapping leaves out has probability 0; the numbers of a list are those of
    `classes`, in order.
    """
    column = next((name for name in others if _first(first[name]) is not None), None)
    if column is None:
        return opened, ()
    names = _names(opened, column, first[column], classes)
    kept = tuple(name for name in opened.columns if name != column)

    def read(columns: Sequence[str] | None) -> Iterator[TableBatch]:
        wanted = list(kept) + list(names) if columns is None else list(columns)
        plain = [name for name in wanted if name in kept]
        for batch in opened.read([*plain, column]):
            yield replace(batch, table=_taken_apart(batch.table, column, names, wanted))

    return replace(opened, columns=unique_columns((*kept, *names), opened.name), read=read), names


def _names(opened: Opened, column: str, cells: pa.ChunkedArray, classes: tuple[str, ...] | None) -> tuple[str, ...]:
    """The classes: the keys in the order in which they come, or those given for a list."""
    found = _first(cells)
    if isinstance(found, dict):
        return tuple(dict.fromkeys(str(key) for cell in _parsed(cells) if isinstance(cell, dict) for key in cell))
    if classes is None or found is None or len(classes) != len(found):
        told = "" if classes is None else f"; {len(classes)} are given, {list(classes[:10])}"
        rule = f"the classes of {column!r}, which is a list of {len(found or ())}{told}"
        raise broken("source", opened.name, rule, "name them in order: `classes=['a', 'b', ...]`.")
    return classes


def _taken_apart(table: pa.Table, column: str, names: Sequence[str], wanted: Sequence[str]) -> pa.Table:
    cells = [_row(cell, names) for cell in _parsed(table[column])]
    by_name = dict(zip(names, zip(*cells, strict=True), strict=True)) if cells else dict.fromkeys(names, ())
    return pa.table({name: pa.array(by_name[name], type=TEXT) if name in by_name else table[name] for name in wanted})


def _row(cell: Mapping[str, object] | Sequence[object] | None, names: Sequence[str]) -> list[str | None]:
    if cell is None:
        return [None] * len(names)
    if isinstance(cell, dict):
        return [str(cell.get(name, 0)) for name in names]
    return list(map(str, cell)) if len(cell) == len(names) else [NOT_A_PREDICTION] * len(names)


def _first(column: pa.ChunkedArray) -> dict[str, Any] | list[Any] | None:
    """The first cell that is not blank, if it is a mapping or a list of numbers."""
    for cell in column.slice(0, 100):
        if cell.is_valid and cell.as_py() not in ("", [], {}):
            return _prediction(cell.as_py())
    return None


def _parsed(column: pa.ChunkedArray) -> Iterator[dict[str, Any] | list[Any] | None]:
    """Each cell as a mapping or a list of numbers; None if it is blank, an empty list if it is something else."""
    for cell in column.to_pylist():
        yield None if cell is None or cell == "" else (_prediction(cell) or [])


def _prediction(cell: object) -> dict[str, Any] | list[Any] | None:
    """A mapping or list of numbers, whether it is one or is written as JSON.

    >>> _prediction('{"cat": "0.7", "dog": 0.3}'), _prediction("cat"), _prediction('["a"]')
    ({'cat': '0.7', 'dog': 0.3}, None, None)
    """
    if isinstance(cell, str):
        if cell.lstrip()[:1] not in ("{", "["):
            return None
        try:
            cell = json.loads(cell)
        except ValueError:
            return None
    found: dict[str, Any] | list[Any] = cell if isinstance(cell, list) else []
    if isinstance(cell, dict):  # a struct of Parquet has every key in every row
        found = {key: value for key, value in cell.items() if value is not None}
    values = found.values() if isinstance(found, dict) else found
    return found if values and all(map(_is_number, values)) else None


def _is_number(value: object) -> bool:
    try:
        float(cast(Any, value))
    except (TypeError, ValueError):
        return False
    return not isinstance(value, bool)
