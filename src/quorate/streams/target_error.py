"""Controls the share of wrong answers: sets the policy's parameter, corrected by random audits. Pure: no I/O.

Called by `streams.replay`, and by the service for projects with a target error.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from quorate.numerics import normal_quantile
from quorate.streams.control import DEEPEST, MOST_STEP, PULL, RATE, SHALLOWEST, Parameter
from quorate.validate import fraction, invalid, whole

CONFIDENCE_LEVEL = 0.9  # probability of staying within the target; measured in docs/control.md
AUDIT_RATE, FOCUS = 0.05, 1.0
WEIGHT, WARM = 1.0, 2.0


@dataclass(frozen=True, slots=True)
class TargetErrorControl(Parameter):
    r"""Hold the share of wrong answers among closed items at `target` e*, as estimated by random audits.

    u = 1 - confidence is the error the belief expects; audits estimate a correction factor:
        r = (sum of w l + c) / (sum of w u + c)   over audited items, l their error, w = sqrt(audit_rate / probability)
    c = `WEIGHT` errors keep r near 1 until there is evidence: audits find few errors, and without c the control would
    loosen whenever they happen to miss some, so that more errors pass than it counts. The root is a compromise between
    the inverse of the probability (unbiased, noisy) and equal weights (least noisy, unbiased if one factor holds at
    every confidence). The estimate of the errors so far is
        E = errors of settled and audited items (known: a tie is shared) + r times sum of u over the others
    U is the same with the 90 % quantile of the last term, r_U times the sum, and d = -log lambda follows it:
        d = d_I + (U - e* t) / (PULL e*),   d_I += eta_t (r_U u - e*) / e*.
    Audits are drawn with probability `audit_rate` + FOCUS (1 - confidence), at most 1, so that uncertain items, where
    errors are more frequent, are audited more often. `pool_size` N sets the start, lambda = e* / N (e* for a
    threshold); `start` is the initial parameter; without either lambda is 0.002. e* includes the ties of the pool: a
    target below their share cannot be reached; then `is_unreachable` becomes True and the parameter stays at its limit.

    >>> control = TargetErrorControl(0.02, audit_rate=0.1)
    >>> sure = control.closed(num_votes=3, confidence=1.0, settled=True)
    >>> wrong = control.closed(num_votes=3, confidence=0.9, settled=False, audited_error=1.0)
    >>> sure.parameter < control.parameter < wrong.parameter, round(wrong.factor, 2)
    (True, 1.59)
    """

    target: float
    audit_rate: float = AUDIT_RATE
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
        """Check the parameters; choose the start."""
        if self.depth is not None:
            return
        self._check()
        for name in ("target", "audit_rate"):
            if fraction(getattr(self, name), where=name) == 0:
                raise invalid(name, 0, "a number above 0 and at most 1", "raise it.")
        object.__setattr__(self, "depth", min(max(self._first(), SHALLOWEST), DEEPEST))

    def _first(self) -> float:
        """The initial -log lambda: a vote is asked while N such votes could still correct e* errors."""
        if self.start is not None:
            return self._depth_of(self.start)
        if self.pool_size is None:
            return -math.log(0.002)
        size = whole(self.pool_size, where="pool_size")
        first = self.target / (size if self.rule == "error_cost" else 1)
        return -math.log(max(first, math.exp(-DEEPEST)))  # a tiny target divided by the pool size can be 0

    @property
    def asked_for(self) -> float:
        """The target."""
        return self.target

    @property
    def factor(self) -> float:
        """r: errors found in audits divided by errors expected there."""
        return (self.audited_errors + WEIGHT) / (self.audited_doubt + WEIGHT)

    @property
    def reached(self) -> float:
        """The estimated share of wrong answers so far, E / t; NaN before the first item."""
        return (self._known + self.factor * self._unseen) / self.num_items if self.num_items else math.nan

    @property
    def upper(self) -> float:
        """The upper bound of wrong answers at the confidence level, U / t; NaN before the first item."""
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
        """The errors that the belief expects on items neither settled nor audited."""
        return max(self.open_doubt - self.seen_doubt, 0.0)

    def _unseen_at_most(self) -> float:
        """The quantile of errors among items not audited: Poisson given r, r Gamma given the audits."""
        per_doubt = self._unseen / (self.audited_doubt + WEIGHT)
        return errors_at_most(self.factor * self._unseen, per_doubt)

    @property
    def ties(self) -> float:
        """Errors on settled items per item: ties, which cannot be avoided; NaN before the first item."""
        return self.settled_errors / self.num_items if self.num_items else math.nan

    @property
    def is_unreachable(self) -> bool:
        """Whether the ties seen so far exceed the target."""
        return self.settled_errors > self.target * self.num_items

    @property
    def parameter(self) -> float:
        """The current value of the policy's parameter."""
        return self.parameters[self.rule]

    @property
    def parameters(self) -> dict[str, float]:
        """The parameter by name, for `session.tune(**control.parameters)`."""
        return self._named(self._depth() + self.ahead / (PULL * self.target))

    def _depth(self) -> float:
        return 0.0 if self.depth is None else self.depth

    def audit_rate_of(self, confidence: float) -> float:
        """The probability of an audit of an unsettled item closed at this confidence."""
        return min(self.audit_rate + FOCUS * (1.0 - confidence), 1.0)

    def closed(
        self, *, num_votes: int, confidence: float, settled: bool, audited_error: float | None = None
    ) -> TargetErrorControl:
        """The state after a closed item; `audited_error` in [0, 1] if its pool's verdict is known, else None.

        A settled item without one counts 1 - confidence, which for a finite pool is its share of a tie.
        """
        doubt, after = 1.0 - confidence, self
        settled_errors, open_doubt = self.settled_errors, self.open_doubt
        if settled:
            error = doubt if audited_error is None else audited_error
            settled_errors += error
        else:
            open_doubt += doubt
            after = self if audited_error is None else self._audited(doubt, audited_error)
            unseen = max(open_doubt - after.seen_doubt, 0.0)
            error = self._factor_at_most(unseen, after.audited_doubt, after.audited_errors) * doubt
        rate = max(RATE, WARM / (self.num_items + 10.0 * WARM))
        step = min(max(rate * (error - self.target) / self.target, -MOST_STEP), MOST_STEP)
        return replace(
            after,
            depth=min(max(self._depth() + step, SHALLOWEST), DEEPEST),
            num_items=self.num_items + 1,
            settled_errors=settled_errors,
            open_doubt=open_doubt,
        )

    def with_audits(self, outcomes: Iterable[tuple[float, float]]) -> TargetErrorControl:
        """The state with these (confidence, error) as all audit results: for panels completed late."""
        after = replace(self, audited_doubt=0.0, audited_errors=0.0, num_audited=0, seen_doubt=0.0, seen_errors=0.0)
        for confidence, error in outcomes:
            after = after._audited(1.0 - confidence, error)
        return after

    def _audited(self, doubt: float, error: float) -> TargetErrorControl:
        weight = math.sqrt(self.audit_rate / self.audit_rate_of(1.0 - doubt))  # 1 if audits are drawn uniformly
        return replace(
            self,
            audited_doubt=self.audited_doubt + weight * doubt,
            audited_errors=self.audited_errors + weight * error,
            num_audited=self.num_audited + 1,
            seen_doubt=self.seen_doubt + doubt,
            seen_errors=self.seen_errors + error,
        )

    def _factor_at_most(self, unseen: float, audited_doubt: float, audited_errors: float) -> float:
        """r_U: the errors in U for each error that the belief expects.

        d_I follows the errors in U: with the mean, it would fall while U is above the plan, and keep it there.
        """
        factor = (audited_errors + WEIGHT) / (audited_doubt + WEIGHT)
        if not unseen:
            return factor
        return errors_at_most(factor * unseen, unseen / (audited_doubt + WEIGHT)) / unseen


def errors_at_most(mean: float, unseen_by_audited: float) -> float:
    """The 90 % quantile of errors on items not audited: Poisson given r with this mean, r Gamma given the audits.

    `unseen_by_audited`: errors that the belief expects on them, divided by those on audited items. Uses the gamma
    distribution of that mean and variance, by Wilson and Hilferty (1931).

    >>> round(errors_at_most(10.0, 0.0), 2), round(errors_at_most(10.0, 2.0), 2)
    (14.2, 17.31)
    """
    if mean == 0.0:
        return mean
    variance = mean * (1.0 + unseen_by_audited)  # chance, and the uncertainty of r
    ninth = variance / (9.0 * mean * mean)
    root = 1.0 - ninth + normal_quantile(CONFIDENCE_LEVEL) * math.sqrt(ninth)
    return float(max(mean * max(root, 0.0) ** 3, mean))
