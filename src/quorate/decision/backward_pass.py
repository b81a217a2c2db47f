"""The backward pass of the look-ahead: the best plan for the next votes, from its last vote back to now.

A plan says for every state whether to stop there. Takes beta of each group, P of the states of the last level and the
price of a vote; returns what the plan gains and how many votes it asks. The states of a level are the counts x (C,) of
the votes so far, in the order of `advance`. Called by `look_ahead`.

`rows` (states, WIDTH): P of up to MOST_GROUPS classes, 0 where there are fewer; the value of the plan, less the price
of its votes; the votes it asks on average. A row has the size of a cache line.
"""

from __future__ import annotations

import math
from functools import cache
from itertools import combinations_with_replacement

import numpy as np

from quorate.compiled import kernel, kernel_or
from quorate.types import FloatArray, IntArray

MOST_GROUPS = 6  # single classes, the last group for all others if there are more; `_level_back` is written for six
VALUE, _VOTES, WIDTH = MOST_GROUPS, MOST_GROUPS + 1, MOST_GROUPS + 2


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
def advance(sums: IntArray) -> bool:
    """Move on to the partial sums of the next state of the level; False after the last one."""
    for i in range(sums.size - 1):
        if sums[i] < sums[i + 1]:
            sums[i] += 1
            return True
        sums[i] = 0
    return False


@cache
def states_of(groups: int, level: int) -> IntArray:
    """(S, C) the counts of every state of a level, in the order of `advance`; for NumPy versions of kernels.

    >>> states_of(3, 1).tolist()
    [[0, 0, 1], [0, 1, 0], [1, 0, 0]]
    """
    rising = combinations_with_replacement(range(level + 1), groups - 1)
    sums = np.array(sorted(rising, key=lambda each: each[::-1]))  # the last sum changes slowest
    states = np.diff(sums, axis=1, prepend=0, append=level)
    states.flags.writeable = False
    return states


@cache
def _successors_of(groups: int, level: int) -> IntArray:
    """(S, C) the rank of the state to which a vote for each group leads, for every state of a level."""
    ranks = state_ranks(groups, level)
    steps = ranks[np.arange(groups - 1), np.cumsum(states_of(groups, level), axis=1)[:, :-1] + 1]
    places = np.cumsum(np.pad(steps, ((0, 0), (0, 1)))[:, ::-1], axis=1)[:, ::-1] + np.arange(len(steps))[:, None]
    places.flags.writeable = False
    return places


@kernel
def best_plan(
    horizon: int,
    num_unseen: int,
    beta: FloatArray,
    num_classes: int,
    ranks: IntArray,
    costs: FloatArray,
    price: float,
    rows: FloatArray,
) -> tuple[float, float]:
    """What the best plan gains, less `price` for each of its votes, and its votes on average; at least one vote.

    `rows` has P of the states of the last level and the value of the best answer there; the first `num_classes` groups
    are classes, the last one may be all the others. After the last level a plan may ask the `num_unseen` other voters
    at once, as if no doubt were left then.
    """
    total, groups = beta.sum(), beta.size
    by_all = (1.0 if costs.size == 0 else 0.0) - price * num_unseen
    for rank in range(ranks[groups - 1, horizon + 1] if num_unseen > 0 else 0):
        if by_all > rows[rank, VALUE]:
            rows[rank, VALUE], rows[rank, _VOTES] = by_all, num_unseen
    if costs.size == 0 and groups > 2:
        step_all_back(horizon, price, beta, total, ranks, groups > num_classes, rows)
    else:
        for level in range(horizon - 1, 0, -1):
            step_back(level, beta, total, ranks, rows)
            stop_or_go_on(level, price, groups, num_classes, costs, rows)
    step_back(0, beta, total, ranks, rows)
    now = best_answer(rows[0], num_classes, 0, costs)
    return rows[0, VALUE] - price - now, rows[0, _VOTES] + 1.0


@kernel
def step_back(level: int, beta: FloatArray, total: float, ranks: IntArray, rows: FloatArray) -> None:
    """Turn the rows of the next level into those of this one: the mean over the next vote.

    In place: a state's successors have the same rank or a higher one.
    """
    groups, width = beta.size, rows.shape[1]
    sums, mean = np.zeros(groups, np.int64), np.empty(width)
    sums[groups - 1] = level
    scale = 1.0 / (total + level)
    for rank in range(ranks[groups - 1, level + 1]):
        mean[:] = 0.0
        place = rank
        for c in range(groups - 1, -1, -1):
            if c < groups - 1:
                place += ranks[c, sums[c] + 1]
            share = (beta[c] + (sums[c] - (sums[c - 1] if c > 0 else 0))) * scale
            for column in range(width):
                mean[column] += share * rows[place, column]
        for column in range(width):
            rows[rank, column] = mean[column]
        advance(sums)


