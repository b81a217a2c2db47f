"""Gold items: items with a known answer, used only to test voters.

Voters cannot recognise them: they are given out at random instead of the next item, and can be voted on, skipped and
undone like others. Answers are stored as events that the session core never sees ("gold"), so no gold item closes, is
audited, is learned from or uses up a budget. Gold items measure how far the pool's confidence can be trusted, and each
voter's accuracy. Called by the domain, the API and the pages.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import Connection, Row, bindparam, func, select, update

from quorate.audit import draw
from quorate.numerics import share_interval
from quorate.session import Event, Session, class_number, item_session
from quorate.validate import invalid
from quorate_service.domain.events import item_events, record
from quorate_service.domain.item_projection import NO_AUDIT, after_event
from quorate_service.domain.leases import is_new
from quorate_service.domain.listing import find_item
from quorate_service.domain.projects import Project, Projects, not_archived
from quorate_service.domain.votes import Request, VoteContext, VoteWrite
from quorate_service.store.bulk import among
from quorate_service.store.schema import ballots, events, is_gold, items, not_withdrawn

REASON = "gold"  # stop reason in a gold item's row: it is never decided
MOST_REPLAYED = 200  # gold items that `gold_calibration` decides


GOLD = select(items.c.id, items.c.name, items.c.show, bindparam("priority").label("priority"))
GOLD = GOLD.where(items.c.project_id == bindparam("project"), is_gold, not_withdrawn, items.c.set_aside.is_(None))
GOLD = GOLD.where(is_new()).order_by(items.c.num_ballots, items.c.number).limit(bindparam("count"))
GOLD = GOLD.with_for_update(of=items, skip_locked=True)  # those with the fewest answers first


def with_gold(
    connection: Connection, project: Project, voter: str, rows: Sequence[Row[Any]], now: float
) -> list[Row[Any]]:
    """The items a voter is about to be given, each replaced by a gold item with probability `gold_share`.

    A replaced item stays in the queue. Without items to give, or new gold items for this voter, none is replaced.
    """
    share = project.settings.gold_share
    if share == 0.0 or not rows:
        return list(rows)
    keys = [f"{project.coin_key}:gold:{voter}:{row.id}:{now!r}" for row in rows]
    drawn = [audited.audited for audited in draw(keys, share, seed=project.seed)]
    if not any(drawn):
        return list(rows)
    asked = {"project": project.id, "voter": voter, "count": sum(drawn), "priority": rows[0].priority}
    gold_rows = iter(connection.execute(GOLD, asked).all())
    return [next(gold_rows, row) if is_drawn else row for row, is_drawn in zip(rows, drawn, strict=True)]


def gold_values(label: str) -> dict[str, Any]:
    """The values of a gold item's row: never open, never in the queue, nothing to decide."""
    decided = {"label": label, "confidence": 1.0, "reason": REASON, "decided_votes": 0, "to_close": 0}
    out = {"is_open": False, "is_wanted": False, "slots": 0, "closed": None, "closed_event": None}
    return decided | out | NO_AUDIT | {"gold": label}


def answered(context: VoteContext, request: Request, now: float) -> VoteWrite:
    """What an act on a gold item writes: an event that the session never sees, and the number of ballots."""
    row, undone = context.row, request.kind == "retract"  # also of a skip
    if request.kind == "close":
        raise invalid("item", row.name, "an item that is to be decided, not a gold item", "there is nothing to close.")
    what: Event = {"act": context.acted if undone else request.kind}
    if undone:
        what["undone"] = True
    elif request.kind == "vote":
        class_number(request.label or "", context.project.session.classes)
        what["label"] = request.label
    event: Event = {"seq": row.seq + 1, "time": now, "type": "gold", "item": row.name, "voter": request.voter} | what
    out = context.others_out + (undone and request.served)
    values = {"seq": event["seq"], "num_ballots": row.num_ballots + (-1 if undone else 1), "slots": -out}
    return VoteWrite(request, context, event, values, decision=None)


