"""Runs of methods without learning for all thresholds at once: without learning, beliefs depend only on the votes.

Takes a stream, returns the belief after every vote until the pool is settled, or is more certain than the largest
threshold below 1; `FixedPaths.at(threshold)` is the run for one threshold, equal to `simulate` to the last bit
(tested). Called by the sweeps of the experiments.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quorate.compiled import kernel
from quorate.decision.belief import NO_LIMIT, RULE, belief_into, pick_label, stop_before_rule
from quorate.streams.prepare import Stream
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
    >>> from quorate.decision.belief import FINITE
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
    _walk(
        stream.votes, stream.pool_sizes, stream.log_predictions, stream.mean_predictions, stream.tie_draws, tau,
        posterior, NO_LIMIT, most, highest, confidence, labels, last,
    )  # fmt: skip
    return FixedPaths(highest, confidence, labels, last, most)


@kernel
def _walk(
    votes: NDArray[np.int16],
    pool_sizes: IntArray,
    log_predictions: FloatArray,
    mean_predictions: FloatArray,
    tie_draws: FloatArray,
    tau: FloatArray,
    posterior: int,
    no_limit: int,
    most: float,
    highest: FloatArray,
    confidence: FloatArray,
    labels: IntArray,
    last: IntArray,
) -> None:
    """Fill `highest`, `confidence`, `labels` and `last`."""
    num_items, num_classes = mean_predictions.shape
    bias = np.zeros(num_classes)
    probs = np.empty(num_classes)
    seen = np.zeros(num_classes, dtype=np.int64)
    for t in range(num_items):
        seen[:] = 0
        asked = 0
        while True:
            belief_into(
                posterior, 1.0, 1.0, tau, bias, log_predictions[t], mean_predictions[t], seen, pool_sizes[t], probs
            )
            label = pick_label(probs, tie_draws[t])
            labels[t, asked] = label
            confidence[t, asked] = probs[label]
            top = probs.max()
            highest[t, asked] = top
            if stop_before_rule(seen, pool_sizes[t], 0, no_limit, True) != RULE:
                break
            seen[votes[t, asked]] += 1
            asked += 1
            while top > most and stop_before_rule(seen, pool_sizes[t], 0, no_limit, True) == RULE:
                seen[votes[t, asked]] += 1
                asked += 1
        last[t] = asked
