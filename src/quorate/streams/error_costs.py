"""What each kind of error costs, as a user writes it -> a table (K, K), rows the truth, columns the answer.

Takes a CSV, a frame, an array or a mapping; names are matched by name, never by place. The rules that ask by costs,
vote by vote, stand here too. Called by `workflows.run`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from quorate.decision.error_costs import cheapest_answer, weigh_for_gain, weigh_for_threshold
from quorate.decision.policy import Stateless
from quorate.decision.threshold import Threshold
from quorate.decision.value import ValueOfInformation, optimistic_gain
from quorate.errors import InvalidInput, source_is
from quorate.methods import Method
from quorate.tables.own_types import name_text
from quorate.tables.readers.frames import open_frame
from quorate.tables.readers.open_files import open_file
from quorate.tables.readers.sources import Opened
from quorate.tables.votes.labels import meant
from quorate.types import FloatArray, IntArray, Item
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
    with source_is("error_costs"):
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


@dataclass(frozen=True, slots=True)
class CostGain(Stateless):
    """The value-of-information rule on what an error costs: `decision.error_costs.weigh_for_gain`, vote by vote."""

    min_gain: float
    costs: tuple[tuple[float, ...], ...]
    name = "value-of-information"
    stop_reason = "not_worth_it"

    def asks(self, state: None, item: Item, probs: FloatArray) -> bool:
        """Ask while the optimistic saving per vote is above `min_gain`."""
        weighted = np.empty(len(probs))
        weigh_for_gain(np.array(self.costs), probs, 0.0, weighted)
        return bool(optimistic_gain(weighted, item.votes, item.num_remaining) > self.min_gain)


@dataclass(frozen=True, slots=True)
class CostThreshold(Stateless):
    """The threshold rule on what an error costs: ask while the cheapest answer costs 1 - threshold or more."""

    threshold: float
    costs: tuple[tuple[float, ...], ...]
    name = "threshold"
    stop_reason = "confident"

    def asks(self, state: None, item: Item, probs: FloatArray) -> bool:
        """Ask while every answer costs too much."""
        weighted = np.empty(len(probs))
        weigh_for_threshold(np.array(self.costs), probs, 0.0, weighted)
        return bool(weighted.max() <= self.threshold)


def with_costs(method: Method, costs: FloatArray) -> Method:
    """The method asking by costs, for a replay vote by vote; rules that look at votes only stay as they are."""
    rows = tuple(tuple(float(cost) for cost in row) for row in costs)
    if type(method.policy) is ValueOfInformation:
        return replace(method, policy=CostGain(method.policy.min_gain, rows))
    if type(method.policy) is Threshold:
        return replace(method, policy=CostThreshold(method.policy.threshold, rows))
    return method


def cheapest_answers(costs: FloatArray, probs: FloatArray, tie_draws: FloatArray) -> IntArray:
    """The answer that costs least for each row of probs (T, K)."""
    work = np.empty(probs.shape[1])
    answers = [cheapest_answer(costs, row, draw, work) for row, draw in zip(probs, tie_draws, strict=True)]
    return np.array(answers, dtype=np.int64)
