"""An approximate plan of whom to ask next, for panels with too many states for the exact plan.

Given the latent state s, the R unseen votes are treated as draws from the mean row of those who have not voted, so that

    P(k wins) = sum_s P(s) FinExp(k; large alpha along the mean row) + the exchangeable part, which stays exact
    V_e       = Var over y_e of E[margin of the two most probable classes | y_e]
    ask       the member with the largest V_e / c_e, while G V_e / max V > lambda c_e

G is the expected gain per vote of `decision.look_ahead`, under the Dirichlet whose votes have the mean and the
correlation of these. Called by `panel_plan`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from quorate.compiled import kernel
from quorate.decision.look_ahead import expected_gain
from quorate.experts.panel import Beliefs
from quorate.experts.person import LEAST_COST
from quorate.posterior.finite import finite_into
from quorate.types import FloatArray

LARGE = 1e8  # concentration at which a Dirichlet-multinomial equals a multinomial to eight digits
NEGLIGIBLE = 1e-9  # latent states of smaller weight are skipped
ROUND_OFF = 1e-12


@kernel
def plan_large(
    beliefs: Beliefs,
    can_ask: NDArray[np.bool_],
    costs: FloatArray,
    price: float,
    probs: FloatArray,
    values: FloatArray,
) -> tuple[int, float, float]:
    """An approximation of `panel_plan.plan`; gain and cost are those of one vote of a plan, not of all its votes."""
    m, S, K = beliefs.rows.shape
    mean_rows = np.zeros((S, K))
    for e in range(m):
        for s in range(S):
            for k in range(K):
                mean_rows[s, k] += beliefs.rows[e, s, k] / m
    winners_into(beliefs, mean_rows, probs)
    first, second = top_two(probs)
    variances, most = np.empty(m), 0.0
    for e in range(m):
        values[e] = np.nan
        if can_ask[e]:
            variances[e] = margin_variance(beliefs, mean_rows, e, first, second)
            most = max(most, variances[e])
    if most <= 0.0:
        return -1, 0.0, 0.0
    best, best_ratio = -1, 0.0
    per_vote = gain_per_vote(beliefs, mean_rows, probs)
    for e in range(m):
        if can_ask[e]:
            values[e] = per_vote * variances[e] / most - price * costs[e]
            ratio = variances[e] / max(costs[e], LEAST_COST)
            if values[e] > ROUND_OFF and ratio > best_ratio * (1.0 + ROUND_OFF):
                best, best_ratio = e, ratio
    if best < 0:
        return -1, 0.0, 0.0
    return best, per_vote * variances[best] / most, costs[best]


@kernel
def winners_into(beliefs: Beliefs, mean_rows: FloatArray, probs: FloatArray) -> None:
    """Write who wins the whole panel to probs (K,); mean_rows (S, K) of those who have not voted."""
    m, S, K = beliefs.rows.shape
    alpha, part, pool_size, mass = np.empty(K), np.empty(K), m, 0.0
    for k in range(K):
        pool_size += beliefs.seen[k]
        alpha[k] = beliefs.beta[k] - beliefs.seen[k]
    finite_into(alpha, beliefs.seen, pool_size, probs)
    mass += 1.0 - beliefs.members
    for k in range(K):
        probs[k] *= 1.0 - beliefs.members
    for s in range(S):
        weight = beliefs.members * beliefs.latent[s]
        if weight < NEGLIGIBLE:
            continue
        mass += weight
        for k in range(K):
            alpha[k] = LARGE * mean_rows[s, k]
        finite_into(alpha, beliefs.seen, pool_size, part)
        for k in range(K):
            probs[k] += weight * part[k]
    for k in range(K):
        probs[k] /= mass


@kernel
def top_two(probs: FloatArray) -> tuple[int, int]:
    """The two most probable classes."""
    first = 0
    for k in range(1, probs.size):
        if probs[k] > probs[first]:
            first = k
    second = 1 if first == 0 else 0
    for k in range(probs.size):
        if k != first and probs[k] > probs[second]:
            second = k
    return first, second


@kernel
def margin_variance(beliefs: Beliefs, mean_rows: FloatArray, e: int, first: int, second: int) -> float:
    """V_e: the variance, over the vote of e, of the expected final lead of class `first` over `second`."""
    m, S, K = beliefs.rows.shape
    total = 0.0
    for k in range(K):
        total += beliefs.beta[k]
    mean, square = 0.0, 0.0
    for y in range(K):
        own = (1.0 if y == first else 0.0) - (1.0 if y == second else 0.0)
        weight = (1.0 - beliefs.members) * beliefs.beta[y] / total
        lead = weight * (m - 1) * (beliefs.beta[first] - beliefs.beta[second] + own) / (total + 1.0)
        for s in range(S):
            likely = beliefs.members * beliefs.latent[s] * beliefs.rows[e, s, y]
            others = m * (mean_rows[s, first] - mean_rows[s, second])
            others -= beliefs.rows[e, s, first] - beliefs.rows[e, s, second]
            weight += likely
            lead += likely * others
        if weight > 0.0:
            lead += weight * own
            mean += lead
            square += lead * lead / weight
    return max(square - mean * mean, 0.0)


@kernel
def gain_per_vote(beliefs: Beliefs, mean_rows: FloatArray, probs: FloatArray) -> float:
    """G: expected gain per vote, under the Dirichlet with the mean and the correlation of the unseen votes."""
    m, S, K = beliefs.rows.shape
    mean, total = np.zeros(K), 0.0
    for k in range(K):
        total += beliefs.beta[k]
    together, apart = 0.0, 0.0  # probability that two votes agree: with shared latent state, and independently
    for k in range(K):
        share = beliefs.beta[k] / total
        mean[k] = (1.0 - beliefs.members) * share
        together += (1.0 - beliefs.members) * share * (beliefs.beta[k] + 1.0) / (total + 1.0)
        for s in range(S):
            weight = beliefs.members * beliefs.latent[s]
            mean[k] += weight * mean_rows[s, k]
            together += weight * mean_rows[s, k] * mean_rows[s, k]
        apart += mean[k] * mean[k]
    correlation = min(max((together - apart) / max(1.0 - apart, ROUND_OFF), 1.0 / LARGE), 1.0 - 1.0 / LARGE)
    size = 1.0 / correlation - 1.0
    alpha = np.empty(K)
    for k in range(K):
        alpha[k] = size * mean[k] - beliefs.seen[k]
    return expected_gain(alpha, beliefs.seen, m, probs, np.zeros((0, 0)))
