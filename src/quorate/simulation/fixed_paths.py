"""A prior that is never learned believes the same after the same votes, whatever the threshold: walk each item once.

Takes a stream, gives the confidence after every vote until the pool is settled; `FixedPaths.at(threshold)` then reads
off a whole run. Agrees with `simulate` to the last bit (tested). Called by the experiments' sweeps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quorate.compiled import kernel
from quorate.decision.belief import RULE, belief_into, pick_label, stop_before_rule
from quorate.session.decide import NO_LIMIT
from quorate.simulation.prepare import Stream
from quorate.types import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class FixedPaths:
    """`confidence`, `labels` (T, N + 1) after 0, 1, ... votes; `last` (T,) votes after which the pool is settled."""

    confidence: FloatArray
    labels: IntArray
    last: IntArray

    def at(self, threshold: float) -> tuple[IntArray, IntArray, FloatArray]:
        """Costs, labels and confidence (T,) of the run that stops as soon as the confidence is above `threshold`."""
        votes = np.arange(self.confidence.shape[1])
        stops = (self.confidence > threshold) | (votes == self.last[:, None])
        costs = stops.argmax(axis=1)
        rows = np.arange(len(costs))
        return costs, self.labels[rows, costs], self.confidence[rows, costs]


def fixed_paths(stream: Stream, posterior: int) -> FixedPaths:
    """Walk every item of the stream under theta = phi = tau = 1; `posterior` is a code of `decision.belief`."""
    num_items, num_classifiers, num_classes = stream.log_predictions.shape
    most = int(stream.pool_sizes.max())
    confidence = np.zeros((num_items, most + 1))
    labels = np.zeros((num_items, most + 1), dtype=np.int64)
    last = np.zeros(num_items, dtype=np.int64)
    tau = np.full((num_classifiers, num_classes), 1.0 / num_classifiers)
    _walk(
        stream.votes, stream.pool_sizes, stream.log_predictions, stream.mean_predictions, stream.tie_draws, tau,
        posterior, NO_LIMIT, confidence, labels, last,
    )  # fmt: skip
    return FixedPaths(confidence, labels, last)


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
    confidence: FloatArray,
    labels: IntArray,
    last: IntArray,
) -> None:
    """Fill `confidence`, `labels` and `last`."""
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
            confidence[t, asked] = probs.max()
            if stop_before_rule(seen, pool_sizes[t], 0, no_limit, True) != RULE:
                break
            seen[votes[t, asked]] += 1
            asked += 1
        last[t] = asked
