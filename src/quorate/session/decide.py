"""Item, parameters, method -> ask or stop, the answer if asking stopped now, and how many experts to ask at once.

Pure: no clock, no random draws.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import get_args

import numpy as np

from quorate import core
from quorate.errors import PolicyError
from quorate.methods import Method, fixed_params
from quorate.model import (
    ASK,
    NO_LIMIT,
    POSTERIORS,
    STOP_REASONS,
    Belief,
    ClassifierPrior,
    Gains,
    Packed,
    PolicyState,
    Prior,
    answer,
    belief,
    classifier_alone,
    invalid_policy,
    rule_asks,
    rule_of,
    stop_before_rule,
)
from quorate.session.items import ItemState, Learned
from quorate.types import ConfidenceKind, FloatArray, IntArray, Params, PriorParams, Reason
from quorate.validate import invalid

MOST_STATES = 500  # limit on the combinations of answers to check; beyond it, experts are asked one at a time


@dataclass(frozen=True, slots=True)
class Verdict:
    """A decision with class numbers; the session converts them to names."""

    ask: bool
    label: int
    confidence: float
    probs: FloatArray
    reason: Reason
    confidence_is: ConfidenceKind = "probability"


def learned_of(params: Params, seq: int, gains: Gains | None = None) -> Learned:
    """The parameters in the form the compiled core needs; with `gains`, answers without votes need a proof."""
    if gains is not None and not gains.are_proven and isinstance(params, PriorParams):
        return replace(learned_of(params, seq), alone=learned_of(classifier_alone(params), seq))
    if not isinstance(params, PriorParams):
        return Learned(1.0, 1.0, np.empty((0, 0)), np.empty(0), seq, own=params)
    tau = np.atleast_2d(params.tau)
    bias = np.zeros(params.num_classes) if params.bias is None else params.bias
    return Learned(params.theta, params.phi, np.array(tau), np.array(bias), seq, own=params)


def fixed_prior(num_classifiers: int, num_classes: int) -> Learned:
    """theta = phi = tau = 1 in the form the compiled core needs."""
    return learned_of(fixed_params(num_classes, num_classifiers), 0)


def _packed(method: Method, which: Belief, learned: Learned, item: ItemState) -> tuple[Packed, FloatArray]:
    """The posterior with its parameters, and log predictions (M, K) of an item.

    The alpha of an own prior is written as ours: theta = sum(alpha), phi = 0, tau = 1, f = alpha / theta.
    """
    used = learned if which.learned else fixed_prior(*item.predictions.shape)
    posterior = POSTERIORS.get(which.posterior, -1)  # those of people come with the item; only alpha is needed
    if type(method.prior) is ClassifierPrior:
        return Packed(posterior, used.theta, used.phi, used.tau, used.bias), item.log_predictions
    alpha = own_alpha(method.prior, item.predictions, used.own)
    total, num_classes = float(alpha.sum()), len(alpha)
    packed = Packed(posterior, total, 0.0, np.ones((1, num_classes)), np.zeros(num_classes))
    return packed, np.log(alpha / total)[None]


def own_alpha(prior: Prior, predictions: FloatArray, params: Params) -> FloatArray:
    """The concentration (K,) by an own prior, checked: K numbers above 0. predictions (M, K)."""
    shaped = predictions[0] if len(predictions) == 1 else predictions
    alpha = np.asarray(prior.alpha(shaped.copy(), params), dtype=float)
    if alpha.shape != predictions.shape[-1:] or not (np.isfinite(alpha).all() and (alpha > 0).all()):
        rule = f"{predictions.shape[-1]} numbers above 0, one for each class"
        raise invalid("alpha()", alpha.tolist(), rule, "see quorate.testing.check_method.", error=PolicyError)
    return alpha


def believe(
    method: Method, which: Belief, learned: Learned, item: ItemState, votes: IntArray, pool_size: int
) -> FloatArray:
    """Probabilities (K,) of the winner of the item's pool, or of its true class."""
    if item.judgement is not None and which.posterior in item.judgement.probs:
        return item.judgement.probs[which.posterior].copy()
    packed, log_predictions = _packed(method, which, learned, item)
    return belief(packed, log_predictions, item.prediction, votes, pool_size)


def answer_belief(method: Method, learned: Learned, item: ItemState, votes: IntArray, pool_size: int) -> FloatArray:
    """The belief (K,) behind the answer: of an item without votes, by the parameters for that."""
    used = learned if learned.alone is None or votes.any() else learned.alone
    return believe(method, method.predicting, used, item, votes, pool_size)


def decide(
    method: Method, learned: Learned, policy_state: PolicyState, item: ItemState, *, closing: bool = False
) -> Verdict:
    """Ask one more, or stop and answer. `closing`: nobody is available, so stop now regardless of the policy."""
    votes, pool_size = item.votes, item.pool_left
    code = stop_code(method, item)
    predicting = answer_belief(method, learned, item, votes, pool_size)
    reason: Reason
    if code in STOP_REASONS:
        reason = STOP_REASONS[code]
    elif closing:
        reason = "closed"
    elif code == ASK:
        reason = "ask"
    else:
        same = method.asking == method.predicting and (learned.alone is None or votes.any())
        asking = predicting if same else believe(method, method.asking, learned, item, votes, pool_size)
        alpha = alpha_of(method, learned, item)
        reason = "ask" if _rule_asks(method, policy_state, item, asking, alpha) else stop_reason(method)
    label = answer(predicting, method.weights, item.tie_draw)
    predicting.flags.writeable = False
    return Verdict(reason == "ask", label, float(predicting[label]), predicting, reason, confidence_is(item))


