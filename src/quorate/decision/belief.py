"""A belief is a posterior and the parameters it uses. Asking and predicting may hold different ones.

The belief of the baselines is the share of the votes seen, or the classifier's prediction while there are none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from quorate.compiled import kernel
from quorate.posterior.finite import finite_into
from quorate.posterior.infinite import infinite_into
from quorate.posterior.settled import is_settled, plurality_share_into
from quorate.prior.concentration import concentration_into
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
PEOPLE_POSTERIORS = ("crowd", "crowd_calibrated", "panel", "panel_all")  # computed by a session that knows the people
TIE_WIDTH = 1e-9  # classes this close to the top are tied: which of two equal floats is larger is round-off
NO_LIMIT = 2**62  # votes, where nothing limits them
ASK, SETTLED, EXHAUSTED, QUOTA, RULE, SHORT = range(6)  # SHORT: more votes were wanted than were recorded
STOP_REASONS: dict[int, Reason] = {SETTLED: "settled", EXHAUSTED: "exhausted", QUOTA: "quota"}  # RULE: the policy's
_WORDS: dict[int, Reason] = {ASK: "ask", **STOP_REASONS, SHORT: "closed"}
_CODES = {reason: code for code, reason in _WORDS.items()}


def code_of(reason: Reason) -> int:
    """The code of a reason; RULE for those that only a policy gives."""
    return _CODES.get(reason, RULE)


def reasons_of(codes: IntArray, by_rule: Reason) -> NDArray[np.str_]:
    """Codes in words; `by_rule`: the reason that the policy gives when its rule stops.

    >>> reasons_of(np.array([ASK, RULE, SETTLED]), "confident").tolist()
    ['ask', 'confident', 'settled']
    """
    words = _WORDS | {RULE: by_rule}
    return np.array([words[code] for code in range(len(words))])[codes]


@dataclass(frozen=True, slots=True)
class Belief:
    """Which posterior of the winner, and whether its prior is learned or stays at theta = phi = tau = 1.

    The posteriors of people (`PEOPLE_POSTERIORS`) come with the item: they depend on who voted.
    """

    posterior: Literal["vote_share", "finite", "infinite", "crowd", "crowd_calibrated", "panel", "panel_all"]
    learned: bool


@kernel
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
    """Write who will win the pool to out (K,).

    tau, log_predictions (M, K); bias, prediction (mean of the classifiers), votes (K,). A settled pool is known,
    whatever the posterior. A pool emptied by abstentions has no verdict: what the classifier says stands.
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
        out[:] = alpha / alpha.sum()
    elif posterior == FINITE:
        finite_into(alpha, votes, pool_size, out)
    else:
        infinite_into(alpha + votes, out)


@kernel
def pick_label(probs: FloatArray, tie_draw: float) -> int:
    """Class of the largest probability; among classes tied at the top, the one `tie_draw` in [0, 1) points at."""
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
    """What must be so before the policy's own rule is heard: ASK or a stop code, or RULE if the rule decides.

    An empty or settled pool stops everybody; then quota and maximum; then the minimum keeps asking.
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
