"""The backward pass of the look-ahead: from the winners after its last vote to those of every earlier level.

Takes beta of each group and P of the states of the last level; returns what it is worth to stop at each level. The
states of a level are the counts x (C,) of the votes so far, in the order of `advance`. Called by `look_ahead`.
"""

from __future__ import annotations

import math

import numpy as np

from quorate.compiled import kernel
from quorate.types import FloatArray, IntArray

MOST_AT_ONCE = 5  # classes that `step_all_back` processes at once, in registers


@kernel
def state_ranks(groups: int, horizon: int) -> IntArray:
    """(C, H + 2) binom(s + i - 1, i): how many counts of i groups have a sum below s.

    With s_i = x_1 + .. + x_i, the sum of these over i < C is the index of x among the states of its level.
    """
    ranks = np.zeros((groups, horizon + 2), np.int64)
    for s in range(1, horizon + 2):
        ranks[0, s] = 1
        for i in range(1, groups):
            ranks[i, s] = ranks[i, s - 1] + ranks[i - 1, s]
    return ranks


@kernel
def state_weights(beta: FloatArray, total: float, horizon: int) -> FloatArray:
    """(C + 1, H + 1) w_c(x) = Gamma(beta_c + x) / (Gamma(beta_c) x!) up to scale; the last row is for S.

    The probability of x after |x| votes is the product of the w_c(x_c) over w_S(|x|).
    """
    weights = np.ones((beta.size + 1, horizon + 1))
    for c in range(beta.size + 1):
        start = beta[c] if c < beta.size else total
        for x in range(horizon):
            weights[c, x + 1] = weights[c, x] * ((start + x) / (total + horizon) / (x + 1.0))
    return weights


@kernel
def advance(sums: IntArray) -> bool:
    """Move on to the partial sums of the next state of the level; False after the last one."""
    for i in range(sums.size - 1):
        if sums[i] < sums[i + 1]:
            sums[i] += 1
            return True
        sums[i] = 0
    return False


@kernel
def step_back(level: int, beta: FloatArray, total: float, ranks: IntArray, winners: FloatArray) -> None:
    """Turn `winners` of the states of the next level into those of this one: the mean over the next vote.

    In place: a state's successors have the same rank or a higher one.
    """
    groups, explicit = beta.size, winners.shape[1]
    sums, mean = np.zeros(groups, np.int64), np.empty(explicit)
    sums[groups - 1] = level
    scale = 1.0 / (total + level)
    for rank in range(ranks[groups - 1, level + 1]):
        mean[:] = 0.0
        place = rank
        for c in range(groups - 1, -1, -1):
            if c < groups - 1:
                place += ranks[c, sums[c] + 1]
            share = (beta[c] + (sums[c] - (sums[c - 1] if c > 0 else 0))) * scale
            for k in range(explicit):
                mean[k] += share * winners[place, k]
        for k in range(explicit):
            winners[rank, k] = mean[k]
        advance(sums)


@kernel
def step_all_back(
    horizon: int,
    beta: FloatArray,
    total: float,
    ranks: IntArray,
    weights: FloatArray,
    winners: FloatArray,
    worth: FloatArray,
) -> None:
    """`step_back` and `worth_at` for every level before the last, to the same bits, in about half of the time.

    For three groups or more, up to five classes, and errors of equal cost. `winners` is that of the last level.
    """
    groups, explicit = beta.size, winners.shape[1]
    rows = np.zeros((winners.shape[0], MOST_AT_ONCE))  # of a fixed width, so that a row's sums are numbers in registers
    for rank in range(winners.shape[0]):
        for k in range(explicit):
            rows[rank, k] = winners[rank, k]
    sums, offsets = np.zeros(groups, np.int64), np.zeros(groups, np.int64)
    shares = np.empty((groups, horizon))
    for level in range(horizon - 1, -1, -1):
        scale = 1.0 / (total + level)
        for c in range(groups):
            for x in range(level + 1):
                shares[c, x] = (beta[c] + x) * scale
        worth[level] = _level_worth(level, ranks, weights, shares, groups > explicit, sums, offsets, rows)


