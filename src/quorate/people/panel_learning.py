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

from quorate import core
from quorate.model import fit_packed, hyperprior, numbers_of
from quorate.numerics import softmax
from quorate.people.panel import (
    DIAGONALS,
    DIFFICULTIES,
    DIFFICULTY_SHARES,
    ENTERED,
    MOST_BEHIND,
    NUM_BINS,
    WAITING,
    PanelState,
    arrays_of,
    first_rows,
)
from quorate.types import FloatArray, IntArray

FORGETTING = 0.98
POOLED_VOTES, OWN_VOTES, DIFFICULTY_ITEMS = 10.0, 8.0, 10.0  # weights of the priors
TAU_SHAPE, TAU_RATE, BIAS_VARIANCE = 3.0, 2.0, 0.25
NEWTON_STEPS, STEP = 3, 0.5
FIRST_ITEMS, FIRST_SWEEPS, SWEEPS, FIT_EVERY = 21, 5, 2, 5
_EXCHANGEABLE = numbers_of(hyperprior("infexp"), 2)  # the same for every number of classes


def learn_item(state: PanelState, log_f: FloatArray, votes: IntArray) -> int:
    """Learn from an item that closes: log_f (M, K), votes (N,). Returns its number, for `revise_item`.

    An item without votes is ignored; its number is -1.
    """
    number, cast = int(state.counts[ENTERED]), int((votes >= 0).sum())
    if cast == 0:
        return -1
    weigh_models(state, log_f, votes)
    state.log_f[number % len(state.votes)] = log_f
    revise_item(state, number, votes)
    state.counts[:] += 1, 1, cast
    is_early = state.counts[ENTERED] <= FIRST_ITEMS
    if is_early or state.counts[WAITING] >= FIT_EVERY:
        state.counts[WAITING] = 0
        fit_panel(state, FIRST_SWEEPS if is_early else SWEEPS)
    return number


def revise_item(state: PanelState, number: int, votes: IntArray) -> None:
    """Replace the votes of a closed item, after late or withdrawn votes, by votes (N,) from the next fit on.

    An item that has left the window is not changed. The evidence for the two models is not revised.
    """
    if number < 0 or number < state.counts[ENTERED] - len(state.votes):
        return
    row = number % len(state.votes)
    state.votes[row] = votes
    state.vote_counts[row] = np.bincount(votes[votes >= 0], minlength=len(state.bias))


def weigh_models(state: PanelState, log_f: FloatArray, votes: IntArray) -> None:
    """Update the evidence for the two models by an item's votes, with the parameters before that item."""
    _, _, log_likelihoods = latent(state, log_f[None], votes[None])
    state.evidence[:] = FORGETTING * state.evidence + log_likelihoods[0]
    np.maximum(state.evidence, state.evidence.max() - MOST_BEHIND, out=state.evidence)


def latent(state: PanelState, log_f: FloatArray, votes: IntArray) -> tuple[IntArray, FloatArray, FloatArray]:
    """Of items with log_f (n, M, K) and votes (n, N): bins of pi (n, K), r (n, 3, K), log P(votes | f) (n, 2)."""
    n, K = len(log_f), len(state.bias)
    bins, r, log_likelihoods = np.empty((n, K), dtype=np.int64), np.empty((n, DIFFICULTIES, K)), np.empty((n, 2))
    core.panel_latent(*arrays_of(state), log_f, votes, bins, r.reshape(n, -1), log_likelihoods)
    return bins, r, log_likelihoods


def fit_panel(state: PanelState, sweeps: int) -> None:
    """Learn from the window: sweeps of EM for the members' model, the fit of FinExp for the other."""
    kept = min(int(state.counts[ENTERED]), len(state.votes))
    for _ in range(sweeps):
        sweep(state, state.log_f[:kept], state.votes[:kept])
    log_f, vote_counts = state.log_f[:kept], state.vote_counts[:kept]
    state.exchangeable[:], _ = fit_packed(state.exchangeable, log_f, vote_counts, _EXCHANGEABLE, is_refit=True)


def sweep(state: PanelState, log_f: FloatArray, votes: IntArray) -> None:
    """One sweep of EM over items with log_f (n, M, K) and votes (n, N)."""
    K = len(state.bias)
    bins, r, _ = latent(state, log_f, votes)
    cast = (votes[:, :, None] == np.arange(K)).astype(float)  # (n, N, K)
    votes_of = np.einsum("idz,iej->edzj", r, cast)  # n_e[d,z,j]
    items_of = np.einsum("idz,izb->bd", r, (bins[:, :, None] == np.arange(NUM_BINS)).astype(float))  # m[bin,d]
    improve_rows(state.rows, votes_of)
    state.difficulty[:] = DIFFICULTY_ITEMS * np.array(DIFFICULTY_SHARES) + items_of
    state.difficulty[:] /= state.difficulty.sum(axis=1, keepdims=True)
    improve_trust(state, log_f, r.sum(axis=1))


def improve_rows(rows: FloatArray, votes_of: FloatArray) -> None:
    """q_e from n; rows, votes_of (N, 3, K, K)."""
    first = np.array([first_rows(diagonal, rows.shape[-1]) for diagonal in DIAGONALS])
    pooled = POOLED_VOTES * first + votes_of.sum(axis=0)
    pooled /= pooled.sum(axis=-1, keepdims=True)
    rows[:] = (OWN_VOTES * pooled + votes_of) / (OWN_VOTES + votes_of.sum(axis=-1, keepdims=True))


def improve_trust(state: PanelState, log_f: FloatArray, belief: FloatArray) -> None:
    """tau and b from the beliefs (n, K) about items with log_f (n, M, K)."""
    for _ in range(NEWTON_STEPS):
        pi = softmax((state.tau * log_f).sum(axis=1) + state.bias)
        surplus, spread = belief - pi, pi * (1.0 - pi)
        slope = (TAU_SHAPE - 1.0) / state.tau - TAU_RATE * len(state.tau) + (surplus[:, None] * log_f).sum(axis=0)
        bend = (TAU_SHAPE - 1.0) / state.tau**2 + (spread[:, None] * log_f**2).sum(axis=0)
        state.tau[:] += np.clip(STEP * slope / bend, -0.5 * state.tau, 0.5 * state.tau)
        gradient, curvature = surplus.sum(axis=0) - state.bias / BIAS_VARIANCE, spread.sum(axis=0) + 1.0 / BIAS_VARIANCE
        state.bias[:] += STEP * gradient / curvature
