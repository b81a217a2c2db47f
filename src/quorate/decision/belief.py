"""A belief is a posterior and the parameters it uses. A method may ask with one belief and predict with another.

The belief of the baselines is the share of the votes seen, or the classifier's prediction before the first vote.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from quorate.compiled import kernel, shared_kernel
from quorate.posterior.finite import finite_into
from quorate.posterior.infinite import infinite_into
from quorate.posterior.settled import is_settled, plurality_share_into
from quorate.prior import concentration_into
from quorate.types import FloatArray, IntArray, Reason


@kernel
def vote_share_into(votes: IntArray, prediction: FloatArray, out: FloatArray) -> None:
    """Fill out (K,) with votes / sum(votes), or with the prediction (K,) if nobody has voted."""
    total = 0.0
    for k in range(votes.size):
        total += votes[k]
    for k in range(votes.size):
        out[k] = votes[k] / total if total > 0.0 else prediction[k]


VOTE_SHARE, FINITE, INFINITE = range(3)
POSTERIORS = {"vote_share": VOTE_SHARE, "finite": FINITE, "infinite": INFINITE}
PEOPLE_POSTERIORS = ("crowd", "crowd_calibrated", "panel", "panel_all")  # computed by a session with named people
TIE_WIDTH = 1e-9  # classes this close to the top are tied: smaller differences are round-off
NO_LIMIT = 2**62  # the maximum number of votes if there is no limit
ASK, SETTLED, EXHAUSTED, QUOTA, RULE, SHORT = range(6)  # SHORT: the rule asks for more votes than were recorded
STOP_REASONS: dict[int, Reason] = {SETTLED: "settled", EXHAUSTED: "exhausted", QUOTA: "quota"}  # RULE: the policy's
_WORDS: dict[int, Reason] = {ASK: "ask", **STOP_REASONS, SHORT: "closed"}
_CODES = {reason: code for code, reason in _WORDS.items()}


def code_of(reason: Reason) -> int:
    """The code of a reason; RULE for those that only a policy gives."""
    return _CODES.get(reason, RULE)


def reasons_of(codes: IntArray, by_rule: Reason) -> NDArray[np.str_]:
    """The reasons of codes; `by_rule`: the reason that the policy gives when its rule stops.

    >>> reasons_of(np.array([ASK, RULE, SETTLED]), "confident").tolist()
    ['ask', 'confident', 'settled']
    """
    words = _WORDS | {RULE: by_rule}
    return np.array([words[code] for code in range(len(words))])[codes]


@dataclass(frozen=True, slots=True)
class Belief:
    """Which posterior of the winner, and whether its prior is learned or stays at theta = phi = tau = 1.

    The posteriors in `PEOPLE_POSTERIORS` depend on who voted; the session computes them with the item.
    """

    posterior: Literal["vote_share", "finite", "infinite", "crowd", "crowd_calibrated", "panel", "panel_all"]
    learned: bool


@shared_kernel
def belief_into(
    posterior: int,
    theta: float,
    phi: float,
    tau: FloatArray,
    bias: FloatArray,
    log_predictions: FloatArray,
    prediction: FloatArray,
    votes: IntArray,
    pool_size: int,
    out: FloatArray,
) -> None:
    """Write the probability of each class to win the pool to out (K,).

    tau, log_predictions (M, K); bias, prediction (mean of the classifiers), votes (K,). The winner of a settled pool is
    known, whatever the posterior. If everybody abstained, the pool has no verdict and the prior is the result.
    """
    num_votes = votes.sum()
    if num_votes > 0 and is_settled(votes, pool_size):
        plurality_share_into(votes, out)
        return
    if posterior == VOTE_SHARE:
        vote_share_into(votes, prediction, out)
        return
    alpha = np.empty(votes.shape[0])
    concentration_into(theta, phi, tau, bias, log_predictions, alpha)
    if pool_size == 0:
        total = alpha.sum()
        for k in range(alpha.size):
            out[k] = alpha[k] / total
    elif posterior == FINITE:
        finite_into(alpha, votes, pool_size, out)
    else:
        infinite_into(alpha + votes, out)


@kernel
def pick_label(probs: FloatArray, tie_draw: float) -> int:
    """The class of the largest probability; among classes tied at the top, `tie_draw` in [0, 1) selects one."""
    top = probs.max() - TIE_WIDTH
    tied = 0
    for k in range(probs.shape[0]):
        if probs[k] >= top:
            tied += 1
    chosen = int(tie_draw * tied)
    for k in range(probs.shape[0]):
        if probs[k] >= top:
            if chosen == 0:
                return k
            chosen -= 1
    return int(probs.argmax())


@kernel
def stop_before_rule(votes: IntArray, pool_size: int, min_votes: int, max_votes: int, stops_when_settled: bool) -> int:
    """The checks before the policy's own rule: ASK, a stop code, or RULE if the policy's rule decides.

    In this order: an exhausted or settled pool stops, the quota or maximum stops, the minimum asks.
    """
    num_votes = votes.sum()
    if num_votes >= pool_size:
        return EXHAUSTED
    if stops_when_settled and num_votes > 0 and is_settled(votes, pool_size):
        return SETTLED
    if num_votes >= max_votes:
        return QUOTA
    if num_votes < min_votes:
        return ASK
    return RULE
