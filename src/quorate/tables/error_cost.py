"""Reads what a wrong answer costs, in votes: one number, or a table by truth and answer.

A table is a CSV, a frame, an array (K, K) or a mapping; classes are matched by name, never by position. Called by
sessions and commands.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import cast

import numpy as np

from quorate.errors import shown, source_is
from quorate.model import DEFAULT_ERROR_COST, ErrorCosts
from quorate.tables.labels import meant
from quorate.tables.texts import name_text
from quorate.types import FloatArray, TableLike
from quorate.validate import above_zero, as_floats, invalid

FIX = "write the truth in the first column and a column for each answer."
Cells = Iterable[tuple[str, str, object]]
ErrorCost = float | TableLike | FloatArray | Mapping[str, Mapping[str, float]]


def read_error_cost(source: ErrorCost, classes: Sequence[str]) -> float | ErrorCosts:
    """What errors cost, in votes: one number, also if all errors of a table cost the same; else costs in class order.

    `source`: a number; a path or frame whose first column names the truth and whose other columns are answers; a
    mapping `{truth: {answer: cost}}`; or an array (K, K). What a table does not name costs the default.

    >>> read_error_cost({"cancer": {"healthy": 500}}, ["healthy", "cancer"]).votes
    array([[  0., 200.],
           [500.,   0.]])
    >>> read_error_cost({"cancer": {"healthy": 50}, "healthy": {"cancer": 50}}, ["healthy", "cancer"])
    50.0
    """
    if is_number(source):
        return above_zero(source, where="error_cost")
    names = list(classes)
    if isinstance(source, np.ndarray):
        costs = as_floats(source, where="error_cost")
        if costs.shape != (len(names), len(names)):
            rule = f"shape ({len(names)}, {len(names)}), truth by answer, in the order of the classes {shown(names)}"
            raise invalid("error_cost", costs.shape, rule, "pass an array of this shape, or a table with names.")
    else:
        costs = DEFAULT_ERROR_COST * (1.0 - np.eye(len(names)))
        for truth, answer, cost in _cells(source):
            costs[_place(truth, names), _place(answer, names)] = _number(cost, truth, answer)
    _check(costs, names)
    errors = costs[~np.eye(len(names), dtype=bool)]
    return float(errors[0]) if (errors == errors[0]).all() else ErrorCosts.of(costs)


def is_number(source: object) -> bool:
    """Whether one number is given, and no table.

    >>> is_number(200), is_number("costs.csv")
    (True, False)
    """
    return isinstance(source, (Real, np.generic))


def _cells(source: ErrorCost) -> Cells:
    """Truth, answer and cost of each non-empty cell."""
    if isinstance(source, Mapping):
        for truth, row in source.items():
            if not isinstance(row, Mapping):
                fix = f"pass `error_cost={{{truth!r}: {{'answer': 500}}}}`."
                raise invalid("error_cost", {truth: row}, "a mapping of answers to costs for each truth", fix)
            yield from ((name_text(truth), name_text(answer), cost) for answer, cost in row.items())
        return
    from quorate.tables.small_tables import text_rows  # here, so that mappings need no extra

    with source_is("error_cost"):
        table = text_rows(cast("TableLike", source), name="error_cost")
    if len(table.columns) < 2:
        raise invalid("error_cost", list(table.columns), "the truth and one column per answer", FIX)
    seen = set()
    for truth, *cells in table.rows:
        if truth in seen:
            raise invalid("error_cost", truth, "one row for each truth", "delete one of the two.")
        seen.add(truth)
        yield from ((truth, answer, cell) for answer, cell in zip(table.columns[1:], cells, strict=True) if cell)


def _place(name: str, names: list[str]) -> int:
    if name not in names:
        close = meant(name, names)
        fix = FIX if close is None else f"did you mean {close!r}?"
        raise invalid("error_cost", name, f"a class; the classes are {shown(names)}", fix)
    return names.index(name)


def _number(cost: object, truth: str, answer: str) -> float:
    try:
        return float(str(cost).strip())
    except ValueError:
        rule = f"a number, for answering {answer!r} where {truth!r} is true"
        raise invalid("error_cost", cost, rule, "correct the cell.") from None


def _check(costs: FloatArray, names: list[str]) -> None:
    bad = ~(np.isfinite(costs) & (costs >= 0))
    right = np.diag(costs) != 0
    if bad.any() or right.any():
        truth, answer = np.argwhere(bad)[0] if bad.any() else [int(np.flatnonzero(right)[0])] * 2
        rule = "a finite cost of 0 or more" if bad.any() else "0, since a right answer costs nothing"
        where = f"for answering {names[answer]!r} where {names[truth]!r} is true"
        raise invalid("error_cost", float(costs[truth, answer]), f"{rule}, {where}", "correct the cell.")
    if not costs.any():
        raise invalid("error_cost", costs.tolist(), "some cost above 0", "correct the table.")
