"""The expected gain of the next votes: G, the knowledge gradient, over all their possible outcomes.

Takes alpha, the votes seen, the probabilities of the winner, and the table of error costs if errors cost unequally;
returns the best expected gain per vote. Compiled; called by `decision.blended`.

The next votes are Polya draws. With x (C,) their counts, beta = alpha + votes and S = sum(beta),
`P_k(x) = sum_c (beta_c + x_c) / (S + |x|) P_k(x + e_c)`, and after the last vote P is the winner's share. One backward
pass from the last vote gives P in every state; the value of stopping at a level is the mean of the best answer's P
there. With more than MOST_GROUPS classes the most probable are treated one by one and the others as one group.
"""

from __future__ import annotations

import math

import numpy as np

from quorate.compiled import kernel
from quorate.types import FloatArray, IntArray

MOST_STATES = 1024  # limit on the states x, for any number of classes and voters
MOST_GROUPS, FEWEST_GROUPS = 6, 3  # single classes, the last group for all others if there are more classes
_WIDTH = 5  # of the rows of probabilities that `_step_all_back` processes at once
_SURELY = 1.0 + 1e-9  # a value larger by this factor is larger despite rounding


@kernel
def num_states(num_groups: int, num_votes: int) -> int:
    """The number of ways to distribute 0 to `num_votes` votes over `num_groups` groups: binom(votes + groups, groups).

    >>> num_states(2, 2)
    6
    """
    total = 1
    for group in range(1, num_groups + 1):
        total = total * (num_votes + group) // group
    return total


@kernel
def look_ahead_size(num_classes: int, num_remaining: int) -> tuple[int, int]:
    """The number of groups and of votes to look ahead, such that there are at most MOST_STATES states.

    As many groups as possible with all remaining votes; if even FEWEST_GROUPS are too many, fewer votes.

    >>> look_ahead_size(10, 6), look_ahead_size(10, 10), look_ahead_size(3, 100), look_ahead_size(1000, 10**9)
    ((6, 6), (4, 10), (3, 16), (3, 16))
    """
    groups = min(num_classes, MOST_GROUPS)
    horizon = min(num_remaining, MOST_STATES)
    while groups > FEWEST_GROUPS and num_states(groups, horizon) > MOST_STATES:
        groups -= 1
    while num_states(groups, horizon) > MOST_STATES:
        horizon -= 1
    return groups, horizon


@kernel
def expected_gain(
    alpha: FloatArray, votes: IntArray, num_remaining: int, probs: FloatArray, error_costs: FloatArray
) -> float:
    """G = max over 1 <= j <= H of (E[value of the best answer after j more votes] - its value now) / j.

    alpha, votes, probs (K,), at least one vote remaining; error_costs (K, K) by truth and answer, or (0, 0). The value
    of an answer is its probability, or minus its expected cost. Exact if K <= 6 and H includes all remaining votes;
    otherwise the winner after the last vote of the look-ahead is approximated (`_likely_into`).
    """
    found: float = gain_or_enough(alpha, votes, num_remaining, probs, error_costs, math.inf)
    return found


@kernel
def gain_or_enough(
    alpha: FloatArray,
    votes: IntArray,
    num_remaining: int,
    probs: FloatArray,
    error_costs: FloatArray,
    enough: float,
) -> float:
    """`expected_gain`, or a lower bound of it above `enough`, which needs fewer levels or none.

    P is a martingale, so its mean at the last level is P now: the last level alone bounds G from below. So does the
    probability of a few of its states (`_surely_gained`), which decides most calls.
    """
    groups, horizon = look_ahead_size(votes.size, num_remaining)
    explicit = groups if groups == votes.size else groups - 1
    chosen = np.empty(explicit, np.int64)
    _choose_into(probs, error_costs, chosen)
    if enough < math.inf and horizon == num_remaining and explicit > 1 and error_costs.size == 0:
        sure = _surely_gained(alpha, votes, num_remaining, chosen[0], chosen[1])
        if sure > enough * _SURELY:
            return sure
    found: float = _gain_of(alpha, votes, num_remaining, chosen, groups, horizon, probs, error_costs, enough)
    return found


