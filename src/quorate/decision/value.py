"""The optimistic value of information: V of the blended rule.

The winner's probabilities are a martingale, so j more votes can raise the accuracy by at most the probability of the
classes that can take the lead within j votes. V is the best such gain per vote.
"""

from __future__ import annotations

from quorate.compiled import kernel
from quorate.types import FloatArray, IntArray


@kernel
def optimistic_gain(probs: FloatArray, votes: IntArray, num_remaining: int) -> float:
    """V = max over 1 <= j <= R of (1/j) * sum of p_k over the k != t with d_k <= j.

    t = argmax p, d_k = max(1, votes_t - votes_k + 1): consecutive votes class k needs to overtake t. At most O(K^2), in
    practice O(K * distinct d); allocates nothing.
    """
    leader = probs.argmax()
    best = 0.0
    for k in range(probs.shape[0]):
        needed = max(1, votes[leader] - votes[k] + 1)
        if k == leader or needed > num_remaining:
            continue
        mass = 0.0
        for j in range(probs.shape[0]):
            if j != leader and max(1, votes[leader] - votes[j] + 1) <= needed:
                mass += probs[j]
        best = max(best, mass / needed)
    return best
