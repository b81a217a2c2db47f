"""The expected gain of more votes by its definition: plans over the counts of all classes, no grouping, no ranks."""

from functools import cache

import numpy as np


def worth(probs, costs):
    """The value of the best answer: its probability, or minus its expected cost."""
    return probs.max() if costs is None else -(probs @ costs).min()


def obvious_expected_gain(alpha, votes, remaining, costs=None):
    """The most that any plan gains per vote, by bisection: a price is below it if some plan gains more than it pays."""
    alpha, start = np.asarray(alpha, float), tuple(int(count) for count in votes)
    pool = sum(start) + int(remaining)

    def mean_after_a_vote(function, counts):
        chances = (alpha + counts) / (alpha + counts).sum()
        following = [tuple(count + (k == label) for k, count in enumerate(counts)) for label in range(len(counts))]
        return sum(chance * function(after) for chance, after in zip(chances, following, strict=True))

    @cache
    def winners(counts):
        if sum(counts) == pool:
            return (np.array(counts) == max(counts)) / counts.count(max(counts))
        return mean_after_a_vote(winners, counts)

    def surplus(price):
        @cache
        def best(counts):
            stop = worth(winners(counts), costs)
            return stop if sum(counts) == pool else max(stop, mean_after_a_vote(best, counts) - price)

        return mean_after_a_vote(best, start) - price - worth(winners(start), costs)

    low, high = 0.0, 1.0 if costs is None else float(np.max(costs))
    for _ in range(45):
        price = (low + high) / 2
        low, high = (price, high) if surplus(price) > 0 else (low, price)
    return low
