"""What the audit sample proves: how many answers can be wrong, at any time, and how well calibrated the confidence is.

Items are drawn for the audit when they close (`item_projection`), then voted on until the pool's verdict is settled
(`queue`); this module reads the outcome with `quorate.audit`. Called by `background`, for the dashboard and the API.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from sqlalchemy import Connection, func, select

from quorate.audit import RunningAudit, audit_of, rounded_up
from quorate.reports.format import counted
from quorate.types import FloatArray
from quorate_service.domain.projects import Project
from quorate_service.store.schema import counted as counted_items
from quorate_service.store.schema import counts_in_audit, has_answer, items

PART = 5000  # rows read at once
CLEAR = 0.2  # shown however few the audits: a bound up to this, or (from `FEWEST` on) a larger share found wrong
FEWEST = 5  # complete audits
DIFFER = "differ from what the whole pool would say"  # a pool can be wrong, too
ENOUGH = 25  # complete audits; if none is wrong, so many give a bound of about `CLEAR` (with 4 of 45 wrong it is 27 %)


@dataclass(frozen=True, slots=True)
class ProjectAudit:
    """`believed_error`: the expected error of all closed items by their posteriors. `measured_low`, `measured_high`:
    the estimate from the audit sample, unbiased once all drawn items are complete; incomplete ones, which are the
    contested ones, count as right in the first and as wrong in the second. Null while no drawn item is complete.

    `most_wrong`: with probability 1 - alpha, at all times simultaneously, no larger share is wrong. `is_informative`:
    False while that bound is trivial. `is_enough`: False while there are too few audits for a statement: with fewer
    than about `num_needed` the bound says more about their number than about the answers, unless it is at most `CLEAR`.
    True also if more than `CLEAR` of at least `FEWEST` complete audits are wrong: bad news is never held back.
    `audited_believed`, `audited_low`, `audited_high`: the same on the drawn items.
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
    is_enough: bool
    num_needed: int
    audited_believed: float | None
    audited_low: float | None
    audited_high: float | None
    sentence: str


@dataclass(frozen=True, slots=True)
class _Seen:
    """Sums over some of the closed items. `audit` covers those that are settled or took part in the draw."""

    audit: RunningAudit  # incomplete items count as wrong, also withdrawn ones
    num_closed: int = 0
    doubt: float = 0.0
    drawn_doubt: float = 0.0
    drawn_loss: float = 0.0
    pending_weight: float = 0.0  # sum of 1 / rate of incomplete items: how much lower the estimate would be if right

    def __add__(self, other: _Seen) -> _Seen:
        return _Seen(*(getattr(self, part.name) + getattr(other, part.name) for part in fields(self)))


def audit_report(connection: Connection, project: Project, *, alpha: float = 0.05) -> ProjectAudit:
    """Read every answered item's draw and outcome: O(closed items) time, constant memory; runs in the background."""
    seen = _closed_items(connection, project)
    audit, num_closed = seen.audit, seen.num_closed
    num_drawn, pending = audit.num_audited, audit.num_incomplete
    complete = num_drawn - pending
    counts: dict[str, Any] = {
        "alpha": alpha, "num_closed": num_closed, "num_settled": audit.num_settled, "num_drawn": num_drawn,
        "num_complete": complete, "num_without_coin": num_closed - audit.num_items,
        "believed_error": seen.doubt / num_closed if num_closed else None,
        "audited_believed": seen.drawn_doubt / num_drawn if complete else None,
        "audited_low": seen.drawn_loss / num_drawn if complete else None,
        "audited_high": (seen.drawn_loss + pending) / num_drawn if complete else None,
    }  # fmt: skip
    if num_closed and audit.num_settled + complete == num_closed:
        return _all_known(counts, audit.known_loss / num_closed)
    if audit.num_items == 0 or (audit.num_items == audit.num_settled and project.settings.audit_rate == 0):
        return _nothing_yet(counts)
    bound = audit.bound(alpha)
    low, high = (_share((audit.estimate - less) / audit.num_items) for less in (seen.pending_weight, 0.0))
    is_informative = bound.is_informative and complete > 0
    needed = _needed(audit)
    is_bad = complete >= FEWEST and seen.drawn_loss > CLEAR * complete
    is_enough = is_bad or (is_informative and (bound.mean <= CLEAR or complete >= needed))
    if is_enough:
        sentence = _found(seen.drawn_loss / complete, complete) if is_bad else ""
        if is_informative:
            sentence += _sentence(bound.mean, alpha, audit.num_items, complete, num_drawn)
        else:
            sentence += f"{complete} audits are too few for a bound on all {audit.num_items:,} closed items."
    else:
        sentence = _too_few(complete, num_drawn, needed) + _advice(connection, project, audit, needed)
    return ProjectAudit(
        measured_low=low if complete else None,
        measured_high=high if complete else None,
        most_wrong=bound.mean,
        is_informative=is_informative,
        is_enough=is_enough,
        num_needed=needed,
        sentence=sentence,
        **counts,
    )


def _needed(audit: RunningAudit) -> int:
    """About how many complete audits make a statement: fewer where votes settled many items, in steps of 5."""
    return max(10, 5 * math.ceil(ENOUGH * _unsettled(audit) / 5 - 1e-9))


def _unsettled(audit: RunningAudit) -> float:
    """The share of closed items that votes did not settle."""
    return 1.0 - audit.num_settled / audit.num_items if audit.num_items else 1.0


