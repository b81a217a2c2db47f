"""The expected gain of the next votes: G, the knowledge gradient, over all their possible outcomes.

Takes alpha, the votes seen, the probabilities of the winner, and the table of error costs if errors cost unequally;
returns the best expected gain per vote. Compiled; called by `decision.blended`.

The next votes are Polya draws. With x (C,) their counts, beta = alpha + votes and S = sum(beta),
`P_k(x) = sum_c (beta_c + x_c) / (S + |x|) P_k(x + e_c)`, and after the last vote P is the winner's share. One backward
pass from the last vote (`backward_pass`) gives P in every state; the value of stopping at a level is the mean of the
best answer's P there. With more than MOST_GROUPS classes the most probable are treated one by one and the others as one
group.
"""

from __future__ import annotations

import math

import numpy as np

from quorate.compiled import kernel, shared_kernel
from quorate.decision.backward_pass import (
    MOST_AT_ONCE,
    advance,
    least_cost,
    state_ranks,
    state_weights,
    step_all_back,
    step_back,
    worth_at,
)
from quorate.posterior.wins_alone import wins_alone
from quorate.types import FloatArray, IntArray

MOST_STATES = 1024  # limit on the states x, for any number of classes and voters
MOST_GROUPS, FEWEST_GROUPS = 6, 3  # single classes, the last group for all others if there are more classes
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


@shared_kernel
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

    ranks, weights = state_ranks(groups, horizon), state_weights(beta, total, horizon)
    winners = np.empty((ranks[groups - 1, horizon + 1], explicit))  # P of the states of one level
    worth = np.empty(horizon + 1)
    if horizon == num_remaining:
        _last_into(horizon, counts, winners)
    else:
        _likely_into(horizon, num_remaining - horizon, counts, beta, total, votes.size - explicit, winners)
    at_best = 1.0 if costs.size == 0 else 0.0
    means = np.zeros(explicit)
    worth[horizon] = worth_at(horizon, weights, winners, costs, means)
    if enough < math.inf:
        now = means.max() if costs.size == 0 else -least_cost(means, costs)
        known: float = (worth[horizon] - now) / horizon
        if horizon < num_remaining:
            known = max(known, (at_best - now) / num_remaining)
        if known > enough * _SURELY:
            return known
    if costs.size == 0 and groups > 2 and explicit <= MOST_AT_ONCE:
        step_all_back(horizon, beta, total, ranks, weights, winners, worth)
    else:
        for level in range(horizon - 1, -1, -1):
            step_back(level, beta, total, ranks, winners)
            worth[level] = worth_at(level, weights, winners, costs, means)
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
    least = wins_alone(second, alpha, votes, num_remaining)
    if least > 0.0:
        least = min(least, wins_alone(first, alpha, votes, num_remaining))
    return float(least / num_remaining)


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
        advance(sums)


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
        advance(sums)
