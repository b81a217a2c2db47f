"""A budget or a target error -> the knob that meets it, adjusted as items close. Pure: frozen states, no I/O.

`state.knobs` is what the policy should ask by now (`session.tune(**state.knobs)`); `state.closed(...)` gives the state
after one more closed item. Called by `workflows.replay`, and by anyone who controls a live session.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from statistics import NormalDist
from typing import Literal, Protocol, Self, get_args

from quorate.errors import InvalidInput
from quorate.methods import Method
from quorate.session.tuning import policy_knobs
from quorate.validate import bounded, fraction, shown, whole

Rule = Literal["min_gain", "threshold"]
Speed = Literal["normal", "slow"]
SHALLOWEST, DEEPEST = 0.05, 60.0  # of -log lambda: e^-0.05 never asks, e^-60 asks until settled
FIRST = 0.01  # lambda to start with when nothing is known
SLOWER = 5.0
MOST_STEP = 0.5  # by the integral, at one item
SURENESS = 0.9
AUDIT_RATE, FOCUS = 0.05, 1.0  # of a target error's audits; measured in docs/control.md


class Control(Protocol):
    """What a replay needs of a controller: the plan it has, the knob in force, and what a closed item changes."""

    @property
    def asked_for(self) -> float:
        """Votes per item, or errors per item."""
        ...

    @property
    def reached(self) -> float:
        """The same so far, as the controller knows it."""
        ...

    @property
    def ahead(self) -> float:
        """By how many votes or errors the sum so far is above `asked_for` times the items closed."""
        ...

    @property
    def knobs(self) -> dict[str, float]:
        """The policy's knob now, by name."""
        ...

    @property
    def is_unreachable(self) -> bool:
        """Is what is known for sure so far more than was asked for, whatever is asked from now on?"""
        ...

    def audit_rate_of(self, confidence: float) -> float:
        """The probability with which an unsettled item closed at this confidence goes to the full panel."""
        ...

    def closed(self, *, num_votes: int, confidence: float, settled: bool, audited_error: float | None = None) -> Self:
        """The state after one more item closed."""
        ...


def rule_knob(method: Method) -> Rule:
    """The knob of a method that a controller can turn: "min_gain" or "threshold".

    >>> from quorate.methods import method
    >>> rule_knob(method("quorate")), rule_knob(method("infexp"))
    ('min_gain', 'threshold')
    """
    for name in get_args(Rule):
        if name in policy_knobs(method):
            return name  # type: ignore[no-any-return]
    rule = "a method that asks by one of them, since that is what a controller turns"
    raise InvalidInput(
        f"method {method.name!r} has neither `min_gain` nor `threshold`; expected {rule}; use e.g. 'quorate'.",
        field="method", value=method.name, rule="a method with min_gain or threshold, which a goal turns",
        fix="use e.g. 'quorate'.",
    )  # fmt: skip


def check_rule(control: Control, method: Method) -> None:
    """The controller turns the knob this method has."""
    wanted, (turned, *_) = rule_knob(method), control.knobs
    if turned != wanted:
        raise InvalidInput(
            f"control turns {turned!r}, but method {method.name!r} asks by {wanted!r}; pass rule={wanted!r} to it."
        )


def at_deepest(rule: str, knob: float) -> bool:
    """Has a control turned this knob as far as it goes towards asking?

    >>> at_deepest("min_gain", BudgetControl(2.0, start=0.0).knob), at_deepest("threshold", 1.0)
    (True, True)
    """
    return (knob if rule == "min_gain" else 1.0 - knob) <= math.exp(-DEEPEST) * (1 + 1e-9)


def at_shallowest(rule: str, knob: float) -> bool:
    """Has a control turned this knob as far as it goes towards asking nobody?"""
    return (knob if rule == "min_gain" else 1.0 - knob) >= math.exp(-SHALLOWEST) * (1 - 1e-9)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Knob:
    """lambda and what it means to the policy: lambda itself is `min_gain`, 1 - lambda is a `threshold`."""

    rule: Rule = "min_gain"

    def _named(self, depth: float) -> dict[str, float]:
        """The knob for -log lambda = `depth`."""
        value = math.exp(-min(max(depth, SHALLOWEST), DEEPEST))
        return {self.rule: value if self.rule == "min_gain" else 1.0 - value}

    def _check(self) -> None:
        if self.rule not in get_args(Rule):
            raise InvalidInput(f"rule={shown(self.rule)}; expected 'min_gain' or 'threshold'; see rule_knob(method).")


