"""Replays recorded votes with a method, a controller and random audits; a vote is seen only when it is asked for.

Without controller and audits the stream runs in a few calls; with them it runs item by item, and between two items the
audit is drawn and the controller sets the policy's parameter. A test compares every run with a slow replay, to the
last bit. Called by `quorate run` and by the benchmarks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quorate.methods import Method, as_method, policy_parameters
from quorate.model import QueryPolicy, plurality_shares
from quorate.reasons import CERTAIN
from quorate.rng import uniform
from quorate.streams.control import Control, check_rule
from quorate.streams.prepared_stream import Stream
from quorate.streams.runs import CompiledRun, StreamOptions
from quorate.streams.session_run import SessionRun, start_run
from quorate.streams.stream import complete_panel
from quorate.types import FloatArray, IntArray, PriorParams
from quorate.validate import fraction, invalid, whole

PROGRESS_EVERY = 200  # items


@dataclass(frozen=True, slots=True, eq=False)
class ControlReport:
    """How close a controller came. `gap` (T,) after every item: reached / asked for - 1, as known then.

    `overshoot`: the largest excess of spending (or estimated errors) over the plan, as a share of the whole plan,
    asked_for * T; 0 if there was none. `unreachable_from`: the item, counted from 1, from which on the plan could not
    be kept; None if it could.
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
class ReplayResult:
    """What happened on each item (T,), in the order of the stream.

    `stream` has each item's votes in asking order
    `labels` class numbers answered   `confidence`, `probs` (T, K), `reasons` of the answer
    `num_votes` votes asked before it   `audit_votes` those that completed the panel afterwards   `parameter` that of
    the policy in force, NaN for a policy without `error_cost` or `threshold`
    `audit_rates` the probability of an audit, 0 where none was drawn   `is_audited` the items drawn
    `audited_error` error of the answer by the panel, ties shared; NaN where not audited or the record ends too early:
    the latter counts as an error to the controller   `truth` (T, K) what the panel says of settled and audited items,
    ties shared; NaN elsewhere
    `is_score` where the confidence is a score, no probability   `paid` what all votes cost, one each unless people
    differ in cost   `params` learned by the end   `fits` (F, P) packed, after each fit, and `fitted_at` (F,) the item
    it was made after   `answers_proved` whether `params` answer items without votes   `control` as it ended, None
    without one
    """

    method: Method
    stream: Stream
    labels: IntArray
    confidence: FloatArray
    probs: FloatArray
    reasons: tuple[str, ...]
    num_votes: IntArray
    paid: FloatArray
    is_score: NDArray[np.bool_]
    audit_votes: IntArray
    parameter: FloatArray
    audit_rates: FloatArray
    is_audited: NDArray[np.bool_]
    audited_error: FloatArray
    truth: FloatArray
    params: PriorParams
    answers_proved: bool
    fits: FloatArray
    fitted_at: IntArray
    control: ControlReport | None

    @property
    def num_fits(self) -> int:
        """The number of fits."""
        return len(self.fitted_at)

    @property
    def fitted_after(self) -> int:
        """Items closed before the last fit."""
        return int(self.fitted_at[-1]) + 1 if self.num_fits else 0

    @property
    def num_incomplete(self) -> int:
        """Audits whose recorded votes are too few to settle the panel."""
        return int((self.is_audited & ~self.is_known).sum())

    @property
    def is_known(self) -> NDArray[np.bool_]:
        """(T,) audited items whose whole panel is known: it then is the answer."""
        return self.is_audited & ~np.isnan(self.audited_error)

    @property
    def is_refuted(self) -> NDArray[np.bool_]:
        """(T,) audited items whose answer is not among the panel's winners."""
        return np.asarray(self.audited_error == 1.0)

    @property
    def reached(self) -> FloatArray | None:
        """(T,) votes or errors per item after every item, as known to the controller; None without one."""
        return None if self.control is None else self.control.asked_for * (1.0 + self.control.gap)

    @property
    def mean_cost(self) -> float:
        """Votes per item, including audit votes."""
        return float((self.num_votes + self.audit_votes).mean())


