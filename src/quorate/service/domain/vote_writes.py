"""Writes the rows for a batch of votes: events, ballots, leases, items and webhook deliveries, one statement per table.

Every item occurs once in a transaction, so that its event is known by the item. Called by `ballots`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row

from quorate.service.domain.events import append_item_events
from quorate.service.domain.notices import Notice, announce, closed
from quorate.service.domain.vote_context import Scene
from quorate.service.domain.vote_types import Request
from quorate.service.store.bulk import change_rows, delete_rows, insert_rows
from quorate.service.store.schema import ballots, items, leases
from quorate.session.journal import Event
from quorate.types import Decision

CHANGED = (  # what an act may change of an item's row
    "votes", "num_votes", "num_ballots", "num_abstained", "num_late", "is_open", "is_wanted", "slots", "to_close",
    "label", "confidence", "reason", "seq", "closed", "first_vote_event", "closed_event", "decided_votes",
    "audit_rate", "audit", "audit_loss", "is_settled",
)  # fmt: skip

ANSWER = ("label", "confidence", "decided_votes", "reason")  # told of a closed item, and again where an undo changes it


@dataclass(frozen=True, slots=True)
class Deed:
    """An act that is allowed: the event it makes, and what becomes of the item's row."""

    request: Request
    scene: Scene
    event: Event
    values: dict[str, Any]
    decision: Decision | None


def perform(connection: Connection, deeds: Sequence[Deed], *, now: float) -> dict[int, int]:
    """Write them; the number of each one's event, by its item."""
    if not deeds:
        return {}
    numbers = append_item_events(connection, [_event_row(deed) for deed in deeds])
    _ballots_and_leases(connection, deeds, now)
    change_rows(connection, items, [_item_row(deed, numbers[deed.scene.row.id]) for deed in deeds])
    told = [notice for deed in deeds for notice in notices_of(deed.scene.row, deed.values)]
    announce(connection, deeds[0].scene.project, told, now=now)
    return numbers


def _event_row(deed: Deed) -> dict[str, Any]:
    request, row = deed.request, deed.scene.row
    ours = {"item_id": row.id, "voter": request.voter, "request": request.request}
    ours |= {"signed_in_by": request.signed_in_by}
    return {"project_id": deed.scene.project.id, "event": deed.event} | ours


def _ballots_and_leases(connection: Connection, deeds: Sequence[Deed], now: float) -> None:
    """A voter who acted never sees the item again; after an undo it is theirs, for as long as any item is."""
    entered, undone, leased, ended = [], [], [], []
    for deed in deeds:
        request, scene = deed.request, deed.scene
        mine = {"item_id": scene.row.id, "voter": request.voter}
        names = mine | {"project_id": scene.project.id}
        if request.kind == "retract":
            undone.append(mine)
            if request.served:
                until = now + scene.project.settings.lease_seconds
                leased.append(names | {"granted": now, "expires": until, "is_out": True})
        elif request.kind != "close":
            entered.append(names | {"kind": request.kind, "label": request.label, "time": now})
            if scene.holds is not None:
                ended.append(mine)
    insert_rows(connection, ballots, entered)
    delete_rows(connection, ballots, undone)
    insert_rows(connection, leases, leased)
    delete_rows(connection, leases, ended)


def _item_row(deed: Deed, number: int) -> dict[str, Any]:
    """All that an act may change, changed or not: one statement serves all items of a transaction."""
    row, values = deed.scene.row._mapping, deed.values
    new = {name: values[name] if name in values else row[name] for name in ("id", *CHANGED)}
    if values.get("closed") is not None:
        new["closed_event"] = number
    if deed.request.kind == "vote" and row["first_vote_event"] is None:
        new["first_vote_event"] = number
    return new


def notices_of(row: Row[Any], values: Mapping[str, Any]) -> list[Notice]:
    """What is told of an item whose row changes to these values."""
    if "is_open" not in values or row.withdrawn is not None:
        return []
    if not values["is_open"] and (row.is_open or any(values[name] != getattr(row, name) for name in ANSWER)):
        return [closed({**values, "name": row.name})]
    if values["is_open"] and not row.is_open:
        return [("item.reopened", {"item": row.name})]
    if values.get("audit") == "done" and row.audit == "drawn":
        return [("audit.completed", {"item": row.name, "loss": values["audit_loss"]})]
    return []
