"""The optimistic value of information: V of the blended rule.

The winner's probabilities are a martingale, so j more votes can raise the accuracy by at most the probability of the
classes that can take the lead within j votes. V is the best such gain per vote.
"""

from __future__ import annotations

import numpy as np

from quorate.types import FloatArray, IntArray


def optimistic_gain(probs: FloatArray, votes: IntArray, num_remaining: int) -> float:
    """V = max over 1 <= j <= R of (1/j) * sum of p_k over the k != t with d_k <= j.

    t = argmax p, d_k = max(1, votes_t - votes_k + 1): consecutive votes class k needs to overtake t.

    >>> optimistic_gain(np.array([0.6, 0.3, 0.1]), np.array([1, 1, 0]), 4)
    0.3
    """
    leader = int(probs.argmax())
    needed = np.maximum(1, votes[leader] - votes + 1)
    needed[leader] = num_remaining + 1  # no rival of itself
    steps = set(needed[needed <= num_remaining].tolist())
    return max((float(probs[needed <= step].sum()) / step for step in steps), default=0.0)
