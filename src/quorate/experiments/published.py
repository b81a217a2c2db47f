"""The paper's printed figures, read from `published.json`: figures only, as they stand in its tables.

Methods carry our names: the shift table's "Fixed" is `fixed-finexp`, the "Fix-" rows of the two-phase and tau tables
ask with the fixed prior and learn beside it, `fixed-ask-*`. Errors and gains are in percent. Read by every experiment
that prints ours beside the paper's.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

Phase = Literal["pre", "post"]
BUDGETS = (0.5, 1.0, 2.0, 3.0)
PHASES: tuple[Phase, Phase] = ("pre", "post")


class Printed(NamedTuple):
    """One printed cell and its standard error."""

    value: float
    se: float


class Floor(NamedTuple):
    """Least error that ties allow, in percent; `is_bound`: the paper says only that it is below this."""

    error: float
    is_bound: bool


def shift_error(method: str, budget: float, phase: Phase) -> Printed | None:
    """Error before or after the shift, in percent (tab:dist_shift_appendix); None if the paper has no such row.

    >>> shift_error("infexp", 1.0, "post")
    Printed(value=11.52, se=0.17)
    >>> shift_error("quorate", 1.0, "post")
    """
    return _shift_table().get((method, float(budget), phase))


def two_phase_gain(accuracy: int, method: str, budget: float) -> Printed | None:
    """Accuracy gained over the classifier without asking, in points (tab:two_phase).

    >>> two_phase_gain(50, "fixed-ask-finexp", 3)
    Printed(value=3.29, se=0.23)
    """
    return _cells("two_phase", "gain").get((accuracy, method, float(budget)))


def tau_correlation(accuracy: int, method: str, budget: float) -> Printed | None:
    """Pearson correlation of learned tau and per-class accuracy; None where the paper prints "-" or nothing.

    >>> tau_correlation(90, "infexp", 3), tau_correlation(90, "fixed-ask-infexp", 3)
    (Printed(value=0.767, se=0.024), None)
    """
    return _cells("tau_correlations", "correlation").get((accuracy, method, float(budget)))


def tie_floor(data: str, pool_size: int) -> Floor | None:
    """The error that ties leave to every method, as the paper states it.

    >>> tie_floor("imagenet16h", 6)
    Floor(error=2.92, is_bound=False)
    """
    rows = [row for row in tables()["floors"] if row["data"] == data and row["pool_size"] == pool_size]
    return Floor(rows[0]["error"], rows[0]["bound"]) if rows else None


@cache
def tables() -> dict[str, list[dict[str, Any]]]:
    """Everything printed, as rows: shift_table, two_phase, tau_correlations, floors."""
    content: dict[str, list[dict[str, Any]]] = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
    return content


@cache
def _shift_table() -> dict[tuple[str, float, str], Printed]:
    return {
        (row["method"], float(row["budget"]), row["phase"]): Printed(row["error"], row["se"])
        for row in tables()["shift_table"]
    }


@cache
def _cells(table: str, value: str) -> dict[tuple[int, str, float], Printed]:
    """The cells of a table that are not left blank."""
    return {
        (row["accuracy"], row["method"], float(row["budget"])): Printed(row[value], row["se"])
        for row in tables()[table]
        if row[value] is not None
    }