@dataclass(frozen=True, slots=True)
class BudgetControl(_Knob):
    r"""Hold the votes per item at `budget` B by turning lambda (`min_gain`, or 1 - `threshold`).

    Votes per item grow about as d = -log lambda does, whatever the pool, so log d is what is controlled. After item t
    (from 0) cost n votes:   w_I -= eta_t (n - B) / max(B, 1),   eta_t = max(rate, 2 / (t + 10))
                             log d = w_I - (spent - B t) / (pull B)
    The first term finds the knob, quickly at first, then at `rate`; the second pulls back what was spent too much or
    too little. d stays within [0.05, 60] and w_I stops there, so a budget that cannot be spent does not wind it up.
    `speed="slow"` divides both gains by 5: the budget is then held over many thousands of items only, and a shift in
    the stream costs less error, since votes may follow the difficulty for longer. `pool_size` chooses the start,
    d = 6 log(N + 1) B / (0.65 N); `start` is the first lambda itself; without either it is 0.01.

    >>> control = BudgetControl(2.0, pool_size=6)
    >>> for votes in (6, 6, 0, 6, 6):
    ...     control = control.closed(num_votes=votes, confidence=1.0, settled=True)
    >>> control.reached, control.ahead, control.knob > BudgetControl(2.0, pool_size=6).knob
    (4.8, 14.0, True)
    """

    budget: float
    rate: float = 0.005
    pull: float = 100.0
    pool_size: int | None = None
    start: float | None = None
    speed: Speed = "normal"
    log_depth: float | None = None
    spent: int = 0
    num_items: int = 0

    def __post_init__(self) -> None:
        """Check what the user gave; choose the start."""
        if self.log_depth is not None:
            return
        self._check()
        if bounded(self.budget, where="budget", least=0.0) == 0:
            raise InvalidInput("budget=0; expected votes per item above 0; to ask nobody use Session.predict.")
        for name in ("rate", "pull"):
            if bounded(getattr(self, name), where=name, least=0.0) == 0:
                raise InvalidInput(f"{name}=0; expected a number above 0; leave it out for the default.")
        if self.speed not in get_args(Speed):
            raise InvalidInput(f"speed={shown(self.speed)}; expected 'normal' or 'slow'.")
        object.__setattr__(self, "log_depth", math.log(min(max(self._first(), SHALLOWEST), DEEPEST)))

    def _first(self) -> float:
        """d = -log lambda to start with; s = B / (0.65 N) is about the budget's share of asking until settled."""
        if self.start is not None:
            return -math.log(max(fraction(self.start, where="start"), math.exp(-DEEPEST)))
        if self.pool_size is None:
            return -math.log(FIRST)
        size = whole(self.pool_size, where="pool_size")
        return 6.0 * math.log(size + 1.0) * min(self.budget / (0.65 * size), 1.0)

    @property
    def asked_for(self) -> float:
        """The budget, in votes per item."""
        return self.budget

    @property
    def reached(self) -> float:
        """Votes per item so far; NaN before the first."""
        return self.spent / self.num_items if self.num_items else math.nan

    @property
    def ahead(self) -> float:
        """Votes spent beyond B t; negative if fewer."""
        return self.spent - self.budget * self.num_items

    @property
    def knob(self) -> float:
        """What the policy's knob should be now."""
        return self.knobs[self.rule]

    @property
    def knobs(self) -> dict[str, float]:
        """The knob by name, for `session.tune(**control.knobs)`."""
        pull = self.pull * (SLOWER if self.speed == "slow" else 1.0)
        log_depth = min(max(self._log_depth() - self.ahead / (pull * self.budget), -DEEPEST), DEEPEST)
        return self._named(math.exp(log_depth))

    def _log_depth(self) -> float:
        return 0.0 if self.log_depth is None else self.log_depth

    @property
    def is_unreachable(self) -> bool:
        """A budget overspent can still be paid back."""
        return False

    def audit_rate_of(self, confidence: float) -> float:
        """A budget needs no audits."""
        return 0.0

    def closed(
        self, *, num_votes: int, confidence: float, settled: bool, audited_error: float | None = None
    ) -> BudgetControl:
        """The state after an item that cost `num_votes`, audit votes included; the rest does not matter here."""
        rate = max(self.rate / (SLOWER if self.speed == "slow" else 1.0), 2.0 / (self.num_items + 10.0))
        step = rate * (num_votes - self.budget) / max(self.budget, 1.0)
        log_depth = self._log_depth() - min(max(step, -MOST_STEP), MOST_STEP)
        return replace(
            self,
            log_depth=min(max(log_depth, math.log(SHALLOWEST)), math.log(DEEPEST)),
            spent=self.spent + num_votes,
            num_items=self.num_items + 1,
        )


