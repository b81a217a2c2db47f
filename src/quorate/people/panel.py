"""The model of a small panel of known members: how each of them votes, given the class and difficulty of an item.

The target is the plurality of the panel's own votes. z is the class most of the panel would see, d one of 3
difficulties, f the prediction. Two models of the votes y_1 .. y_N are mixed; the second ignores who voted.

    pi(z|f)      = softmax(sum_m tau_m log f_m + b)
    P(z,d|f)     = pi(z) delta[bin(pi(z)), d]                     bins of pi cut at .3, .7, .95
    members      : sum_{z,d} P(z,d|f) prod_e q_e[d,z,y_e]         q_e how member e votes: learned by `panel_learning`
    exchangeable : DirMult(y; alpha)                              alpha of FinExp, learned as for any pool
    weights      : softmax(L);  L_c <- .98 L_c + log P_c(votes of a closed item), at most 8 below the better

An item's votes are (N,) class numbers, UNSEEN for a member who was not asked, GONE for one who abstained or left and is
no longer in the pool. `quorate.core` computes the beliefs (core/panel.cpp); `panel_plan` decides whom to ask.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quorate.model import hyperprior, pack
from quorate.types import FloatArray, IntArray
from quorate.validate import invalid, whole

UNSEEN, GONE = -1, -2  # in place of a vote
DIFFICULTIES = 3
DIAGONALS = (0.97, 0.80, 0.50)  # prior probability that a member sees the class, by difficulty
DIFFICULTY_SHARES = (0.60, 0.25, 0.15)
NUM_BINS = 4
WINDOW = 500  # items used for learning
MOST_BEHIND = 8.0  # largest difference in log evidence between the two models
MOST_CELLS = 2**22  # numbers in `PanelState.rows`: 32 MB
ENTERED, WAITING, VOTES = range(3)  # indices in `PanelState.counts`
MEMBERS, EXCHANGEABLE = range(2)  # indices in `PanelState.evidence`


class PanelState(NamedTuple):
    """What is learned about a panel, and the window of items. N members, K classes, M classifiers.

    `rows` (N, 3, K, K) q_e[d,z,j]   `difficulty` (4, 3) delta   `tau` (M, K), `bias` (K,) of the prediction
    `exchangeable` (P,) parameters of FinExp, packed   `evidence` (2,) L of both models
    `log_f` (W, M, K), `votes` (W, N), `vote_counts` (W, K) the window, a ring: item number i lies at i % W
    `counts` (3,) items with votes learned from, those since the last fit, votes learned from
    """

    rows: FloatArray
    difficulty: FloatArray
    tau: FloatArray
    bias: FloatArray
    exchangeable: FloatArray
    evidence: FloatArray
    log_f: FloatArray
    votes: IntArray
    vote_counts: IntArray
    counts: IntArray


def new_panel(num_experts: int, num_classes: int, num_classifiers: int = 1, *, window: int = WINDOW) -> PanelState:
    """A panel before anything is learned; learning uses the last `window` items with votes.

    >>> panel = new_panel(3, 2)
    >>> panel.rows.shape, panel.rows[0, :, 0].round(2).tolist()
    ((3, 3, 2, 2), [[0.97, 0.03], [0.8, 0.2], [0.5, 0.5]])
    """
    N, K = whole(num_experts, where="num_experts"), whole(num_classes, where="num_classes", least=2)
    M, W = whole(num_classifiers, where="num_classifiers"), whole(window, where="window")
    if N * DIFFICULTIES * K * K > MOST_CELLS:
        rule = f"at most {MOST_CELLS // (DIFFICULTIES * K * K)} with {K} classes"
        raise invalid("num_experts", N, rule, "use a method for anonymous pools, e.g. 'value'.")
    rows = np.empty((N, DIFFICULTIES, K, K))
    for d, diagonal in enumerate(DIAGONALS):
        rows[:, d] = first_rows(diagonal, K)
    mode = hyperprior("infexp").mode(K, M, with_bias=True)
    return PanelState(
        rows=rows,
        difficulty=np.tile(DIFFICULTY_SHARES, (NUM_BINS, 1)),
        tau=np.full((M, K), 1.0 / M),
        bias=np.zeros(K),
        exchangeable=pack(mode),
        evidence=np.zeros(2),
        log_f=np.zeros((W, M, K)),
        votes=np.full((W, N), UNSEEN, dtype=np.int64),
        vote_counts=np.zeros((W, K), dtype=np.int64),
        counts=np.zeros(3, dtype=np.int64),
    )


def with_members(state: PanelState, num_experts: int) -> PanelState:
    """The panel with new members after the last one; their prior is the behaviour of the whole panel.

    >>> with_members(new_panel(3, 2), 4).rows.shape
    (4, 3, 2, 2)
    """
    N, K = len(state.rows), len(state.bias)
    new = new_panel(num_experts, K, len(state.tau), window=len(state.votes))
    if num_experts < N:
        rule = f"at least {N}, the current number"
        raise invalid("num_experts", num_experts, rule, "mark the votes of those who left as GONE.")
    new.rows[:N] = state.rows
    new.rows[N:] = state.rows.mean(axis=0)
    new.votes[:, :N] = state.votes
    return state._replace(rows=new.rows, votes=new.votes)


def first_rows(diagonal: float, num_classes: int) -> FloatArray:
    """(K, K) a_d(z, j): `diagonal` (at least 1 / K) for the class itself, the rest uniform."""
    correct = max(diagonal, 1.0 / num_classes)
    rows = np.full((num_classes, num_classes), (1.0 - correct) / (num_classes - 1))
    np.fill_diagonal(rows, correct)
    return rows


def arrays_of(state: PanelState) -> tuple[FloatArray, ...]:
    """The parameters, as `core` takes them."""
    N, _, K, _ = state.rows.shape
    rows = state.rows.reshape(N, DIFFICULTIES * K, K)
    return rows, state.difficulty, state.tau, state.bias, state.exchangeable, state.evidence