@kernel
def stop_or_go_on(level: int, price: float, groups: int, num_classes: int, costs: FloatArray, rows: FloatArray) -> None:
    """Let the plan go on in each state of the level where that is worth more than the price of the next vote."""
    sums = np.zeros(groups, np.int64)
    sums[groups - 1] = level
    rank, is_last = 0, False
    while not is_last:
        best = best_answer(rows[rank], num_classes, level - sums[num_classes - 1], costs)
        going_on = rows[rank, VALUE] - price
        rows[rank, _VOTES] = rows[rank, _VOTES] + 1.0 if going_on > best else 0.0
        rows[rank, VALUE] = max(going_on, best)
        is_last = not advance(sums)
        rank += 1


@kernel
def best_answer(row: FloatArray, num_classes: int, others: int, costs: FloatArray) -> float:
    """The value of the best answer: its probability, or minus its expected cost.

    A class of the group of others can be the answer once the group has a vote: its probability is the group's divided
    by `others`, the group's votes. Without such a group, `others` is 0.
    """
    if costs.size > 0:
        return -least_cost(row[:num_classes], costs)
    best, rest = 0.0, 1.0
    for k in range(num_classes):
        best = max(best, row[k])
        rest -= row[k]
    return float(max(best, rest / others) if others > 0 else best)


def best_answers(rows: FloatArray, num_classes: int, others: IntArray) -> FloatArray:
    """`best_answer` of many rows, for errors of equal cost."""
    rest = 1.0 - rows[:, 0]
    for k in range(1, num_classes):
        rest -= rows[:, k]
    best = rows[:, :num_classes].max(axis=1)
    return np.asarray(np.where(others > 0, np.maximum(best, rest / np.maximum(others, 1)), best))


def _plain_step_all_back(
    horizon: int,
    price: float,
    beta: FloatArray,
    total: float,
    ranks: IntArray,
    has_others: bool,
    rows: FloatArray,
) -> None:
    """`step_all_back` for all states of a level at once; every sum has the order of the kernel's."""
    for level in range(horizon - 1, 0, -1):
        states, places = states_of(beta.size, level), _successors_of(beta.size, level)
        shares = (beta + states) * (1.0 / (total + level))
        found = shares[:, -1:] * rows[places[:, -1]]
        for group in range(beta.size - 2, -1, -1):
            found += shares[:, group, None] * rows[places[:, group]]
        best = best_answers(found, MOST_GROUPS, has_others * states[:, -1])  # columns without a class are 0
        value = found[:, VALUE] - price
        stops = value <= best
        found[:, VALUE] = np.where(stops, best, value)
        found[:, _VOTES] = np.where(stops, 0.0, found[:, _VOTES] + 1.0)
        rows[: len(states)] = found


@kernel_or(_plain_step_all_back)
def step_all_back(
    horizon: int,
    price: float,
    beta: FloatArray,
    total: float,
    ranks: IntArray,
    has_others: bool,
    rows: FloatArray,
) -> None:
    """`step_back` and `stop_or_go_on` for every level but the first and the last, to the same bits, in half the time.

    For three groups or more, and errors of equal cost.
    """
    groups = beta.size
    sums, offsets = np.zeros(groups, np.int64), np.zeros(groups, np.int64)
    shares = np.empty((groups, horizon))
    for level in range(horizon - 1, 0, -1):
        scale = 1.0 / (total + level)
        for c in range(groups):
            for x in range(level + 1):
                shares[c, x] = (beta[c] + x) * scale
        _level_back(level, price, ranks, shares, has_others, sums, offsets, rows)


@kernel
def _level_back(
    level: int,
    price: float,
    ranks: IntArray,
    shares: FloatArray,
    has_others: bool,
    sums: IntArray,
    offsets: IntArray,
    rows: FloatArray,
) -> None:
    """One level of `step_all_back`, with the WIDTH columns of a row in registers.

    `offsets` (C,) become the differences of rank between a state and its successor by a vote for each group.
    """
    last = sums.size - 1
    for i in range(last):
        sums[i], offsets[i] = 0, last - i
    sums[last], offsets[last] = level, 0
    rank, i = 0, 0
    while i < last:
        others, joint = level - sums[last - 1], sums[1]
        for first in range(joint + 1):  # the first two groups share the votes `joint`: ranks in a row
            share = shares[last, others]
            p0, p1, p2 = share * rows[rank, 0], share * rows[rank, 1], share * rows[rank, 2]
            p3, p4, p5 = share * rows[rank, 3], share * rows[rank, 4], share * rows[rank, 5]
            value, votes = share * rows[rank, VALUE], share * rows[rank, _VOTES]
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
                p5 += share * rows[place, 5]
                value += share * rows[place, VALUE]
                votes += share * rows[place, _VOTES]
            best = max(p0, p1, p2, p3, p4, p5)
            if has_others and others > 0:
                best = max(best, (1.0 - p0 - p1 - p2 - p3 - p4 - p5) / others)
            value -= price
            votes += 1.0
            if value <= best:
                value, votes = best, 0.0
            rows[rank, 0], rows[rank, 1], rows[rank, 2], rows[rank, 3] = p0, p1, p2, p3
            rows[rank, 4], rows[rank, 5], rows[rank, VALUE], rows[rank, _VOTES] = p4, p5, value, votes
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
