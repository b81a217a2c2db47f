"""The protocol of controllers, and the budget controller: it sets the policy's parameter as items close. Pure: no I/O.

`state.parameters` are the current parameters for the policy (`session.tune(**state.parameters)`); `state.closed(...)`
returns the state after one more closed item. Called by `streams.replay`, by the service and by users who control a live
session. The controller for a target error is in `streams.target_error`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, Protocol, Self, get_args

from quorate.methods import Method, policy_parameters
from quorate.validate import above_zero, bounded, fraction, invalid, whole

Rule = Literal["error_cost", "threshold"]
SHALLOWEST, DEEPEST = 0.05, 60.0  # limits of -log lambda: e^-0.05 never asks, e^-60 asks until settled
FIRST = 0.01  # initial lambda if neither `start` nor `pool_size` is given: an error cost of 100
RATE, PULL = 0.005, 100.0  # gains of the two terms of the control
MOST_STEP = 0.5  # largest change of the integral term at one item


class Control(Protocol):
    """What a replay needs from a controller: its plan, the current parameter, and an update for each closed item."""

    @property
    def asked_for(self) -> float:
        """The plan: votes per item, or errors per item."""
        ...

    @property
    def reached(self) -> float:
        """The value so far, as known to the controller."""
        ...

    @property
    def ahead(self) -> float:
        """Votes or errors so far beyond `asked_for` times the items closed."""
        ...

    @property
    def parameters(self) -> dict[str, float]:
        """The policy's parameter now, by name."""
        ...

    @property
    def is_unreachable(self) -> bool:
        """Whether the plan can no longer be kept, whatever is asked from now on."""
        ...

    def audit_rate_of(self, confidence: float) -> float:
        """The audit probability of an unsettled item closed at this confidence."""
        ...

    def closed(self, *, num_votes: int, confidence: float, settled: bool, audited_error: float | None = None) -> Self:
        """The state after one more item closed."""
        ...


def rule_parameter(method: Method) -> Rule:
    """The parameter of a method that a controller can change: "error_cost" or "threshold".

    >>> from quorate.methods import method
    >>> rule_parameter(method("value")), rule_parameter(method("infexp"))
    ('error_cost', 'threshold')
    """
    for name in get_args(Rule):
        if name in policy_parameters(method) and method.target == "plurality":
            return name  # type: ignore[no-any-return]
    rule = "a method with a parameter that a controller can set: error_cost or threshold, of the pool's plurality"
    raise invalid("method", method.name, rule, "pass e.g. `method='value'`.")


def check_rule(control: Control, method: Method) -> None:
    """Check that the controller changes a parameter of this method."""
    parameter, (controlled, *_) = rule_parameter(method), control.parameters
    if controlled != parameter:
        rule = f"a controller of `{parameter}`, the parameter of method {method.name!r}"
        raise invalid("control", controlled, rule, f"pass `rule={parameter!r}` to the controller.")


def at_deepest(rule: str, parameter: float) -> bool:
    """Whether a controller has moved this parameter to its limit towards more votes.

    >>> at_deepest("error_cost", BudgetControl(2.0, start=1e300).parameter), at_deepest("threshold", 1.0)
    (True, True)
    """
    return _lambda(rule, parameter) <= math.exp(-DEEPEST) * (1 + 1e-9)


def at_shallowest(rule: str, parameter: float) -> bool:
    """Whether a controller has moved this parameter to its limit towards no votes."""
    return _lambda(rule, parameter) >= math.exp(-SHALLOWEST) * (1 - 1e-9)


