"""The slow, obvious replay: one item after the other with the functions a `Session` calls, a controller and audits.

`tests/quorate/streams/test_replayed_run.py` compares `quorate.streams.replayed_run` with it, to the last bit.
"""

from dataclasses import dataclass, replace

import numpy as np

from quorate.methods import as_method, policy_parameters
from quorate.model.decision.blended import BlendedValue, blended_gain
from quorate.model.decision.threshold import Threshold
from quorate.model.learning.learner import refit
from quorate.model.posterior.settled import is_settled, plurality_shares
from quorate.reasons import CERTAIN
from quorate.rng import stream as random_stream
from quorate.session.decide import decide, draw_quota, learned_of, updated_state
from quorate.session.items import ItemState
from quorate.session.state import Settings, initial
from quorate.session.tuning import tuned
from tests.oracles_costs import cheapest_answer, weigh_for_gain, weigh_for_threshold


@dataclass(frozen=True, slots=True)
class CostBlended:
    """The blended rule on what an error costs."""

    error_cost: float
    costs: tuple
    name = "blended"
    stop_reason = "not_worth_it"

    def ask(self, item):
        costs, probs = np.array(self.costs), np.array(item.probs)
        weighted = weigh_for_gain(costs, probs, 0.0)
        votes = np.array(item.votes)
        least = 1 / self.error_cost
        gain = blended_gain(least, probs, weighted, votes, item.num_remaining, np.array(item.alpha), costs)
        return bool(gain > least)


@dataclass(frozen=True, slots=True)
class CostThreshold:
    """The threshold rule on what an error costs."""

    threshold: float
    costs: tuple
    name = "threshold"
    stop_reason = "confident"

    def ask(self, item):
        weighted = weigh_for_threshold(np.array(self.costs), np.array(item.probs), 0.0)
        return bool(weighted.max() <= self.threshold)


def with_costs(method, costs):
    """The method asking by costs; rules that only use votes are unchanged."""
    rows = tuple(tuple(float(cost) for cost in row) for row in costs)
    if type(method.policy) is BlendedValue:
        return replace(method, policy=CostBlended(method.policy.error_cost, rows))
    if type(method.policy) is Threshold:
        return replace(method, policy=CostThreshold(method.policy.threshold, rows))
    return method


def replay_slowly(
    stream, method, *, control=None, ids=None, min_votes=0, max_votes=None,
    seed, audit_rate=0.0, error_costs=None,
):  # fmt: skip
    """What `quorate.streams.replayed_run.replay` returns, in attributes of the same names."""
    num_items, num_classifiers, num_classes = stream.predictions.shape
    chosen = as_method(method)
    settings = Settings(
        method=chosen if error_costs is None else with_costs(chosen, error_costs),
        classes=tuple(map(str, range(num_classes))),
        pool_size=int(stream.pool_sizes.max()),
        seed=seed,
        num_classifiers=num_classifiers,
        min_votes=min_votes,
        max_votes=max_votes,
    )
    names = [str(t) for t in range(num_items)] if ids is None else ids
    loop = _Loop(stream, names, settings, control, audit_rate)
    for t in range(num_items):
        loop.item(t)
    loop.params = loop.state.params
    if error_costs is not None:
        loop.labels = np.array(
            [cheapest_answer(error_costs, *pair) for pair in zip(loop.probs, stream.tie_draws, strict=True)]
        )
    return loop


