"""Runs a stream, any number of items at a time: `StreamRun`, the common part, and `CompiledRun`, the compiled loop.

All runs fill the same `Outputs`. Between two calls a controller may change the policy's parameter or the error costs,
and audits may add votes. `session_run.start_run` chooses the run for a method.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from quorate.methods import Method
from quorate.model import (
    EXHAUSTED,
    NO_LIMIT,
    POSTERIORS,
    SETTLED,
    MapLearner,
    ModelPicker,
    QuotaPolicy,
    Rule,
    most_fits,
    numbers_of,
    pack,
    reasons_of,
    rule_of,
    unpack,
)
from quorate.session import stop_reason, tuned
from quorate.streams.answers import AnswersWithoutVotes
from quorate.streams.prepared_stream import Stream
from quorate.streams.stream import (
    BY_PICKER,
    BY_RATE,
    ENTERED,
    FITS,
    NO_QUOTA,
    VOTES,
    CompiledMethod,
    Inputs,
    Outputs,
    StreamState,
    run_stream,
)
from quorate.types import FloatArray, IntArray, PriorParams
from quorate.validate import invalid, positive, vote_limits, whole


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """The options of a run, besides its method.

    `min_votes` and `max_votes` limit the votes of an item. From item `query_free_after` on no expert is asked and
    nothing is learned; a method that shrinks its answers then answers like `Session.predict`. `voter_costs`: the cost
    of a vote of each person, by number, for methods with named people; None: 1.
    """

    min_votes: int = 0
    max_votes: int | None = None
    query_free_after: int | None = None
    voter_costs: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        """Check every value; convert to Python numbers."""
        limits = {"min_votes": 0, "max_votes": 0, "query_free_after": 0}
        for name, least in limits.items():
            value = getattr(self, name)
            if value is not None or name == "min_votes":
                object.__setattr__(self, name, whole(value, where=name, least=least))
        vote_limits(self.min_votes, self.max_votes)
        if self.voter_costs is not None:
            positive(self.voter_costs, where="voter_costs")


class StreamRun:
    """The common part of all runs: the stream, the decisions, the learned parameters.

    `paid` (T,) what the votes of each item cost, those of audits included: one each, unless people differ in cost.
    `is_score` (T,) where the confidence is a score and no probability (`Decision.confidence_is`).
    """

    def __init__(self, stream: Stream, method: Method, options: StreamOptions, keep_probs: bool) -> None:
        self.stream, self.method = stream, method
        num_items, num_classifiers, num_classes = stream.predictions.shape
        self.stop_asking = num_items if options.query_free_after is None else options.query_free_after
        self.start = method.initial_params(num_classes, num_classifiers)
        self.paid = np.zeros(num_items)
        self.is_score = np.zeros(num_items, dtype=bool)
        costs = options.voter_costs
        self._prices = None
        if costs is not None and stream.voters is not None:
            if stream.voters.max() >= len(costs):
                rule = f"a cost for each of {int(stream.voters.max()) + 1} people"
                raise invalid("voter_costs", len(costs), rule, "pass one for each person.")
            self._prices = np.append(costs, 1.0)  # the last is for voter -1, who is unknown
        room = 0 if method.learner is None else most_fits(method.learner, num_items)  # for the parameters of every fit
        self.outputs = Outputs(
            costs=np.zeros(num_items, dtype=np.int64),
            labels=np.zeros(num_items, dtype=np.int64),
            confidence=np.zeros(num_items),
            stops=np.zeros(num_items, dtype=np.int64),
            trace=np.zeros((room, len(pack(self.start)))),
            trace_at=np.zeros(room, dtype=np.int64),
            probs=np.zeros((num_items if keep_probs else 0, num_classes)),
        )

    def price_of(self, t: int, first: int, last: int) -> float:
        """The cost of the votes first .. last - 1 of item t, in stream order."""
        if self._prices is None or self.stream.voters is None:
            return float(last - first)
        return float(self._prices[self.stream.voters[t, first:last]].sum())

    @property
    def num_fits(self) -> int:
        """Fits made so far."""
        raise NotImplementedError

    @property
    def fits(self) -> FloatArray:
        """(F, P) the packed parameters after each fit."""
        return self.outputs.trace[: self.num_fits]

    @property
    def fitted_after(self) -> IntArray:
        """(F,) the item after which each fit was made."""
        return self.outputs.trace_at[: self.num_fits]

    @property
    def params(self) -> PriorParams:
        """The current parameters: those of the last fit, or the start of learning."""
        return unpack(self.fits[-1], self.start.tau.shape) if self.num_fits else self.start

    @property
    def answers_proved(self) -> bool:
        """Whether what was learned answers items without votes, as the classifier does until then."""
        raise NotImplementedError

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why each item stopped."""
        asked = reasons_of(self.outputs.stops[: self.stop_asking], stop_reason(self.method)).tolist()
        return (*asked, *["closed"] * (len(self.outputs.stops) - len(asked)))

    def is_certain(self, t: int) -> bool:
        """Whether the verdict of item t's pool is known; then its `probs` are that verdict, ties shared."""
        return bool(self.outputs.stops[t] in (SETTLED, EXHAUSTED))