@dataclass(frozen=True, slots=True)
class TargetErrorControl(_Knob):
    r"""Hold the share of wrong answers among closed items at `target` e*, as random audits say it is.

    u = 1 - confidence is the error the belief expects; it is off by a factor that audits estimate:
        r = (sum of w l + c) / (sum of w u + c)   over audited items, l their error, w = sqrt(audit_rate / probability)
    c = `weight` errors hold r near 1 until there is evidence: audits see few errors, and a control that believes those
    few loosens whenever they happen to miss some, so that what it lets pass is more than what it is told. The root
    weighs between the inverse of the probability (right on average, noisy) and all audits alike (least noisy, right if
    one factor holds at every confidence). The estimate of the errors so far is
        E = errors of settled items (known: a tie is shared) + r times sum of u over the others
    and d = -log lambda follows it:   d = d_I + (E - e* t) / (pull e*),   d_I += eta_t (r u - e*) / e*.
    Audits are drawn with probability `audit_rate` + `focus` (1 - confidence), at most 1, so that doubtful items, where
    errors are, are checked more often. `pool_size` N chooses the start, lambda = e* / N (e* for a threshold); `start`
    is the first lambda itself; without either it is 0.002. e* includes the ties of the pool: a target below their share
    cannot be reached, `is_unreachable` says so when those seen exceed the plan, and the knob stays at its bound.

    >>> control = TargetErrorControl(0.02, audit_rate=0.1, focus=0.0)
    >>> sure = control.closed(num_votes=3, confidence=1.0, settled=True)
    >>> wrong = control.closed(num_votes=3, confidence=0.9, settled=False, audited_error=1.0)
    >>> sure.knob > control.knob > wrong.knob, round(wrong.factor, 2)
    (True, 1.82)
    """

    target: float
    audit_rate: float = AUDIT_RATE
    focus: float = FOCUS
    rate: float = 0.005
    pull: float = 100.0
    weight: float = 1.0
    warm: float = 2.0
    sureness: float = SURENESS
    pool_size: int | None = None
    start: float | None = None
    depth: float | None = None
    num_items: int = 0
    settled_errors: float = 0.0
    open_doubt: float = 0.0
    audited_doubt: float = 0.0
    audited_errors: float = 0.0
    num_audited: int = 0
    seen_doubt: float = 0.0
    seen_errors: float = 0.0

    def __post_init__(self) -> None:
        """Check what the user gave; choose the start."""
        if self.depth is not None:
            return
        self._check()
        for name in ("target", "audit_rate"):
            if fraction(getattr(self, name), where=name) == 0:
                raise InvalidInput(f"{name}=0; expected a number above 0 and at most 1; raise it.")
        for name in ("rate", "pull", "weight"):
            if bounded(getattr(self, name), where=name, least=0.0) == 0:
                raise InvalidInput(f"{name}=0; expected a number above 0; leave it out for the default.")
        bounded(self.focus, where="focus", least=0.0)
        first = max(self._first(), math.exp(-DEEPEST))  # a tiny target over a pool's size can be 0
        object.__setattr__(self, "depth", min(max(-math.log(first), SHALLOWEST), DEEPEST))
        bounded(self.sureness, where="sureness", least=0.5, most=0.999)

    def _first(self) -> float:
        """lambda to start with: a vote is asked for while a pool of N of them could still put e* right."""
        if self.start is not None:
            return max(fraction(self.start, where="start"), math.exp(-DEEPEST))
        if self.pool_size is None:
            return 0.002
        size = whole(self.pool_size, where="pool_size")
        return self.target / (size if self.rule == "min_gain" else 1)

    @property
    def asked_for(self) -> float:
        """The target."""
        return self.target

    @property
    def factor(self) -> float:
        """r: errors seen in audits by errors expected there."""
        return (self.audited_errors + self.weight) / (self.audited_doubt + self.weight)

    @property
    def reached(self) -> float:
        """The estimated share of wrong answers so far, E / t; NaN before the first item."""
        return (self._known + self.factor * self._unseen) / self.num_items if self.num_items else math.nan

    @property
    def upper(self) -> float:
        """The share of wrong answers that is not exceeded with probability `sureness`, U / t; NaN before the first."""
        return (self.ahead / self.num_items + self.target) if self.num_items else math.nan

    @property
    def ahead(self) -> float:
        """U - e* t: errors beyond the plan that cannot be ruled out; negative if there are fewer."""
        return self._known + self._unseen_at_most() - self.target * self.num_items

    @property
    def _known(self) -> float:
        """Errors of settled and of audited items."""
        return self.settled_errors + self.seen_errors

    @property
    def _unseen(self) -> float:
        """The belief's own doubt about items that are neither settled nor audited."""
        return max(self.open_doubt - self.seen_doubt, 0.0)

    def _unseen_at_most(self) -> float:
        """The quantile of errors among items not audited: Poisson given r, r Gamma given the audits."""
        per_doubt = self._unseen / (self.audited_doubt + self.weight)
        return errors_at_most(self.factor * self._unseen, per_doubt, self.sureness)

    @property
    def ties(self) -> float:
        """Errors on settled items, by all items: the ties seen, which nobody can avoid; NaN before the first item."""
        return self.settled_errors / self.num_items if self.num_items else math.nan

    @property
    def is_unreachable(self) -> bool:
        """Are the ties of the pool seen so far more than the target allows?"""
        return self.settled_errors > self.target * self.num_items

    @property
    def knob(self) -> float:
        """What the policy's knob should be now."""
        return self.knobs[self.rule]

    @property
    def knobs(self) -> dict[str, float]:
        """The knob by name, for `session.tune(**control.knobs)`."""
        return self._named(self._depth() + self.ahead / (self.pull * self.target))

    def _depth(self) -> float:
        return 0.0 if self.depth is None else self.depth

    def audit_rate_of(self, confidence: float) -> float:
        """The probability of an audit of an unsettled item closed at this confidence."""
        return min(self.audit_rate + self.focus * (1.0 - confidence), 1.0)

    def closed(
        self, *, num_votes: int, confidence: float, settled: bool, audited_error: float | None = None
    ) -> TargetErrorControl:
        """The state after a closed item; `audited_error` in [0, 1] if its pool's verdict is known, None if not.

        A settled item without one counts 1 - confidence, which is its share of a tie where the pool is finite.
        """
        doubt = 1.0 - confidence
        if settled:
            error = doubt if audited_error is None else audited_error
            after = replace(self, settled_errors=self.settled_errors + error)
        else:
            after = self._open(doubt, audited_error)
            error = after.factor * doubt
        rate = max(self.rate, self.warm / (self.num_items + 10.0 * self.warm))
        step = min(max(rate * (error - self.target) / self.target, -MOST_STEP), MOST_STEP)
        depth = min(max(self._depth() + step, SHALLOWEST), DEEPEST)
        return replace(after, depth=depth, num_items=self.num_items + 1)

    def with_audits(self, outcomes: Iterable[tuple[float, float]]) -> TargetErrorControl:
        """The state with these (confidence, error) as all that audits have shown: for panels completed late."""
        after = replace(self, audited_doubt=0.0, audited_errors=0.0, num_audited=0, seen_doubt=0.0, seen_errors=0.0)
        for confidence, error in outcomes:
            after = after._audited(1.0 - confidence, error)
        return after

    def _open(self, doubt: float, audited_error: float | None) -> TargetErrorControl:
        """The estimate after an item closed unsettled, audited or not."""
        after = replace(self, open_doubt=self.open_doubt + doubt)
        return after if audited_error is None else after._audited(doubt, audited_error)

    def _audited(self, doubt: float, error: float) -> TargetErrorControl:
        weight = math.sqrt(self.audit_rate / self.audit_rate_of(1.0 - doubt))  # 1 where audits are evenly drawn
        return replace(
            self,
            audited_doubt=self.audited_doubt + weight * doubt,
            audited_errors=self.audited_errors + weight * error,
            num_audited=self.num_audited + 1,
            seen_doubt=self.seen_doubt + doubt,
            seen_errors=self.seen_errors + error,
        )


def errors_at_most(mean: float, unseen_by_audited: float, sureness: float) -> float:
    """The quantile of errors on items not audited, `mean` of them expected: Poisson given r, r Gamma given the audits.

    `unseen_by_audited`: what the belief expects on them, by what it expected on audited ones. A sureness of 0.5 is the
    mean itself. The gamma distribution of that mean and variance, by Wilson and Hilferty (1931).

    >>> round(errors_at_most(10.0, 0.0, 0.9), 2), round(errors_at_most(10.0, 2.0, 0.9), 2)
    (14.2, 17.31)
    """
    if sureness == 0.5 or mean == 0.0:
        return mean
    variance = mean * (1.0 + unseen_by_audited)  # chance, and r not being known
    ninth = variance / (9.0 * mean * mean)
    root = 1.0 - ninth + _normal_quantile(sureness) * math.sqrt(ninth)
    return float(max(mean * max(root, 0.0) ** 3, mean))


@cache
def _normal_quantile(level: float) -> float:
    return NormalDist().inv_cdf(level)
