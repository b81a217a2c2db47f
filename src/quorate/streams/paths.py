"""Runs of methods without learning for all thresholds at once: without learning, beliefs depend only on the votes.

Takes a stream, returns the belief after every vote until the pool is settled, or is more certain than the largest
threshold below 1; `FixedPaths.at(threshold)` is the run for one threshold, equal to `simulate` to the last bit
(tested). Called by the sweeps of the experiments.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quorate.model import TIE_WIDTH, Packed, are_settled, beliefs
from quorate.streams.prepared_stream import Stream
from quorate.types import FloatArray, IntArray
from quorate.validate import invalid


@dataclass(frozen=True, slots=True, eq=False)
class FixedPaths:
    """Each item after 0, 1, ... votes, and the number of votes after which its pool is settled, `last` (T,).

    `highest` (T, N + 1) largest probability, which the rule uses   `labels` (T, N + 1) class answered
    `confidence` (T, N + 1) its probability: the highest, or equal to it up to round-off if classes are tied
    `most` the largest threshold below 1 for which these are complete: beliefs after it was exceeded are 0, except for
    the last
    """

    highest: FloatArray
    confidence: FloatArray
    labels: IntArray
    last: IntArray
    most: float = 1.0

    def at(self, threshold: float) -> tuple[IntArray, IntArray, FloatArray]:
        """Costs, labels and confidence (T,) of the run that stops as soon as a class is more probable than `threshold`.

        >>> paths = FixedPaths(np.array([[0.6, 0.9]]), np.array([[0.6, 0.9]]), np.array([[2, 1]]), np.array([1]))
        >>> paths.at(0.5), paths.at(0.6)
        ((array([0]), array([2]), array([0.6])), (array([1]), array([1]), array([0.9])))
        """
        if self.most < threshold < 1.0:
            raise invalid("threshold", threshold, f"at most {self.most}, or 1", "compute the paths for it.")
        votes = np.arange(self.highest.shape[1])
        stops = (self.highest > threshold) | (votes == self.last[:, None])
        costs = stops.argmax(axis=1)
        rows = np.arange(len(costs))
        return costs, self.labels[rows, costs], self.confidence[rows, costs]


def fixed_paths(stream: Stream, posterior: int, most: float = 1.0) -> FixedPaths:
    """The paths of all items of the stream with theta = phi = 1 and tau = 1 / M for each of M classifiers.

    `posterior` is a code of `decision.belief`. `most`: the largest threshold below 1 that is needed. O(T N) posteriors
    for all thresholds together.

    >>> from quorate.datasets import synthetic
    >>> from quorate.model.decision.belief import FINITE
    >>> from quorate.streams import prepare
    >>> paths = fixed_paths(prepare(synthetic(num_items=50, pool_size=5, seed=1), 5, 0, 3), FINITE)
    >>> [int(paths.at(threshold)[0].sum()) for threshold in (0.0, 0.8, 1.0)]
    [0, 119, 176]
    """
    num_items, num_classifiers, num_classes = stream.log_predictions.shape
    shape = num_items, int(stream.pool_sizes.max()) + 1
    highest, confidence = np.zeros(shape), np.zeros(shape)
    labels = np.zeros(shape, dtype=np.int64)
    last = np.zeros(num_items, dtype=np.int64)
    tau = np.full((num_classifiers, num_classes), 1.0 / num_classifiers)
    packed = Packed(posterior, 1.0, 1.0, tau, np.zeros(num_classes))
    seen = np.zeros((num_items, num_classes), dtype=np.int64)
    rows, certain = np.arange(num_items), np.zeros(num_items, dtype=bool)
    for asked in range(shape[1]):  # the items that are still asked about, all at once
        final = are_settled(seen[rows], stream.pool_sizes[rows] - asked)
        needed = rows[~certain[rows] | final]
        probs = beliefs(
            packed, stream.log_predictions[needed], stream.mean_predictions[needed], seen[needed],
            stream.pool_sizes[needed],
        )  # fmt: skip
        top = probs.max(axis=1)
        chosen = _labels(probs, stream.tie_draws[needed])
        highest[needed, asked], labels[needed, asked] = top, chosen
        confidence[needed, asked] = probs[np.arange(len(needed)), chosen]
        last[rows[final]] = asked
        certain[needed] |= top > most
        rows = rows[~final]
        if not rows.size:
            break
        seen[rows, stream.votes[rows, asked]] += 1
    return FixedPaths(highest, confidence, labels, last, most)


def _labels(probs: FloatArray, tie_draws: FloatArray) -> IntArray:
    """`decision.belief.answer` for many items: the class of the largest probability, ties by draw."""
    tied = probs >= probs.max(axis=1, keepdims=True) - TIE_WIDTH
    chosen = (tie_draws * tied.sum(axis=1)).astype(np.int64)
    return np.asarray((tied & (tied.cumsum(axis=1) == chosen[:, None] + 1)).argmax(axis=1))
