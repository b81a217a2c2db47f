"""Reads error costs into a table (K, K), rows the truth, columns the answer.

Takes a CSV, a frame, an array or a mapping; classes are matched by name, never by position. Called by `workflows.run`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from quorate.errors import shown, source_is
from quorate.tables.readers.frames import open_frame
from quorate.tables.readers.open_files import open_file
from quorate.tables.readers.sources import Opened
from quorate.tables.votes.names import meant, name_text
from quorate.types import FloatArray, TableLike
from quorate.validate import as_floats, invalid

FIX = "write a table with the truth in the first column and one further column for each answer."
Cells = Iterable[tuple[str, str, object]]
ErrorCosts = TableLike | FloatArray | Mapping[str, Mapping[str, float]]


def read_error_costs(source: ErrorCosts, classes: Sequence[str]) -> FloatArray:
    """The costs (K, K) in the order of `classes`; the default is 1 for an error, 0 for a right answer.

    `source`: a path or frame whose first column names the truth and whose other columns are answers; a mapping
    `{truth: {answer: cost}}`; or an array (K, K). Costs are in units of an ordinary error.

    >>> read_error_costs({"cancer": {"healthy": 50}}, ["healthy", "cancer"])
    array([[ 0.,  1.],
           [50.,  0.]])
    """
    names = list(classes)
    if isinstance(source, np.ndarray):
        costs = as_floats(source, where="error_costs")
        if costs.shape != (len(names), len(names)):
            rule = f"shape ({len(names)}, {len(names)}), truth by answer, in the order of the classes {shown(names)}"
            raise invalid("error_costs", costs.shape, rule, "pass an array of this shape, or a table with names.")
    else:
        costs = 1.0 - np.eye(len(names))
        for truth, answer, cost in _cells(source):
            costs[_place(truth, names), _place(answer, names)] = _number(cost, truth, answer)
    return _checked(costs, names)


def _cells(source: ErrorCosts) -> Cells:
    """Truth, answer and cost of each non-empty cell."""
    if isinstance(source, Mapping):
        for truth, row in source.items():
            if not isinstance(row, Mapping):
                fix = f"pass `error_costs={{{truth!r}: {{'answer': 5}}}}`."
                raise invalid("error_costs", {truth: row}, "a mapping of answers to costs for each truth", fix)
            yield from ((name_text(truth), name_text(answer), cost) for answer, cost in row.items())
        return
    with source_is("error_costs"):
        opened = open_file(source) if isinstance(source, (str, Path)) else open_frame(source, name="error_costs")
    yield from _table_cells(opened)


def _table_cells(opened: Opened) -> Cells:
    if len(opened.columns) < 2:
        raise invalid("error_costs", list(opened.columns), "the truth and one column per answer", FIX)
    seen = set()
    for batch in opened.read(None):
        if batch.entries:
            raise invalid("error_costs", opened.name, "rows with as many cells as the header", FIX)
        for row in batch.table.to_pylist():
            truth, *cells = (row[name] for name in opened.columns)
            name = _text(truth)
            if not name and not any(_text(cell) for cell in cells):
                continue
            if name in seen:
                raise invalid("error_costs", name, "one row for each truth", "delete one of the two.")
            seen.add(name)
            pairs = zip(opened.columns[1:], cells, strict=True)
            yield from ((name, answer.strip(), cell) for answer, cell in pairs if _text(cell))


def _text(cell: object) -> str:
    if cell is None or (isinstance(cell, float) and np.isnan(cell)):
        return ""
    return str(int(cell) if isinstance(cell, float) and cell.is_integer() else cell).strip()


def _place(name: str, names: list[str]) -> int:
    if name not in names:
        close = meant(name, names)
        fix = FIX if close is None else f"did you mean {close!r}?"
        raise invalid("error_costs", name, f"a class; the classes are {shown(names)}", fix)
    return names.index(name)


def _number(cost: object, truth: str, answer: str) -> float:
    try:
        return float(str(cost).strip())
    except ValueError:
        rule = f"a number, for answering {answer!r} where {truth!r} is true"
        raise invalid("error_costs", cost, rule, "correct the cell.") from None


def _checked(costs: FloatArray, names: list[str]) -> FloatArray:
    bad = ~(np.isfinite(costs) & (costs >= 0))
    right = np.diag(costs) != 0
    if bad.any() or right.any():
        truth, answer = np.argwhere(bad)[0] if bad.any() else [int(np.flatnonzero(right)[0])] * 2
        rule = "a finite cost of 0 or more" if bad.any() else "0, since a right answer costs nothing"
        where = f"for answering {names[answer]!r} where {names[truth]!r} is true"
        raise invalid("error_costs", float(costs[truth, answer]), f"{rule}, {where}", "correct the cell.")
    if not costs.any():
        raise invalid("error_costs", costs.tolist(), "some cost above 0", "correct the table.")
    return costs
