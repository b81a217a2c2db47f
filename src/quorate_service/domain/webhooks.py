"""Webhooks of a project and their deliveries: queued in the transaction of the change they report, sent until accepted.

So every change is reported, and nothing that was rolled back. A claim lasts HOLD seconds; if its worker dies, another
sends the same delivery, with the same id. The secret of a webhook is shown once, to its creator; the service stores it
to sign with it. Called by `domain` (`announce`), `sender`, the API and pages.
"""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, func, insert, or_, select, tuple_, update

from quorate.validate import invalid
from quorate_service.access.log import note
from quorate_service.addresses import checked_url
from quorate_service.problems import NotFound
from quorate_service.store import Store
from quorate_service.store.schema import deliveries, pending, webhooks

HOLD = 120.0
BATCH = 64
EACH = 8  # deliveries of one webhook at a time, so that one that is down does not delay the others
FIRST_DELAY, LONGEST_DELAY = 5.0, 3600.0
GIVE_UP = 3 * 86400.0
FARTHEST = 2 * LONGEST_DELAY  # a delivery that is due later than this was written by a clock that was ahead
LONGEST_PROBLEM = 300
KINDS = (
    "item.completed",
    "item.reopened",
    "audit.completed",
    "project.completed",
    "project.learned",
    "project.changed",
)
MOST = 20  # webhooks per project
PING = "ping"


@dataclass(frozen=True, slots=True)
class Due:
    """One delivery to send now."""

    id: str
    webhook_id: str
    url: str
    secret: str
    body: str
    created: float
    attempts: int


def claim(store: Store, *, now: float, but: Collection[str] = ()) -> list[Due]:
    """Claim some due deliveries for HOLD seconds, not of the webhooks `but`; gives up those of removed webhooks."""
    with store.write() as connection:
        gone = select(webhooks.c.id).where(webhooks.c.removed.is_not(None))
        over = update(deliveries).where(_is_due(now), deliveries.c.webhook_id.in_(gone))
        connection.execute(over.values(failed=now, problem="the webhook was removed"))
        claimed = _due(connection, now, but)
        ids = [delivery.id for delivery in claimed]
        connection.execute(update(deliveries).where(deliveries.c.id.in_(ids)).values(due=now + HOLD))
    return claimed


def _is_due(now: float) -> ColumnElement[bool]:
    return and_(pending, or_(deliveries.c.due <= now, deliveries.c.due > now + FARTHEST))


def _due(connection: Connection, now: float, but: Collection[str]) -> list[Due]:
    is_due = and_(_is_due(now), deliveries.c.webhook_id.not_in(but))
    rank = func.row_number().over(partition_by=deliveries.c.webhook_id, order_by=(deliveries.c.due, deliveries.c.id))
    ranked = select(deliveries.c.id, rank.label("rank")).where(is_due).subquery()
    first = select(ranked.c.id).where(ranked.c.rank <= EACH)
    query = select(
        deliveries.c.id, deliveries.c.webhook_id, webhooks.c.url, webhooks.c.secret, deliveries.c.body,
        deliveries.c.created, deliveries.c.attempts,
    )  # fmt: skip
    query = query.join(webhooks, webhooks.c.id == deliveries.c.webhook_id)
    query = query.where(deliveries.c.id.in_(first), is_due)
    query = query.order_by(deliveries.c.due, deliveries.c.id).limit(BATCH)
    rows = connection.execute(query.with_for_update(of=deliveries, skip_locked=True))
    return [Due(**row._mapping) for row in rows]


def delivered(store: Store, due: Due, *, now: float) -> None:
    """Mark a delivery as accepted."""
    values = {"delivered": now, "attempts": due.attempts + 1, "problem": None}
    with store.write() as connection:
        connection.execute(update(deliveries).where(deliveries.c.id == due.id).values(values))


def refused(store: Store, due: Due, waiting: Sequence[Due], problem: str, *, now: float, chance: Random) -> None:
    """Mark a delivery as failed: retry later, or give up. Deliveries `waiting` for the same webhook wait with it.

    The others are then sent first, so that one delivery that is never accepted does not block the rest.
    """
    later = now + delay(due.attempts, chance)
    values = {"attempts": due.attempts + 1, "problem": problem[:LONGEST_PROBLEM], "due": later + 1.0}
    if now - due.created > GIVE_UP:
        values["failed"] = now
    with store.write() as connection:
        _postpone(connection, due.webhook_id, waiting, later)
        connection.execute(update(deliveries).where(deliveries.c.id == due.id).values(values))


def postponed(store: Store, waiting: Sequence[Due], *, until: float) -> None:
    """Postpone these, and everything due earlier for their webhook, so that other webhooks get their turn."""
    with store.write() as connection:
        _postpone(connection, waiting[0].webhook_id, waiting, until)


def _postpone(connection: Connection, webhook_id: str, waiting: Sequence[Due], until: float) -> None:
    others = or_(deliveries.c.due < until, deliveries.c.id.in_([delivery.id for delivery in waiting]))
    same = and_(deliveries.c.webhook_id == webhook_id, pending, others)
    connection.execute(update(deliveries).where(same).values(due=until))


def delay(attempts: int, chance: Random) -> float:
    """Seconds until the next attempt: 5, 10, 20 ... up to an hour, each up to a fifth shorter or longer.

    >>> [round(delay(n, Random(0))) for n in (0, 1, 2, 20)]
    [6, 11, 23, 4096]
    """
    return min(FIRST_DELAY * 2.0 ** min(attempts, 30), LONGEST_DELAY) * chance.uniform(0.8, 1.2)


Notice = tuple[str, Mapping[str, Any]]
"""A kind and its data."""


