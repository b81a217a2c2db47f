"""The stopping rules of the built-in policies as one compiled switch, so that a whole stream runs in one compiled call.

`ask` of a policy class is the same rule in plain Python; a test compares the two. Sessions and streams use the
compiled rule (`rule_of`). A user's policy has none: its `ask` is called. `decide_batch_into` decides many items in one
call, with the kernels of a session in the same order, so that the results equal those of a session.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from quorate.compiled import kernel, shared_kernel
from quorate.decision.belief import ASK, RULE, belief_into, pick_label, stop_before_rule
from quorate.decision.beta import BetaStop, beta_leads
from quorate.decision.blended import BlendedValue, blended_asks
from quorate.decision.counting import AskAll, Quorum, UnanimousThenCap, UntilSettled
from quorate.decision.error_costs import cheapest_answer, weigh_for_gain, weigh_for_threshold
from quorate.decision.model_picker import ModelPicker
from quorate.decision.policy import QueryPolicy
from quorate.decision.quota import EntropyQuota, QuotaPolicy, RandomQuota
from quorate.decision.threshold import Threshold
from quorate.prior import concentration_into
from quorate.types import FloatArray, IntArray

ALWAYS, THRESHOLD, QUORUM, UNANIMOUS, BETA, BLENDED = range(6)


class Rule(NamedTuple):
    """A compiled stopping rule: its kind, and up to two parameters, whose meaning depends on the kind."""

    kind: int
    first: float = 0.0
    second: float = 0.0


@shared_kernel
def rule_asks(
    kind: int,
    first: float,
    second: float,
    probs: FloatArray,
    votes: IntArray,
    num_remaining: int,
    alpha: FloatArray,
    error_costs: FloatArray,
    tie_draw: float,
) -> bool:
    """True if the rule asks for one more vote. probs, votes, alpha (K,), at least one vote remaining.

    Only BLENDED uses `alpha`. error_costs (K, K) by truth and answer, or (0, 0) if all errors cost the same;
    `tie_draw` selects among answers of equal cost.
    """
    weighted = probs
    if error_costs.size > 0 and kind == BLENDED:
        weighted = np.empty(probs.size)
        weigh_for_gain(error_costs, probs, tie_draw, weighted)
    elif error_costs.size > 0 and kind == THRESHOLD:
        weighted = np.empty(probs.size)
        weigh_for_threshold(error_costs, probs, tie_draw, weighted)
    if kind == THRESHOLD:
        return bool(weighted.max() <= first)
    if kind == BLENDED:
        return blended_asks(first, probs, weighted, votes, num_remaining, alpha, error_costs)
    if kind == QUORUM:
        return bool(votes.max() < first)
    if kind == UNANIMOUS:
        num_votes = votes.sum()
        if num_votes < first:
            return True
        return bool(votes.max() < num_votes < second)
    if kind == BETA:
        return beta_leads(votes) < first
    return True


def rule_of(policy: QueryPolicy) -> Rule | None:
    """The compiled rule of a built-in policy; None for a user's own, which runs through the session instead.

    Subclasses have none, because they may override `ask`; but one that only draws another quota needs none.
    """
    build = RULES.get(type(policy))
    if build is None:
        return Rule(ALWAYS) if _only_draws(policy) else None
    rule = build(policy)
    return Rule(rule.kind, float(rule.first), float(rule.second))  # Python integers may be too large for a kernel


def _only_draws(policy: QueryPolicy) -> bool:
    kind = type(policy)
    parts = ("init", "quota", "ask", "update")
    return isinstance(policy, QuotaPolicy) and all(
        getattr(kind, name, None) is getattr(QuotaPolicy, name, None) for name in parts
    )


RULES: dict[type, Callable[[Any], Rule]] = {
    Threshold: lambda policy: Rule(THRESHOLD, policy.threshold),
    BlendedValue: lambda policy: Rule(BLENDED, policy.min_gain),
    Quorum: lambda policy: Rule(QUORUM, policy.votes),
    UnanimousThenCap: lambda policy: Rule(UNANIMOUS, policy.first, policy.cap),
    BetaStop: lambda policy: Rule(BETA, policy.threshold),
    AskAll: lambda policy: Rule(ALWAYS),
    UntilSettled: lambda policy: Rule(ALWAYS),
    RandomQuota: lambda policy: Rule(ALWAYS),
    EntropyQuota: lambda policy: Rule(ALWAYS),
    ModelPicker: lambda policy: Rule(ALWAYS),
}


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
