"""The ids of closed, unsettled items, a rate and a seed -> which of them go to the full panel.

Each draw depends on the seed and the item's id only: neither the order of the items nor later items change it.
Called by `workflows.audit` and by anyone who audits a live session.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from quorate import validate
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
        raise validate.broken(where, value, rule, "raise it.")
    return rate


def _ids(items: Iterable[str]) -> list[str]:
    """The ids, checked: different, non-empty strings."""
    if isinstance(items, str):
        raise validate.broken("items", items, "a list of item ids, not one string", "pass e.g. `items=['a', 'b']`.")
    ids = list(items)
    for item in ids:
        if not isinstance(item, str) or not item:
            raise validate.broken("items", item, "non-empty strings", "pass str(id).")
    if len(set(ids)) != len(ids):
        twice = Counter(ids).most_common(1)[0][0]
        raise validate.broken("items", twice, "each item once, because each is drawn once", "leave out the second.")
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
        raise validate.broken("rates", array.tolist(), rule, "pass e.g. `rates=0.1`.")
    if least is not None and chances and min(chances) < least:
        rule = f"at least `min_rate`, {least:g}, on which the bound relies"
        raise validate.broken("rates", min(chances), rule, "raise it.")
    return chances
