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
