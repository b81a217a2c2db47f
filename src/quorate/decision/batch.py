"""Decides many items at once, without a session: predictions and votes -> who wins, the answer, ask or stop.

Runs the kernels of a session in the same order for each row, so that the results equal those of a session. Takes plain
arrays; called by `session.batch`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quorate.compiled import kernel
from quorate.decision.belief import ASK, RULE, belief_into, pick_label, stop_before_rule
from quorate.decision.error_costs import cheapest_answer
from quorate.decision.rules import BLENDED, rule_asks
from quorate.prior.concentration import concentration_into
from quorate.types import FloatArray, IntArray


class Packed(NamedTuple):
    """The number of a posterior and the parameters it uses: tau (M, K), bias (K,)."""

    posterior: int
    theta: float
    phi: float
    tau: FloatArray
    bias: FloatArray


@kernel
def decide_batch_into(
    kind: int,
    first: float,
    second: float,
    stops_when_settled: bool,
    asking: Packed,
    predicting: Packed,
    same_belief: bool,
    log_predictions: FloatArray,
    predictions: FloatArray,
    votes: IntArray,
    pool_sizes: IntArray,
    min_votes: int,
    max_votes: int,
    error_costs: FloatArray,
    probs: FloatArray,
    labels: IntArray,
    codes: IntArray,
) -> None:
    """Fill probs (n, K) of the winner, labels (n,), and codes (n,): ASK, or why asking stops (RULE: the policy's rule).

    log_predictions (n, M, K), predictions (n, K) the classifiers' mean, votes (n, K), pool_sizes (n,); error_costs
    (K, K) by truth and answer, or (0, 0) if all errors cost the same. Of classes tied at the top the first is the
    label, because there are no random draws here.
    """
    asking_probs, alpha, work = np.empty(probs.shape[1]), np.empty(probs.shape[1]), np.empty(probs.shape[1])
    unequal = error_costs.size > 0
    for row in range(probs.shape[0]):
        counts, size, out = votes[row], pool_sizes[row], probs[row]
        logs, mean = log_predictions[row], predictions[row]
        posterior, theta, phi, tau, bias = predicting
        belief_into(posterior, theta, phi, tau, bias, logs, mean, counts, size, out)
        labels[row] = pick_label(out, 0.0)
        if unequal:
            labels[row] = cheapest_answer(error_costs, out, 0.0, work)
        code = stop_before_rule(counts, size, min_votes, max_votes, stops_when_settled)
        if code == RULE:
            belief = out
            if not same_belief:
                posterior, theta, phi, tau, bias = asking
                belief_into(posterior, theta, phi, tau, bias, logs, mean, counts, size, asking_probs)
                belief = asking_probs
            if kind == BLENDED:
                _, theta, phi, tau, bias = asking
                concentration_into(theta, phi, tau, bias, logs, alpha)
            remaining = size - counts.sum()
            if rule_asks(kind, first, second, belief, counts, remaining, alpha, error_costs, 0.0):
                code = ASK
        codes[row] = code
