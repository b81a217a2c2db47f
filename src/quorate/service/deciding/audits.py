"""What the audited items prove: how many answers can be wrong, at any time, and how honest the belief is.

Coins are tossed when items close (`row`), audited items are voted until their verdict is settled (`queue`), and this
reads the outcome with `quorate.audit`. Called by the steward for the dashboard, and by the API.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import Connection, select

from quorate.audit import audit_of
from quorate.service.deciding.projects import Project
from quorate.service.store.schema import items


@dataclass(frozen=True, slots=True)
class AuditReport:
    """`believed_error`: what the posterior says of all closed items. `measured_error`: unbiased, from the coins.

    `most_wrong`: with probability 1 - alpha, at every time at once, no larger share is wrong. `is_informative`: False
    while that says nothing yet. `audited_believed`, `audited_measured`: both, on the audited items alone.
    """

    alpha: float
    num_closed: int
    num_settled: int
    num_drawn: int
    num_complete: int
    num_without_coin: int
    believed_error: float | None
    measured_error: float | None
    most_wrong: float | None
    is_informative: bool
    audited_believed: float | None
    audited_measured: float | None
    sentence: str


def audit_report(connection: Connection, project: Project, *, alpha: float = 0.05) -> AuditReport:
    """Read every closed item's coin and outcome; O(closed items), for the background."""
    columns = (items.c.confidence, items.c.audit_rate, items.c.audit, items.c.audit_loss, items.c.is_settled)
    closed = select(*columns).where(items.c.project_id == project.id, ~items.c.is_open)
    rows = connection.execute(closed.order_by(items.c.closed_event)).all()
    table = np.array([(r[0], r[1] or 0.0, r[2] is not None, np.nan if r[3] is None else r[3], r[4]) for r in rows])
    table = table.reshape(-1, 5).astype(float)
    u, q, drawn, loss, settled = 1.0 - table[:, 0], table[:, 1], table[:, 2] > 0, table[:, 3], table[:, 4] > 0
    counted = settled | (q > 0)
    num_drawn, complete = int(drawn.sum()), drawn & ~np.isnan(loss)
    believed = float(u.mean()) if len(u) else None
    audited = (float(u[complete].mean()), float(loss[complete].mean())) if complete.any() else (None, None)
    known: dict[str, Any] = {
        "alpha": alpha, "num_closed": len(u), "num_settled": int(settled.sum()), "num_drawn": num_drawn,
        "num_complete": int(complete.sum()), "num_without_coin": int((~counted).sum()), "believed_error": believed,
        "audited_believed": audited[0], "audited_measured": audited[1],
    }  # fmt: skip
    rates = q[q > 0]
    if not counted.any() or (len(rates) == 0 and project.settings.audit_rate == 0):
        return _nothing_yet(known)
    min_rate = min([*rates.tolist(), project.settings.audit_rate or 1.0])
    seen = np.where(settled, np.nan_to_num(loss), loss)
    audit = audit_of(u[counted], q[counted], drawn[counted], seen[counted], settled=settled[counted], min_rate=min_rate)
    bound = audit.bound(alpha)
    pending = drawn & np.isnan(loss)
    seen_only = audit_of(  # what is still being voted on counts as believed here, as wrong in the bound
        u[counted], q[counted], (drawn & ~pending)[counted], seen[counted], settled=settled[counted], min_rate=min_rate
    )
    measured = min(max(seen_only.estimate / audit.num_items, 0.0), 1.0)
    sentence = _sentence(bound.mean, alpha, audit.num_items, int(complete.sum()), num_drawn)
    if num_drawn == 0 and settled[counted].all():
        sentence = f"All {audit.num_items:,} closed items are settled: no vote still out could change an answer."
    elif not bound.is_informative:
        sentence = (
            f"Not enough audits yet: {int(complete.sum())} of {num_drawn} drawn items are voted to the end. All that "
            f"is certain is that no more than {100 * bound.mean:.0f} % of the closed items can be wrong."
        )
    return AuditReport(
        measured_error=measured, most_wrong=bound.mean, is_informative=bound.is_informative, sentence=sentence, **known
    )


def _nothing_yet(known: dict[str, Any]) -> AuditReport:
    sentence = "Not enough audits yet: no closed item was drawn."
    return AuditReport(measured_error=None, most_wrong=None, is_informative=False, sentence=sentence, **known)


def _sentence(share: float, alpha: float, num_items: int, complete: int, drawn: int) -> str:
    pending = f", {drawn - complete} still being voted on and counted as wrong" if drawn > complete else ""
    return (
        f"With {100 * (1 - alpha):g} % confidence at most {100 * share:.1f} % of the {num_items:,} closed items are "
        f"wrong, measured on {complete:,} audited items{pending}. This holds however often you look."
    )
