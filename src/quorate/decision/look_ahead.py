"""The expected gain of the next votes: G, what the best plan gains for each vote it asks, if the belief is right.

A plan says after every vote whether to stop. Takes alpha, the votes seen, the probabilities of the winner, and the
table of error costs if errors cost unequally. Compiled; called by `decision.blended`.

The next votes are Polya draws. With x (C,) their counts, beta = alpha + votes and S = sum(beta),
`P_k(x) = sum_c (beta_c + x_c) / (S + |x|) P_k(x + e_c)`, and after the last vote P is the winner's share. One backward
pass from the last vote (`backward_pass`) gives P and the best plan in every state. With more than MOST_GROUPS classes
the most probable are treated one by one and the others as one group.
"""

from __future__ import annotations

import math

import numpy as np

from quorate.compiled import kernel, kernel_or, shared_kernel
from quorate.decision.backward_pass import (
    MOST_GROUPS,
    VALUE,
    WIDTH,
    advance,
    best_answer,
    best_answers,
    best_plan,
    least_cost,
    state_ranks,
    states_of,
)
from quorate.posterior.wins_alone import wins_alone
from quorate.types import FloatArray, IntArray

MOST_STATES = 1024  # limit on the states x, for any number of classes and voters
FEWEST_GROUPS = 3  # the two most probable classes, and all others
_SURELY = 1.0 + 1e-9  # a value larger by this factor is larger despite rounding
_NOTHING = 1e-15  # rounding of a gain
_MOST_STEPS = 30  # of Newton's method, which needs about five


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
    """The number of groups and of votes (at least one) to look ahead, such that there are at most MOST_STATES states.

    As many groups as possible with all remaining votes; if even FEWEST_GROUPS are too many, fewer votes.

    >>> look_ahead_size(10, 6), look_ahead_size(10, 10), look_ahead_size(3, 100), look_ahead_size(1000, 10**9)
    ((6, 6), (4, 10), (3, 16), (3, 16))
    """
    groups, horizon = min(num_classes, MOST_GROUPS), 1
    most = min(num_remaining, MOST_STATES)
    while groups > FEWEST_GROUPS and num_states(groups, most) > MOST_STATES:
        groups -= 1
    while horizon < most and num_states(groups, horizon + 1) <= MOST_STATES:
        horizon += 1
    return groups, horizon


@kernel
def expected_gain(
    alpha: FloatArray, votes: IntArray, num_remaining: int, probs: FloatArray, error_costs: FloatArray
) -> float:
    """G = max over plans of (E[value of the best answer where the plan stops] - its value now) / E[votes of the plan].

    alpha, votes, probs (K,), at least one vote remaining; error_costs (K, K) by truth and answer, or (0, 0). The value
    of an answer is its probability, or minus its expected cost. Exact if K <= 6 and the look-ahead includes all
    remaining votes; otherwise the winner after its last vote is approximated (`_likely_into`).

    By Newton's method (Dinkelbach): the gain per vote of the best plan at one price is the next price, until no plan
    gains more than it costs.
    """
    horizon, chosen = _look(votes.size, num_remaining, probs, error_costs)
    gain = _gained_by_all(num_remaining, horizon, probs, error_costs)
    for _ in range(_MOST_STEPS):
        surplus, num_votes = _plan(gain, alpha, votes, num_remaining, horizon, chosen, probs, error_costs)
        if surplus <= _NOTHING:
            break
        gain += surplus / num_votes
    return gain


@kernel
def gains_more_than(
    price: float,
    alpha: FloatArray,
    votes: IntArray,
    num_remaining: int,
    probs: FloatArray,
    error_costs: FloatArray,
) -> bool:
    """`expected_gain` > price, by one plan; most calls are decided by cheaper terms of it."""
    horizon, chosen = _look(votes.size, num_remaining, probs, error_costs)
    if horizon == num_remaining and chosen.size > 1 and error_costs.size == 0:
        if _surely_gained(alpha, votes, num_remaining, chosen[0], chosen[1]) > price * _SURELY:
            return True
    elif _gained_by_all(num_remaining, horizon, probs, error_costs) > price:
        return True
    surplus, _ = _plan(price, alpha, votes, num_remaining, horizon, chosen, probs, error_costs)
    return surplus > 0.0


@kernel
def order_decides(num_classes: int, num_remaining: int) -> bool:
    """Whether the look-ahead ends before the pool and follows two classes, the most probable, and all the others.

    Then a plan depends on the probabilities only by which classes these are.
    """
    groups, horizon = look_ahead_size(num_classes, num_remaining)
    return groups == FEWEST_GROUPS and num_classes > FEWEST_GROUPS and horizon < num_remaining


@kernel
def plan_of_two_gains(
    price: float, alpha: FloatArray, votes: IntArray, num_remaining: int, first: int, second: int
) -> bool:
    """Whether a plan gains more per vote than `price`, where `order_decides`; `first` and `second` are the two."""
    _, horizon = look_ahead_size(votes.size, num_remaining)
    pair, no_costs = np.array([first, second]), np.zeros((0, 0))
    surplus, _ = _plan(price, alpha, votes, num_remaining, horizon, pair, alpha, no_costs)
    return surplus > 0.0


