"""Unequal error costs as the definitions say: the cheapest answer, and probabilities weighted by cost."""

import numpy as np


def cheapest_answer(costs, probs, tie_draw):
    """argmin_a sum_k p_k C[k, a]; `tie_draw` selects among equals."""
    expected = probs @ costs
    tied = np.flatnonzero(expected <= expected.min() + 1e-9)
    return tied[int(tie_draw * len(tied))]


def weigh_for_gain(costs, probs, tie_draw):
    """What is saved if class k turns out to win, for the value-of-information rule; the answer leads."""
    answer = cheapest_answer(costs, probs, tie_draw)
    weighted = probs * (costs[:, answer] - costs.min(axis=1))
    weighted[answer] = 0.0
    weighted[answer] = weighted.sum() + 1.0
    return weighted


def weigh_for_threshold(costs, probs, tie_draw):
    """1 minus the expected cost of the cheapest answer, for the threshold rule."""
    answer = cheapest_answer(costs, probs, tie_draw)
    weighted = np.full(len(probs), -1e300)
    weighted[answer] = 1.0 - probs @ costs[:, answer]
    return weighted
