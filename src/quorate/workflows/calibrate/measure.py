"""Confidences and whether each answer was right -> bins, calibration error, Brier and log score.

Pure functions. "Right" is a share in [0, 1]: an answer among t classes tied at the top of its pool counts 1/t. Called
by `calibrate`.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from quorate.rng import stream
from quorate.types import FloatArray, IntArray

NUM_BINS = 10
FEWEST_IN_BIN = 10  # decisions per bin; with few decisions there are fewer bins
NUM_DRAWS = 500  # honest predictors drawn, to measure the error by chance
SMALLEST = 1e-9  # the log score counts a probability of 0 for the outcome as this
Z95 = 1.959963984540054


@dataclass(frozen=True, slots=True)
class Bin:
    """Decisions of similar confidence: their number, range and mean of confidence, the share right and its interval.

    The interval (95 %) is Wilson's for a binomial share.
    """

    num: int
    lowest: float
    highest: float
    confidence: float
    right: float
    right_low: float
    right_high: float


@dataclass(frozen=True, slots=True)
class Honesty:
    """How honest one group of decisions is.

    `gap` mean confidence minus share right: above 0 the confidence is too high, below 0 too low
    `ece` sum over bins of (n_b / n) |share right_b - mean confidence_b|, bins of equal mass, at least 10 each
    `ece_honest` the mean `ece` of an honest predictor with these confidences: the error by chance alone
    `ece_honest_high` its 95 % quantile; `p_value` how often chance alone reaches `ece`
    `brier`, `log_score` of the answer: (conf - right)^2 and -log of the probability of the outcome, ties averaged
    """

    name: str
    num: int
    confidence: float
    right: float
    gap: float
    ece: float
    ece_honest: float
    ece_honest_high: float
    p_value: float
    brier: float
    log_score: float
    bins: tuple[Bin, ...]

    @property
    def is_honest(self) -> bool:
        """Whether chance alone would do as badly in at least 5 of 100 cases."""
        return self.p_value >= 0.05

    def summary(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self) | {"is_honest": self.is_honest}


def honesty(
    name: str, confidence: FloatArray, right: FloatArray, *, known: np.ndarray, seed: int, num_bins: int = NUM_BINS
) -> Honesty:
    """How honest these decisions are; `known` (n,) marks settled items, whose outcome is certain.

    >>> sure, right = np.repeat([0.5, 0.9], 20), np.append(np.tile([1.0, 0.0], 10), np.ones(20))
    >>> round(honesty("all", sure, right, known=np.zeros(40, bool), seed=0, num_bins=2).ece, 3)
    0.05
    """
    bin_of = equal_mass(confidence, max(1, min(num_bins, len(confidence) // FEWEST_IN_BIN)))
    error = calibration_error(confidence, right, bin_of)
    rng = stream(seed, "honest", name, len(confidence))
    by_chance = np.array([_by_chance(confidence, right, known, bin_of, rng) for _ in range(NUM_DRAWS)])
    probable = np.clip(confidence, SMALLEST, 1.0)
    other = np.clip(1.0 - confidence, SMALLEST, 1.0)
    return Honesty(
        name=name,
        num=len(confidence),
        confidence=float(confidence.mean()),
        right=float(right.mean()),
        gap=float((confidence - right).mean()),
        ece=error,
        ece_honest=float(by_chance.mean()),
        ece_honest_high=float(np.quantile(by_chance, 0.95)),
        p_value=float((1 + (by_chance >= error - 1e-12).sum()) / (1 + NUM_DRAWS)),
        brier=float((right * (1 - confidence) ** 2 + (1 - right) * confidence**2).mean()),
        log_score=float(-(right * np.log(probable) + (1 - right) * np.log(other)).mean()),
        bins=tuple(_bin(confidence[bin_of == b], right[bin_of == b]) for b in range(int(bin_of.max()) + 1)),
    )


def equal_mass(confidence: FloatArray, num_bins: int) -> IntArray:
    """The bin of each decision: bins as equal in size as possible, equal confidences in one bin.

    >>> equal_mass(np.array([0.9, 0.5, 1.0, 1.0, 1.0, 0.7]), 3)
    array([1, 0, 2, 2, 2, 0])
    """
    order = np.argsort(confidence, kind="stable")
    ranked = confidence[order]
    first = np.searchsorted(ranked, ranked, side="left")  # rank of the first equal value
    last = np.searchsorted(ranked, ranked, side="right")
    middle = (first + last) / 2  # equal values share a rank
    bins = np.minimum((middle * num_bins / len(ranked)).astype(np.int64), num_bins - 1)
    found = np.empty(len(ranked), dtype=np.int64)
    found[order] = np.unique(bins, return_inverse=True)[1]
    return found


def calibration_error(confidence: FloatArray, right: FloatArray, bin_of: IntArray) -> float:
    """Expected calibration error: sum over bins of |sum of (right - confidence)| / n."""
    return float(np.abs(np.bincount(bin_of, weights=right - confidence)).sum() / len(confidence))


def class_scores(probs: FloatArray, shares: FloatArray) -> tuple[float, float]:
    """Brier and log score over all classes: predicted winner of the pool, probs (n, K), and winner, shares (n, K).

    Averaged over ties: sum_k E (p_k - y_k)^2 and -sum_k share_k log p_k.

    >>> class_scores(np.array([[0.5, 0.5]]), np.array([[1.0, 0.0]]))[0]
    0.5
    """
    brier = (shares * (1 - probs) ** 2 + (1 - shares) * probs**2).sum(axis=1).mean()
    log_losses = -np.log(np.clip(probs, SMALLEST, 1.0))
    return float(brier), float((shares * log_losses).sum(axis=1).mean())


def wilson(right: float, num: int) -> tuple[float, float]:
    """95 % interval of a share.

    >>> tuple(round(end, 3) for end in wilson(0.9, 100))
    (0.826, 0.945)
    """
    spread = Z95**2 / num
    centre = (right + spread / 2) / (1 + spread)
    half = Z95 / (1 + spread) * math.sqrt(max(right * (1 - right), 0.0) / num + Z95**2 / (4 * num**2))
    return max(centre - half, 0.0), min(centre + half, 1.0)


def _by_chance(
    confidence: FloatArray, right: FloatArray, known: np.ndarray, bin_of: IntArray, rng: np.random.Generator
) -> float:
    """The error of an honest predictor with these confidences: unknown outcomes are drawn from them."""
    drawn = np.where(known, right, rng.random(len(confidence)) < confidence)
    return calibration_error(confidence, drawn, bin_of)


def _bin(confidence: FloatArray, right: FloatArray) -> Bin:
    share = float(right.mean())
    low, high = wilson(share, len(right))
    return Bin(len(right), float(confidence.min()), float(confidence.max()), float(confidence.mean()), share, low, high)
