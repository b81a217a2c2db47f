"""What is run: one method at several knob values on one stream is a `Job`, the unit that is stored and resumed.

A job is plain values, so that its content hash names its result wherever and whenever it is run. Written by the
experiments (`curves`, `shift`, ...), run by `runs`, stored by `store`.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any, Literal

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

    `data` names the data set as `sources` does, `model` the classifier or "all". `knobs` are settings of the method,
    each as sorted pairs. `query_free_after`: from this item on nobody is asked. `keep_items`: also keep what each item
    cost and whether it was wrong. `variant`: the exact method, or the estimators as they were published.
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
        """About how long the job takes, in microseconds for each item of its stream: for order and estimates only.

        Measured on the shift set, CIFAR-10H with 3, 10 and 50 experts and ChaosNLI with 100, on one core; within a
        factor of about two there.

        >>> random, learned = (Job("toy", 10, "model-0", 3, name, settings(None)) for name in ("random", "finexp"))
        >>> random.weight < learned.weight
        True
        """
        size, runs = self.pool_size, len(self.knobs)
        if self.variant == "as-published":
            return runs * 1000 * (10 + size)
        if self.method in _FIXED:  # all thresholds share one walk; reading a run off it costs next to nothing
            return _FIXED[self.method] * size + runs
        if self.method not in _LEARNED:
            return runs * (2 + size // 20)
        start, for_each = _LEARNED[self.method]
        return runs * (start + for_each * size) * (3 if self.model == "all" else 1)

    def as_dict(self) -> dict[str, Any]:
        """The job as JSON holds it."""
        return asdict(self)


def settings(knob: str | None, values: tuple[float, ...] | list[float] | range = ()) -> tuple[Knobs, ...]:
    """Values of one knob as a job holds them; a method without a knob has one setting.

    >>> settings("threshold", (0.5, 0.9))
    ((('threshold', 0.5),), (('threshold', 0.9),))
    >>> settings(None)
    ((),)
    """
    if knob is None:
        return ((),)
    return tuple(((knob, value),) for value in values)


def digest(job: Job, *, data: str, code: str) -> str:
    """Name of a job's result: its content, the data's checksum and the code's, so that nothing stale is reused.

    >>> job = Job("toy", 3, "model-0", 3, "random", settings("query_rate", (0.5,)))
    >>> digest(job, data="a", code="b") == digest(job, data="a", code="b") != digest(job, data="a", code="c")
    True
    """
    text = json.dumps({"job": job.as_dict(), "data": data, "code": code}, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
