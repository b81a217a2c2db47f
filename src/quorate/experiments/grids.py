"""Knob values of each method, dense enough to cover the whole range of budgets. Read by every experiment.

At least 15 values for pools up to ten experts and 8 above (`--quick`: a third of them).
"""

from __future__ import annotations

import math

import numpy as np

from quorate.experiments.design import Knobs, settings
from quorate.methods import method

SMALL_POOL = 10
PAPER_METHODS = ("random", "entropy", "mp", "mp-released", "fixed-finexp", "fixed-infexp", "finexp", "infexp")
METHOD_LABELS = {  # as the paper writes them, in the order of its tables
    "random": "RANDOM",
    "entropy": "ENTROPY",
    "mp": "MP",
    "mp-released": "MP (released)",
    "fixed-finexp": "Fix-FinExp",
    "fixed-infexp": "Fix-InfExp",
    "finexp": "FinExp",
    "infexp": "InfExp",
    "quorate": "quorate",
}
FIXED = ("fixed-finexp", "fixed-infexp")
BASELINES = ("random", "entropy", "mp", "mp-released")


def grid(name: str, *, pool_size: int, num_classes: int, quick: bool = False) -> tuple[Knobs, ...]:
    """Settings of the method by rising cost.

    >>> len(grid("infexp", pool_size=6, num_classes=16)), len(grid("finexp", pool_size=50, num_classes=10))
    (25, 13)
    """
    many = 25 if pool_size <= SMALL_POOL else 13
    if name in ("until-settled", "ask-all"):
        return settings(None)
    if name in BASELINES:
        many = 81  # they cost next to nothing to run
    if name in FIXED:
        many = 121  # all thresholds share one walk
    if quick:
        many = max(7, many // 3)  # at least enough to draw
    if name == "random":
        return settings("query_rate", _rounded(np.linspace(0.0, 1.0, many)))
    if name in BASELINES:
        unit = num_classes / math.log(num_classes) if name == "entropy" else 1.0  # the paper's entropy is <= ln K / K
        most, last = many * 3 // 4 - 1, many - many * 3 // 4  # budgets move most while few rates are clipped at 1
        scales = np.concatenate([[0.0], np.geomspace(0.05, 40.0, most), np.geomspace(60.0, 1e6, last)])
        return settings("scale", _rounded(unit * scales))
    doubts = _doubts(many, num_classes)
    if name == "quorate":
        return settings("min_gain", _rounded(doubts))
    if "threshold" in method(name).knobs:
        return settings("threshold", _rounded(1.0 - doubts))
    raise AssertionError(name)


def _doubts(many: int, num_classes: int) -> np.ndarray:
    """1 = never ask, down to 0 = until settled: evenly where most items are still in doubt, then evenly in the log.

    A threshold is 1 - doubt. With no vote yet, `quorate` asks by the very same rule: the doubt against its `min_gain`.
    """
    wide = (many - 2) * 3 // 5
    evenly = np.linspace(1.0 - 1.0 / num_classes, 0.08, wide)
    return np.concatenate([[1.0], evenly, np.geomspace(0.06, 2e-4, many - 2 - wide), [0.0]])


def _rounded(values: np.ndarray) -> tuple[float, ...]:
    return tuple(float(f"{value:.6g}") for value in values)
