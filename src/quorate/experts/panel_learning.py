"""Learning of the panel model: an item closes, its votes enter the window, and a few EM sweeps update the parameters.

With r the beliefs about (z, d) of the items in the window, n_e[d,z,j] = sum of r over items on which e voted j, and
m[bin,d] = sum of r over items and classes whose pi lies in that bin, one sweep is

    Q0[d,z,j]    ~ 10 a_d(z,j) + sum_e n_e[d,z,j]
    q_e[d,z,j]   = (8 Q0[d,z,j] + n_e[d,z,j]) / (8 + n_e[d,z,.])
    delta[bin,d] = (10 d0_d + m[bin,d]) / (10 + m[bin,.])
    tau, b       : 3 damped Newton steps, parameter by parameter, on sum r log pi; tau ~ Gamma(3, 2 M), b ~ N(0, .25)

5 sweeps after each of the first 21 items with votes, then 2 after every fifth; FinExp is fitted at the same times.
Sweeps start from the last parameters, so the state is a fold over the closed items in order.
"""

from __future__ import annotations

import numpy as np

from quorate.compiled import kernel, shared_kernel
from quorate.experts.panel import (
    BIN_CUTS,
    DIAGONALS,
    DIFFICULTIES,
    DIFFICULTY_SHARES,
    ENTERED,
    EXCHANGEABLE,
    MEMBERS,
    MOST_BEHIND,
    VOTES,
    WAITING,
    PanelState,
    bin_of,
    latent_into,
    polya_into,
)
from quorate.learning.fit import fit_kernel
from quorate.learning.problem import numbers_of
from quorate.prior import concentration_into, hyperprior
from quorate.types import FloatArray, IntArray

FORGETTING = 0.98
POOLED_VOTES, OWN_VOTES, DIFFICULTY_ITEMS = 10.0, 8.0, 10.0  # weights of the priors
TAU_SHAPE, TAU_RATE, BIAS_VARIANCE = 3.0, 2.0, 0.25
NEWTON_STEPS, STEP = 3, 0.5
FIRST_ITEMS, FIRST_SWEEPS, SWEEPS, FIT_EVERY = 21, 5, 2, 5
_EXCHANGEABLE = numbers_of(hyperprior("infexp"), 2)  # the same for every number of classes


@shared_kernel
def learn_item(state: PanelState, log_f: FloatArray, votes: IntArray) -> int:
    """Learn from an item that closes: log_f (M, K), votes (N,). Returns its number, for `revise_item`.

    An item without votes is ignored; its number is -1.
    """
    number = state.counts[ENTERED]
    cast = 0
    for e in range(votes.size):
        if votes[e] >= 0:
            cast += 1
    if cast == 0:
        return -1
    weigh_models(state, log_f, votes)
    place = number % state.votes.shape[0]
    for m in range(log_f.shape[0]):
        for k in range(log_f.shape[1]):
            state.log_f[place, m, k] = log_f[m, k]
    revise_item(state, number, votes)
    state.counts[ENTERED] += 1
    state.counts[WAITING] += 1
    state.counts[VOTES] += cast
    is_early = state.counts[ENTERED] <= FIRST_ITEMS
    if is_early or state.counts[WAITING] >= FIT_EVERY:
        state.counts[WAITING] = 0
        fit_panel(state, FIRST_SWEEPS if is_early else SWEEPS)
    return int(number)


@shared_kernel
def revise_item(state: PanelState, number: int, votes: IntArray) -> None:
    """Replace the votes of a closed item, after late or withdrawn votes, by votes (N,) from the next fit on.

    An item that has left the window is not changed. The evidence for the two models is not revised.
    """
    if number < 0 or number < state.counts[ENTERED] - state.votes.shape[0]:
        return
    place = number % state.votes.shape[0]
    for k in range(state.vote_counts.shape[1]):
        state.vote_counts[place, k] = 0
    for e in range(votes.size):
        state.votes[place, e] = votes[e]
        if votes[e] >= 0:
            state.vote_counts[place, votes[e]] += 1


@kernel
def weigh_models(state: PanelState, log_f: FloatArray, votes: IntArray) -> None:
    """Update the evidence for the two models by an item's votes, with the parameters before that item."""
    K = state.bias.size
    members = latent_into(state, log_f, votes, np.empty(K), np.empty((DIFFICULTIES, K)))
    exchangeable = polya_into(state, log_f, votes, np.empty(K, np.int64), np.empty(K))
    state.evidence[MEMBERS] = FORGETTING * state.evidence[MEMBERS] + members
    state.evidence[EXCHANGEABLE] = FORGETTING * state.evidence[EXCHANGEABLE] + exchangeable
    least = max(state.evidence[MEMBERS], state.evidence[EXCHANGEABLE]) - MOST_BEHIND
    for model in range(2):
        state.evidence[model] = max(state.evidence[model], least)