@kernel
def gain_of_two(
    alpha: FloatArray, votes: IntArray, num_remaining: int, first: int, second: int, enough: float
) -> float:
    """`gain_or_enough` if `first` and `second` are the two most probable classes, without their probabilities.

    For more than three classes, if not all remaining votes can be looked ahead; otherwise the result is -1.
    """
    groups, horizon = look_ahead_size(votes.size, num_remaining)
    if groups != FEWEST_GROUPS or votes.size <= FEWEST_GROUPS or horizon == num_remaining:
        return -1.0
    found: float = _gain_of(
        alpha, votes, num_remaining, np.array([first, second]), groups, horizon, alpha, np.zeros((0, 0)), enough
    )
    return found


@kernel
def _gain_of(
    alpha: FloatArray,
    votes: IntArray,
    num_remaining: int,
    chosen: IntArray,
    groups: int,
    horizon: int,
    probs: FloatArray,
    error_costs: FloatArray,
    enough: float,
) -> float:
    """`gain_or_enough` with the chosen classes; `probs` is used only with error costs."""
    explicit = chosen.size
    counts, beta = np.zeros(groups, np.int64), np.zeros(groups)
    _group_into(alpha, votes, chosen, counts, beta)
    costs = _group_costs(probs, error_costs, chosen)
    total = beta.sum()

    ranks, weights = _ranks(groups, horizon), _weights(beta, total, horizon)
    winners = np.empty((ranks[groups - 1, horizon + 1], explicit))  # P of the states of one level
    worth = np.empty(horizon + 1)
    if horizon == num_remaining:
        _last_into(horizon, counts, winners)
    else:
        _likely_into(horizon, num_remaining - horizon, counts, beta, total, votes.size - explicit, winners)
    at_best = 1.0 if costs.size == 0 else 0.0
    means = np.zeros(explicit)
    worth[horizon] = _worth(horizon, weights, winners, costs, means)
    if enough < math.inf:
        now = means.max() if costs.size == 0 else -_least_cost(means, costs)
        known: float = (worth[horizon] - now) / horizon
        if horizon < num_remaining:
            known = max(known, (at_best - now) / num_remaining)
        if known > enough * _SURELY:
            return known
    if costs.size == 0 and groups > 2 and explicit <= _WIDTH:
        _step_all_back(horizon, beta, total, ranks, weights, winners, worth)
    else:
        for level in range(horizon - 1, -1, -1):
            _step_back(level, beta, total, ranks, winners)
            worth[level] = _worth(level, weights, winners, costs, means)
    best = (at_best - worth[0]) / num_remaining if horizon < num_remaining else 0.0  # after all votes no doubt is left
    for level in range(1, horizon + 1):
        best = max(best, (worth[level] - worth[0]) / level)
    return best


@kernel
def _surely_gained(alpha: FloatArray, votes: IntArray, num_remaining: int, first: int, second: int) -> float:
    """A lower bound of G over all remaining votes, from two classes, the most probable ones.

    Whatever the answer is now, another one of the two is right after the last vote at least if it wins alone. So the
    gain is at least the smaller of both probabilities of having more votes than any other class could then have.
    """
    total = 0.0
    for k in range(votes.size):
        total += alpha[k] + votes[k]
    least = wins_alone(second, alpha, votes, num_remaining, total)
    if least > 0.0:
        least = min(least, wins_alone(first, alpha, votes, num_remaining, total))
    return float(least / num_remaining)


