"""The design of experiments: a `Job` is one method at several parameter values on one stream; grids of those values."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from quorate.methods import method

Knobs = tuple[tuple[str, float | int | str], ...]
Variant = Literal["exact", "as-published"]

_FIXED = {"fixed-finexp": 15, "fixed-infexp": 6}  # microseconds for each member of the pool
_LEARNED = {  # microseconds, and more for each member of the pool
    "quorate": (20, 8),
    "finexp": (20, 8),
    "infexp": (30, 1),
    "fixed-ask-finexp": (20, 8),
    "fixed-ask-infexp": (30, 1),
}


@dataclass(frozen=True, slots=True)
class Job:
    """One method over `knobs` on one stream.

    `data` is a name in `sources`, `model` the classifier or "all". `knobs` are settings of the method, each as sorted
    pairs. `query_free_after`: from this item on nobody is asked. `keep_items`: also keep cost and error of each item.
    `variant`: the exact method, or the estimators as published.
    """

    data: str
    pool_size: int
    model: str
    seed: int
    method: str
    knobs: tuple[Knobs, ...]
    window: int | None = 500
    refit_every: int = 20
    query_free_after: int | None = None
    keep_items: bool = False
    variant: Variant = "exact"

    @property
    def label(self) -> str:
        """The job in a few words, for progress."""
        return f"{self.method} on {self.data}, {self.model}, {self.pool_size} experts, seed {self.seed}"

    @property
    def weight(self) -> int:
        """The approximate time of the job, in microseconds per item of its stream: for order and estimates only.

        Measured on the shift set, CIFAR-10H with 3, 10 and 50 experts and ChaosNLI with 100, on one core; accurate to
        a factor of about two there.

        >>> random, learned = (Job("toy", 10, "model-0", 3, name, settings(None)) for name in ("random", "finexp"))
        >>> random.weight < learned.weight
        True
        """
        size, runs = self.pool_size, len(self.knobs)
        if self.variant == "as-published":
            return runs * 1000 * (10 + size)
        if self.method in _FIXED:  # all thresholds share one pass
            return _FIXED[self.method] * size + runs
        if self.method not in _LEARNED:
            return runs * (2 + size // 20)
        start, for_each = _LEARNED[self.method]
        return runs * (start + for_each * size) * (3 if self.model == "all" else 1)

    def as_dict(self) -> dict[str, Any]:
        """The job as JSON values."""
        return asdict(self)


def settings(knob: str | None, values: tuple[float, ...] | list[float] | range = ()) -> tuple[Knobs, ...]:
    """Values of one parameter as settings of a job; a method without a parameter has one setting.

    >>> settings("threshold", (0.5, 0.9))
    ((('threshold', 0.5),), (('threshold', 0.9),))
    >>> settings(None)
    ((),)
    """
    if knob is None:
        return ((),)
    return tuple(((knob, value),) for value in values)


def digest(job: Job, *, data: str, code: str) -> str:
    """Name of a job's result, from its content and the checksums of data and code, so that nothing stale is reused.

    >>> job = Job("toy", 3, "model-0", 3, "random", settings("query_rate", (0.5,)))
    >>> digest(job, data="a", code="b") == digest(job, data="a", code="b") != digest(job, data="a", code="c")
    True
    """
    text = json.dumps({"job": job.as_dict(), "data": data, "code": code}, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


SMALL_POOL = 10
PAPER_METHODS = ("random", "entropy", "mp", "mp-released", "fixed-finexp", "fixed-infexp", "finexp", "infexp")
METHOD_LABELS = {  # as in the paper, in the order of its tables
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
        many = 81  # these runs are very cheap
    if name in FIXED:
        many = 121  # all thresholds share one pass
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
        gains = np.where(doubts == 1.0, 1.0, 0.5 * doubts)  # a vote gains at most about half of the doubt
        return settings("min_gain", _rounded(gains))
    if "threshold" in method(name).knobs:
        return settings("threshold", _rounded(1.0 - doubts))
    raise AssertionError(name)


def _doubts(many: int, num_classes: int) -> np.ndarray:
    """From 1 = never ask down to 0 = until settled: first evenly spaced, then evenly in the log.

    A threshold is 1 - doubt.
    """
    wide = (many - 2) * 3 // 5
    evenly = np.linspace(1.0 - 1.0 / num_classes, 0.08, wide)
    return np.concatenate([[1.0], evenly, np.geomspace(0.06, 2e-4, many - 2 - wide), [0.0]])


def _rounded(values: np.ndarray) -> tuple[float, ...]:
    return tuple(float(f"{value:.6g}") for value in values)
