"""What a job came to: cost and error of each knob setting in each phase of the stream, and what was learned.

Made by `runs`, kept by `store`, read by every experiment. Arrays only, so that it is stored without pickling.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np

from quorate.experiments.design import Job
from quorate.types import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """A job's results; Q knob settings, B phases (blocks of the data set, or before and after experts leave), T items.

    `sizes` (B,) items of each phase   `costs` (Q, B) votes per item   `errors` (Q, B) share wrong, expected over ties
    `drawn_errors` (Q, B) share wrong against the consensus whose ties were drawn   `confidence` (Q, B) mean of it
    `params` (Q, P) parameters at the end as learning packs them, (Q, 0) if nothing is learned
    `item_costs`, `item_errors` (Q, T) where the job keeps items, else (Q, 0)
    `seconds` it took, where it was run just now; not part of the result, hence not stored with it
    """

    job: Job
    sizes: IntArray
    costs: FloatArray
    errors: FloatArray
    drawn_errors: FloatArray
    confidence: FloatArray
    params: FloatArray
    item_costs: np.ndarray
    item_errors: np.ndarray
    seconds: float = math.nan

    @property
    def mean_costs(self) -> FloatArray:
        """(Q,) votes per item over the whole stream."""
        return np.asarray(self.costs @ self.sizes / self.sizes.sum())

    @property
    def mean_errors(self) -> FloatArray:
        """(Q,) share wrong over the whole stream, expected over ties."""
        return np.asarray(self.errors @ self.sizes / self.sizes.sum())

    def arrays(self) -> dict[str, np.ndarray]:
        """What is stored: everything but the job and its time."""
        return {name: getattr(self, name) for name in ARRAYS}


ARRAYS = tuple(field.name for field in fields(Outcome) if field.name not in ("job", "seconds"))
