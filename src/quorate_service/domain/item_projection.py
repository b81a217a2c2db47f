"""Computes an item's row after an event: the values that the queue, the dashboard and the exports read.

The row is derived from the item's events, which are the source of truth, and the project's settings. Called by `items`
when an item opens and by `ballots` at every act.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from quorate.audit import draw
from quorate.model import is_settled, plurality_shares
from quorate.reasons import is_answered
from quorate.session import ItemState, Session
from quorate.types import Decision, IntArray
from quorate_service.domain.cost import decisions_ahead
from quorate_service.domain.projects import Project
from quorate_service.domain.settings import target_control

NOT_ASKED: dict[str, Any] = {"again": None, "panel": None}
NO_AUDIT: dict[str, Any] = {"audit_rate": None, "audit": None, "audit_loss": None, "is_settled": False} | NOT_ASKED
ABSENT = "absent:"  # prefix of the placeholder voters that an owner took out of an item's pool
OUT_OF_LINE = ("withdrawn", "set_aside")  # columns with the time since when nobody is asked
FARTHEST = 5  # the largest value of `to_close`


def after_event(
    project: Project,
    session: Session,
    name: str,
    decision: Decision,
    *,
    leases_out: int,
    row: Mapping[str, Any] | None,
    decided: bool = True,
) -> dict[str, Any]:
    """The row's values that an event can change, except those on closing.

    `decision`: the session's decision on the item. `row`: the row before, None if the item opens. `decided`: False if
    the event left a closed item's answer unchanged (`is_decided`).
    """
    item = session.item(name)
    absent = [voter for voter in item.ballots if voter.startswith(ABSENT)]
    values = {
        "votes": json.dumps(item.votes.tolist()),
        "num_votes": int(item.votes.sum()),
        "num_abstained": item.abstentions - len(absent),
        "num_late": sum(ballot.late for voter, ballot in item.ballots.items() if voter not in absent),
        "pool_size": item.pool_size - len(absent),
        "is_open": decision.ask,
        "label": answer_of(decision),
        "confidence": decision.confidence,
        "reason": decision.reason,
        "decided_votes": decision.num_votes,
    }
    if decision.ask:
        values |= NO_AUDIT | {"to_close": to_close(session, item)}
    elif row is None or decided:
        values |= _closed(project, name, item, decision)
    else:
        values |= _late(project, item, decision, row)
    out = {"withdrawn": None, "set_aside": None} if row is None else {name: row[name] for name in OUT_OF_LINE}
    return values | asking(values | out, leases_out)


def answer_of(decision: Decision) -> str | None:
    """The answer, of an open item the one that leads; None if the item closed without one."""
    return decision.label if decision.ask or is_answered(decision.num_votes, decision.reason) else None


def is_wanted(row: Mapping[str, Any]) -> bool:
    """Whether the item asks for votes: open, in the audit or asked again, and neither withdrawn nor set aside.

    >>> is_wanted({"is_open": True, "audit": None, "again": None, "withdrawn": None, "set_aside": 12.5})
    False
    """
    asks = row["is_open"] or row["audit"] == "drawn" or row["again"] == "asked"
    return bool(asks) and all(row[name] is None for name in OUT_OF_LINE)


def asking(row: Mapping[str, Any], leases_out: int) -> dict[str, Any]:
    """The values that tell the queue whether to serve the item."""
    wanted = is_wanted(row)
    return {"is_wanted": wanted, "slots": int(wanted) - leases_out}


def audit_draw(values: Mapping[str, Any]) -> dict[str, Any] | None:
    """The audit draw made when the item closed, as stored in the event; None if there was none."""
    if values["is_open"] or values["audit_rate"] is None:
        return None
    return {"rate": values["audit_rate"], "drawn": values["audit"] is not None}


def audit_rate(project: Project, confidence: float) -> float:
    """The probability that an unsettled item that closes at this confidence is drawn for the audit."""
    settings = project.settings
    if settings.target_error is None:
        return settings.audit_rate
    return target_control(settings, settings.target_error).audit_rate_of(confidence)


def loss_of(votes: IntArray, label: int) -> float:
    """The loss of the answer against the pool's settled verdict: 0, 1, or 1 - 1/t in a tie of t."""
    return 1.0 - float(plurality_shares(np.asarray(votes))[label])


def to_close(session: Session, item: ItemState) -> int:
    """The fewest further votes after which the item would close if all went to the leading class; at most FARTHEST.

    If decisions are slow (`cost.AHEAD_SECONDS`), fewer are tried, and the result may be FARTHEST for that reason.
    """
    lead = int(item.standing.label) if item.standing is not None else 0
    after = replace(item, votes=item.votes.copy())
    looks = decisions_ahead(session.method, len(item.votes), item.pool_left, most=FARTHEST - 1)
    for more in range(1, looks + 1):
        after.votes[lead] += 1
        if not session.would_ask(after):
            return more
    return FARTHEST


def votes_to_settle(votes: IntArray, pool_left: int, *, most: int) -> int:
    """The fewest further votes that could settle the verdict, up to `most`: this many can be asked at once."""
    counts = np.array(votes)
    lead = int(counts.argmax())
    left = max(pool_left - int(counts.sum()), 0)
    for more in range(1, min(left, most) + 1):
        counts[lead] += 1
        if is_settled(counts, pool_left):
            return more
    return most if left > most else 1


def _closed(project: Project, name: str, item: ItemState, decision: Decision) -> dict[str, Any]:
    """The audit columns of an item that closes: the loss if it is known already, else the draw; none if unanswered."""
    if answer_of(decision) is None:
        return NO_AUDIT | {"to_close": 0}
    rate = audit_rate(project, decision.confidence)
    if item.pool_left == 0 or is_settled(item.votes, item.pool_left):
        loss = loss_of(item.votes, project.session.classes.index(decision.label))
        return NO_AUDIT | {"is_settled": item.pool_left > 0, "audit_loss": loss, "to_close": 0}
    if rate == 0.0:
        return NO_AUDIT | {"to_close": 0}
    (drawn,) = draw([f"{project.coin_key}:{name}"], rate, seed=project.seed)
    return NO_AUDIT | {"audit_rate": drawn.rate, "audit": "drawn" if drawn.audited else None, "to_close": 1}


def _late(project: Project, item: ItemState, decision: Decision, before: Mapping[str, Any]) -> dict[str, Any]:
    """What a vote after closing changes: the whole pool's verdict may be known now, or, after an undo, no longer."""
    is_over = is_settled(item.votes, item.pool_left)
    values = {"audit": before["audit"] and ("done" if is_over else "drawn"), "panel": None}
    values["again"] = before["again"] and ("done" if is_over else "asked")
    if is_over:
        shares = plurality_shares(np.asarray(item.votes))
        values["panel"] = project.session.classes[int(shares.argmax())] if shares.max() == 1.0 else None
    if before["audit"] is not None:
        label = project.session.classes.index(decision.label)
        return values | {"audit_loss": loss_of(item.votes, label) if is_over else None}
    return values
