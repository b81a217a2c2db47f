"""The table of errors before and after the shift: printed, as published, as released, exact, and `value`, side by side.

A cell is read by both groupings, votes per item before the shift or over the whole stream: the mean over classifiers
and seeds of each stream's error at the budget, if its runs come within 0.1 of the budget. `counts`: how many cells
agree with the printed ones. Called by `shift`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from quorate.reports.format import Cell
from quorate.reports.section import Table
from quorate_paper.jobs import METHOD_LABELS, JobOutcome, seeds_se
from quorate_paper.published import Printed, is_close, is_near, shift_error
from quorate_paper.settings import BUDGETS, FINEXP_32, PHASES, Phase
from quorate_paper.shift.near import GROUPINGS, Grouping
from quorate_paper.shift.stored import SAMPLED, SAMPLED_BUDGETS, Stored
from quorate_paper.shift.streams import Streams, errors_at
from quorate_paper.store import known

COLUMNS = {  # the columns after the printed one
    "as_published": "as published",
    "as_released": "as released",
    "exact": "exact, paper's prior",
    "finexp_32": "exact, Gamma(3, 2)",
    "value": "value",
}
COUNTED = tuple(name for name in COLUMNS if name != "value")
ROWS = ("random", "entropy", "mp", "fixed-finexp", "finexp", "infexp")
NO_RUNS = "no runs"
SAMPLED_ROW = "finexp-sampled"  # on one classifier
NOTE = (
    "Mean ± standard error over seeds with fixed classifiers. A stream counts if one of its runs costs within 0.1 of "
    "the budget; a cell that not every classifier reaches names how many do, and is not counted. As published: draws "
    "of the winner, Adam, and for FinExp the closed likelihood, except in the row of its 1,000 importance samples (one "
    "classifier in every column but the printed one, not counted). As released: the votes seen are left out of the "
    "final count, Gamma(3, 2) for FinExp, too; MP asks by 1 - max f. The baselines have no estimator: exact is as "
    "published. value is the default method, under its own prior."
)


class Reading(NamedTuple):
    """A measured error in percent; `num_reached` of `num_models` classifiers have runs at the budget."""

    value: float
    se: float
    num_reached: int
    num_models: int

    @property
    def is_whole(self) -> bool:
        """Whether every classifier reaches the budget."""
        return self.num_reached == self.num_models

    @property
    def text(self) -> str:
        """The cell in the table."""
        if not self.num_reached:
            return NO_RUNS
        few = "" if self.is_whole else f" ({self.num_reached} of {self.num_models} classifiers)"
        return f"{self.value:.2f}{'' if math.isnan(self.se) else f' ± {self.se:.2f}'}{few}"


@dataclass(frozen=True, slots=True)
class ShiftCell:
    """One printed cell with everything beside it; a column without a counterpart is not in `read`."""

    method: str
    budget: float
    grouping: Grouping
    phase: Phase
    printed: Printed
    read: dict[str, Reading]

    def row(self) -> dict[str, Any]:
        """The cell for summary.json."""
        found: dict[str, Any] = {
            "method": self.method, "label": label(self.method), "budget": self.budget, "grouping": self.grouping,
            "phase": self.phase, "printed": self.printed.value, "printed_se": self.printed.se,
        }  # fmt: skip
        for name, reading in self.read.items():
            found |= {name: known(reading.value), f"{name}_se": known(reading.se), f"{name}_text": reading.text}
        return found


def label(method: str) -> str:
    """The method in tables.

    >>> label("finexp-sampled"), label("mp")
    ('FinExp, 1,000 importance samples, one classifier', 'MP')
    """
    if method == SAMPLED_ROW:
        return "FinExp, 1,000 importance samples, one classifier"
    return "Fixed (Fix-FinExp)" if method == "fixed-finexp" else METHOD_LABELS[method]


def cells(streams: Streams, stored: Stored | None, grouping: Grouping) -> tuple[ShiftCell, ...]:
    """The whole table by one grouping."""
    return tuple(
        _cell(streams, stored, method, budget, grouping, phase)
        for method in (*ROWS[:5], SAMPLED_ROW, *ROWS[5:])
        for budget in (SAMPLED_BUDGETS if method == SAMPLED_ROW else BUDGETS)
        for phase in PHASES
        if method != SAMPLED_ROW or stored is not None
    )


def reading(
    outcomes: Sequence[JobOutcome], budget: float, grouping: Grouping, phase: Phase, num_models: int = 1
) -> Reading:
    """The error at a budget, by classifier first: classifiers without runs there are left out."""
    models = np.array([each.job.model for each in outcomes])
    errors = errors_at(outcomes, budget, grouping, phase)
    there, num_models = ~np.isnan(errors), max(num_models, len(set(models)))
    reached = list(dict.fromkeys(models[there]))
    if not reached:
        return Reading(math.nan, math.nan, 0, num_models)
    mean = float(np.mean([errors[there & (models == model)].mean() for model in reached]))
    return Reading(mean, float(seeds_se(errors[there], list(models[there]))), len(reached), num_models)


def _cell(
    streams: Streams, stored: Stored | None, method: str, budget: float, grouping: Grouping, phase: Phase
) -> ShiftCell:
    name = "finexp" if method == SAMPLED_ROW else method
    printed = shift_error(name, budget, phase)
    assert printed is not None
    sources = _sources(streams, stored, method)
    many = 1 if method == SAMPLED_ROW else len(streams.models)
    read = {
        column: reading(sources[column], budget, grouping, phase, many) for column in COLUMNS if sources.get(column)
    }
    return ShiftCell(method, budget, grouping, phase, printed, read)


def _sources(streams: Streams, stored: Stored | None, method: str) -> dict[str, tuple[JobOutcome, ...]]:
    """The outcomes that each column is read from."""
    kept = {} if stored is None else stored.outcomes
    if method == SAMPLED_ROW:
        published = kept[SAMPLED, "finexp"]
        found = {"exact": "finexp", "finexp_32": FINEXP_32, "value": "value"}
        only = {each.job.model for each in published}
        exact = {column: [each for each in streams.outcomes[name] if each.job.model in only]
                 for column, name in found.items()}  # fmt: skip
        return {"as_published": published} | {column: tuple(outcomes) for column, outcomes in exact.items()}
    found = {"exact": method, "value": "value"} | ({"finexp_32": FINEXP_32} if method == "finexp" else {})
    found |= {"as_released": "mp-released"} if method == "mp" else {}
    sources = {column: streams.outcomes[name] for column, name in found.items()}
    sources["as_published"] = kept.get(("as-published", method), ())
    if method != "mp":  # InfExp has the same rule and prior in the released code
        variant = "as-published" if method == "infexp" else "as-released"
        sources["as_released"] = kept.get((variant, method), ())
    return sources


class Count(NamedTuple):
    """How many of `total` printed cells a column agrees with: within 2 combined standard errors, and more widely."""

    column: str
    grouping: Grouping
    close: int
    near: int
    total: int


def counts(table: Iterable[ShiftCell]) -> tuple[Count, ...]:
    """Both counts of each column and grouping, over the cells that every classifier reaches."""
    table = [cell for cell in table if cell.method != SAMPLED_ROW]
    found = []
    for grouping in GROUPINGS:
        for column in COUNTED:
            pairs = list(_counted(table, grouping, column))
            close = sum(is_close(each.value, each.se, printed) for each, printed in pairs)
            near = sum(is_near(each.value, each.se, printed) for each, printed in pairs)
            found.append(Count(column, grouping, close, near, len(pairs)))
    return tuple(found)


def _counted(table: Iterable[ShiftCell], grouping: Grouping, column: str) -> Iterator[tuple[Reading, Printed]]:
    for cell in table:
        if cell.grouping == grouping and column in cell.read and cell.read[column].is_whole:
            yield cell.read[column], cell.printed


def as_table(table: Sequence[ShiftCell], grouping: Grouping) -> Table:
    """The table by one grouping."""
    meaning = "before the shift" if grouping == "pre-shift cost" else "over the whole stream"
    chosen = [cell for cell in table if cell.grouping == grouping]
    rows: list[tuple[Cell, ...]] = [
        (
            label(cell.method), f"{cell.budget:g}", cell.phase, f"{cell.printed.value:.2f} ± {cell.printed.se:.2f}",
            *(cell.read[name].text if name in cell.read else NO_RUNS for name in COUNTED),
        )
        for cell in chosen
    ]  # fmt: skip
    rows += [
        ("value", f"{cell.budget:g}", cell.phase, "", *(cell.read["value"].text if name == "exact" else NO_RUNS
                                                         for name in COUNTED))
        for cell in chosen
        if cell.method == ROWS[0]
    ]  # fmt: skip
    return Table(
        key=f"shift-{grouping.replace(' ', '-')}",
        title=f"Error before and after the shift, percent; budgets are votes per item {meaning}",
        heads=("method", "budget", "phase", "printed", *(COLUMNS[name] for name in COUNTED)),
        rows=tuple(rows),
        note=NOTE,
        text_columns=3,
    )


def count_table(found: Sequence[Count]) -> Table:
    """Both counts, by column and grouping."""
    return Table(
        key="shift-counts",
        title="Printed cells that agree",
        heads=("column", "budgets are", "cells", "within 2 standard errors", "within 2 points or 3 standard errors"),
        rows=tuple((COLUMNS[each.column], each.grouping, each.total, each.close, each.near) for each in found),
        note="Standard errors of the measured and the printed figure, combined. A difference in either direction is a "
        "difference. Cells that some classifier does not reach are left out.",
        text_columns=2,
    )
