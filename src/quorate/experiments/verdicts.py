"""Ours against the paper's, one cell at a time: does it agree, is it better, or is it not reproduced?

Agreement is asked first, so "better" means better by more than chance and rounding explain. A standard error that is
not known (NaN) counts as 0; a figure of ours that is not known is not reproduced. Used by every experiment; pure.
"""

from __future__ import annotations

import math
from typing import Literal

Verdict = Literal["agrees", "better", "not reproduced"]
ELSEWHERE: dict[Verdict, str] = {
    "agrees": "agrees (another classifier)",
    "better": "better (another classifier)",
    "not reproduced": "differs (another classifier)",
}


def combined_se(se: float, paper_se: float) -> float:
    """sqrt(se^2 + paper_se^2), what is not known counting as 0.

    >>> combined_se(3.0, 4.0), combined_se(float("nan"), 4.0)
    (5.0, 4.0)
    """
    return math.hypot(0.0 if math.isnan(se) else se, 0.0 if math.isnan(paper_se) else paper_se)


def difference_se(ours: float, se: float, paper: float, paper_se: float) -> float:
    """(ours - paper) in combined standard errors; infinite where both are exact and differ.

    >>> difference_se(12.0, 0.3, 11.0, 0.4)
    2.0
    """
    difference, scale = ours - paper, combined_se(se, paper_se)
    if scale == 0.0:
        return difference if difference == 0.0 or math.isnan(difference) else math.copysign(math.inf, difference)
    return difference / scale


def verdict(
    ours: float,
    se: float,
    paper: float,
    paper_se: float,
    *,
    lower_is_better: bool = True,
    points: float = 2.0,
    combined: float = 3.0,
    floor: float | None = None,
) -> Verdict:
    """ "agrees" within `points` or `combined` combined standard errors; beyond, "better" on the good side.

    `floor`: least error that ties allow; a figure printed below it is luck of the paper's tie draw, and is taken as
    the floor.

    >>> verdict(12.9, 0.2, 11.5, 0.2), verdict(8.0, 0.2, 11.5, 0.2), verdict(15.0, 0.2, 11.5, 0.2)
    ('agrees', 'better', 'not reproduced')
    """
    aim = paper if floor is None else max(paper, floor)
    if abs(ours - aim) <= points or abs(difference_se(ours, se, aim, paper_se)) <= combined:
        return "agrees"
    return "better" if (ours < aim if lower_is_better else ours > aim) else "not reproduced"


def elsewhere(found: Verdict) -> str:
    """The verdict on a classifier that is not the paper's: it neither reproduces nor fails to.

    >>> elsewhere("agrees"), elsewhere("not reproduced")
    ('agrees (another classifier)', 'differs (another classifier)')
    """
    return ELSEWHERE[found]


def at_least_as_good(
    ours: float,
    se: float,
    paper: float,
    paper_se: float,
    *,
    floor: float,
    combined: float = 2.0,
    near_floor: float = 0.3,
) -> bool:
    """True if an error is at most the printed one, within 2 combined standard errors.

    A cell printed below the tie floor cannot be met: there the error must be within 0.3 of the floor.

    >>> at_least_as_good(12.0, 0.1, 11.98, 0.19, floor=7.6), at_least_as_good(7.8, 0.1, 7.24, 0.13, floor=7.63)
    (True, True)
    """
    if paper < floor:
        return ours <= floor + near_floor
    return difference_se(ours, se, paper, paper_se) <= combined