class _Loop:
    def __init__(self, stream, ids, settings, control, audit_rate):
        self.stream, self.ids, self.settings = stream, ids, settings
        self.control, self.audit_rate = control, audit_rate
        self.state = initial(settings)
        self.log_predictions = np.log(stream.predictions)
        self.mean_predictions = stream.predictions.mean(axis=1)
        count, classes = len(ids), len(settings.classes)
        self.labels, self.num_votes, self.audit_votes = (np.zeros(count, dtype=np.int64) for _ in range(3))
        self.confidence, self.audit_rates = np.zeros(count), np.zeros(count)
        self.parameter, self.audited_error, self.ahead = (np.full(count, np.nan) for _ in range(3))
        self.audited = np.zeros(count, dtype=bool)
        self.probs, self.truth = np.zeros((count, classes)), np.full((count, classes), np.nan)
        self.reasons = ()
        self.num_fits = 0

    def item(self, t):
        if self.control is not None:
            self.state.method = tuned(self.settings.method, self.control.parameters)
        item, verdict = self._ask(t)
        self.labels[t], self.confidence[t], self.probs[t] = verdict.label, verdict.confidence, verdict.probs
        self.num_votes[t] = item.votes.sum()
        parameters = policy_parameters(self.state.method)
        self.parameter[t] = float(parameters.get("error_cost", parameters.get("threshold", np.nan)))
        self.reasons += (verdict.reason,)
        self._learn(t, item)
        settled = verdict.reason in CERTAIN
        if settled:
            self.truth[t] = plurality_shares(item.votes)
        error = float(1.0 - self.truth[t, verdict.label]) if settled else self._audit(t, item, verdict)
        if self.control is not None:
            self.control = self.control.closed(
                num_votes=int(self.num_votes[t] + self.audit_votes[t]),
                confidence=verdict.confidence,
                settled=settled,
                audited_error=error,
            )
            self.ahead[t] = self.control.ahead

    def _ask(self, t):
        state, asked = self.state, 0
        item = self._opened(t)
        verdict = decide(state.method, state.learned, state.policy_state, item)
        while verdict.ask:
            if asked == self.stream.recorded[t]:
                return item, decide(state.method, state.learned, state.policy_state, item, closing=True)
            votes = item.votes.copy()
            votes[self.stream.votes[t, asked]] += 1
            item = replace(item, votes=votes)
            asked += 1
            verdict = decide(state.method, state.learned, state.policy_state, item)
        return item, verdict

    def _opened(self, t):
        settings = self.settings
        item = ItemState(
            number=t,
            predictions=self.stream.predictions[t],
            pool_size=int(self.stream.pool_sizes[t]),
            quota=None,
            tie_draw=float(random_stream(settings.seed, "tie", t).random()),
            min_votes=settings.min_votes,
            max_votes=settings.max_votes,
            votes=np.zeros(len(settings.classes), dtype=np.int64),
            log_predictions=self.log_predictions[t],
            prediction=self.mean_predictions[t],
        )
        draws = random_stream(settings.seed, "quota", t)
        return replace(item, quota=draw_quota(self.state.method, self.state.policy_state, item, rng=draws))

    def _learn(self, t, item):
        state, learner = self.state, self.settings.method.learner
        state.policy_state = updated_state(state.method, state.policy_state, item)
        self._count(t, item.votes)
        if learner is None or state.votes_since_fit == 0 or not self._is_due(t + 1, learner):
            return
        if self.settings.method.proves_answers:
            state.gains = state.gains.after(state.params, *state.window.since(state.entered_at_fit))
        state.params, _ = refit(state.params, state.window, learner.hyperprior)
        self.num_fits += 1
        gains = state.gains if self.settings.method.proves_answers else None
        state.learned, state.entered_at_fit = learned_of(state.params, self.num_fits, gains), state.window.num_entered
        state.fitted_after, state.votes_since_fit = t + 1, 0

    def _is_due(self, num_closed, learner):
        if learner.proportional:
            return 500 * (num_closed - self.state.fitted_after) >= learner.refit_every * len(self.state.window)
        return num_closed % learner.refit_every == 0

    def _count(self, t, votes):
        if not votes.any():
            return
        state, name = self.state, self.ids[t]
        if name not in state.window:
            state.window.enter(name, self.log_predictions[t])
        for label in np.flatnonzero(votes):
            state.window.add(name, int(label), int(votes[label]))
        state.votes_since_fit += int(votes.sum())

    def _audit_rate(self, confidence):
        wanted = self.control.audit_rate_of(confidence) if self.control is not None else 0.0
        return max(wanted, self.audit_rate)

    def _audit(self, t, item, verdict):
        confidence = verdict.confidence
        rate = self._audit_rate(confidence)
        if rate == 0.0:
            return None
        self.audit_rates[t] = rate
        self.audited[t] = random_stream(self.settings.seed, "replay-audit", self.ids[t]).random() < rate
        if not self.audited[t]:
            return None
        more, counts = np.zeros_like(item.votes), item.votes.copy()
        pool_size = int(self.stream.pool_sizes[t])
        for label in self.stream.votes[t, int(item.votes.sum()) : self.stream.recorded[t]]:
            if counts.any() and is_settled(counts, pool_size):
                break
            counts[label] += 1
            more[label] += 1
        self.audit_votes[t] = more.sum()
        self._count(t, more)
        if not (counts.any() and is_settled(counts, pool_size)):
            return 1.0  # a panel that is not completed counts as an error
        self.truth[t] = plurality_shares(counts)
        self.audited_error[t] = 1.0 - self.truth[t, verdict.label]
        return float(self.audited_error[t])