def _lambda(rule: str, parameter: float) -> float:
    return 1.0 / parameter if rule == "error_cost" else 1.0 - parameter


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """lambda and the policy's parameter: `error_cost` = 1 / lambda, or `threshold` = 1 - lambda."""

    rule: Rule = "error_cost"

    def _named(self, depth: float) -> dict[str, float]:
        """The parameter for -log lambda = `depth`."""
        depth = min(max(depth, SHALLOWEST), DEEPEST)
        return {self.rule: math.exp(depth) if self.rule == "error_cost" else 1.0 - math.exp(-depth)}

    def _depth_of(self, start: float) -> float:
        """-log lambda of an initial parameter."""
        if self.rule == "error_cost":
            return math.log(above_zero(start, where="start"))
        return -math.log(max(1.0 - fraction(start, where="start"), math.exp(-DEEPEST)))

    def _check(self) -> None:
        """Check the rule."""
        if self.rule not in get_args(Rule):
            raise invalid("rule", self.rule, "'error_cost' or 'threshold'", "pass the method's parameter.")


@dataclass(frozen=True, slots=True)
class BudgetControl(Parameter):
    r"""Hold the votes per item at `budget` B by adjusting lambda (1 / `error_cost`, or 1 - `threshold`).

    Votes per item are roughly proportional to d = -log lambda for every pool size, so log d is controlled. After item t
    (from 0) cost n votes:   w_I -= eta_t (n - B) / max(B, 1),   eta_t = max(rate, 2 / (t + 10))
                             log d = w_I - (spent - B t) / (pull B)
    The first term finds the parameter, quickly at first, then at `rate`; the second compensates for overspending and
    underspending. d stays within [0.05, 60] and w_I stops there, so a budget that cannot be spent does not wind it up.
    `pool_size` sets the start,
    d = 6 log(N + 1) B / (0.65 N); `start` is the initial parameter; without either lambda is 0.01.

    >>> control = BudgetControl(2.0, pool_size=6)
    >>> for votes in (6, 6, 0, 6, 6):
    ...     control = control.closed(num_votes=votes, confidence=1.0, settled=True)
    >>> control.reached, control.ahead, control.parameter < BudgetControl(2.0, pool_size=6).parameter
    (4.8, 14.0, True)
    """

    budget: float
    pool_size: int | None = None
    start: float | None = None
    log_depth: float | None = None
    spent: int = 0
    num_items: int = 0

    def __post_init__(self) -> None:
        """Check the parameters; choose the start."""
        if self.log_depth is not None:
            return
        self._check()
        if bounded(self.budget, where="budget", least=0.0) == 0:
            raise invalid("budget", 0, "votes per item above 0", "to ask nobody use Session.predict.")
        object.__setattr__(self, "log_depth", math.log(min(max(self._first(), SHALLOWEST), DEEPEST)))

    def _first(self) -> float:
        """The initial d = -log lambda; s = B / (0.65 N) is about the budget relative to asking until settled."""
        if self.start is not None:
            return self._depth_of(self.start)
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
    def parameter(self) -> float:
        """The current value of the policy's parameter."""
        return self.parameters[self.rule]

    @property
    def parameters(self) -> dict[str, float]:
        """The parameter by name, for `session.tune(**control.parameters)`."""
        log_depth = min(max(self._log_depth() - self.ahead / (PULL * self.budget), -DEEPEST), DEEPEST)
        return self._named(math.exp(log_depth))

    def _log_depth(self) -> float:
        return 0.0 if self.log_depth is None else self.log_depth

    @property
    def is_unreachable(self) -> bool:
        """False: an overspent budget can still be balanced later."""
        return False

    def audit_rate_of(self, confidence: float) -> float:
        """0: a budget needs no audits."""
        return 0.0

    def closed(
        self, *, num_votes: int, confidence: float, settled: bool, audited_error: float | None = None
    ) -> BudgetControl:
        """The state after an item that cost `num_votes`, including audit votes; the other arguments are not used."""
        rate = max(RATE, 2.0 / (self.num_items + 10.0))
        step = rate * (num_votes - self.budget) / max(self.budget, 1.0)
        log_depth = self._log_depth() - min(max(step, -MOST_STEP), MOST_STEP)
        return replace(
            self,
            log_depth=min(max(log_depth, math.log(SHALLOWEST)), math.log(DEEPEST)),
            spent=self.spent + num_votes,
            num_items=self.num_items + 1,
        )