def replay(
    stream: Stream,
    method: Method | str | QueryPolicy,
    *,
    control: Control | None = None,
    audit_rate: float = 0.0,
    ids: Sequence[str] | None = None,
    seed: int,
    min_votes: int = 0,
    max_votes: int | None = None,
    voter_costs: tuple[float, ...] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> ReplayResult:
    """Run `method` over the items of a stream; before each item opens, `control` sets the parameter of the policy.

    An item whose recorded votes end before the method stops is answered then (reason "closed"). `audit_rate` is the
    lowest audit probability of an unsettled item; a controller may raise it. An audit asks further votes, in recorded
    order, until the pool is settled; they are paid for and learned from like late votes. `labels` are the answers
    before audits. `ids` name the items for the draw of audits (default: their numbers). `voter_costs` of each person,
    by number.

    >>> from quorate.streams.control import BudgetControl
    >>> from quorate.streams.prepared_stream import recorded_stream
    >>> rng = np.random.default_rng(1)
    >>> items = recorded_stream(rng.integers(0, 2, (300, 7)), rng.dirichlet([1, 1], 300), seed=1)
    >>> run = replay(items, "value", control=BudgetControl(2.0, pool_size=7), seed=1)
    >>> abs(run.mean_cost - 2.0) < 0.1
    True
    """
    chosen, draw = as_method(method), whole(seed, where="seed", least=0)
    options = StreamOptions(min_votes, max_votes, voter_costs=voter_costs)
    least_rate = fraction(audit_rate, where="audit_rate")
    num_items = len(stream.items)
    names = tuple(map(str, range(num_items))) if ids is None else tuple(ids)
    if len(names) != num_items or len(set(names)) != num_items:
        value = f"{len(names)} names, {len(set(names))} of them different"
        raise invalid("ids", value, f"{num_items} different names, one per item", "name every item once.")
    if control is not None:
        check_rule(control, chosen)
    if chosen.target == "truth" and (least_rate or control is not None):
        rule = f"no budget, target or audits with {chosen.name!r}: they refer to the plurality, the method to the truth"
        raise invalid("method", chosen.name, rule, "leave them out, or pass `method='value'`.")
    run = start_run(stream, chosen, options, seed=draw, keep_probs=True)
    loop = _Loop(run, names, draw, control, least_rate)
    step = 1 if loop.acts_between_items else PROGRESS_EVERY
    for first in range(0, num_items, step):
        last = min(first + step, num_items)
        loop.advance(first, last)
        if progress is not None and (last % PROGRESS_EVERY == 0 or last == num_items):
            progress(last, num_items)
    return loop.result()


class _Loop:
    """A run, and what happens between its items: audits and controllers."""

    def __init__(
        self,
        run: CompiledRun | SessionRun,
        ids: Sequence[str],
        seed: int,
        control: Control | None,
        audit_rate: float,
    ) -> None:
        self.run, self.ids, self.seed = run, ids, seed
        self.control, self.audit_rate = control, audit_rate
        self.acts_between_items = control is not None or audit_rate > 0
        parameters = policy_parameters(run.method)
        fixed = float(parameters.get("error_cost", parameters.get("threshold", np.nan)))
        count, num_classes = len(ids), run.stream.counts.shape[1]
        self.parameter, self.rates = np.full(count, fixed), np.zeros(count)
        self.audit_votes, self.is_audited = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=bool)
        self.audited_error, self.ahead = np.full(count, np.nan), np.full(count, np.nan)
        self.truth = np.full((count, num_classes), np.nan)
        self.is_unreachable = np.zeros(count, dtype=bool)

    def advance(self, first: int, last: int) -> None:
        """Run items first .. last - 1: several only if nothing happens between them."""
        if self.control is not None:
            parameters = self.control.parameters
            self.run.tune(parameters)
            (self.parameter[first],) = parameters.values()
        self.run.advance(first, last)
        if self.acts_between_items:
            self._close(first)

    def _close(self, t: int) -> None:
        """Draw and run the audit of a closed item, and update the controllers."""
        out, settled = self.run.outputs, self.run.is_certain(t)
        label, confidence, probs = int(out.labels[t]), float(out.confidence[t]), out.probs[t]
        if settled:
            self.truth[t] = probs
        error = float(1.0 - probs[label]) if settled else self._audit(t, label, confidence, probs)
        if self.control is not None:
            self.control = self.control.closed(
                num_votes=int(out.costs[t] + self.audit_votes[t]),
                confidence=confidence,
                settled=settled,
                audited_error=error,
            )
            self.ahead[t], self.is_unreachable[t] = self.control.ahead, self.control.is_unreachable

    def _audit_rate(self, confidence: float) -> float:
        wanted = self.control.audit_rate_of(confidence) if self.control is not None else 0.0
        return max(wanted, self.audit_rate)

    def _audit(self, t: int, label: int, confidence: float, probs: FloatArray) -> float | None:
        """Audit the item with its audit rate; the answer's error, 1 if votes are missing, None if not audited."""
        rate = self._audit_rate(confidence)
        if rate == 0.0:
            return None
        self.rates[t] = rate
        # A random stream other than that of `quorate.audit.draw`, which may audit the same items with the same seed.
        self.is_audited[t] = uniform(self.seed, "replay-audit", self.ids[t]) < rate
        if not self.is_audited[t]:
            return None
        stream, asked = self.run.stream, int(self.run.outputs.costs[t])
        votes = np.bincount(stream.votes[t, :asked], minlength=len(probs))
        panel = votes.copy()
        settled = complete_panel(stream.votes[t], asked, stream.recorded[t], stream.pool_sizes[t], panel)
        self.audit_votes[t] = panel.sum() - asked
        self.run.add_votes(t, panel - votes)
        if not settled:
            return 1.0  # an incomplete panel counts as an error, as in `quorate.audit`
        self.truth[t] = plurality_shares(panel)
        self.audited_error[t] = 1.0 - self.truth[t, label]
        return float(self.audited_error[t])

    def result(self) -> ReplayResult:
        """The result of the whole run."""
        run, out = self.run, self.run.outputs
        is_certain = np.isin(run.reasons, CERTAIN)
        self.truth[is_certain] = out.probs[is_certain]
        return ReplayResult(
            method=run.method,
            stream=run.stream,
            labels=out.labels,
            confidence=out.confidence,
            probs=out.probs,
            reasons=run.reasons,
            num_votes=out.costs,
            paid=run.paid,
            is_score=run.is_score,
            audit_votes=self.audit_votes,
            parameter=self.parameter,
            audit_rates=self.rates,
            is_audited=self.is_audited,
            audited_error=self.audited_error,
            truth=self.truth,
            params=run.params,
            answers_proved=run.answers_proved,
            fits=run.fits,
            fitted_at=run.fitted_after,
            control=None if self.control is None else _report(self.control, self.ahead, self.is_unreachable),
        )


def _report(final: Control, ahead: FloatArray, is_unreachable: NDArray[np.bool_]) -> ControlReport:
    plan = final.asked_for * np.arange(1, len(ahead) + 1)
    overshoot = max(float(ahead.max()) / float(plan[-1]), 0.0) if len(ahead) else 0.0
    reachable = np.flatnonzero(~is_unreachable)
    settled_at = (
        int(reachable[-1]) + 2 if reachable.size else 1
    )  # the item after the last at which the plan was reachable
    since = settled_at if settled_at <= len(ahead) else None
    return ControlReport(final.asked_for, final.reached, ahead / plan, overshoot, since, final)