@kernel
def _look(num_classes: int, num_remaining: int, probs: FloatArray, error_costs: FloatArray) -> tuple[int, IntArray]:
    """The votes to look ahead, and the classes that are treated one by one."""
    groups, horizon = look_ahead_size(num_classes, num_remaining)
    chosen = np.empty(groups if groups == num_classes else groups - 1, np.int64)
    _choose_into(probs, error_costs, chosen)
    return horizon, chosen


@kernel
def _gained_by_all(num_remaining: int, horizon: int, probs: FloatArray, error_costs: FloatArray) -> float:
    """The gain per vote of asking everybody, as if no doubt were left then: ties are ignored, so it is too high.

    0 if the look-ahead reaches the end of the pool or errors cost unequally.
    """
    if horizon == num_remaining or error_costs.size > 0:
        return 0.0
    return float(max(1.0 - probs.max(), 0.0) / num_remaining)


@shared_kernel
def _plan(
    price: float,
    alpha: FloatArray,
    votes: IntArray,
    num_remaining: int,
    horizon: int,
    chosen: IntArray,
    probs: FloatArray,
    error_costs: FloatArray,
) -> tuple[float, float]:
    """The gain of the best plan, less what its votes cost, and their number; `probs` is used only with error costs."""
    groups = min(chosen.size + 1, votes.size)
    counts, beta = np.zeros(groups, np.int64), np.zeros(groups)
    _group_into(alpha, votes, chosen, counts, beta)
    costs = _group_costs(probs, error_costs, chosen)
    ranks, num_classes = state_ranks(groups, horizon), chosen.size
    rows = np.zeros((ranks[groups - 1, horizon + 1], WIDTH))
    if horizon == num_remaining:
        _last_into(horizon, counts, num_classes, costs, rows)
    else:
        _likely_into(horizon, num_remaining - horizon, counts, beta, num_classes, votes.size - num_classes, costs, rows)
    return best_plan(horizon, num_remaining - horizon, beta, num_classes, ranks, costs, price, rows)


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


def _plain_last_into(horizon: int, counts: IntArray, num_classes: int, costs: FloatArray, rows: FloatArray) -> None:
    """`_last_into` for all states at once."""
    states = states_of(counts.size, horizon)
    others = horizon - states[:, :num_classes].sum(axis=1)
    final = counts + states
    if counts.size > num_classes:  # at most one class of the group can win
        final[:, -1] = np.maximum(counts[-1], np.minimum(others, 1))
    wins = final == final.max(axis=1, keepdims=True)
    rows[:, :num_classes] = wins[:, :num_classes] * (1.0 / wins.sum(axis=1, keepdims=True))
    if costs.size == 0:
        rows[:, VALUE] = best_answers(rows, num_classes, others)
        return
    for row in rows:
        row[VALUE] = -least_cost(row[:num_classes], costs)


@kernel_or(_plain_last_into)
def _last_into(horizon: int, counts: IntArray, num_classes: int, costs: FloatArray, rows: FloatArray) -> None:
    """Write the winner's share and its value for every state after the last vote.

    At most one class of a group can win.
    """
    groups = counts.size
    sums, final = np.zeros(groups, np.int64), np.empty(num_classes, np.int64)
    sums[groups - 1] = horizon
    for rank in range(rows.shape[0]):
        top, tied, others = 0, 0, horizon - sums[num_classes - 1]
        if groups > num_classes:
            top, tied = max(counts[num_classes], min(others, 1)), 1
        before = 0
        for k in range(num_classes):
            final[k] = counts[k] + sums[k] - before
            before = sums[k]
            if final[k] > top:
                top, tied = final[k], 0
            if final[k] == top:
                tied += 1
        share = 1.0 / tied
        for k in range(num_classes):
            rows[rank, k] = share if final[k] == top else 0.0
        rows[rank, VALUE] = best_answer(rows[rank], num_classes, others, costs)
        advance(sums)


@kernel
def _likely_into(
    horizon: int,
    unseen: int,
    counts: IntArray,
    beta: FloatArray,
    num_classes: int,
    num_others: int,
    costs: FloatArray,
    rows: FloatArray,
) -> None:
    """Approximate the winner in every state with `unseen` votes remaining: P_k ~ prod_j P(k beats j).

    The lead of k over j has the mean and variance of Polya draws and is treated as logistic. The classes of the last
    group are treated as equal.
    """
    groups, total = counts.size, beta.sum()
    sums, final, share = np.zeros(groups, np.int64), np.empty(groups), np.empty(groups)
    behind = np.zeros((groups, groups))  # how far group k is expected behind j, in standard deviations
    sums[groups - 1] = horizon
    spread = unseen * (total + horizon + unseen) / (total + horizon + 1.0)
    for rank in range(rows.shape[0]):
        before = 0
        for c in range(groups):
            x, before = sums[c] - before, sums[c]
            share[c] = (beta[c] + x) / (total + horizon)
            final[c] = counts[c] + x + unseen * share[c]
            if c >= num_classes:
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
            weight = 1.0 if k < num_classes else 1.0 * num_others
            for j in range(groups):
                if j != k:
                    weight /= 1.0 + math.exp(behind[k, j])
            mass += weight
            if k < num_classes:
                rows[rank, k] = weight
        for k in range(num_classes):
            rows[rank, k] /= mass
        rows[rank, VALUE] = best_answer(rows[rank], num_classes, horizon - sums[num_classes - 1], costs)
        advance(sums)