def set_gold(projects_: Projects, project_id: str, name: str, label: str | None, *, by: str, now: float) -> None:
    """Make an item gold with this answer, correct the answer, or (None) make it an ordinary item again.

    An item that voters have acted on cannot change: votes of the pool never become answers to gold, nor the reverse.
    """
    with projects_.store.write() as connection:
        project = not_archived(projects_.get_in(connection, project_id))
        row = find_item(connection, project_id, name, lock=True)
        if label is not None:
            class_number(label, project.session.classes, where="gold")
        if label == row.gold:
            return
        if (label is None) != (row.gold is None):
            _check_untouched(row)
        values = gold_values(label) if label is not None else _decided_again(projects_, connection, project, row)
        out = int(row.is_wanted) - row.slots  # voters who hold the item
        values["slots"] = row.slots if label is not None and row.gold is not None else values["slots"] - out
        connection.execute(update(items).where(items.c.id == row.id).values(values))
        record(connection, project_id, "gold", {"label": label, "was": row.gold}, by=by, now=now, item_id=row.id)


def _check_untouched(row: Row[Any]) -> None:
    """Raise if anybody has acted on the item or it was closed."""
    if row.num_ballots or row.num_abstained or row.closed_event is not None:
        rule = "an open item, or a gold item, that nobody has acted on"
        fix = "add the same content again under another id, with its `gold` answer."
        raise invalid("id", row.name, rule, fix)


def _decided_again(projects_: Projects, connection: Connection, project: Project, row: Row[Any]) -> dict[str, Any]:
    """The values of an ordinary item's row after its first event."""
    session, _ = projects_.item_session(connection, project, row, item_events(connection, row.id))
    decision = session.decision(row.name)
    before = {**row._mapping, "audit": None}
    values = after_event(project, session, row.name, decision, leases_out=0, row=before)
    if not decision.ask:
        rule = "an item that would be open: this one closes without a vote"
        raise invalid("id", row.name, rule, "withdraw it, and add its content again under another id.")
    return values | {"gold": None}


def gold_answers(connection: Connection, item_id: int) -> dict[str, int]:
    """How many voters chose each class for this item."""
    query = select(ballots.c.label, func.count()).where(ballots.c.item_id == item_id, ballots.c.kind == "vote")
    return {label: int(number) for label, number in connection.execute(query.group_by(ballots.c.label))}


@dataclass(frozen=True, slots=True)
class GoldCalibration:
    """On gold items that a whole pool answered, decided as if not gold: the pool's confidence and accuracy."""

    num_items: int
    mean_confidence: float
    right: float
    right_low: float
    right_high: float


def gold_calibration(
    projects_: Projects, connection: Connection, project: Project, cast: Sequence[Row[Any]]
) -> GoldCalibration | None:
    """Decide gold items as if they were not gold, by their answers in order; compare confidence with accuracy.

    Uses the latest `MOST_REPLAYED` items with as many answers as their pool; None if there are none. With fewer
    answers only the clear items would close, and the pool would look better than it is.
    """
    answers: dict[int, list[Row[Any]]] = {}
    for row in cast:
        if row.gold is not None:
            answers.setdefault(row.item_id, []).append(row)
    sizes = select(items.c.id, items.c.pool_size).where(among(items.c.id, "ids"))
    size = {row.id: row.pool_size for row in connection.execute(sizes, {"ids": list(answers)})}
    whole = [item_id for item_id in answers if len(answers[item_id]) >= size[item_id]]
    chosen = whole[:MOST_REPLAYED]
    query = select(items).where(among(items.c.id, "ids"))
    opened = select(events.c.item_id, events.c.body).where(among(events.c.item_id, "ids"), events.c.seq == 1)
    bodies = {item_id: json.loads(body) for item_id, body in connection.execute(opened, {"ids": chosen})}
    now, version_of = projects_.version_now(connection, project), projects_.versions(connection, project)
    sure, right = [], []
    for row in connection.execute(query, {"ids": chosen}).all():
        session, _ = item_session(project.session, [], number=row.number, now=now, version_of=version_of)
        decided = _replayed(session, row, bodies[row.id], answers[row.id][::-1])
        if decided is not None:
            sure.append(decided[1])
            right.append(decided[0] == row.gold)
    if not sure:
        return None
    share = float(np.mean(right))
    return GoldCalibration(len(sure), float(np.mean(sure)), share, *share_interval(share, len(sure)))


def _replayed(
    session: Session, row: Row[Any], opening: dict[str, Any], answers: Sequence[Row[Any]]
) -> tuple[str, float] | None:
    """Label and confidence when the item would close; None if it has too few answers to close."""
    said = opening["prediction"]
    decision = session.open(row.name, said[0] if len(said) == 1 else said, opening["pool_size"], time=0.0)
    for answer in answers:
        if not decision.ask:
            break
        decision = session.vote(row.name, answer.label, voter=answer.voter, time=0.0)
    return None if decision.ask else (decision.label, decision.confidence)