def confidence_is(item: ItemState) -> ConfidenceKind:
    """Whether the confidence of the item's decision is a probability or a score."""
    return "probability" if item.judgement is None else item.judgement.confidence_is


def draw_quota(method: Method, policy_state: PolicyState, item: ItemState, *, rng: np.random.Generator) -> int | None:
    """The item's maximum number of votes, drawn by the policy when the item opens; None for no limit."""
    draws = getattr(method.policy, "quota", None)
    draw = None if draws is None else draws(item.view(policy_state), rng)
    if draw is None:
        return None
    if isinstance(draw, bool) or not isinstance(draw, (int, np.integer)) or draw < 0:
        raise invalid_policy(method.policy, "quota()", draw, "None or a whole number >= 0", "return one of these.")
    return int(draw)


def alpha_of(method: Method, learned: Learned, item: ItemState) -> FloatArray:
    """The asking belief's concentration (K,) before the first vote."""
    packed, log_predictions = _packed(method, method.asking, learned, item)
    alpha = np.empty((1, len(item.votes)))
    core.concentrations(packed.tau, packed.bias, log_predictions[None], alpha, packed.theta, packed.phi)
    return alpha.reshape(-1)


def _rule_asks(
    method: Method, policy_state: PolicyState, item: ItemState, probs: FloatArray, alpha: FloatArray
) -> bool:
    if item.judgement is not None and item.judgement.asks is not None:
        return item.judgement.asks
    rule = rule_of(method.policy)
    if rule is not None:
        remaining = item.pool_left - item.votes.sum()
        return rule_asks(rule, probs, item.votes, int(remaining), alpha, method.weights, item.tie_draw)
    asks = method.policy.ask(item.view(policy_state, alpha=alpha, probs=probs))
    if not isinstance(asks, (bool, np.bool_)):
        raise invalid_policy(method.policy, "ask()", asks, "True or False", "return one of these.")
    return bool(asks)


def stop_code(method: Method, item: ItemState) -> int:
    """The decision from counts and limits, before the policy's rule (`stop_before_rule`)."""
    limits = [limit for limit in (item.quota, item.max_votes) if limit is not None]
    settles = getattr(method.policy, "stops_when_settled", True)
    return stop_before_rule(item.votes, item.pool_left, item.min_votes, min(limits, default=NO_LIMIT), settles)


def stop_reason(method: Method) -> Reason:
    """The method's reason when its policy's rule stops."""
    reason: Reason = getattr(method.policy, "stop_reason", "rule")
    if reason not in get_args(Reason) or reason == "ask":
        rule = f"one of: {', '.join(get_args(Reason)[1:])}"
        raise invalid_policy(method.policy, "stop_reason", reason, rule, "set it to one of these.")
    return reason


def first_state(method: Method, num_classes: int) -> PolicyState:
    """The policy's state before the first item; None if it keeps none."""
    init = getattr(method.policy, "init", None)
    return None if init is None else through_json(init(num_classes), method)


def through_json(policy_state: PolicyState, method: Method) -> PolicyState:
    """The state after a round trip through JSON, so that a live session and a resumed one have the same state."""
    try:
        return json.loads(json.dumps(policy_state, allow_nan=False))
    except (TypeError, ValueError) as cause:
        rule, fix = f"a value that JSON can store ({cause})", "keep it in numbers, strings, lists and dicts."
        raise invalid_policy(method.policy, "state", policy_state, rule, fix) from cause


def updated_state(method: Method, policy_state: PolicyState, closing: ItemState) -> PolicyState:
    """The policy's state after the item closed; the old state is unchanged, even if the policy writes in place."""
    update = getattr(method.policy, "update", None)
    if update is None:
        return policy_state
    return through_json(update(closing.view(through_json(policy_state, method))), method)


def safe_ahead(
    method: Method,
    learned: Learned,
    policy_state: PolicyState,
    item: ItemState,
    *,
    most: int,
    most_states: int = MOST_STATES,
) -> int:
    """The largest m <= `most` such that after any m - 1 answers the session would still ask; at least 1.

    Checks up to `most_states` combinations of m - 1 answers; if there are more, m is not considered.
    """
    level = {_key(item): item}
    for ahead in range(1, most):
        level = {_key(after): after for before in level.values() for after in _answers(before)}
        if len(level) > most_states:
            return ahead
        if not all(decide(method, learned, policy_state, after).ask for after in level.values()):
            return ahead
    return most


def _answers(item: ItemState) -> list[ItemState]:
    """The item after a vote for each class, and after an abstention."""
    steps = np.eye(len(item.votes), dtype=np.int64)
    return [replace(item, votes=item.votes + step) for step in steps] + [
        replace(item, abstentions=item.abstentions + 1)
    ]


def _key(item: ItemState) -> tuple[int, ...]:
    return (*item.votes.tolist(), item.abstentions)
