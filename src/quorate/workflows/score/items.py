"""A method and its parameters -> a `Scorer`, which decides many items at once from their numbers alone.

Plain arrays in and out, no tables. Called by `score_cluster` (here and on Dask workers) and by `calibrate`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from quorate.decision.batch import NO_LIMIT, Packed, decide_batch_into
from quorate.decision.belief import ASK, POSTERIORS, RULE, STOP_REASONS, Belief
from quorate.decision.counting import AskAll, UntilSettled
from quorate.decision.rules import ALWAYS, Rule, rule_of
from quorate.errors import InvalidInput
from quorate.methods import Method
from quorate.session.decide import fixed_prior, prior_of
from quorate.types import FloatArray, IntArray, PriorParams


class Outcome(NamedTuple):
    """Of n items: who wins (n, K), the answer (n,), and why it asks or stops (n,), a code of `decision.belief`."""

    probs: FloatArray
    labels: IntArray
    codes: IntArray


@dataclass(frozen=True, slots=True)
class Scorer:
    """Everything but the items: the rule and the two beliefs, as the kernels take them."""

    rule: Rule
    stops_when_settled: bool
    asking: Packed
    predicting: Packed
    same_belief: bool
    stop_reason: str
    pool_size: int
    min_votes: int
    max_votes: int
    error_costs: FloatArray  # (K, K); (0, 0): every error is one error

    def reasons(self, codes: IntArray) -> np.ndarray:
        """Codes in words."""
        words = {ASK: "ask", RULE: self.stop_reason} | STOP_REASONS
        return np.array([words[code] for code in range(len(words))])[codes]


def scorer(
    method: Method,
    params: PriorParams,
    pool_size: int,
    *,
    min_votes: int = 0,
    max_votes: int | None = None,
    error_costs: FloatArray | None = None,
) -> Scorer:
    """The scorer of a method whose decision depends on the item alone; others are refused."""
    rule = rule_of(method.policy)
    if rule is None or (rule.kind == ALWAYS and not isinstance(method.policy, (AskAll, UntilSettled))):
        raise InvalidInput(
            f"method {method.name!r} draws how many votes an item gets, or decides in its own code; expected one whose "
            "decision depends on the item alone, such as quorate, finexp or infexp. Use quorate.Session for it."
        )

    def packed(belief: Belief) -> Packed:
        prior = prior_of(params, 0) if belief.learned else fixed_prior(params.num_classifiers, params.num_classes)
        return Packed(POSTERIORS[belief.posterior], prior.theta, prior.phi, prior.tau, prior.bias)

    return Scorer(
        rule=Rule(rule.kind, float(rule.first), float(rule.second)),
        stops_when_settled=bool(getattr(method.policy, "stops_when_settled", True)),
        asking=packed(method.asking),
        predicting=packed(method.predicting),
        same_belief=method.asking == method.predicting,
        stop_reason=str(getattr(method.policy, "stop_reason", "rule")),
        pool_size=pool_size,
        min_votes=min_votes,
        max_votes=NO_LIMIT if max_votes is None else max_votes,
        error_costs=np.zeros((0, 0)) if error_costs is None else np.asarray(error_costs, dtype=np.float64),
    )


def score_arrays(scorer: Scorer, predictions: FloatArray, votes: IntArray) -> Outcome:
    """predictions (n, M, K), floored; votes (n, K) -> who wins each pool, the answer, ask or stop."""
    # Copies: kernels are compiled anew for arrays that cannot be written to, as those are that come over a wire.
    probs_in, counts = np.array(predictions, order="C"), np.array(votes, order="C")
    num_items, _, num_classes = probs_in.shape
    out = Outcome(
        np.empty((num_items, num_classes)), np.empty(num_items, dtype=np.int64), np.empty(num_items, dtype=np.int64)
    )
    decide_batch_into(
        *scorer.rule,
        scorer.stops_when_settled,
        _writable(scorer.asking),
        _writable(scorer.predicting),
        scorer.same_belief,
        np.log(probs_in),
        np.ascontiguousarray(probs_in.mean(axis=1)),
        counts,
        np.full(num_items, scorer.pool_size),
        scorer.min_votes,
        scorer.max_votes,
        np.array(scorer.error_costs),
        *out,
    )
    return out


def _writable(belief: Packed) -> Packed:
    return belief._replace(tau=np.array(belief.tau), bias=np.array(belief.bias))
