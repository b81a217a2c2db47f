"""Who is asked first about an item, among those present: the better half starts items, the others continue them.

Everybody who asks gets an item, so nobody waits: routing only decides which one. The steward computes reliability
(`people`). Who is present and who goes first is cached: every few seconds one request of each worker looks it up.
Called by `queue`.
"""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from sqlalchemy import Connection, bindparam, select

from quorate.service.store.bulk import among
from quorate.service.store.schema import ballots, leases, stewards

if TYPE_CHECKING:
    from quorate.service.domain.projects import Project

Rule = Literal["any", "agreement", "best"]
RULES: tuple[Rule, ...] = ("any", "agreement", "best")
LOOKED_EVERY = 5.0  # seconds
LEFT_TO_OTHERS = 60.0  # seconds since the last act on an item, after which anybody gets it
PRESENT_SECONDS = 120.0  # since the last act of somebody who holds no item
FREE_OF_CHARGE = 1e-9  # replaces a price of 0 in a project with prices


@dataclass(frozen=True, slots=True)
class _Standing:
    time: float
    first: frozenset[str]


class Routing:
    """Who goes first in each project, cached for a few seconds; safe to share between threads."""

    def __init__(self) -> None:
        self._standings: dict[tuple[str, int], _Standing] = {}
        self._lock = threading.Lock()

    def first(self, connection: Connection, project: Project, *, now: float) -> frozenset[str]:
        """The voters among those present who start items; none where items go to anybody."""
        if project.settings.routing == "any":
            return frozenset()
        key = (project.id, project.version)
        held = self._fresh(key, now)
        if held is None:
            with self._lock:
                held = self._fresh(key, now) or _Standing(now, first_of(_worth(connection, project, now)))
                others = {kept: each for kept, each in self._standings.items() if kept[0] != project.id}
                self._standings = others | {key: held}
        return held.first

    def _fresh(self, key: tuple[str, int], now: float) -> _Standing | None:
        held = self._standings.get(key)
        return held if held is not None and 0.0 <= now - held.time < LOOKED_EVERY else None


def first_of(worth: Mapping[str, float]) -> frozenset[str]:
    """The better half of the people present; nobody if all are equal.

    >>> sorted(first_of({"ada": 0.9, "ben": 0.8, "cem": 0.7, "eve": 0.6}))
    ['ada', 'ben']
    >>> first_of({"ada": 0.9}), first_of({"ada": 0.9, "ben": 0.9})
    (frozenset(), frozenset())
    """
    if len(worth) < 2:
        return frozenset()
    least = sorted(worth.values(), reverse=True)[len(worth) // 2]
    return frozenset(person for person, value in worth.items() if value > least)


def information(accuracy: float, num_classes: int) -> float:
    """The information of one vote about the class, in bits, with equally likely classes and uniform errors.

        log2 K + a log2 a + (1 - a) log2((1 - a) / (K - 1)),   0 at or below chance

    >>> information(1.0, 2), information(0.5, 2), round(information(0.9, 2), 3)
    (1.0, 0.0, 0.531)
    """
    if accuracy <= 1.0 / num_classes:
        return 0.0
    doubt = 1.0 - accuracy
    lost = 0.0 if doubt <= 0.0 else doubt * math.log2(doubt / (num_classes - 1))
    return math.log2(num_classes) + accuracy * math.log2(accuracy) + lost


def _worth(connection: Connection, project: Project, now: float) -> dict[str, float]:
    """What a vote of each person present is worth: agreement with others, or information for its price."""
    mine = (stewards.c.project_id == project.id, stewards.c.task == "people")
    state = json.loads(connection.execute(select(stewards.c.state).where(*mine)).scalar_one_or_none() or "{}")
    known = {each["voter"]: each["reliability"] for each in state.get("people", [])}
    if not known:
        return {}
    present = _present(connection, project, list(known), now)
    mean = sum(known.values()) / len(known)
    reliable = {person: known.get(person, mean) for person in present}
    if project.settings.routing == "agreement":
        return reliable
    settings, num_classes = project.settings, len(project.settings.classes)
    prices = {person: settings.person_prices.get(person, settings.price) for person in present}
    if not any(prices.values()):
        prices = dict.fromkeys(present, 1.0)
    return {
        person: information(value, num_classes) / max(prices[person], FREE_OF_CHARGE)
        for person, value in reliable.items()
    }


HOLDING = select(leases.c.voter).where(
    leases.c.project_id == bindparam("project"), leases.c.is_out, leases.c.expires > bindparam("now")
)
SEEN = select(ballots.c.voter).distinct().where(ballots.c.project_id == bindparam("project"))
SEEN = SEEN.where(among(ballots.c.voter, "voters"), ballots.c.time > bindparam("since"))


def _present(connection: Connection, project: Project, known: Sequence[str], now: float) -> set[str]:
    """The voters who hold an item or have acted recently."""
    holding = connection.execute(HOLDING, {"project": project.id, "now": now}).scalars()
    asked = {"project": project.id, "voters": known, "since": now - PRESENT_SECONDS}
    return {*holding, *connection.execute(SEEN, asked).scalars()}
