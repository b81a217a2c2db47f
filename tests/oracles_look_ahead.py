"""The expected gain of more votes by its definition: every sequence of votes, no grouping, no ranks, no weights."""

from functools import cache
from itertools import product

import numpy as np


def winners(alpha, votes, remaining):
    """Who wins the pool, by averaging over the next vote until none is left."""

    @cache
    def after(counts, left):
        counts = np.array(counts)
        if left == 0:
            return (counts == counts.max()) / (counts == counts.max()).sum()
        beta = alpha + counts
        steps = np.eye(len(counts), dtype=int)
        return sum(
            beta[k] / beta.sum() * after(tuple((counts + steps[k]).tolist()), left - 1) for k in range(len(counts))
        )

    return after(tuple(int(count) for count in votes), int(remaining))


def worth(probs, costs):
    """The value of the best answer: its probability, or minus its expected cost."""
    return probs.max() if costs is None else -(probs @ costs).min()


def obvious_expected_gain(alpha, votes, remaining, costs=None):
    """max over j of (E[worth after j votes] - worth now) / j, over all K^j sequences of votes."""
    alpha, votes = np.asarray(alpha, float), np.asarray(votes)
    now = worth(winners(alpha, votes, remaining), costs)
    gains = [0.0]
    for j in range(1, remaining + 1):
        mean = 0.0
        for sequence in product(range(len(votes)), repeat=j):
            probability, counts = 1.0, votes.copy()
            for label in sequence:
                beta = alpha + counts
                probability *= beta[label] / beta.sum()
                counts[label] += 1
            mean += probability * worth(winners(alpha, counts, remaining - j), costs)
        gains.append((mean - now) / j)
    return max(gains)