def _advice(connection: Connection, project: Project, audit: RunningAudit, needed: int) -> str:
    """What to do if the items that are still open will not bring as many audits as are needed; else empty."""
    rate = project.settings.audit_rate
    still_open = select(func.count()).where(items.c.project_id == project.id, items.c.is_open, counted_items)
    num_open = connection.execute(still_open).scalar_one()
    expected = audit.num_audited + rate * num_open * _unsettled(audit)
    if rate >= 1.0 or expected >= needed:
        return ""
    if num_open == 0:
        return " No item is open any more: raise the audit rate before you add others."
    return f" At the present audit rate about {expected:.0f} will be drawn from this project: raise the rate."


def _closed_items(connection: Connection, project: Project) -> _Seen:
    """Sums over all closed items, read in parts; includes withdrawn ones that took part in the draw."""
    here = (items.c.project_id == project.id, ~items.c.is_open, counts_in_audit, has_answer)
    lowest = connection.execute(select(func.min(items.c.audit_rate)).where(*here, items.c.audit_rate > 0)).scalar_one()
    min_rate = min(lowest or 1.0, project.settings.audit_rate or 1.0)
    columns = (items.c.confidence, items.c.audit_rate, items.c.audit, items.c.audit_loss, items.c.is_settled)
    seen = _Seen(RunningAudit(min_rate))
    for rows in connection.execute(select(*columns).where(*here).execution_options(yield_per=PART)).partitions():
        table = [(r[0], r[1] or 0.0, r[2] is not None, np.nan if r[3] is None else r[3], r[4]) for r in rows]
        seen += _part(np.array(table, dtype=float), min_rate)
    return seen


def _part(table: FloatArray, min_rate: float) -> _Seen:
    """Sums over some items; `table` (items, 5): confidence, rate of the draw, drawn, loss, settled."""
    u, q, drawn, loss, settled = 1.0 - table[:, 0], table[:, 1], table[:, 2] > 0, table[:, 3], table[:, 4] > 0
    counted, losses = settled | (q > 0), np.where(settled, np.nan_to_num(loss), loss)
    return _Seen(
        audit_of(u[counted], q[counted], drawn[counted], losses[counted], settled=settled[counted], min_rate=min_rate),
        num_closed=len(u),
        doubt=float(u.sum()),
        drawn_doubt=float(u[drawn].sum()),
        drawn_loss=float(np.nansum(loss[drawn])),
        pending_weight=float((1 / q[drawn & np.isnan(loss)]).sum()),
    )


def _up(share: float) -> str:
    """In per cent, rounded up to a tenth, so that a positive bound is never shown as zero.

    >>> _up(0.0), _up(0.0001), _up(0.05)
    ('0.0', '0.1', '5.0')
    """
    return f"{rounded_up(100 * share, 0.1):.1f}"


def _share(estimate: float) -> float:
    """An estimated share, clipped to 0 to 1."""
    return min(max(estimate, 0.0), 1.0)


def _all_known(known: dict[str, Any], share: float) -> ProjectAudit:
    """The report when the whole pool's verdict is known for every closed item."""
    num_items, ended = known["num_closed"], known["num_closed"] - known["num_settled"]
    how = [f"votes settled {known['num_settled']:,}"] if known["num_settled"] else []
    how += [f"the whole pool was asked about {ended:,}"] if ended else []
    if share > 0:
        result = f"{_up(share)} % of the {counted(num_items, 'answers')} {DIFFER}, a tie counting in part"
    elif num_items == 1:
        result = "The one answer so far is what the whole pool would say"
    else:
        result = f"All {num_items:,} answers are what the whole pool would say"
    measured = share if known["num_complete"] else None  # of all closed items, and no longer an estimate
    return ProjectAudit(
        measured_low=measured, measured_high=measured, most_wrong=share, is_informative=True, is_enough=True,
        num_needed=0, sentence=f"{result}: {', and '.join(how)}.", **known,
    )  # fmt: skip


def _nothing_yet(known: dict[str, Any]) -> ProjectAudit:
    sentence = "No audit results yet: no closed item was drawn."
    return ProjectAudit(
        measured_low=None, measured_high=None, most_wrong=None, is_informative=False, is_enough=False,
        num_needed=ENOUGH, sentence=sentence, **known,
    )  # fmt: skip


def _too_few(complete: int, drawn: int, needed: int) -> str:
    voted = f"{complete:,} of {counted(drawn, 'drawn items')} {'is' if complete == 1 else 'are'} complete"
    few = "Too few audit results for a statement yet" if complete else "No audit results yet"
    return f"{few}: {voted}. If none differs, about {needed} complete audits are needed."


def _found(share: float, complete: int) -> str:
    return f"{100 * share:.1f} % of the {counted(complete, 'audited answers')} {DIFFER}, a tie counting in part. "


def _sentence(share: float, alpha: float, num_items: int, complete: int, drawn: int) -> str:
    pending = f"; {drawn - complete} more are incomplete and count as wrong" if drawn > complete else ""
    return (
        f"With {100 * (1 - alpha):g} % confidence at most {_up(share)} % of the "
        f"{counted(num_items, 'answers')} {DIFFER}, measured on "
        f"{counted(complete, 'audited items')}{pending}. This holds however often you look."
    )
