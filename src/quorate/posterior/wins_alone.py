"""A lower bound of a class's probability to win the pool, many times cheaper than the posterior (FinExp).

Takes alpha and the votes of one item; returns one probability. Compiled, trusts its input. For callers that only ask
whether a class is sure enough to win: `decision.bounds` and `decision.look_ahead`.
"""

from __future__ import annotations

from quorate.compiled import shared_kernel
from quorate.types import FloatArray, IntArray

MOST_REMAINING = 1000  # binom(R, R / 2), the largest number below, overflows from R = 1030 on
_SMALLEST = 1e-300  # a smaller first term would have lost digits


@shared_kernel
def wins_alone(chosen: int, alpha: FloatArray, votes: IntArray, num_remaining: int) -> float:
    """q: the probability that the class gets so many remaining votes that no other class can have as many.

    The upper tail of a beta-binomial, for at most MOST_REMAINING remaining votes. 0, still a bound, where the smallest
    term of the tail is below 1e-300.

    >>> import numpy as np
    >>> round(wins_alone(0, np.array([1.0, 1.0, 1.0]), np.array([1, 0, 0]), 1), 12)
    0.5
    >>> round(wins_alone(1, np.array([1.0, 1.0, 1.0]), np.array([1, 0, 0]), 3), 12)
    0.05
    """
    rival, others = 0, 0.0
    for k in range(votes.size):
        if k != chosen:
            rival = max(rival, votes[k])
            others += alpha[k] + votes[k]
    needed = max((rival + num_remaining - votes[chosen]) // 2 + 1, 0)
    if needed > num_remaining:
        return 0.0
    own = alpha[chosen] + votes[chosen]
    total = own + others
    probability = 1.0  # of exactly `needed` votes
    for x in range(needed):
        probability *= (own + x) / (total + x) * (num_remaining - x) / (x + 1.0)
    for x in range(num_remaining - needed):
        probability *= (others + x) / (total + needed + x)
    if probability < _SMALLEST:
        return 0.0
    wins = probability
    for x in range(needed, num_remaining):
        left = num_remaining - x
        probability *= (own + x) / (x + 1.0) * left / (others + (left - 1))
        wins += probability
    return float(wins)
