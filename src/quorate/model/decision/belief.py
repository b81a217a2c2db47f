"""A belief is a posterior and the parameters it uses. A method may ask with one belief and predict with another.

The belief of the baselines is the share of the votes seen, or the classifier's prediction before the first vote.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import core
from quorate.model.posterior.settled import is_settled
from quorate.types import FloatArray, IntArray, Reason

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


class Packed(NamedTuple):
    """The number of a posterior and the parameters it uses: tau (M, K), bias (K,)."""

    posterior: int
    theta: float
    phi: float
    tau: FloatArray
    bias: FloatArray


def belief(
    packed: Packed, log_predictions: FloatArray, prediction: FloatArray, votes: IntArray, pool_size: int
) -> FloatArray:
    """The probability of each class to win the pool (K,); `beliefs` for one item."""
    sizes = np.array([pool_size], dtype=np.int64)
    batch = beliefs(packed, log_predictions[None], prediction[None], np.ascontiguousarray(votes)[None], sizes)
    return batch.reshape(-1)


def beliefs(
    packed: Packed, log_predictions: FloatArray, predictions: FloatArray, votes: IntArray, pool_sizes: IntArray
) -> FloatArray:
    """The probability of each class to win its pool (T, K); all arrays in C order.

    log_predictions (T, M, K); predictions (the mean of the classifiers), votes (T, K); pool_sizes (T,). The winner of a
    settled pool is known, whatever the posterior. If everybody abstained, the pool has no verdict and the prior is the
    result.
    """
    posterior, theta, phi, tau, bias = packed
    out = np.empty(predictions.shape)
    core.beliefs(tau, bias, log_predictions, predictions, votes, pool_sizes, out, posterior, theta, phi)
    return out


def answer(probs: FloatArray, error_costs: FloatArray, tie_draw: float) -> int:
    """The class of the largest probability, or of the least expected cost; `tie_draw` in [0, 1) selects among equals.

    error_costs (K, K) by truth and answer, or (0, 0) if all errors cost the same.

    >>> answer(np.array([0.9, 0.1]), np.array([[0.0, 1.0], [50.0, 0.0]]), 0.0)
    1
    """
    return int(core.answer(probs, error_costs, tie_draw))


def stop_before_rule(votes: IntArray, pool_size: int, min_votes: int, max_votes: int, stops_when_settled: bool) -> int:
    """The checks before the policy's own rule: ASK, a stop code, or RULE if the policy's rule decides.

    In this order: an exhausted or settled pool stops, the quota or maximum stops, the minimum asks.
    """
    num_votes = int(votes.sum())
    if num_votes >= pool_size:
        return EXHAUSTED
    if stops_when_settled and num_votes > 0 and is_settled(votes, pool_size):
        return SETTLED
    if num_votes >= max_votes:
        return QUOTA
    return ASK if num_votes < min_votes else RULE
