"""Random samples of closed items for the full panel: which items are drawn, and what a sample proves at a batch's end.

Each draw depends on the seed and the item's id only: neither the order of the items nor later items change it. The
bound of a finished batch is exact and valid for one look, at the end; `running` has the one for any time. Called by
`commands.audit` and by anyone who audits a live session.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from quorate import validate
from quorate.numerics import hypergeometric_cdf
from quorate.rng import stream


@dataclass(frozen=True, slots=True)
class AuditDraw:
    """One draw: `item` goes to the full panel (`audited`), which had probability `rate`."""

    item: str
    rate: float
    audited: bool


def draw(
    items: Iterable[str], rates: float | Sequence[float], *, seed: int, min_rate: float | None = None
) -> tuple[AuditDraw, ...]:
    """Draw for each item: audited iff U(seed, item) < rate, with U a uniform hash on [0, 1).

    `rates`: one for all, or one per item, each above 0 (and not below `min_rate`, the q_min declared for the running
    bound). The people who close items must not know the seed: choose it afterwards, or let someone else choose it.

    >>> draw(["a", "b", "c", "d"], 0.5, seed=3)[2]
    AuditDraw(item='c', rate=0.5, audited=True)
    >>> draw(["c", "x"], 0.5, seed=3)[0]
    AuditDraw(item='c', rate=0.5, audited=True)
    """
    ids = _ids(items)
    root = validate.whole(seed, where="seed", least=0)
    least = None if min_rate is None else rate_in_range(min_rate, where="min_rate")
    chances = _rates(rates, len(ids), least)
    return tuple(
        AuditDraw(item, rate, bool(stream(root, "audit", item).random() < rate))
        for item, rate in zip(ids, chances, strict=True)
    )


def rate_in_range(value: object, *, where: str = "rate") -> float:
    """A probability of being audited: above 0, at most 1."""
    rate = validate.fraction(value, where=where)
    if rate == 0:
        rule = "a number above 0: without audits nothing can be proved"
        raise validate.invalid(where, value, rule, "raise it.")
    return rate


def level_in_range(alpha: float) -> float:
    """The accepted probability of an error, checked: above 0, below 1."""
    level = validate.fraction(alpha, where="alpha")
    if level in (0.0, 1.0):
        raise validate.invalid("alpha", level, "a number above 0 and below 1", "pass e.g. `alpha=0.05`.")
    return level


def _ids(items: Iterable[str]) -> list[str]:
    """The ids, checked: different, non-empty strings."""
    if isinstance(items, str):
        raise validate.invalid("items", items, "a list of item ids, not one string", "pass e.g. `items=['a', 'b']`.")
    ids = list(items)
    for item in ids:
        if not isinstance(item, str) or not item:
            raise validate.invalid("items", item, "non-empty strings", "pass str(id).")
    if len(set(ids)) != len(ids):
        twice = Counter(ids).most_common(1)[0][0]
        raise validate.invalid("items", twice, "each item once, because each is drawn once", "leave out the second.")
    return ids


def _rates(rates: float | Sequence[float], count: int, least: float | None) -> list[float]:
    """One checked rate per item."""
    array = validate.as_floats(rates, where="rates")
    if array.ndim == 0:
        chances = [rate_in_range(float(array), where="rates")] * count
    elif array.shape == (count,):
        chances = [rate_in_range(float(rate), where="rates") for rate in array]
    else:
        rule = f"one number, or {count}, one per item"
        raise validate.invalid("rates", array.tolist(), rule, "pass e.g. `rates=0.1`.")
    if least is not None and chances and min(chances) < least:
        rule = f"at least `min_rate`, {least:g}, on which the bound relies"
        raise validate.invalid("rates", min(chances), rule, "raise it.")
    return chances


@dataclass(frozen=True, slots=True)
class BatchBound:
    """With confidence 1 - alpha: at most `most_errors` of the `num_unsettled` items are wrong.

    `num_audited` of them were checked, `num_wrong` found wrong. Settled items are not included.
    """

    alpha: float
    num_unsettled: int
    num_audited: int
    num_wrong: int
    most_errors: int


def most_errors(num_unsettled: int, num_audited: int, num_wrong: int, *, alpha: float = 0.05) -> int:
    """max{M : P(Hypergeometric(U, M, n) <= x) > alpha}: the most errors among U items, given x among n checked.

    n of the U items were drawn without replacement and checked, x were wrong. The probability falls as M rises, so M is
    found by bisection between x and U - n + x. Exact: over all draws, the true M exceeds it with probability <= alpha.

    >>> most_errors(2400, 240, 0, alpha=0.05)
    28
    """
    level = level_in_range(alpha)
    whole = validate.whole(num_unsettled, where="num_unsettled", least=0)
    checked = validate.whole(num_audited, where="num_audited", least=0, most=whole)
    wrong = validate.whole(num_wrong, where="num_wrong", least=0, most=checked)
    possible, refuted = wrong, whole - checked + wrong + 1
    while refuted - possible > 1:
        middle = (possible + refuted) // 2
        if hypergeometric_cdf(wrong, whole, middle, checked) > level:
            possible = middle
        else:
            refuted = middle
    return possible


def end_of_batch(
    rates: Sequence[float], audited: Sequence[bool], losses: Sequence[float | None], *, alpha: float = 0.05
) -> BatchBound:
    """The exact bound from the draws of the batch's unsettled items; `losses` are used where audited.

    A panel that was not completed (None) and a shared tie (a loss between 0 and 1) count as errors. With equal rates,
    all sets of audited items of the same size are equally likely: a sample without replacement. Different rates are
    refused: use the running bound. The decisions must not depend on this batch's draws: do not feed audits back before
    its end.

    >>> end_of_batch([0.5] * 6, [True, True, True, False, False, False], [0, 0, 1, None, None, None]).most_errors
    4
    """
    chances = validate.as_floats(rates, where="rates")
    if not len(chances) == len(audited) == len(losses):
        lengths = f"`rates`, `audited` and `losses` have {len(chances)}, {len(audited)} and {len(losses)} entries"
        rule = f"one entry for each unsettled item, and {lengths}"
        raise validate.invalid("rates", chances.tolist(), rule, "pass as many of each, in the same order.")
    if chances.size and np.ptp(chances) > 0:
        rule = (
            f"one rate for all items, not {chances.min():g} to {chances.max():g}: only then is the audit a draw "
            "without replacement, as the exact end-of-batch statement needs"
        )
        raise validate.invalid("rates", chances.tolist(), rule, "use the running bound.")
    audited_losses = [loss for is_audited, loss in zip(audited, losses, strict=True) if is_audited]
    wrong = sum(loss is None or validate.fraction(loss, where="losses") > 0 for loss in audited_losses)
    bound = most_errors(len(chances), len(audited_losses), wrong, alpha=alpha)
    return BatchBound(level_in_range(alpha), len(chances), len(audited_losses), wrong, bound)
