"""The table of errors before and after the shift at the paper's budgets, by both groupings, beside its figures.

A budget can mean votes per item before the shift (what the printed figures match) or over the whole stream (the fair
comparison). Each stream's curve is read at the budget; beside it stands the paper's own bin, all runs within 0.1 of
the budget. Takes `Streams`, gives `Cell`s. Called by `shift`; pure.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from quorate.paper.published import (
    BUDGETS,
    PHASES,
    Phase,
    Verdict,
    at_least_as_good,
    difference_se,
    shift_error,
    verdict,
)
from quorate.paper.readings import JobOutcome, at_cost, mean_se, near_cost, seeds_se
from quorate.paper.shift.streams import LABELS, PRINTED, Streams
from quorate.reports.plain_json import plain
from quorate.types import FloatArray

Grouping = Literal["pre-shift cost", "whole-stream cost"]
GROUPINGS: tuple[Grouping, Grouping] = ("pre-shift cost", "whole-stream cost")


@dataclass(frozen=True, slots=True)
class Cell:
    """Error of a method at a budget in one phase, percent, beside the printed one.

    `ours`: mean over streams of the curve read at the budget, NaN unless all reach it; `se`: its standard error over
    seeds, the classifiers being fixed; `streams_se`: over classifiers and seeds alike. `binned`: mean of the `num_runs`
    runs within 0.1 of the budget, None if there are none. The printed figure and what follows from it are
    None where the paper has no such row. `floor`: the phase's tie floor.
    """

    method: str
    budget: float
    grouping: Grouping
    phase: Phase
    ours: float
    se: float
    streams_se: float
    binned: float | None
    num_runs: int
    floor: float
    paper: float | None = None
    paper_se: float | None = None

    @property
    def difference_se(self) -> float | None:
        """(ours - paper) in combined standard errors."""
        if self.paper is None or self.paper_se is None:
            return None
        return difference_se(self.ours, self.se, self.paper, self.paper_se)

    @property
    def verdict(self) -> Verdict | None:
        """Within 2 points or 3 combined standard errors, or better, or not reproduced."""
        if self.paper is None or self.paper_se is None:
            return None
        return verdict(self.ours, self.se, self.paper, self.paper_se, floor=self.floor)

    @property
    def is_at_least_as_good(self) -> bool:
        """At most the printed error within 2 combined standard errors, or near the floor (`at_least_as_good`)."""
        if self.paper is None or self.paper_se is None:
            return False
        return at_least_as_good(self.ours, self.se, self.paper, self.paper_se, floor=self.floor)


def cells(streams: Streams, grouping: Grouping) -> tuple[Cell, ...]:
    """The whole table by one grouping, each cell beside the printed one where there is one."""
    return tuple(
        _cell(streams, name, budget, grouping, phase) for name in LABELS for budget in BUDGETS for phase in PHASES
    )


def as_row(cell: Cell) -> dict[str, Any]:
    """A cell for summary.json."""
    row = asdict(cell) | {"verdict": cell.verdict, "difference_se": cell.difference_se}
    del row["floor"]
    found: dict[str, Any] = plain(row)
    return found


def count(table: Iterable[Cell], methods: Iterable[str], verdicts: Iterable[Verdict]) -> tuple[int, int]:
    """How many of the printed cells of these methods have one of these verdicts, and of how many."""
    wanted, methods = set(verdicts), set(methods)
    judged = [cell.verdict for cell in table if cell.method in methods and cell.verdict is not None]
    return sum(each in wanted for each in judged), len(judged)


def grouped_costs(outcome: JobOutcome, grouping: Grouping) -> FloatArray:
    """(Q,) the cost that a budget means."""
    return outcome.costs[:, 0] if grouping == "pre-shift cost" else outcome.mean_costs


def errors_at(outcomes: Iterable[JobOutcome], budget: float, grouping: Grouping, phase: Phase) -> FloatArray:
    """(S,) percent wrong of each stream at the budget; NaN where its curve does not reach."""
    index = PHASES.index(phase)
    return np.array(
        [100 * float(at_cost(grouped_costs(each, grouping), each.errors[:, index], budget)) for each in outcomes]
    )


def _cell(streams: Streams, name: str, budget: float, grouping: Grouping, phase: Phase) -> Cell:
    outcomes, index = streams.outcomes[name], PHASES.index(phase)
    read = errors_at(outcomes, budget, grouping, phase)
    reached = not np.isnan(read).any()
    near = np.concatenate(
        [near_cost(grouped_costs(each, grouping), 100 * each.errors[:, index], budget) for each in outcomes]
    )
    paper = shift_error(PRINTED[name], budget, phase) if name in PRINTED else None
    return Cell(
        method=name,
        budget=budget,
        grouping=grouping,
        phase=phase,
        ours=float(read.mean()),
        se=float(seeds_se(read, [each.job.model for each in outcomes])),
        streams_se=mean_se(read)[1] if reached else math.nan,
        binned=float(near.mean()) if len(near) else None,
        num_runs=len(near),
        floor=float(streams.floors[index]),
        paper=paper.value if paper else None,
        paper_se=paper.se if paper else None,
    )
