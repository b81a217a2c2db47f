"""What the audited items prove: how many answers can be wrong, at any time, and how honest the belief is.

Coins are tossed when items close (`row`), audited items are voted until their verdict is settled (`queue`), and this
reads the outcome with `quorate.audit`. Called by the steward for the dashboard, and by the API.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import Connection, select

from quorate.audit import RunningAudit, audit_of
from quorate.service.deciding.projects import Project
from quorate.service.store.schema import items
from quorate.types import FloatArray

PART = 5000  # rows read at once


@dataclass(frozen=True, slots=True)
class AuditReport:
    """`believed_error`: what the posterior says of all closed items. `measured_low`, `measured_high`: the estimate from
    the coins, unbiased once all drawn items are voted to the end; those that are not yet, which are the contested ones,
    count as right in one and as wrong in the other. Null while no drawn item is voted to the end.

    `most_wrong`: with probability 1 - alpha, at every time at once, no larger share is wrong. `is_informative`: False
    while that says nothing yet. `audited_believed`, `audited_low`, `audited_high`: the same on the drawn items alone.
    """

    alpha: float
    num_closed: int
    num_settled: int
    num_drawn: int
    num_complete: int
    num_without_coin: int
    believed_error: float | None
    measured_low: float | None
    measured_high: float | None
    most_wrong: float | None
    is_informative: bool
    audited_believed: float | None
    audited_low: float | None
    audited_high: float | None
    sentence: str


def audit_report(connection: Connection, project: Project, *, alpha: float = 0.05) -> AuditReport:
    """Read every closed item's coin and outcome; O(closed items), for the background."""
    table = _closed_items(connection, project)
    u, q, drawn, loss, settled = 1.0 - table[:, 0], table[:, 1], table[:, 2] > 0, table[:, 3], table[:, 4] > 0
    counted = settled | (q > 0)
    num_drawn, complete = int(drawn.sum()), drawn & ~np.isnan(loss)
    believed = float(u.mean()) if len(u) else None
    known: dict[str, Any] = {
        "alpha": alpha, "num_closed": len(u), "num_settled": int(settled.sum()), "num_drawn": num_drawn,
        "num_complete": int(complete.sum()), "num_without_coin": int((~counted).sum()), "believed_error": believed,
        "audited_believed": float(u[drawn].mean()) if complete.any() else None,
        "audited_low": float(np.nan_to_num(loss[drawn], nan=0.0).mean()) if complete.any() else None,
        "audited_high": float(np.nan_to_num(loss[drawn], nan=1.0).mean()) if complete.any() else None,
    }  # fmt: skip
    certain = settled | complete
    if len(u) and certain.all():
        return _all_known(known, np.nan_to_num(loss))
    rates = q[q > 0]
    if not counted.any() or (len(rates) == 0 and project.settings.audit_rate == 0):
        return _nothing_yet(known)
    min_rate = min([*rates.tolist(), project.settings.audit_rate or 1.0])
    seen = np.where(settled, np.nan_to_num(loss), loss)

    def audited(pending: float) -> RunningAudit:
        told = np.where(drawn & np.isnan(seen), pending, seen)
        return audit_of(
            u[counted], q[counted], drawn[counted], told[counted], settled=settled[counted], min_rate=min_rate
        )

    bound = audited(np.nan).bound(alpha)  # what is still being voted on counts as wrong
    num_items, has_any = int(counted.sum()), bool(complete.any())
    low, high = ((_share(audited(pending).estimate / num_items) if has_any else None) for pending in (0.0, 1.0))
    is_informative = bound.is_informative and has_any
    say = _sentence if is_informative else _too_few
    sentence = say(bound.mean, alpha, num_items, int(complete.sum()), num_drawn)
    return AuditReport(
        measured_low=low, measured_high=high, most_wrong=bound.mean, is_informative=is_informative, sentence=sentence,
        **known,
    )  # fmt: skip


def _closed_items(connection: Connection, project: Project) -> FloatArray:
    """Confidence, coin's rate, drawn, loss and settled of every closed item, in order: (items, 5).

    Read in parts: 40 bytes an item stay in memory, not the rows.
    """
    columns = (items.c.confidence, items.c.audit_rate, items.c.audit, items.c.audit_loss, items.c.is_settled)
    closed = select(*columns).where(items.c.project_id == project.id, ~items.c.is_open).order_by(items.c.closed_event)
    parts = [np.empty((0, 5))]
    for rows in connection.execute(closed.execution_options(yield_per=PART)).partitions():
        told = [(r[0], r[1] or 0.0, r[2] is not None, np.nan if r[3] is None else r[3], r[4]) for r in rows]
        parts.append(np.array(told, dtype=float))
    return np.concatenate(parts)


def _share(estimate: float) -> float:
    """An estimated share, within what a share can be."""
    return min(max(estimate, 0.0), 1.0)


def _all_known(known: dict[str, Any], loss: FloatArray) -> AuditReport:
    """Nothing is left to chance: of every closed item it is known what the whole pool says."""
    num_items, ended = known["num_closed"], known["num_closed"] - known["num_settled"]
    share = float(loss.mean())
    how = [f"votes settled {known['num_settled']:,}"] if known["num_settled"] else []
    how += [f"{ended:,} {'was' if ended == 1 else 'were'} voted to the end"] if ended else []
    if share > 0:
        said = f"{_percent(share)} % of the {_count(num_items, 'answer')} are wrong for certain, a tie counting in part"
    else:
        said = (
            "The one answer so far cannot be wrong"
            if num_items == 1
            else f"None of the {num_items:,} answers can be wrong"
        )
    measured = share if known["num_complete"] else None  # of all closed items, and no longer an estimate
    return AuditReport(
        measured_low=measured, measured_high=measured, most_wrong=share, is_informative=True,
        sentence=f"{said}: {', and '.join(how)}.", **known,
    )  # fmt: skip


def _nothing_yet(known: dict[str, Any]) -> AuditReport:
    sentence = "Not enough audits yet: no closed item was drawn."
    return AuditReport(
        measured_low=None, measured_high=None, most_wrong=None, is_informative=False, sentence=sentence, **known
    )


def _too_few(share: float, _alpha: float, _num_items: int, complete: int, drawn: int) -> str:
    voted = f"of {_count(drawn, 'drawn item')} {complete:,} {'is' if complete == 1 else 'are'} voted to the end"
    return (
        f"Not enough audits yet: {voted}. All that is certain is that no more than {100 * share:.0f} % of the closed "
        "items can be wrong."
    )


def _sentence(share: float, alpha: float, num_items: int, complete: int, drawn: int) -> str:
    pending = f", {drawn - complete} still being voted on and counted as wrong" if drawn > complete else ""
    return (
        f"With {100 * (1 - alpha):g} % confidence at most {_percent(share)} % of the "
        f"{_count(num_items, 'closed item')} are wrong, measured on "
        f"{_count(complete, 'audited item')}{pending}. This holds however often you look."
    )


def _percent(share: float) -> str:
    """Rounded up, to a tenth: a bound that is not zero is never said to be.

    >>> _percent(0.0), _percent(0.0001), _percent(0.05)
    ('0.0', '0.1', '5.0')
    """
    return f"{math.ceil(1000 * share - 1e-9) / 10:.1f}"


def _count(number: int, noun: str) -> str:
    """A number and its noun.

    >>> _count(1, "audited item"), _count(1200, "audited item")
    ('1 audited item', '1,200 audited items')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