@kernel
def fit_panel(state: PanelState, sweeps: int) -> None:
    """Learn from the window: sweeps of EM for the members' model, the fit of FinExp for the other."""
    kept = min(state.counts[ENTERED], state.votes.shape[0])
    belief = np.empty((kept, state.bias.size))
    for _ in range(sweeps):
        votes_of, items_of = expected_counts(state, belief)
        improve_rows(state.rows, votes_of)
        improve_difficulty(state.difficulty, items_of)
        improve_trust(state, belief)
    fit_kernel(
        state.exchangeable, state.log_f, state.vote_counts, kept, _EXCHANGEABLE, True, state.exchangeable, np.empty(0)
    )


@kernel
def expected_counts(state: PanelState, belief: FloatArray) -> tuple[FloatArray, FloatArray]:
    """n (N, 3, K, K) and m (4, 3) of the window; writes P(z | f, votes) of its items to belief (kept, K)."""
    N, _, K, _ = state.rows.shape
    votes_of, items_of = np.zeros((N, DIFFICULTIES, K, K)), np.zeros((len(BIN_CUTS) + 1, DIFFICULTIES))
    pi, latent = np.empty(K), np.empty((DIFFICULTIES, K))
    for i in range(belief.shape[0]):
        latent_into(state, state.log_f[i], state.votes[i], pi, latent)
        for z in range(K):
            place = bin_of(pi[z])
            belief[i, z] = 0.0
            for d in range(DIFFICULTIES):
                belief[i, z] += latent[d, z]
                items_of[place, d] += latent[d, z]
        for e in range(N):
            y = state.votes[i, e]
            if y >= 0:
                for d in range(DIFFICULTIES):
                    for z in range(K):
                        votes_of[e, d, z, y] += latent[d, z]
    return votes_of, items_of


@kernel
def improve_rows(rows: FloatArray, votes_of: FloatArray) -> None:
    """q_e from n; rows, votes_of (N, 3, K, K)."""
    N, _, K, _ = rows.shape
    pooled = np.empty(K)
    for d in range(DIFFICULTIES):
        own = max(DIAGONALS[d], 1.0 / K)
        for z in range(K):
            total = 0.0
            for j in range(K):
                pooled[j] = POOLED_VOTES * (own if j == z else (1.0 - own) / (K - 1))
                for e in range(N):
                    pooled[j] += votes_of[e, d, z, j]
                total += pooled[j]
            for e in range(N):
                cast = 0.0
                for j in range(K):
                    cast += votes_of[e, d, z, j]
                for j in range(K):
                    expected = OWN_VOTES * pooled[j] / total
                    rows[e, d, z, j] = (expected + votes_of[e, d, z, j]) / (OWN_VOTES + cast)


@kernel
def improve_difficulty(difficulty: FloatArray, items_of: FloatArray) -> None:
    """delta from m; both (4, 3)."""
    for place in range(difficulty.shape[0]):
        total = DIFFICULTY_ITEMS
        for d in range(DIFFICULTIES):
            total += items_of[place, d]
        for d in range(DIFFICULTIES):
            difficulty[place, d] = (DIFFICULTY_ITEMS * DIFFICULTY_SHARES[d] + items_of[place, d]) / total


@kernel
def improve_trust(state: PanelState, belief: FloatArray) -> None:
    """tau and b from the beliefs (kept, K) of the items in the window."""
    M, K = state.tau.shape
    pi, slopes, bends = np.empty(K), np.empty((M + 1, K)), np.empty((M + 1, K))
    for _ in range(NEWTON_STEPS):
        for k in range(K):
            for m in range(M):
                slopes[m, k] = (TAU_SHAPE - 1.0) / state.tau[m, k] - TAU_RATE * M
                bends[m, k] = (TAU_SHAPE - 1.0) / (state.tau[m, k] * state.tau[m, k])
            slopes[M, k] = -state.bias[k] / BIAS_VARIANCE
            bends[M, k] = 1.0 / BIAS_VARIANCE
        for i in range(belief.shape[0]):
            concentration_into(1.0, 0.0, state.tau, state.bias, state.log_f[i], pi)
            for k in range(K):
                surplus, spread = belief[i, k] - pi[k], pi[k] * (1.0 - pi[k])
                for m in range(M):
                    log_f = state.log_f[i, m, k]
                    slopes[m, k] += surplus * log_f
                    bends[m, k] += spread * log_f * log_f
                slopes[M, k] += surplus
                bends[M, k] += spread
        for k in range(K):
            for m in range(M):
                step = STEP * slopes[m, k] / bends[m, k]
                most = 0.5 * state.tau[m, k]
                state.tau[m, k] += min(most, max(-most, step))
            state.bias[k] += STEP * slopes[M, k] / bends[M, k]
