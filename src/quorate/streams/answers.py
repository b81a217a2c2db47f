"""The answers of a compiled stream to items without votes: the classifier's until what was learned has proved better.

The live session does the same (`learning.answers`); these answers change no vote and no fit, so they follow after the
compiled loop. Called by `runs.CompiledRun`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from quorate.methods import Method
from quorate.model import POSTERIORS, Gains, Packed, answer, beliefs, classifier_alone, unpack
from quorate.streams.prepared_stream import Stream
from quorate.streams.stream import Outputs
from quorate.types import FloatArray, IntArray, PriorParams

Fits = Callable[[], tuple[FloatArray, IntArray]]  # the packed parameters of each fit, and the item after which it was


class AnswersWithoutVotes:
    """What the fits of a stream have proved so far; `follow` after each part of the stream."""

    def __init__(self, stream: Stream, method: Method, outputs: Outputs, fits: Fits, params: PriorParams) -> None:
        self._stream, self._method, self._outputs, self._fits = stream, method, outputs, fits
        self._params, self._gains, self._num_fits = params, Gains(), 0
        self._new: list[int] = []  # items with votes since the last fit, in the order of their first vote
        self._audited = np.zeros(len(stream.items), dtype=np.int64)  # votes of audits

    @property
    def are_proved(self) -> bool:
        """Whether what was learned answers items without votes."""
        return self._num_fits == 0 or not self._method.proves_answers or self._gains.are_proven

    @property
    def params(self) -> PriorParams:
        """The parameters for answers without votes."""
        return self._params if self.are_proved else classifier_alone(self._params)

    def audited(self, t: int, num_votes: int) -> None:
        """Count the votes of an audit on item t, which is closed."""
        if not (self._outputs.costs[t] or self._audited[t]):
            self._new.append(t)
        self._audited[t] += num_votes

    def follow(self, first: int, last: int, stop_asking: int) -> None:
        """Answer those of items first .. last - 1 that have no votes."""
        fits, after = self._fits()
        for number in range(self._num_fits, len(fits)):
            end = int(after[number]) + 1
            self._part(first, end, stop_asking)
            if self._method.proves_answers:
                self._gains = self._gains.after(self._params, *self._evidence())
            self._new = []
            self._params = unpack(fits[number], self._params.tau.shape)
            self._num_fits, first = number + 1, end
        self._part(first, last, stop_asking)

    def _part(self, first: int, last: int, stop_asking: int) -> None:
        """Items between two fits."""
        asked = self._outputs.costs[first:last] > 0
        self._new += (first + np.flatnonzero(asked)).tolist()
        if self.params is not self._params:
            self._answer(first + np.flatnonzero(~asked), self.params, stop_asking)

    def _answer(self, rows: IntArray, params: PriorParams, stop_asking: int) -> None:
        stream, out = self._stream, self._outputs
        bias = np.zeros(params.num_classes)
        tau = np.array(np.atleast_2d(params.tau))
        packed = Packed(POSTERIORS[self._method.predicting.posterior], params.theta, params.phi, tau, bias)
        logs, mean = stream.log_predictions[rows], stream.mean_predictions[rows]
        probs = beliefs(packed, logs, mean, np.zeros(mean.shape, dtype=np.int64), stream.pool_sizes[rows])
        ties = np.where(rows < stop_asking, stream.tie_draws[rows], 0.0).tolist()
        for t, belief, tie in zip(rows.tolist(), probs, ties, strict=True):
            out.labels[t] = answer(belief, self._method.weights, tie)
            out.confidence[t] = belief[out.labels[t]]
        if len(out.probs):
            out.probs[rows] = probs

    def _evidence(self) -> tuple[FloatArray, IntArray]:
        """Predictions and votes of the new items that are in the window."""
        rows = np.array(self._new[-(self._method.window or len(self._stream.items)) :], dtype=np.int64)
        votes = np.zeros((len(rows), self._params.num_classes), dtype=np.int64)
        seen = self._outputs.costs[rows] + self._audited[rows]
        for row, t in enumerate(rows.tolist()):
            np.add.at(votes[row], self._stream.votes[t, : seen[row]], 1)
        return self._stream.log_predictions[rows], votes
