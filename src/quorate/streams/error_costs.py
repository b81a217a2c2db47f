"""What each kind of error costs, as a user writes it -> a table (K, K), rows the truth, columns the answer.

Takes a CSV, a frame, an array or a mapping; classes are matched by name, never by place. Called by `workflows.run`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from quorate.errors import InvalidInput
from quorate.tables.argument_names import said_as
from quorate.tables.own_types import name_text
from quorate.tables.readers.frames import open_frame
from quorate.tables.readers.open_files import open_file
from quorate.tables.readers.sources import Opened
from quorate.tables.votes.labels import meant
from quorate.types import FloatArray
from quorate.validate import as_floats, shown

FIX = "Write a table with the truth in the first column and an answer at the head of each further one."
Cells = Iterable[tuple[str, str, Any]]


def read_error_costs(source: Any, classes: Sequence[str]) -> FloatArray:  # noqa: ANN401
    """The costs (K, K) in the order of `classes`; what is not said costs 1, a right answer nothing.

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
            raise InvalidInput(
                f"error_costs has shape {costs.shape}; expected ({len(names)}, {len(names)}), truth by answer, in the "
                f"order of the classes {shown(names)}."
            )
    else:
        costs = 1.0 - np.eye(len(names))
        for truth, answer, cost in _cells(source):
            costs[_place(truth, names), _place(answer, names)] = _number(cost, truth, answer)
    return _checked(costs, names)


def _cells(source: Any) -> Cells:  # noqa: ANN401
    """Truth, answer and cost of each cell that says something."""
    if isinstance(source, Mapping):
        for truth, row in source.items():
            if not isinstance(row, Mapping):
                raise InvalidInput(f"error_costs[{truth!r}]={shown(row)}; expected a mapping of answers to costs.")
            yield from ((name_text(truth), name_text(answer), cost) for answer, cost in row.items())
        return
    with said_as("error_costs"):
        opened = open_file(source) if isinstance(source, (str, Path)) else open_frame(source, name="error_costs")
    yield from _table_cells(opened)


def _table_cells(opened: Opened) -> Cells:
    if len(opened.columns) < 2:
        raise InvalidInput(f"{opened.name} has one column; expected the truth and one column per answer. {FIX}")
    seen = set()
    for batch in opened.read(None):
        if batch.entries:
            raise InvalidInput(f"{opened.name} has rows with more or fewer cells than its header. {FIX}")
        for row in batch.table.to_pylist():
            truth, *cells = (row[name] for name in opened.columns)
            name = _text(truth)
            if not name and not any(_text(cell) for cell in cells):
                continue
            if name in seen:
                raise InvalidInput(f"{opened.name} has two rows for the truth {name!r}; expected one each.")
            seen.add(name)
            pairs = zip(opened.columns[1:], cells, strict=True)
            yield from ((name, answer.strip(), cell) for answer, cell in pairs if _text(cell))


def _text(cell: Any) -> str:  # noqa: ANN401
    if cell is None or (isinstance(cell, float) and np.isnan(cell)):
        return ""
    return str(int(cell) if isinstance(cell, float) and cell.is_integer() else cell).strip()


def _place(name: str, names: list[str]) -> int:
    if name not in names:
        close = meant(name, names)
        hint = FIX if close is None else f"Did you mean {close!r}?"
        raise InvalidInput(f"error_costs names the class {name!r}; the classes are {shown(names)}. {hint}")
    return names.index(name)


def _number(cost: Any, truth: str, answer: str) -> float:  # noqa: ANN401
    try:
        return float(str(cost).strip())
    except ValueError:
        raise InvalidInput(
            f"error_costs: answering {answer!r} where {truth!r} is true costs {shown(cost)}; expected a number."
        ) from None


def _checked(costs: FloatArray, names: list[str]) -> FloatArray:
    bad = ~(np.isfinite(costs) & (costs >= 0))
    right = np.diag(costs) != 0
    if bad.any() or right.any():
        truth, answer = np.argwhere(bad)[0] if bad.any() else [int(np.flatnonzero(right)[0])] * 2
        rule = "expected finite costs of 0 or more" if bad.any() else "expected 0: a right answer costs nothing"
        raise InvalidInput(
            f"error_costs: answering {names[answer]!r} where {names[truth]!r} is true costs {costs[truth, answer]:g}; "
            f"{rule}; correct the cell."
        )
    if not costs.any():
        raise InvalidInput("error_costs says that no error costs anything; expected some cost above 0.")
    return costs
