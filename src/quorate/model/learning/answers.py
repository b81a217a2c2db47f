"""Answers without votes: by the learned parameters, or by the classifier alone?

Votes correct the errors of items that are asked; nothing corrects an answer without votes, and parameters learned from
a few votes may answer worse than the classifier. So what was learned must first win votes that it has not seen
(docs/maths.md). Called by the session, the streams, the service and the estimator.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from quorate.model.prior import concentration
from quorate.types import FloatArray, IntArray, PriorParams

SURE = 2.0  # standard errors; with 1.5 answers on CIFAR-10H were worse than the classifier's after 19 votes


@dataclass(frozen=True, slots=True)
class Gains:
    """What learned parameters won over the classifier on items closed since they were fitted, in shares of their votes.

    `total` and the sum of `squares` over the items; both start again at 0 when the total falls below 0 at a fit.

    >>> Gains(5.0, 5.0).are_proven, Gains(4.0, 4.0).are_proven
    (True, False)
    """

    total: float = 0.0
    squares: float = 0.0

    @property
    def are_proven(self) -> bool:
        """Whether they are above 0 by two standard errors."""
        return self.total > SURE * math.sqrt(self.squares)

    def after(self, params: PriorParams, log_predictions: FloatArray, votes: IntArray) -> Gains:
        """The gains with those on further items: log predictions (T, M, K) and votes (T, K)."""
        if not len(votes):
            return self
        rows = np.arange(len(votes))
        ours = concentration(params, np.exp(log_predictions).reshape(-1, *params.tau.shape)).argmax(axis=1)
        theirs = log_predictions.sum(axis=1).argmax(axis=1)
        gain = (votes[rows, ours] - votes[rows, theirs]) / votes.sum(axis=1)
        gains = Gains(self.total + float(gain.sum()), self.squares + float(gain @ gain))
        return gains if gains.total >= 0 else Gains()  # what was learned first says little of what is known now


def classifier_alone(params: PriorParams) -> PriorParams:
    """The parameters with one tau for all, their geometric mean, and no bias: the answer is the classifier's.

    >>> classifier_alone(PriorParams(4.0, 0.5, [1.0, 4.0], [0.3, -0.3]))
    PriorParams(theta=4.0, phi=0.5, tau=array([2., 2.]), bias=array([0., 0.]))
    """
    tau = np.full(params.tau.shape, math.exp(float(np.log(params.tau).mean())))
    return replace(params, tau=tau, bias=None if params.bias is None else np.zeros(params.num_classes))