def announce(connection: Connection, project_id: str, notices: Sequence[Notice], *, now: float) -> None:
    """Queue a delivery of each notice for each webhook of the project that listens to its kind."""
    if not notices:
        return
    wanted = select(webhooks.c.id, webhooks.c.kinds)
    wanted = wanted.where(webhooks.c.project_id == project_id, webhooks.c.removed.is_(None))
    hooks = [(row.id, json.loads(row.kinds)) for row in connection.execute(wanted)]
    rows = [
        _delivery(project_id, hook, kind, content, now)
        for kind, content in notices
        for hook, kinds in hooks
        if kind in kinds
    ]
    if rows:
        connection.execute(insert(deliveries), rows)


def _delivery(project_id: str, hook: str, kind: str, content: Mapping[str, Any], now: float) -> dict[str, Any]:
    delivery = f"d_{secrets.token_hex(12)}"
    body = {"id": delivery, "type": kind, "time": now, "project": project_id, "data": dict(content)}
    return {"id": delivery, "webhook_id": hook, "kind": kind, "body": json.dumps(body), "created": now, "due": now}


def final_answer(row: Mapping[Any, Any]) -> str | None:
    """A closed item's answer: the verdict, else what the whole pool said later, else the consensus; None: none."""
    answer: str | None = row.get("verdict") or row.get("panel") or row["label"]
    return answer


def closed(row: Mapping[str, Any]) -> Notice:
    """The notice that an item has its answer; the confidence is that of the consensus."""
    answer = final_answer(row)
    return "item.completed", {
        "item": row["name"],
        "label": answer,
        "confidence": row["confidence"] if answer is not None and answer == row["label"] else None,
        "num_votes": row["decided_votes"],
        "reason": row["reason"],
    }


@dataclass(frozen=True, slots=True)
class Webhook:
    """An address to which some kinds of events are sent."""

    id: str
    project_id: str
    url: str
    kinds: tuple[str, ...]
    created: float


def create_webhook(
    store: Store,
    project_id: str,
    url: str,
    kinds: Sequence[str],
    *,
    allow_private: bool,
    by: str | None = None,
    now: float,
) -> tuple[Webhook, str]:
    """Create a webhook; returns it and its secret."""
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown or not kinds:
        raise invalid("kinds", unknown or [], f"some of {', '.join(KINDS)}", "choose at least one.")
    chosen = tuple(dict.fromkeys(kinds))
    made = Webhook(f"w_{secrets.token_hex(8)}", project_id, checked_url(url, allow_private=allow_private), chosen, now)
    secret = f"whsec_{base64.b64encode(secrets.token_bytes(32)).decode()}"  # as Standard Webhooks has it
    row = {"id": made.id, "project_id": project_id, "url": url, "secret": secret, "created": now}
    with store.write() as connection:
        here = (webhooks.c.project_id == project_id, webhooks.c.removed.is_(None))
        if connection.execute(select(func.count()).select_from(webhooks).where(*here)).scalar_one() >= MOST:
            raise invalid("webhooks", MOST, f"fewer than {MOST} of a project before another one", "remove one first.")
        connection.execute(insert(webhooks).values(row | {"kinds": json.dumps(chosen)}))
        note(connection, "webhook made", project_id=project_id, by=by, now=now, webhook=made.id, url=url)
    return made, secret


def list_webhooks(store: Store, project_id: str, *, after: str = "", limit: int = 100) -> list[Webhook]:
    """The project's webhooks in order of their ids."""
    query = select(webhooks).where(webhooks.c.project_id == project_id, webhooks.c.removed.is_(None))
    query = query.where(webhooks.c.id > after).order_by(webhooks.c.id).limit(limit)
    with store.read() as connection:
        return [
            Webhook(row.id, row.project_id, row.url, tuple(json.loads(row.kinds)), row.created)
            for row in connection.execute(query)
        ]


def remove_webhook(store: Store, project_id: str, webhook_id: str, *, by: str | None = None, now: float) -> None:
    """Remove a webhook; its pending deliveries are given up."""
    with store.write() as connection:
        _check(connection, project_id, webhook_id)
        connection.execute(update(webhooks).where(webhooks.c.id == webhook_id).values(removed=now))
        note(connection, "webhook removed", project_id=project_id, by=by, now=now, webhook=webhook_id)


def ping(store: Store, project_id: str, webhook_id: str, *, now: float) -> str:
    """Queue an empty delivery, to test the webhook; returns its id."""
    row = _delivery(project_id, webhook_id, PING, {}, now)
    with store.write() as connection:
        _check(connection, project_id, webhook_id)
        connection.execute(insert(deliveries).values(row))
    return str(row["id"])


def list_deliveries(
    store: Store, project_id: str, webhook_id: str, *, before: tuple[float, str] | None = None, limit: int = 100
) -> Sequence[Row[Any]]:
    """A webhook's deliveries, the newest first; `before` is time and id of the last one of the page before."""
    query = select(deliveries).where(deliveries.c.webhook_id == webhook_id)
    if before is not None:
        query = query.where(tuple_(deliveries.c.created, deliveries.c.id) < before)
    with store.read() as connection:
        _check(connection, project_id, webhook_id)
        newest = (deliveries.c.created.desc(), deliveries.c.id.desc())
        return connection.execute(query.order_by(*newest).limit(limit)).all()


def _check(connection: Connection, project_id: str, webhook_id: str) -> None:
    here = (webhooks.c.id == webhook_id, webhooks.c.project_id == project_id, webhooks.c.removed.is_(None))
    if connection.execute(select(webhooks.c.id).where(*here)).one_or_none() is None:
        raise invalid("webhook", webhook_id[:40], "one of this project's", "list them to see it.", error=NotFound)
