"""Decides many items at once, without a session: predictions, votes and parameters -> the answer, and ask or stop.

Plain arrays in and out. Each row equals the decision of a session with these parameters; ties go to the first class.
Called by `quorate score` (locally and on Dask workers), `calibrate`, `decide` and the estimator.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import core
from quorate.methods import Method, require_anonymous
from quorate.model import NO_LIMIT, POSTERIORS, Belief, Packed, Rule, classifier_alone, code_of, reasons_of, rule_of
from quorate.session.decide import decide, first_state, fixed_prior, learned_of, stop_reason
from quorate.session.items import lone_item
from quorate.types import FloatArray, IntArray, PriorParams, Reason


class BatchDecisions(NamedTuple):
    """Decisions on n items: who wins (n, K), the answer (n,), and a code of `decision.belief` for ask or stop (n,)."""

    probs: FloatArray
    labels: IntArray
    codes: IntArray


@dataclass(frozen=True, slots=True)
class Decider:
    """The rule, the two beliefs and the limits in the form the compiled core needs. Can be pickled."""

    rule: Rule
    stops_when_settled: bool
    asking: Packed
    predicting: Packed
    same_belief: bool
    stop_reason: Reason
    pool_size: int
    min_votes: int
    max_votes: int
    weights: FloatArray  # (K, K) of errors; (0, 0): all errors cost the same
    alone: Packed | None = None  # answers items without votes, if not `predicting`

    def reasons(self, codes: IntArray) -> NDArray[np.str_]:
        """The reasons of codes."""
        return reasons_of(codes, self.stop_reason)

    def decide(self, predictions: FloatArray, votes: IntArray) -> BatchDecisions:
        """predictions (n, M, K), floored; votes (n, K) -> who wins each pool, the answer, ask or stop."""
        decisions = self._decide(predictions, votes)
        if self.alone is not None:
            unvoted = ~votes.any(axis=1)
            alone = replace(self, predicting=self.alone, same_belief=False)
            for all_items, these in zip(decisions, alone._decide(predictions[unvoted], votes[unvoted]), strict=True):
                all_items[unvoted] = these
        return decisions

    def _decide(self, predictions: FloatArray, votes: IntArray) -> BatchDecisions:
        num_items = len(predictions)
        out = _empty(num_items, predictions.shape[-1])
        ask, predict, rule = self.asking, self.predicting, self.rule
        core.decide_batch(
            ask.tau,
            ask.bias,
            predict.tau,
            predict.bias,
            np.log(predictions, order="C"),
            np.ascontiguousarray(predictions.mean(axis=1)),
            np.ascontiguousarray(votes),
            np.full(num_items, self.pool_size),
            np.zeros(num_items),
            self.weights,
            *out,
            rule.kind,
            self.min_votes,
            self.max_votes,
            self.stops_when_settled,
            ask.posterior,
            predict.posterior,
            self.same_belief,
            rule.first,
            rule.second,
            ask.theta,
            ask.phi,
            predict.theta,
            predict.phi,
        )
        return out


def decider(
    method: Method,
    params: PriorParams,
    pool_size: int,
    *,
    min_votes: int = 0,
    max_votes: int | None = None,
    answers_proved: bool = True,
) -> Decider | None:
    """The decider of a built-in method; None for a method with a part of your own, which is not compiled.

    `answers_proved`: the parameters answer items without votes too; else the classifier alone (`learning.answers`).
    """
    rule = rule_of(require_anonymous(method).policy)
    if rule is None or not method.is_ours:
        return None

    def packed(belief: Belief, params: PriorParams = params) -> Packed:
        prior = learned_of(params, 0) if belief.learned else fixed_prior(params.num_classifiers, params.num_classes)
        return Packed(POSTERIORS[belief.posterior], prior.theta, prior.phi, prior.tau, prior.bias)

    return Decider(
        rule=rule,
        stops_when_settled=bool(getattr(method.policy, "stops_when_settled", True)),
        asking=packed(method.asking),
        predicting=packed(method.predicting),
        same_belief=method.asking == method.predicting,
        stop_reason=stop_reason(method),
        pool_size=pool_size,
        min_votes=min_votes,
        max_votes=NO_LIMIT if max_votes is None else max_votes,
        weights=method.weights,
        alone=None if answers_proved else packed(method.predicting, classifier_alone(params)),
    )


def decide_items(
    method: Method,
    params: PriorParams,
    predictions: FloatArray,
    votes: IntArray,
    *,
    pool_size: int,
    quota: int | None = None,
) -> tuple[BatchDecisions, NDArray[np.str_]]:
    """Decisions and reasons for n items, with any policy: predictions (n, M, K), floored; votes (n, K) counts.

    `quota`: the maximum number of votes of an item, None for no limit.

    >>> import quorate
    >>> params, predictions = PriorParams(4, 0.5, [1, 1]), np.array([[[0.99, 0.01]], [[0.6, 0.4]]])
    >>> votes = np.zeros((2, 2), dtype=np.int64)
    >>> found, reasons = decide_items(quorate.method("infexp"), params, predictions, votes, pool_size=6)
    >>> found.labels.tolist(), reasons.tolist()
    ([0, 0], ['confident', 'ask'])
    """
    ours = decider(method, params, pool_size, max_votes=quota)
    if ours is not None:
        decisions = ours.decide(predictions, votes)
    else:
        decisions = _by_own_policy(method, params, predictions, votes, pool_size, quota)
    return decisions, reasons_of(decisions.codes, stop_reason(method))


def _by_own_policy(
    method: Method, params: PriorParams, predictions: FloatArray, votes: IntArray, pool_size: int, quota: int | None
) -> BatchDecisions:
    """The same for a user's own policy, item by item."""
    out = _empty(len(predictions), params.num_classes)
    prior, state = learned_of(params, 0), first_state(method, params.num_classes)
    for row, prediction in enumerate(predictions):
        item = replace(lone_item(prediction, pool_size, quota), votes=votes[row])
        verdict = decide(method, prior, state, item)
        out.probs[row], out.labels[row] = verdict.probs, verdict.label
        out.codes[row] = code_of(verdict.reason)
    return out


def _empty(num_items: int, num_classes: int) -> BatchDecisions:
    whole = np.empty(num_items, dtype=np.int64)
    return BatchDecisions(np.empty((num_items, num_classes)), whole, whole.copy())