@kernel
def wins_alone(chosen: int, alpha: FloatArray, votes: IntArray, num_remaining: int, total: float) -> float:
    """The probability that the class gets so many of the remaining votes that no other class can have as many."""
    rival = 0
    for k in range(votes.size):
        if k != chosen:
            rival = max(rival, votes[k])
    needed = max((rival + num_remaining - votes[chosen]) // 2 + 1, 0)
    if needed > num_remaining:
        return 0.0
    own, others = alpha[chosen] + votes[chosen], total - alpha[chosen] - votes[chosen]
    probability = 1.0  # of exactly `needed` votes: beta-binomial
    for x in range(needed):
        probability *= (own + x) / (total + x) * (num_remaining - x) / (x + 1.0)
    for x in range(num_remaining - needed):
        probability *= (others + x) / (total + needed + x)
    wins = probability
    for x in range(needed, num_remaining):
        left = num_remaining - x
        probability *= (own + x) / (x + 1.0) * left / (others + left - 1.0)
        wins += probability
    return float(wins)


@kernel
def _choose_into(probs: FloatArray, error_costs: FloatArray, chosen: IntArray) -> None:
    """Write the most important classes to `chosen`: the most probable; with costs, the answer and the costliest."""
    stakes = probs.copy()
    if error_costs.size > 0:
        answer, least = 0, math.inf
        for k in range(probs.size):
            cost = 0.0
            for truth in range(probs.size):
                cost += probs[truth] * error_costs[truth, k]
            if cost < least:
                answer, least = k, cost
            stakes[k] = probs[k] * error_costs[k].max()
        stakes[answer] = math.inf
    for place in range(chosen.size):
        chosen[place] = stakes.argmax()
        stakes[chosen[place]] = -1.0


@kernel
def _group_into(alpha: FloatArray, votes: IntArray, chosen: IntArray, counts: IntArray, beta: FloatArray) -> None:
    """Votes and beta of each chosen class; for the others, if any, the largest count and the sum of beta."""
    explicit = chosen.size
    for k in range(votes.size):
        place = explicit
        for i in range(explicit):
            if chosen[i] == k:
                place = i
        counts[place] = max(counts[place], votes[k])
        beta[place] += alpha[k] + votes[k]


@kernel
def _group_costs(probs: FloatArray, error_costs: FloatArray, chosen: IntArray) -> FloatArray:
    """Costs (m + 1, m) of answering a chosen class if a chosen class wins, or another (mean); (0, 0) without costs."""
    if error_costs.size == 0:
        return np.zeros((0, 0))
    explicit = chosen.size
    costs, others = np.zeros((explicit + 1, explicit)), probs.copy()
    for i in range(explicit):
        others[chosen[i]] = 0.0
        for j in range(explicit):
            costs[i, j] = error_costs[chosen[i], chosen[j]]
    mass = 0.0  # a plain loop, because NumPy adds in another order than compiled code
    for k in range(probs.size):
        mass += others[k]
    for k in range(probs.size):
        for j in range(explicit):
            if mass > 0.0:
                costs[explicit, j] += others[k] / mass * error_costs[k, chosen[j]]
    return costs


@kernel
def _ranks(groups: int, horizon: int) -> IntArray:
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
def _weights(beta: FloatArray, total: float, horizon: int) -> FloatArray:
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
def _advance(sums: IntArray) -> bool:
    """Move on to the partial sums of the next state of the level; False after the last one."""
    for i in range(sums.size - 1):
        if sums[i] < sums[i + 1]:
            sums[i] += 1
            return True
        sums[i] = 0
    return False


@kernel
def _last_into(horizon: int, counts: IntArray, winners: FloatArray) -> None:
    """Write the winner's share for every state after the last vote; at most one class of a group can win."""
    groups, explicit = counts.size, winners.shape[1]
    sums = np.zeros(groups, np.int64)
    sums[groups - 1] = horizon
    for rank in range(winners.shape[0]):
        top, tied = 0, 0
        if groups > explicit:
            top, tied = max(counts[explicit], min(horizon - sums[explicit - 1], 1)), 1
        before = 0
        for k in range(explicit):
            count = counts[k] + sums[k] - before
            before = sums[k]
            if count > top:
                top, tied = count, 0
            if count == top:
                tied += 1
            winners[rank, k] = count
        for k in range(explicit):
            winners[rank, k] = 1.0 / tied if winners[rank, k] == top else 0.0
        _advance(sums)


@kernel
def _likely_into(
    horizon: int, unseen: int, counts: IntArray, beta: FloatArray, total: float, num_others: int, winners: FloatArray
) -> None:
    """Approximate the winner in every state with `unseen` votes remaining: P_k ~ prod_j P(k beats j).

    The lead of k over j has the mean and variance of Polya draws and is treated as logistic. The classes of the last
    group are treated as equal.
    """
    groups, explicit = counts.size, winners.shape[1]
    sums, final, share = np.zeros(groups, np.int64), np.empty(groups), np.empty(groups)
    behind = np.zeros((groups, groups))  # how far group k is expected behind j, in standard deviations
    sums[groups - 1] = horizon
    spread = unseen * (total + horizon + unseen) / (total + horizon + 1.0)
    for rank in range(winners.shape[0]):
        before = 0
        for c in range(groups):
            x, before = sums[c] - before, sums[c]
            share[c] = (beta[c] + x) / (total + horizon)
            final[c] = counts[c] + x + unseen * share[c]
            if c >= explicit:
                share[c] /= num_others
                final[c] = max(counts[c], min(x, 1)) + unseen * share[c]
        for k in range(groups):
            for j in range(k):
                gap = share[k] - share[j]
                width = math.sqrt(spread * (share[k] + share[j] - gap * gap)) + 1e-9
                behind[k, j] = min(max(1.702 * (final[j] - final[k]) / width, -500.0), 500.0)
                behind[j, k] = -behind[k, j]
        mass = 0.0
        for k in range(groups):
            weight = 1.0 if k < explicit else 1.0 * num_others
            for j in range(groups):
                if j != k:
                    weight /= 1.0 + math.exp(behind[k, j])
            mass += weight
            if k < explicit:
                winners[rank, k] = weight
        for k in range(explicit):
            winners[rank, k] /= mass
        _advance(sums)


@kernel
def _step_back(level: int, beta: FloatArray, total: float, ranks: IntArray, winners: FloatArray) -> None:
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
        _advance(sums)


@kernel
def _step_all_back(
    horizon: int,
    beta: FloatArray,
    total: float,
    ranks: IntArray,
    weights: FloatArray,
    winners: FloatArray,
    worth: FloatArray,
) -> None:
    """`_step_back` and `_worth` for every level before the last, to the same bits, in about half of the time.

    For three groups or more, up to five classes, and errors of equal cost. `winners` is that of the last level.
    """
    groups, explicit = beta.size, winners.shape[1]
    rows = np.zeros((winners.shape[0], _WIDTH))  # of a fixed width, so that a row's sums are numbers in registers
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
            a, b, c = share * rows[rank, 0], share * rows[rank, 1], share * rows[rank, 2]
            d, e = share * rows[rank, 3], share * rows[rank, 4]
            for group in range(last - 1, -1, -1):
                if group > 1:
                    share = shares[group, sums[group] - sums[group - 1]]
                else:
                    share = shares[1, joint - first] if group == 1 else shares[0, first]
                place = rank + offsets[group]
                a += share * rows[place, 0]
                b += share * rows[place, 1]
                c += share * rows[place, 2]
                d += share * rows[place, 3]
                e += share * rows[place, 4]
            rows[rank, 0], rows[rank, 1], rows[rank, 2], rows[rank, 3], rows[rank, 4] = a, b, c, d, e
            best = max(a, b, c, d, e)
            if has_others and others > 0:
                best = max(best, (1.0 - a - b - c - d - e) / others)
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
def _worth(level: int, weights: FloatArray, winners: FloatArray, costs: FloatArray, means: FloatArray) -> float:
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
            best = -_least_cost(winners[rank], costs)
        else:
            for k in range(explicit):
                best = max(best, winners[rank, k])
                others -= winners[rank, k]
            if groups > explicit and level > sums[explicit - 1]:
                best = max(best, others / (level - sums[explicit - 1]))
        total += probability * best
        for k in range(explicit):
            means[k] += probability * winners[rank, k]
        is_last = not _advance(sums)
        rank += 1
    for k in range(explicit):
        means[k] /= weights[groups, level]
    return float(total / weights[groups, level])


@kernel
def _least_cost(winners: FloatArray, costs: FloatArray) -> float:
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
