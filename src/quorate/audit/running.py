r"""Closed items one by one, with their audits -> how many can be wrong, at any time.

`RunningAudit` is a value: `update` and `settle` return the next one, `bound(alpha)` reads it. `running_totals` does the
same for arrays of streams. Called by `commands.audit`, by dashboards and by the coverage simulation.

Why the bound holds. Item i has u_i and q_i fixed before its draw A_i, and an unknown loss l_i in [0, 1].
Y = -(A/q)(l - u) has mean u - l and is at least -c, c = 1/q_min. For such Y and 0 <= c x < 1,
exp(x Y - psi(x) Y^2) <= 1 + x Y with psi(x) = (-log(1 - c x) - c x) / c^2 (Fan, Grama and Liu, 2015), so with
X = u - Y, which has mean l,

    E exp(x (l - X) - psi(x) (X - u)^2) <= (1 + x (u - l)) exp(x (l - u)) <= 1.

Products over items, and means over eight values of x, are nonnegative supermartingales that start at 1; by Ville's
inequality the mean ever reaches 1/alpha with probability at most alpha. It grows with sum(l), so the sum(l) at which it
equals 1/alpha is an upper bound at all times at once.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from quorate import validate
from quorate.audit.sampling import level_in_range, rate_in_range
from quorate.types import FloatArray

SCALED = np.linspace(0.05, 0.9, 8)  # c * lambda_j: small ones suit long streams with many errors, large ones few errors
SCALED.flags.writeable = False
_PSI = -np.log1p(-SCALED) - SCALED  # c^2 * psi(lambda_j)
_MOST_STEPS = 100


@dataclass(frozen=True, slots=True)
class Bound:
    """With probability 1 - alpha, at every time at once: the losses of the closed items sum to at most `total`.

    `mean` = total / num_items, where the items include settled ones. `estimate` is the unbiased sum of X (it may be
    negative). `is_informative` is False while every unaudited item may be wrong: show "not enough audits yet".
    """

    alpha: float
    num_items: int
    total: float
    estimate: float
    is_informative: bool

    @property
    def mean(self) -> float:
        """The largest share of the closed items that can be wrong; 1 while there are none."""
        return self.total / self.num_items if self.num_items else 1.0


@dataclass(frozen=True, slots=True)
class RunningAudit:
    """The state of an audit over the closed items so far; starts as `RunningAudit(min_rate=q_min)`.

    `min_rate` q_min, declared before the first draw   `num_settled` of `num_items`: no draw, loss known (0 unless tied)
    `num_incomplete` of `num_audited`: panels that could not be completed (yet)   `known_loss` losses seen, plus 1 for
    each incomplete panel   `estimate` sum of X   `sums` (8,) exponents (see above)

    >>> audit = RunningAudit(min_rate=0.2)
    >>> for number in range(300):
    ...     audit = audit.update(expected_loss=0.02, rate=0.2, audited=number % 5 == 0, loss=0.0)
    >>> audit = audit.settle()
    >>> bound = audit.bound(0.05)
    >>> audit.num_items, audit.num_audited, round(bound.total, 1), round(bound.mean, 3), bound.is_informative
    (301, 60, 23.8, 0.079, True)
    """

    min_rate: float
    num_items: int = 0
    num_settled: int = 0
    num_audited: int = 0
    num_incomplete: int = 0
    known_loss: float = 0.0
    settled_loss: float = 0.0
    estimate: float = 0.0
    sums: tuple[float, ...] = (0.0,) * len(SCALED)

    def __post_init__(self) -> None:
        """Refuse a rate outside (0, 1]."""
        object.__setattr__(self, "min_rate", rate_in_range(self.min_rate, where="min_rate"))

    @property
    def num_unaudited(self) -> int:
        """Closed items that are neither settled nor audited."""
        return self.num_items - self.num_settled - self.num_audited

    def settle(self, loss: float = 0.0) -> RunningAudit:
        """Add a settled item: it is not drawn, and its loss is known.

        The loss is 0, or 1 - 1/t if the whole pool has voted and the answer is one of t tied classes.
        """
        settled_loss = validate.fraction(loss, where="loss")
        return replace(
            self,
            num_items=self.num_items + 1,
            num_settled=self.num_settled + 1,
            known_loss=self.known_loss + settled_loss,
            settled_loss=self.settled_loss + settled_loss,
            estimate=self.estimate + settled_loss,
        )

    def update(self, *, expected_loss: float, rate: float, audited: bool, loss: float | None = None) -> RunningAudit:
        """Add a closed, unsettled item; O(8).

        `expected_loss` u = 1 - confidence and `rate` q, both fixed before the draw; `audited` the draw; `loss` by the
        full panel, None if the panel is not complete, which counts as wrong. Ignored if not audited.
        """
        u = validate.fraction(expected_loss, where="expected_loss")
        q = rate_in_range(rate)
        if q < self.min_rate:
            rule = f"at least `min_rate`, {self.min_rate:g}, on which the bound relies"
            raise validate.invalid("rate", q, rule, "declare the lowest rate before the first draw.")
        if not audited:
            return self._with(log_terms(u, 0.0, min_rate=self.min_rate), u)
        seen = 1.0 if loss is None else validate.fraction(loss, where="loss")
        residual = (seen - u) / q
        if loss is None:
            terms = worst_log_terms(u, q, min_rate=self.min_rate)
        else:
            terms = log_terms(u, residual, min_rate=self.min_rate)
        return replace(
            self._with(terms, u + residual),
            num_audited=self.num_audited + 1,
            num_incomplete=self.num_incomplete + (loss is None),
            known_loss=self.known_loss + seen,
        )

    def _with(self, terms: FloatArray, estimate: float) -> RunningAudit:
        sums = tuple(old + float(new) for old, new in zip(self.sums, terms, strict=True))
        return replace(self, num_items=self.num_items + 1, estimate=self.estimate + estimate, sums=sums)

    def __add__(self, other: RunningAudit) -> RunningAudit:
        """The audit of the items of both: a long stream can be read in parts, in any order.

        >>> one = RunningAudit(min_rate=0.2).update(expected_loss=0.02, rate=0.2, audited=True, loss=0.0)
        >>> (one + one).num_audited, (one + one).sums == one.update(
        ...     expected_loss=0.02, rate=0.2, audited=True, loss=0.0).sums
        (2, True)
        """
        if self.min_rate != other.min_rate:
            rule = f"{self.min_rate:g}, as in the other part"
            raise validate.invalid("min_rate", other.min_rate, rule, "pass the lowest rate of all to both parts.")
        added = {
            field.name: getattr(self, field.name) + getattr(other, field.name)
            for field in fields(self)
            if field.name not in ("min_rate", "sums")
        }
        return replace(self, **added, sums=tuple(a + b for a, b in zip(self.sums, other.sums, strict=True)))

    def bound(self, alpha: float = 0.05) -> Bound:
        """The largest sum of losses not refuted at level alpha: where the mean of the exponentials is 1/alpha.

        At least the losses seen, at most these plus one for each item not audited: both are certain.
        """
        level = level_in_range(alpha)
        solved = float(solve_total(np.array(self.sums), min_rate=self.min_rate, alpha=level)) + self.settled_loss
        highest = self.known_loss + self.num_unaudited
        total = min(max(solved, self.known_loss), highest)
        informative = self.num_items > 0 and (self.num_unaudited == 0 or (self.num_audited > 0 and total < highest))
        return Bound(level, self.num_items, total, self.estimate, informative)


def running_totals(
    expected_loss: FloatArray,
    rate: FloatArray,
    audited: NDArray[np.bool_],
    loss: FloatArray,
    *,
    settled: NDArray[np.bool_] | None = None,
    min_rate: float,
    alpha: float = 0.05,
) -> FloatArray:
    """`RunningAudit(...).bound(alpha).total` after each item of each stream: arrays (..., T) -> (..., T).

    `loss` is used only where `audited` (nan: panel not complete) and where `settled` (the known loss).

    >>> audited = np.arange(300) % 5 == 0
    >>> u, q, loss = np.full(300, 0.02), np.full(300, 0.2), np.zeros(300)
    >>> running_totals(u, q, audited, loss, min_rate=0.2)[[9, 99, 299]].round(1)
    array([ 8. , 23.7, 23.8])
    """
    level = level_in_range(alpha)
    streams = _checked_streams(expected_loss, rate, audited, loss, settled, min_rate)
    fixed = np.where(streams.known, streams.loss, 0.0).cumsum(axis=-1)
    observed = fixed + np.where(streams.drawn, streams.loss, 0.0).cumsum(axis=-1)
    highest = observed + (~streams.drawn & ~streams.known).cumsum(axis=-1)
    solved = solve_total(streams.terms().cumsum(axis=-2), min_rate=streams.min_rate, alpha=level) + fixed
    return np.asarray(np.clip(solved, observed, highest))


def audit_of(
    expected_loss: FloatArray,
    rate: FloatArray,
    audited: NDArray[np.bool_],
    loss: FloatArray,
    *,
    settled: NDArray[np.bool_] | None = None,
    min_rate: float,
) -> RunningAudit:
    """The `RunningAudit` after all items of one stream: arrays (T,), as in `running_totals`.

    >>> u, q, audited = np.full(300, 0.02), np.full(300, 0.2), np.arange(300) % 5 == 0
    >>> round(audit_of(u, q, audited, np.zeros(300), min_rate=0.2).bound(0.05).total, 1)
    23.8
    """
    streams = _checked_streams(expected_loss, rate, audited, loss, settled, min_rate)
    u, q, drawn, losses = streams.u, streams.q, streams.drawn, streams.loss
    settled_loss = float(losses[streams.known].sum())
    estimate = u[~streams.known].sum() + ((losses[drawn] - u[drawn]) / q[drawn]).sum()
    return RunningAudit(
        min_rate=streams.min_rate,
        num_items=len(u),
        num_settled=int(streams.known.sum()),
        num_audited=int(drawn.sum()),
        num_incomplete=int(streams.missing.sum()),
        known_loss=settled_loss + float(losses[drawn].sum()),
        settled_loss=settled_loss,
        estimate=settled_loss + float(estimate),
        sums=tuple(streams.terms().sum(axis=0).tolist()),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Streams:
    """Checked arrays of one shape (..., T). `loss` is 1 where a panel is `missing`; `known`: settled items."""

    u: FloatArray
    q: FloatArray
    drawn: NDArray[np.bool_]
    missing: NDArray[np.bool_]
    loss: FloatArray
    known: NDArray[np.bool_]
    min_rate: float

    def terms(self) -> FloatArray:
        """The terms that each item adds to the exponents, (..., T, 8)."""
        residual = np.where(self.drawn, (np.where(self.drawn, self.loss, 0.0) - self.u) / self.q, 0.0)
        terms = log_terms(self.u, residual, min_rate=self.min_rate)
        missing = self.missing
        if missing.any():
            terms[missing] = worst_log_terms(self.u[missing], self.q[missing], min_rate=self.min_rate)
        terms[self.known] = 0.0
        return terms


def _checked_streams(
    expected_loss: FloatArray,
    rate: FloatArray,
    audited: NDArray[np.bool_],
    loss: FloatArray,
    settled: NDArray[np.bool_] | None,
    min_rate: float,
) -> _Streams:
    """The arrays of `running_totals` and `audit_of`, checked."""
    least = rate_in_range(min_rate, where="min_rate")
    u, q, seen = (
        validate.as_floats(values, where=where)
        for values, where in ((expected_loss, "expected_loss"), (rate, "rate"), (loss, "loss"))
    )
    is_settled = np.zeros(u.shape, dtype=bool) if settled is None else np.asarray(settled, dtype=bool)
    drawn = np.asarray(audited, dtype=bool)
    shapes = {array.shape for array in (u, q, drawn, seen, is_settled)}
    if len(shapes) != 1 or u.ndim == 0:
        rule = f"one shape (..., T) for it and all other arrays, not {sorted(shapes)}"
        raise validate.invalid("expected_loss", u, rule, "broadcast them.")
    drawn = drawn & ~is_settled
    missing = drawn & np.isnan(seen)
    _refuse(~is_settled & ~((u >= 0) & (u <= 1)), u, "expected_loss", "in [0, 1]")
    _refuse(~is_settled & ~((q >= least) & (q <= 1)), q, "rate", f"in [min_rate, 1] = [{least:g}, 1]")
    _refuse(is_settled & ~((seen >= 0) & (seen <= 1)), seen, "loss", "in [0, 1] for settled items")
    _refuse(drawn & ~missing & ~((seen >= 0) & (seen <= 1)), seen, "loss", "in [0, 1], or nan")
    losses = np.where(missing, 1.0, seen)
    return _Streams(
        np.where(is_settled, 0.0, u), np.where(is_settled, 1.0, q), drawn, missing, losses, is_settled, least
    )


def _refuse(bad: NDArray[np.bool_], values: FloatArray, where: str, rule: str) -> None:
    if bad.any():
        raise validate.invalid(
            where, float(values[bad].flat[0]), f"numbers {rule}", "correct the record of these items."
        )


def lambdas(min_rate: float) -> FloatArray:
    """lambda_j = SCALED_j / c, with c = 1 / min_rate; (8,)."""
    return SCALED * min_rate


def log_terms(expected_loss: FloatArray | float, residual: FloatArray | float, *, min_rate: float) -> FloatArray:
    """What items add to each exponent: -lambda_j X - psi(lambda_j) (X - u)^2; (...,) -> (..., 8).

    `residual` = X - u = (A / q) (l - u): 0 for an item that was not audited.
    """
    gap = np.asarray(residual)[..., None]
    drift = (np.asarray(expected_loss)[..., None] + gap) * lambdas(min_rate)
    return np.asarray(-drift - gap**2 * (_PSI * min_rate**2))


def worst_log_terms(expected_loss: FloatArray | float, rate: FloatArray | float, *, min_rate: float) -> FloatArray:
    """As `log_terms`, for an audited item whose loss is unknown: the least it can add, for each lambda.

    The exponent is concave in the loss, so its minimum is at loss 0 or 1: at 1 unless u is above 0.82. The bound with
    these terms is never below the bound with the true loss.
    """
    right = log_terms(expected_loss, -expected_loss / rate, min_rate=min_rate)
    wrong = log_terms(expected_loss, (1 - expected_loss) / rate, min_rate=min_rate)
    return np.minimum(right, wrong)


def solve_total(sums: FloatArray, *, min_rate: float, alpha: float) -> FloatArray:
    """The L at which mean_j exp(lambda_j L + sums_j) = 1/alpha; sums (..., 8) -> (...,).

    Newton's method on the logarithm, which is convex and increasing in L, starting where one term alone reaches
    1/alpha, i.e. above the solution: the steps decrease and never pass it, so even an early stop would give a bound.
    """
    rates = lambdas(min_rate)
    target = np.log(len(SCALED) / alpha)
    total: FloatArray = np.asarray(((target - sums) / rates).min(axis=-1))
    for _ in range(_MOST_STEPS):
        exponents = rates * total[..., None] + sums
        top = exponents.max(axis=-1)
        weights = np.exp(exponents - top[..., None])
        mass = weights.sum(axis=-1)
        step = (np.log(mass) + top - target) * mass / (weights * rates).sum(axis=-1)
        total = total - np.maximum(step, 0.0)
        if np.all(step <= 1e-12 * (1 / min_rate + np.abs(total))):
            break
    return total
