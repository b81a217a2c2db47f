"""What owners did (appended only), the price at any time, and items set aside because their image is broken."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Double, case, insert, literal, select

from quorate.service.store.schema import items, owner_actions


@dataclass(frozen=True, slots=True)
class OwnerAction:
    """One thing an owner did. `who`: the account, empty where it is not known. `item`: None if it is of the project."""

    id: int
    time: float
    who: str
    kind: str
    item: str | None
    body: dict[str, Any]

    def as_json(self) -> dict[str, Any]:
        """Everything, by name."""
        names = ("id", "time", "who", "kind", "item", "body")
        return {name: getattr(self, name) for name in names}


def record(
    connection: Connection,
    project_id: str,
    kind: str,
    body: Mapping[str, Any],
    *,
    who: str,
    now: float,
    item_id: int | None = None,
) -> None:
    """Keep one action."""
    row = {"project_id": project_id, "item_id": item_id, "kind": kind, "who": who, "time": now}
    connection.execute(insert(owner_actions).values(row | {"body": json.dumps(dict(body))}))


def list_actions(
    connection: Connection, project_id: str, *, item_id: int | None = None, after: int = 0, limit: int = 100
) -> list[OwnerAction]:
    """Up to `limit` actions, oldest first, of the project or of one item, from the one after number `after`."""
    query = select(owner_actions, items.c.name.label("item")).outerjoin(items, items.c.id == owner_actions.c.item_id)
    query = query.where(owner_actions.c.project_id == project_id, owner_actions.c.id > after)
    if item_id is not None:
        query = query.where(owner_actions.c.item_id == item_id)
    rows = connection.execute(query.order_by(owner_actions.c.id).limit(limit))
    return [OwnerAction(row.id, row.time, row.who, row.kind, row.item, json.loads(row.body)) for row in rows]


@dataclass(frozen=True, slots=True)
class Prices:
    """The prices of a vote over time: each is in force from its time on, the first one also before.

    >>> Prices([(0.0, 0.1), (10.0, 0.5)]).at(9.0), Prices([(0.0, 0.1), (10.0, 0.5)]).at(10.0)
    (0.1, 0.5)
    """

    history: Sequence[tuple[float, float]]

    @property
    def are_all_zero(self) -> bool:
        """Whether votes never cost anything here."""
        return not any(price for _, price in self.history)

    @property
    def only(self) -> float | None:
        """The price, if there was never another one."""
        found = {price for _, price in self.history}
        return found.pop() if len(found) == 1 else None

    def at(self, time: float) -> float:
        """The price in force at this time."""
        past = [price for since, price in self.history if since <= time]
        return past[-1] if past else self.history[0][1]

    def of(self, time: ColumnElement[Any]) -> ColumnElement[Any]:
        """The same in SQL, of a column of times."""
        later = [(time >= since, literal(price, Double)) for since, price in reversed(self.history[1:])]
        first = literal(self.history[0][1], Double)
        return case(*later, else_=first) if later else first


def prices(connection: Connection, project_id: str, *, now: float) -> Prices:
    """The project's prices so far; `now` is the price to take where no history was kept."""
    query = select(owner_actions.c.time, owner_actions.c.body).order_by(owner_actions.c.id)
    query = query.where(owner_actions.c.project_id == project_id, owner_actions.c.kind.in_(("create", "change")))
    told = [(row.time, json.loads(row.body)) for row in connection.execute(query)]
    return Prices([(time, float(body["price"])) for time, body in told if "price" in body] or [(0.0, now)])
