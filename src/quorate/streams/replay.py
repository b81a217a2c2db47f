"""Recorded votes item by item under a method, a controller and random audits, as if live: votes are seen when asked.

The loop calls the pure functions a `Session` calls, in its order, without the journal's events; a test holds it to a
session with `tune` events and late audit votes. Called by `quorate run` and by the benchmarks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate.decision.policy import QueryPolicy, Stateless
from quorate.decision.rules import rule_of
from quorate.learning.learner import refit
from quorate.methods import Method, as_method
from quorate.posterior.settled import is_settled, plurality_shares
from quorate.reasons import CERTAIN
from quorate.rng import stream
from quorate.session.decide import Verdict, decide, draw_quota, prior_of, updated_state
from quorate.session.items import ItemState
from quorate.session.state import Settings, initial
from quorate.session.tuning import policy_knobs, tuned
from quorate.streams.class_targets import ClassTargetControl
from quorate.streams.control import Control, check_rule
from quorate.streams.error_costs import cheapest_answers, with_costs
from quorate.streams.recorded import Recorded
from quorate.types import FloatArray, IntArray, PriorParams
from quorate.validate import fraction, members, vote_limits, whole

PROGRESS_EVERY = 200


@dataclass(frozen=True, slots=True, eq=False)
class ControlReport:
    """How close a controller came. `gap` (T,) after every item: reached / asked for - 1, by what was known then.

    `overshoot`: the most by which spending (or estimated errors) was ever ahead of the plan, as a share of the whole
    plan, asked_for * T; 0 if never. `unreachable_from`: the item, counted from 1, from which on the control knew to the
    end that the plan could not be kept; None if it could.
    """

    asked_for: float
    reached: float
    gap: FloatArray
    overshoot: float
    unreachable_from: int | None
    final: Control

    @property
    def final_gap(self) -> float:
        """Reached / asked for - 1 at the end."""
        return float(self.gap[-1])


@dataclass(frozen=True, slots=True, eq=False)
class Replay:
    """What happened on each item (T,), in the order given.

    `labels` class numbers answered   `confidence`, `probs` (T, K), `reasons` of the answer
    `num_votes` votes asked before it   `audit_votes` those that completed the panel afterwards   `knob` in force, NaN
    for a policy without `min_gain` or `threshold`
    `audit_rates` the probability of an audit, 0 where no coin was tossed   `audited` how it fell
    `audited_error` error of the answer by the panel, ties shared; NaN where not audited or the record ends too early:
    the latter counts as an error to the controller   `truth` (T, K) what the panel says of settled and audited items,
    ties shared; NaN elsewhere
    `params` learned by the end   `num_fits`   `control`, `class_control` as they ended, None without one
    """

    method: Method
    labels: IntArray
    confidence: FloatArray
    probs: FloatArray
    reasons: tuple[str, ...]
    num_votes: IntArray
    audit_votes: IntArray
    knob: FloatArray
    audit_rates: FloatArray
    audited: NDArray[np.bool_]
    audited_error: FloatArray
    truth: FloatArray
    params: PriorParams
    num_fits: int
    control: ControlReport | None
    class_control: ClassTargetControl | None = None

    @property
    def num_incomplete(self) -> int:
        """Audits for which the record has too few votes to settle the panel."""
        return int((self.audited & np.isnan(self.audited_error)).sum())

    @property
    def mean_cost(self) -> float:
        """Votes per item, audit votes included."""
        return float((self.num_votes + self.audit_votes).mean())


def replay(
    items: Recorded,
    method: Method | str | QueryPolicy,
    *,
    control: Control | None = None,
    pool_sizes: Any,  # noqa: ANN401
    window: int | None = 500,
    refit_every: int = 20,
    min_votes: int = 0,
    max_votes: int | None = None,
    seed: int,
    audit_rate: float = 0.0,
    class_control: ClassTargetControl | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Replay:
    """Run `method` over the items in their order; before each item opens, `control` sets the knob.

    `class_control` sets what errors on single classes count, in asking as in answering.

    `pool_sizes`: how many could be asked, one number or (T,); an item whose record ends before the method stops is
    answered then (reason "closed"). `audit_rate` is the least probability of an audit of an unsettled item; a
    controller may want more. An audit asks on, in recorded order, until the pool is settled; its votes cost, are
    learned from as late votes are, and change no answer. About 4,000 items a second at K = N = 10.

    >>> from quorate.streams.control import BudgetControl
    >>> from quorate.streams.recorded import recorded
    >>> rng = np.random.default_rng(1)
    >>> items = recorded(rng.integers(0, 2, (300, 7)), rng.dirichlet([1, 1], 300), classes=["a", "b"])
    >>> run = replay(items, "quorate", control=BudgetControl(2.0, pool_size=7), pool_sizes=7, seed=1)
    >>> abs(run.mean_cost - 2.0) < 0.1
    True
    """
    sizes = np.broadcast_to(np.asarray(pool_sizes), (items.num_items,)).tolist()
    for size in set(sizes):
        members(size, where="pool_sizes")
    low = whole(min_votes, where="min_votes", least=0)
    high = None if max_votes is None else whole(max_votes, where="max_votes", least=0)
    vote_limits(low, high)
    settings = Settings(
        method=as_method(method),
        classes=items.classes,
        pool_size=max(sizes),
        window=None if window is None else whole(window, where="window"),
        refit_every=whole(refit_every, where="refit_every"),
        seed=whole(seed, where="seed", least=0),
        num_classifiers=items.predictions.shape[1],
        min_votes=low,
        max_votes=high,
    )
    loop = _Loop(items, sizes, settings, control, fraction(audit_rate, where="audit_rate"), class_control)
    for t in range(items.num_items):
        loop.item(t)
        if progress is not None and ((t + 1) % PROGRESS_EVERY == 0 or t + 1 == items.num_items):
            progress(t + 1, items.num_items)
    return loop.result()


class _Loop:
    """The state of a replay while it runs: what a session's state holds, for one open item at a time."""

    def __init__(
        self,
        items: Recorded,
        sizes: list[int],
        settings: Settings,
        control: Control | None,
        audit_rate: float,
        class_control: ClassTargetControl | None,
    ) -> None:
        self.items, self.sizes, self.settings = items, sizes, settings
        self.control, self.audit_rate, self.class_control = control, audit_rate, class_control
        self.state = initial(settings)
        policy = settings.method.policy
        self.is_plain = rule_of(policy) is not None and isinstance(policy, Stateless)  # draws and learns nothing
        if control is not None:
            check_rule(control, settings.method)
        self.log_predictions = np.log(items.predictions)
        self.mean_predictions = items.predictions.mean(axis=1)
        count, classes = items.num_items, len(items.classes)
        self.labels, self.num_votes, self.audit_votes = (np.zeros(count, dtype=np.int64) for _ in range(3))
        self.confidence, self.rates = np.zeros(count), np.zeros(count)
        self.knob, self.audited_error, self.ahead = (np.full(count, np.nan) for _ in range(3))
        self.audited, self.is_unreachable = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
        self.probs, self.truth = np.zeros((count, classes)), np.full((count, classes), np.nan)
        self.reasons: list[str] = []
        self.num_fits = 0

    def item(self, t: int) -> None:
        """Open, ask, answer, learn, audit, tell the controller."""
        if self.control is not None:
            self.state.method = tuned(self.settings.method, self.control.knobs)
        item, verdict = self._weighed(t) if self.class_control is not None else self._ask(t)
        self.labels[t], self.confidence[t], self.probs[t] = verdict.label, verdict.confidence, verdict.probs
        self.num_votes[t] = item.votes.sum()
        self.knob[t] = _knob(self.state.method)
        self.reasons.append(verdict.reason)
        self._learn(t, item)
        settled = verdict.reason in CERTAIN
        if settled:
            self.truth[t] = plurality_shares(item.votes)
        error = float(1.0 - self.truth[t, verdict.label]) if settled else self._audit(t, item, verdict)
        if self.class_control is not None:
            self.class_control = self.class_control.closed(
                verdict.probs,
                verdict.label,
                truth=None if np.isnan(self.truth[t, 0]) else self.truth[t],
                settled=settled,
                weight=1.0 if settled else float(np.sqrt(self._audit_rate(1.0) / self.rates[t])),
            )
        if self.control is not None:
            self.control = self.control.closed(
                num_votes=int(self.num_votes[t] + self.audit_votes[t]),
                confidence=verdict.confidence,
                settled=settled,
                audited_error=error,
            )
            self.ahead[t], self.is_unreachable[t] = self.control.ahead, self.control.is_unreachable

    def _weighed(self, t: int) -> tuple[ItemState, Verdict]:
        """The same where errors on single classes count for more: asked and answered by what they count now."""
        assert self.class_control is not None
        costs, plain = self.class_control.costs, self.state.method
        self.state.method = with_costs(plain, costs)
        item, verdict = self._ask(t)
        self.state.method = plain
        probs = verdict.probs
        if verdict.reason in CERTAIN:  # the pool has spoken: only a tie leaves a choice
            probs = np.where(item.votes == item.votes.max(), probs, 0.0)
        (label,) = cheapest_answers(costs, probs[None], np.array([item.tie_draw]))
        return item, replace(verdict, label=int(label), confidence=float(verdict.probs[label]))

    def _ask(self, t: int) -> tuple[ItemState, Verdict]:
        """The item as it closes, and its answer."""
        state, start, end = self.state, int(self.items.starts[t]), int(self.items.starts[t + 1])
        item = self._opened(t)
        verdict = decide(state.method, state.prior, state.policy_state, item)
        while verdict.ask:
            if start == end:
                return item, decide(state.method, state.prior, state.policy_state, item, closing=True)
            votes = item.votes.copy()
            votes[self.items.labels[start]] += 1
            item = replace(item, votes=votes)
            start += 1
            verdict = decide(state.method, state.prior, state.policy_state, item)
        return item, verdict

    def _opened(self, t: int) -> ItemState:
        settings = self.settings
        item = ItemState(
            number=t,
            predictions=self.items.predictions[t],
            pool_size=self.sizes[t],
            quota=None,
            tie_draw=float(stream(settings.seed, "tie", t).random()),
            min_votes=settings.min_votes,
            max_votes=settings.max_votes,
            votes=np.zeros(len(settings.classes), dtype=np.int64),
            log_predictions=self.log_predictions[t],
            prediction=self.mean_predictions[t],
        )
        if self.is_plain:
            return item
        draws = stream(settings.seed, "quota", t)
        return replace(item, quota=draw_quota(self.state.method, self.state.policy_state, item, rng=draws))

    def _learn(self, t: int, item: ItemState) -> None:
        """What a session does when an item closes: the policy sees it, the window has it, a fit if one is due."""
        state, learner = self.state, self.settings.method.learner
        if not self.is_plain:
            state.policy_state = updated_state(state.method, state.policy_state, item)
        self._count(t, item.votes)
        state.closed_since_fit += 1
        every = self.settings.refit_every or 1
        if learner is None or state.closed_since_fit < every or state.votes_since_fit == 0:
            return
        state.params, _ = refit(state.params, state.window, learner.hyperprior)
        self.num_fits += 1
        state.prior = prior_of(state.params, self.num_fits)
        state.closed_since_fit = state.votes_since_fit = 0

    def _count(self, t: int, votes: IntArray) -> None:
        """Put votes of item t into the window."""
        if not votes.any():
            return
        state, name = self.state, self.items.ids[t]
        if name not in state.window:
            state.window.enter(name, self.log_predictions[t])
        for label in np.flatnonzero(votes):
            state.window.add(name, int(label), int(votes[label]))
        state.votes_since_fit += int(votes.sum())

    def _audit_rate(self, confidence: float) -> float:
        wanted = self.control.audit_rate_of(confidence) if self.control is not None else 0.0
        return max(wanted, self.audit_rate)

    def _audit(self, t: int, item: ItemState, verdict: Verdict) -> float | None:
        """Toss the item's coin; complete its panel if it falls so. The answer's error, 1 if votes lack, or None."""
        confidence = verdict.confidence
        if self.class_control is not None:
            confidence = 1.0 - self.class_control.doubt(verdict.probs, verdict.label)
        rate = self._audit_rate(confidence)
        if rate == 0.0:
            return None
        self.rates[t] = rate
        # not the stream of `quorate.audit.draw`: what is replayed may be audited later, with the same seed
        self.audited[t] = stream(self.settings.seed, "replay-audit", self.items.ids[t]).random() < rate
        if not self.audited[t]:
            return None
        more, counts = np.zeros_like(item.votes), item.votes.copy()
        recorded = self.items.labels[self.items.starts[t] + int(item.votes.sum()) : self.items.starts[t + 1]]
        for label in recorded:
            if counts.any() and is_settled(counts, self.sizes[t]):
                break
            counts[label] += 1
            more[label] += 1
        self.audit_votes[t] = more.sum()
        self._count(t, more)
        if not (counts.any() and is_settled(counts, self.sizes[t])):
            return 1.0  # a panel that is not completed counts as an error, as in an audit to sign
        self.truth[t] = plurality_shares(counts)
        self.audited_error[t] = 1.0 - self.truth[t, verdict.label]
        return float(self.audited_error[t])

    def result(self) -> Replay:
        """All of it, frozen."""
        return Replay(
            method=self.settings.method,
            labels=self.labels,
            confidence=self.confidence,
            probs=self.probs,
            reasons=tuple(self.reasons),
            num_votes=self.num_votes,
            audit_votes=self.audit_votes,
            knob=self.knob,
            audit_rates=self.rates,
            audited=self.audited,
            audited_error=self.audited_error,
            truth=self.truth,
            params=self.state.params,
            num_fits=self.num_fits,
            control=None if self.control is None else _report(self.control, self.ahead, self.is_unreachable),
            class_control=self.class_control,
        )


def _knob(method: Method) -> float:
    knobs = policy_knobs(method)
    return float(knobs.get("min_gain", knobs.get("threshold", np.nan)))


def _report(final: Control, ahead: FloatArray, is_unreachable: NDArray[np.bool_]) -> ControlReport:
    plan = final.asked_for * np.arange(1, len(ahead) + 1)
    overshoot = max(float(ahead.max()) / float(plan[-1]), 0.0) if len(ahead) else 0.0
    reachable = np.flatnonzero(~is_unreachable)
    known = int(reachable[-1]) + 2 if reachable.size else 1  # the item after the last at which all seemed well
    since = known if known <= len(ahead) else None
    return ControlReport(final.asked_for, final.reached, ahead / plan, overshoot, since, final)
