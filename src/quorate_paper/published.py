"""The paper's printed figures, and how far a measured one is from them."""

from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from quorate_paper.settings import Phase


class Printed(NamedTuple):
    """One printed cell and its standard error."""

    value: float
    se: float


class Floor(NamedTuple):
    """The lowest error that ties allow, in percent; `is_bound`: the paper only says that it is below this."""

    error: float
    is_bound: bool


def shift_error(method: str, budget: float, phase: Phase) -> Printed | None:
    """Error before or after the shift, in percent (tab:dist_shift_appendix); None if the paper has no such row.

    >>> shift_error("infexp", 1.0, "post")
    Printed(value=11.52, se=0.17)
    >>> shift_error("value", 1.0, "post")
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
    """The error that ties cause for every method, as stated in the paper.

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
    """The non-empty cells of a table."""
    return {
        (row["accuracy"], row["method"], float(row["budget"])): Printed(row[value], row["se"])
        for row in tables()[table]
        if row[value] is not None
    }


def combined_se(se: float, paper_se: float) -> float:
    """sqrt(se^2 + paper_se^2); an unknown one counts as 0.

    >>> combined_se(3.0, 4.0), combined_se(float("nan"), 4.0)
    (5.0, 4.0)
    """
    return math.hypot(0.0 if math.isnan(se) else se, 0.0 if math.isnan(paper_se) else paper_se)


def difference_se(ours: float, se: float, paper: float, paper_se: float) -> float:
    """(ours - paper) in combined standard errors; infinite if both are exact and differ.

    >>> difference_se(12.0, 0.3, 11.0, 0.4)
    2.0
    """
    difference, scale = ours - paper, combined_se(se, paper_se)
    if scale == 0.0:
        return difference if difference == 0.0 or math.isnan(difference) else math.copysign(math.inf, difference)
    return difference / scale


CLOSE_SE, NEAR_POINTS, NEAR_SE = 2.0, 2.0, 3.0


def is_close(ours: float, se: float, paper: Printed) -> bool:
    """Within 2 combined standard errors of the printed figure.

    >>> is_close(11.9, 0.1, Printed(11.5, 0.2)), is_close(12.1, 0.1, Printed(11.5, 0.2))
    (True, False)
    """
    return abs(difference_se(ours, se, *paper)) <= CLOSE_SE


def is_near(ours: float, se: float, paper: Printed) -> bool:
    """Within 2 points or 3 combined standard errors of the printed figure.

    >>> is_near(12.1, 0.1, Printed(11.5, 0.2)), is_near(14.0, 0.1, Printed(11.5, 0.2))
    (True, False)
    """
    return abs(ours - paper.value) <= NEAR_POINTS or abs(difference_se(ours, se, *paper)) <= NEAR_SE
