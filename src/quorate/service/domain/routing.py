"""Which item goes to whom, among those present.

`agreement`: the better half of the people starts items, the others continue them. `best`: an item goes to the person
whose vote carries most information about its class per cost. Everybody who asks gets an item, so nobody waits: routing
only decides which one. The steward computes what is known of people (`people`); every few seconds a request of each
worker looks it up and caches it for the others. Called by `queue`.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from sqlalchemy import ColumnElement, Connection, Row, and_, bindparam, exists, select

from quorate.experts.person import LEAST_COST
from quorate.service.store.bulk import among
from quorate.service.store.schema import ballots, items, leases, stewards
from quorate.types import FloatArray

if TYPE_CHECKING:
    from quorate.service.domain.projects import Project

Rule = Literal["any", "agreement", "best"]
RULES: tuple[Rule, ...] = ("any", "agreement", "best")
LOOKED_EVERY = 5.0  # seconds
LEFT_TO_OTHERS = 60.0  # seconds that a started item, or the first in the queue, is reserved for others
PRESENT_SECONDS = 120.0  # since the last act of somebody who holds no item
MOST_CANDIDATES = 16  # items at the front of the queue that are considered
MOST_COMPARED = 64  # people present with whom the caller is compared
MOST_REMEMBERED = 10_000  # items whose time at the front of the queue is cached
ROUND_OFF = 1e-9  # of information per cost


@dataclass(frozen=True, slots=True)
class Suits:
    """How informative votes of the people present are. `accuracy` (P, K) on items of each class, `cost` (P,) of a vote.

    `known` accuracy of everybody measured, `of_all` (K,) their mean, for others; `prices` by voter, and of others
    """

    people: tuple[str, ...]
    accuracy: FloatArray
    cost: FloatArray
    known: Mapping[str, FloatArray]
    of_all: FloatArray
    prices: Mapping[str, float]
    price: float

    def scores(self, voter: str, beliefs: FloatArray, has_met: Sequence[Collection[str]]) -> FloatArray:
        """(C,) the voter's information about each item per cost, less that of the best other person who may be asked.

        `beliefs` (C, K) about the items, `has_met` who cannot be asked about each. All 0 if nobody else is present.
        """
        others = [n for n, name in enumerate(self.people) if name != voter][:MOST_COMPARED]
        if not others:
            return np.zeros(len(beliefs))
        own, cost = self.known.get(voter, self.of_all), self.prices.get(voter, self.price)
        mine = information(own[None], beliefs)[0] / cost
        theirs = information(self.accuracy[others], beliefs) / self.cost[others, None]  # (P - 1, C)
        names = [self.people[n] for n in others]
        may = np.array([[name not in met for met in has_met] for name in names])
        return np.asarray(mine - np.where(may, theirs, 0.0).max(axis=0))


@dataclass(frozen=True, slots=True)
class Presence:
    """The people present at `time`: who starts items (`agreement`), or how informative their votes are (`best`)."""

    time: float
    first: frozenset[str] = frozenset()
    suits: Suits | None = None


class Routing:
    """What is known of the people present in each project, cached for a few seconds; safe to share between threads."""

    def __init__(self) -> None:
        self._cached: dict[tuple[str, int], Presence] = {}
        self._first_since: dict[int, float] = {}
        self._lock = threading.Lock()

    def now(self, connection: Connection, project: Project, *, now: float) -> Presence:
        """Who is present and what their votes are worth; empty if items go to anybody."""
        if project.settings.routing == "any":
            return Presence(now)
        key = (project.id, project.version)
        held = self._cached.get(key)
        if held is None or not 0.0 <= now - held.time < LOOKED_EVERY:
            held = _presence_of(connection, project, now)  # without the lock: no request waits for another's queries
            with self._lock:
                others = {kept: each for kept, each in self._cached.items() if kept[0] != project.id}
                self._cached = others | {key: held}
        return held

    def best_of(
        self, suits: Suits, voter: str, rows: Sequence[Row[Any]], has_met: Sequence[Collection[str]],
        classes: Sequence[str], count: int, now: float,
    ) -> list[int]:  # fmt: skip
        """The ids of the `count` items to give the voter, the best first. `rows` are candidates in the queue's order.

        An item that has been first in the queue for `LEFT_TO_OTHERS` seconds is chosen next, for anybody, so that no
        item waits forever. Each worker measures this time by its own requests.
        """
        scores = np.round(suits.scores(voter, beliefs_of(rows, classes), has_met) / ROUND_OFF)
        with self._lock:
            if now - self._first_since.setdefault(rows[0].id, now) >= LEFT_TO_OTHERS:
                scores[0] = np.inf
            while len(self._first_since) > MOST_REMEMBERED:  # drop the oldest: long closed
                del self._first_since[next(iter(self._first_since))]
        return [rows[c].id for c in np.argsort(-scores, kind="stable")[:count]]

    def given(self, ids: Iterable[int]) -> None:
        """These items were given to somebody: from now on they wait anew."""
        with self._lock:
            for item_id in ids:
                self._first_since.pop(item_id, None)


def is_new() -> ColumnElement[bool]:
    """The condition that the voter has neither acted on the item nor holds it."""
    voted = exists().where(ballots.c.item_id == items.c.id, ballots.c.voter == bindparam("voter"))
    holds = exists().where(leases.c.item_id == items.c.id, leases.c.voter == bindparam("voter"), leases.c.is_out)
    return and_(~voted, ~holds)  # with ~or_(...) PostgreSQL would read all ballots of the voter


CANDIDATES = select(items.c.id, items.c.priority, items.c.votes, items.c.label, items.c.confidence)
CANDIDATES = CANDIDATES.where(items.c.project_id == bindparam("project"), items.c.is_wanted, items.c.slots > 0)
CANDIDATES = CANDIDATES.order_by(items.c.priority.desc(), items.c.to_close, items.c.number).limit(MOST_CANDIDATES)
CANDIDATES = CANDIDATES.where(is_new())


def candidates(connection: Connection, project: Project, voter: str) -> list[Row[Any]]:
    """Items at the front of the queue that the voter has not met, only those of the highest priority; not locked."""
    rows = connection.execute(CANDIDATES, {"project": project.id, "voter": voter}).all()
    return [cast("Row[Any]", row) for row in rows if row.priority == rows[0].priority]


def beliefs_of(rows: Sequence[Row[Any]], classes: Sequence[str]) -> FloatArray:
    """(C, K) for each item its confidence in its label; the rest in proportion to the other votes plus one."""
    votes = np.array([json.loads(row.votes) for row in rows], dtype=float) + 1.0
    at = np.arange(len(rows)), np.array([classes.index(row.label) for row in rows])
    confidence = np.array([row.confidence for row in rows])
    votes[at] = 0.0
    beliefs = votes / np.maximum(votes.sum(axis=1, keepdims=True), 1.0) * (1.0 - confidence)[:, None]
    beliefs[at] = confidence
    return np.asarray(beliefs)


def information(accuracy: FloatArray, beliefs: FloatArray) -> FloatArray:
    """(P, C) the mutual information, in bits, of one vote of each person and each item's class.

        H(y) - sum_z r_z H(y | z),   y = z with probability a_z, otherwise each other class is equally likely

    `accuracy` (P, K) on items of each class, `beliefs` (C, K) about the items.

    >>> information(np.array([[1.0, 1.0], [0.5, 0.5], [0.9, 0.9]]), np.array([[0.5, 0.5]])).round(3).tolist()
    [[1.0], [0.0], [0.531]]
    """
    num_classes = beliefs.shape[1]
    off = (1.0 - accuracy) / (num_classes - 1)  # (P, K)
    wrong = off @ beliefs.T  # (P, C) probability of one given class by mistake
    said = beliefs[None] * (accuracy - off)[:, None] + wrong[:, :, None]  # (P, C, K)
    doubt = -_log2(accuracy) - (num_classes - 1) * _log2(off)  # (P, K)
    return np.asarray(np.maximum(-_log2(said).sum(axis=2) - doubt @ beliefs.T, 0.0))


def _log2(p: FloatArray) -> FloatArray:
    """p log2 p, 0 at 0."""
    return np.asarray(p * np.log2(np.where(p > 0.0, p, 1.0)))


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


def _presence_of(connection: Connection, project: Project, now: float) -> Presence:
    mine = (stewards.c.project_id == project.id, stewards.c.task == "people")
    state = json.loads(connection.execute(select(stewards.c.state).where(*mine)).scalar_one_or_none() or "{}")
    known = {each["voter"]: each for each in state.get("people", [])}
    if not known:
        return Presence(now)
    present = sorted(_present(connection, project, list(known), now))
    if project.settings.routing == "best":
        return Presence(now, suits=_suits(project, known, present))
    reliable = {person: each["reliability"] for person, each in known.items()}
    mean = sum(reliable.values()) / len(reliable)
    return Presence(now, first_of({person: reliable.get(person, mean) for person in present}))


def _suits(project: Project, known: Mapping[str, Mapping[str, Any]], present: Sequence[str]) -> Suits | None:
    """None if the stored figures have no accuracies by class yet; the steward computes new ones soon."""
    if any("by_class" not in each for each in known.values()):
        return None
    measured = {name: np.array(each["by_class"]) for name, each in known.items()}
    of_all = np.mean(list(measured.values()), axis=0)
    prices, usual = _prices(project)
    cost = np.array([prices.get(name, usual) for name in present])
    accuracy = np.array([measured.get(name, of_all) for name in present]).reshape(-1, len(of_all))
    best = np.argsort(-accuracy.mean(axis=1) / cost, kind="stable")
    return Suits(tuple(present[n] for n in best), accuracy[best], cost[best], measured, of_all, prices, usual)


def _prices(project: Project) -> tuple[dict[str, float], float]:
    """What a vote costs, by voter and for others; 1 each in a project without prices."""
    settings = project.settings
    if settings.price == 0.0 and not any(settings.person_prices.values()):
        return {}, 1.0
    own = {name: max(price, LEAST_COST) for name, price in settings.person_prices.items()}
    return own, max(settings.price, LEAST_COST)


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