@kernel
def _level_worth(
    level: int,
    ranks: IntArray,
    weights: FloatArray,
    shares: FloatArray,
    has_others: bool,
    sums: IntArray,
    offsets: IntArray,
    rows: FloatArray,
) -> float:
    """Turn `rows` of the next level into those of this one; returns the value of stopping at this level.

    `offsets` (C,) become the differences of rank between a state and its successor by a vote for each group.
    """
    last = sums.size - 1
    for i in range(last):
        sums[i], offsets[i] = 0, last - i
    sums[last], offsets[last] = level, 0
    worth, rank, i = 0.0, 0, 0
    while i < last:
        others, joint = level - sums[last - 1], sums[1]
        for first in range(joint + 1):  # the first two groups share the votes `joint`: ranks in a row
            share = shares[last, others]
            p0, p1, p2 = share * rows[rank, 0], share * rows[rank, 1], share * rows[rank, 2]
            p3, p4 = share * rows[rank, 3], share * rows[rank, 4]
            for group in range(last - 1, -1, -1):
                if group > 1:
                    share = shares[group, sums[group] - sums[group - 1]]
                else:
                    share = shares[1, joint - first] if group == 1 else shares[0, first]
                place = rank + offsets[group]
                p0 += share * rows[place, 0]
                p1 += share * rows[place, 1]
                p2 += share * rows[place, 2]
                p3 += share * rows[place, 3]
                p4 += share * rows[place, 4]
            rows[rank, 0], rows[rank, 1], rows[rank, 2], rows[rank, 3], rows[rank, 4] = p0, p1, p2, p3, p4
            best = max(p0, p1, p2, p3, p4)
            if has_others and others > 0:
                best = max(best, (1.0 - p0 - p1 - p2 - p3 - p4) / others)
            probability = weights[0, first] * weights[1, joint - first]
            for group in range(2, last + 1):
                probability *= weights[group, sums[group] - sums[group - 1]]
            worth += probability * best
            rank += 1
        i = 1
        while i < last and sums[i] == sums[i + 1]:
            sums[i] = 0
            i += 1
        if i < last:
            sums[i] += 1
            offsets[i] = offsets[i + 1] + ranks[i, sums[i] + 1]
            for group in range(i - 1, -1, -1):
                offsets[group] = offsets[group + 1] + 1
    return float(worth / weights[last + 1, level])


@kernel
def worth_at(level: int, weights: FloatArray, winners: FloatArray, costs: FloatArray, means: FloatArray) -> float:
    """The value of stopping at this level: the mean over its states of the best answer's value.

    `means` (m,) becomes the mean of P.
    A class of the group of others can be the answer once the group has a vote: its probability is the group's divided
    by the group's votes.
    """
    groups, explicit = weights.shape[0] - 1, winners.shape[1]
    sums = np.zeros(groups, np.int64)
    sums[groups - 1] = level
    total, is_last = 0.0, False
    rank = 0
    means[:] = 0.0
    while not is_last:
        probability, before = 1.0, 0
        for c in range(groups):
            probability *= weights[c, sums[c] - before]
            before = sums[c]
        best, others = 0.0, 1.0
        if costs.size > 0:
            best = -least_cost(winners[rank], costs)
        else:
            for k in range(explicit):
                best = max(best, winners[rank, k])
                others -= winners[rank, k]
            if groups > explicit and level > sums[explicit - 1]:
                best = max(best, others / (level - sums[explicit - 1]))
        total += probability * best
        for k in range(explicit):
            means[k] += probability * winners[rank, k]
        is_last = not advance(sums)
        rank += 1
    for k in range(explicit):
        means[k] /= weights[groups, level]
    return float(total / weights[groups, level])


@kernel
def least_cost(winners: FloatArray, costs: FloatArray) -> float:
    """The expected cost of the cheapest answer among the chosen classes; winners (m,), costs (m + 1, m)."""
    least, others = math.inf, 1.0
    for k in range(winners.size):
        others -= winners[k]
    for answer in range(winners.size):
        cost = others * costs[winners.size, answer]
        for k in range(winners.size):
            cost += winners[k] * costs[k, answer]
        least = min(least, cost)
    return float(least)
