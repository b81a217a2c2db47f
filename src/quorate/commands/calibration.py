"""Is the confidence of a run honest? Compares it with the share of answers that are right, in bins of confidence.

Only answers given before their pool was settled are compared: the confidence of the others is certain. "Right" is a
share in [0, 1]: an answer among t classes tied at the top of its pool counts 1/t. Called by `RunResult.calibration`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quorate.numerics import share_interval
from quorate.rng import stream
from quorate.types import FloatArray, IntArray

NUM_BINS, FEWEST_IN_BIN = 10, 10  # with few answers there are fewer bins
FEWEST = 30  # answers that are worth comparing
BY_CHANCE = 0.975  # of two measures, together 5 in 100
NUM_DRAWS = 2000  # honest predictors drawn, to measure the error by chance
SMALLEST = 1e-9  # the log score counts a probability of 0 for the outcome as this


@dataclass(frozen=True, slots=True)
class Bin:
    """Answers of similar confidence: their number, their confidence and the share right."""

    num: int
    lowest: float
    highest: float
    confidence: float
    right: float

    @property
    def interval(self) -> tuple[float, float]:
        """The exact 95 % interval of the share right; computed when asked for, as it takes milliseconds."""
        return share_interval(self.right, self.num)


@dataclass(frozen=True, slots=True)
class Calibration:
    """How honest the confidence is: `num` answers, their mean `confidence`, and the share `right`.

    `error` the expected calibration error: sum over bins of (n_b / n) |share right_b - mean confidence_b|
    `error_by_chance`, `gap_by_chance` 97.5 % quantiles of it and of the size of `gap`, for a predictor that is honest
    with the same confidences
    `brier`, `log_score` of the answer: (confidence - right)^2 and -log of the probability of the outcome, ties averaged
    """

    num: int
    confidence: float
    right: float
    error: float
    error_by_chance: float
    gap_by_chance: float
    brier: float
    log_score: float
    bins: tuple[Bin, ...]

    @property
    def is_honest(self) -> bool:
        """Whether chance alone would do as badly, in the bins or over all, in at least 5 of 100 cases."""
        return self.error <= self.error_by_chance and abs(self.gap) <= self.gap_by_chance

    @property
    def gap(self) -> float:
        """Mean confidence minus share right: above 0 the confidence is too high."""
        return self.confidence - self.right

    def __str__(self) -> str:
        """In one sentence: how far off, which way, and whether chance explains it."""
        way = "too high" if self.gap > 0 else "too low"
        chance = "chance alone explains that" if self.is_honest else "chance alone does not explain that"
        return (
            f"On the {self.num:,} answers given before the pool was settled, the confidence is "
            f"{100 * abs(self.gap):.1f} points {way} ({100 * self.confidence:.1f} % sure, {100 * self.right:.1f} % "
            f"right), with a calibration error of {100 * self.error:.1f} points: {chance}."
        )


def calibration_of(confidence: FloatArray, right: FloatArray) -> Calibration | None:
    """The calibration of these answers; None if they are too few.

    >>> sure, right = np.repeat([0.5, 0.9], 20), np.append(np.tile([1.0, 0.0], 10), np.ones(20))
    >>> found = calibration_of(sure, right)
    >>> round(found.error, 3), [each.num for each in found.bins]
    (0.05, [20, 20])
    """
    if len(confidence) < FEWEST:
        return None
    bin_of = equal_mass(confidence, max(1, min(NUM_BINS, len(confidence) // FEWEST_IN_BIN)))
    count = len(confidence)
    spread = np.sqrt(np.bincount(bin_of, weights=confidence * (1.0 - confidence)))  # of the number right in each bin
    honest = stream(0, "honest", count).standard_normal((NUM_DRAWS, len(spread))) * spread
    probable, other = np.clip(confidence, SMALLEST, 1.0), np.clip(1.0 - confidence, SMALLEST, 1.0)
    return Calibration(
        num=count,
        confidence=float(confidence.mean()),
        right=float(right.mean()),
        error=float(np.abs(np.bincount(bin_of, weights=right - confidence)).sum() / count),
        error_by_chance=float(np.quantile(np.abs(honest).sum(axis=1), BY_CHANCE)) / count,
        gap_by_chance=float(np.quantile(np.abs(honest.sum(axis=1)), BY_CHANCE)) / count,
        brier=float((right * (1 - confidence) ** 2 + (1 - right) * confidence**2).mean()),
        log_score=float(-(right * np.log(probable) + (1 - right) * np.log(other)).mean()),
        bins=tuple(_bin(confidence[bin_of == b], right[bin_of == b]) for b in range(int(bin_of.max()) + 1)),
    )


def equal_mass(confidence: FloatArray, num_bins: int) -> IntArray:
    """The bin of each answer: bins as equal in size as possible, equal confidences in one bin.

    >>> equal_mass(np.array([0.9, 0.5, 1.0, 1.0, 1.0, 0.7]), 3)
    array([1, 0, 2, 2, 2, 0])
    """
    ranked = np.sort(confidence)
    first, last = (np.searchsorted(ranked, confidence, side=side) for side in ("left", "right"))
    middle = (first + last) / 2  # equal values share a rank
    bins = np.minimum((middle * num_bins / len(ranked)).astype(np.int64), num_bins - 1)
    return np.asarray(np.unique(bins, return_inverse=True)[1])


def _bin(confidence: FloatArray, right: FloatArray) -> Bin:
    lowest, highest = float(confidence.min()), float(confidence.max())
    return Bin(len(right), lowest, highest, float(confidence.mean()), float(right.mean()))