class CompiledRun(StreamRun):
    """A run of a built-in method by the compiled loop."""

    def __init__(
        self,
        stream: Stream,
        method: Method,
        rule: Rule,
        options: StreamOptions,
        *,
        keep_probs: bool,
    ) -> None:
        super().__init__(stream, method, options, keep_probs)
        num_items, num_classifiers, num_classes = stream.predictions.shape
        policy = method.policy
        window = num_items if method.window is None else min(method.window, num_items)
        learner = method.map_learner or MapLearner()
        by_picker = BY_PICKER if isinstance(policy, ModelPicker) else NO_QUOTA
        self.inputs = Inputs(
            votes=stream.votes,
            pool_sizes=stream.pool_sizes,
            log_predictions=stream.log_predictions,
            mean_predictions=stream.mean_predictions,
            tie_draws=stream.tie_draws,
            quota_draws=stream.quota_draws,
            rates=policy.rates(stream.mean_predictions) if isinstance(policy, QuotaPolicy) else np.zeros(num_items),
            recorded=stream.recorded,
            error_costs=method.weights,
        )
        self.compiled = CompiledMethod(
            quota_kind=BY_RATE if isinstance(policy, QuotaPolicy) else by_picker,
            picker_scale=float(policy.scale) if isinstance(policy, ModelPicker) else 0.0,
            rule_kind=rule.kind,
            stops_when_settled=bool(getattr(policy, "stops_when_settled", True)),
            ask_posterior=POSTERIORS[method.asking.posterior],
            ask_learned=method.asking.learned,
            predict_posterior=POSTERIORS[method.predicting.posterior],
            predict_learned=method.predicting.learned,
            learns=method.learner is not None,
            hyperprior=numbers_of(learner.hyperprior, num_classes),
            window=window,
            proportional=learner.proportional,
            refit_every=NO_LIMIT if learner.refit_every is None else learner.refit_every,
            stop_asking=self.stop_asking,
            min_votes=options.min_votes,
            max_votes=NO_LIMIT if options.max_votes is None else options.max_votes,
        )
        self.state = StreamState(
            packed=pack(self.start),
            window_predictions=np.zeros((window, num_classifiers, num_classes)),
            window_votes=np.zeros((window, num_classes), dtype=np.int64),
            losses=np.zeros(num_classes),
            counts=np.zeros(4, dtype=np.int64),
            rule=np.array([rule.first, rule.second]),
        )
        self._answers = AnswersWithoutVotes(
            self.stream, method, self.outputs, lambda: (self.fits, self.fitted_after), self.start
        )

    @property
    def num_fits(self) -> int:
        """Fits made so far."""
        return int(self.state.counts[FITS])

    def advance(self, first: int, last: int) -> None:
        """Run items first .. last - 1."""
        asked = min(max(first, self.stop_asking), last)
        run_stream(self.inputs, self.compiled, self.state, self.outputs, first, asked)
        if asked < last:
            run_stream(self.inputs, self.compiled, self.state, self.outputs, asked, last)
        self._answers.follow(first, last, self.stop_asking)
        if self._prices is None:
            self.paid[first:last] = self.outputs.costs[first:last]
        else:
            self.paid[first:last] = self._prices_of(first, last)

    def _prices_of(self, first: int, last: int) -> FloatArray:
        """(last - first,) what the votes asked of these items cost."""
        assert self._prices is not None and self.stream.voters is not None
        paid = np.cumsum(self._prices[self.stream.voters[first:last]], axis=1)
        asked = self.outputs.costs[first:last]
        return np.where(asked > 0, paid[np.arange(last - first), asked - 1], 0.0)

    @property
    def answers_proved(self) -> bool:
        """Whether what was learned answers items without votes."""
        return self._answers.are_proved

    @property
    def answer_params(self) -> PriorParams:
        """The current parameters for answers without votes."""
        return self._answers.params

    def tune(self, parameters: Mapping[str, Any]) -> None:
        """Change `error_cost` or `threshold`, on which the first number of a rule depends, for the next items."""
        rule = rule_of(tuned(self.method, parameters).policy)
        assert rule is not None
        self.state.rule[0] = rule.first

    def add_votes(self, t: int, votes: IntArray) -> None:
        """Learn from audit votes (K,) on item t, the last one run, after it was closed."""
        asked = int(self.outputs.costs[t])
        self.paid[t] += self.price_of(t, asked, asked + int(votes.sum()))
        if not (self.compiled.learns and votes.any()):
            return
        self._answers.audited(t, int(votes.sum()))
        counts = self.state.counts
        if self.outputs.costs[t] == 0:  # the item is not in the window yet
            slot = counts[ENTERED] % self.compiled.window
            self.state.window_predictions[slot] = self.stream.log_predictions[t]
            self.state.window_votes[slot] = 0
            counts[ENTERED] += 1
        self.state.window_votes[(counts[ENTERED] - 1) % self.compiled.window] += votes
        counts[VOTES] += votes.sum()
