"""Who can be asked, and at what cost: a plain function, or a jury of named judges.

Called by the loops, which ask the next judge about an item until the session stops asking.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Protocol

from quorate.live.savings import Savings
from quorate.methods import Method, as_method
from quorate.model import DEFAULT_ERROR_COST, QueryPolicy
from quorate.people import LEAST_COST, Expert, is_panel
from quorate.rng import stream
from quorate.session import Session, checked_id
from quorate.validate import bounded, invalid, whole

CLEARLY = 3.0  # standard errors
PANEL = "panel"  # the method that knows its judges by name
Spec = Method | str | QueryPolicy
ABSTAIN: None = None  # returned by `ask` if its expert does not vote


@dataclass(frozen=True, slots=True)
class Answer:
    """What `ask` may return instead of a class name, if the cost of the call is known, for example in tokens.

    `label`: a class name, or ABSTAIN. `cost` of this answer, in the currency of the judges; None: the judge's `cost`.
    """

    label: str | None
    cost: float | None = None

    def __post_init__(self) -> None:
        """Check the cost."""
        if self.cost is not None:
            object.__setattr__(self, "cost", bounded(self.cost, where="cost", least=0.0))


Said = str | Answer | None
Ask = Callable[[Any], Said] | Callable[[Any], Awaitable[Said]]


@dataclass(frozen=True, slots=True)
class Judge:
    """An expert with a name and a price. `ask(item_id)` returns a class name, ABSTAIN, or an `Answer` with its cost.

    It may be `async def`. A `Panel` passes its question instead of the id.

    `cost`: of an answer or an abstention; `failure_cost`: of a failed call. Use one currency for all judges.

    >>> Judge("small-model", lambda item: "safe", cost=0.002).cost
    0.002
    """

    name: str | None
    ask: Ask
    cost: float = 1.0
    failure_cost: float = 0.0

    def __post_init__(self) -> None:
        """Check the name, the function and the prices."""
        if self.name is not None:
            checked_id(self.name, where="name")
        if not callable(self.ask):
            place = f"judge {self.name!r}"
            raise invalid("ask", self.ask, "a function of the item's id", "pass one that can be called.", place=place)
        for price in ("cost", "failure_cost"):
            object.__setattr__(self, price, bounded(getattr(self, price), where=price, least=0.0))


class ExpertPanel(Protocol):
    """The experts, as the loops use them."""

    def line(self, session: Session, item_id: str, savings: Savings) -> Iterator[Judge]:
        """The judges to ask about the item, in order, without those who have acted on it."""

    def price_of(self, voter: str) -> float:
        """The cost of an answer of this voter; 0 if unknown."""

    def full_cost(self, pool_size: int) -> float:
        """The cost of asking everybody about an item, if all answer."""


@dataclass(frozen=True, slots=True)
class Jury:
    """Named judges. Their session says whom to ask next; one that does not know them gets a random order.

    That order depends only on `seed` and the item's id, so a resumed loop continues in the same one.

    >>> jury = Jury([Judge("large", str, cost=5.0), Judge("small", str)])
    >>> [judge.name for judge in jury.judges], jury.full_cost(2)
    (['large', 'small'], 6.0)
    """

    judges: Sequence[Judge]
    seed: int = 0

    def __post_init__(self) -> None:
        """Check that the names differ."""
        object.__setattr__(self, "judges", tuple(self.judges))
        names = [_named(judge) for judge in self.judges]
        if not names or len(set(names)) != len(names):
            raise invalid("judges", names, "at least one, each with a different name", "rename or add one.")
        whole(self.seed, where="seed", least=0)

    def line(self, session: Session, item_id: str, savings: Savings) -> Iterator[Judge]:
        """Whom to ask about an open item, each time by the votes so far; a more expensive judge out of `savings`."""
        return self._by_name(session, item_id, savings) if session.has_people else self._drawn(session, item_id)

    def _by_name(self, session: Session, item_id: str, savings: Savings) -> Iterator[Judge]:
        order = self.cheapest_first(session)
        savings.open(item_id, {_named(judge): judge.cost for judge in order})
        acted = session.voters(item_id)
        left = {_named(judge): judge for judge in order if judge.name not in acted}
        while found := session.next_expert(item_id, left).expert:
            name, cheapest = found.name, next(iter(left))
            if name != cheapest and not savings.may_pay(item_id, left[name].cost):
                name = cheapest
            yield left.pop(name)

    def _drawn(self, session: Session, item_id: str) -> Iterator[Judge]:
        acted = session.voters(item_id)
        places = stream(self.seed, "judges", item_id).permutation(len(self.judges))
        return (self.judges[index] for index in places if self.judges[index].name not in acted)

    def cheapest_first(self, session: Session) -> list[Judge]:
        """The judges by cost; of those with equal cost, the ones last who agree clearly less often with the answers."""
        people = {person.expert.name: person for person in session.people()} if session.has_people else {}
        usual = sum(person.reliability for person in people.values()) / max(len(people), 1)

        def lags(judge: Judge) -> bool:
            person = people.get(_named(judge))
            if person is None:
                return False
            share = person.reliability
            return share + CLEARLY * math.sqrt(share * (1.0 - share) / max(person.num_judged, 1)) < usual

        return sorted(self.judges, key=lambda judge: (judge.cost, lags(judge)))

    def session(self, classes: Sequence[str], *, method: Spec | None = None, **settings: Any) -> Session:  # noqa: ANN401
        """A session for this jury. By default the method is `panel`, which knows the judges by name.

        A jury too large for the plan of `panel` gets `value`. With this and other methods the order is random, and the
        votes are those of people whom the session does not know. A cost of 1 in the session is the mean cost of the
        judges, so that `error_cost` (200) counts votes of an average judge.
        """
        if method is None:
            method = PANEL if is_panel(len(self.judges), len(classes)) else "value"
            settings = {"error_cost": DEFAULT_ERROR_COST} | settings
        chosen = as_method(method)
        if chosen.name == PANEL:
            unit = sum(judge.cost for judge in self.judges) / len(self.judges) or 1.0
            costs = {_named(judge): max(judge.cost / unit, LEAST_COST) for judge in self.judges}
            settings["experts"] = [Expert(name, cost=cost) for name, cost in costs.items()]
        return Session(method, classes=classes, **settings)

    def price_of(self, voter: str) -> float:
        """The cost of an answer of this judge; 0 for somebody who is not in the jury."""
        return sum(judge.cost for judge in self.judges if judge.name == voter)

    def full_cost(self, pool_size: int) -> float:
        """The cost of the whole jury for an item, if every judge answers."""
        return sum(judge.cost for judge in self.judges)


@dataclass(frozen=True, slots=True)
class Anyone:
    """One function that asks somebody each time it is called: anonymous votes, at one unit each."""

    ask: Ask

    def line(self, session: Session, item_id: str, savings: Savings) -> Iterator[Judge]:
        """The same function repeatedly: the session stops when the pool is exhausted."""
        return repeat(Judge(None, self.ask))

    def price_of(self, voter: str) -> float:
        """Every vote costs one unit."""
        return 1.0

    def full_cost(self, pool_size: int) -> float:
        """One unit for each member of the pool."""
        return float(pool_size)


def as_panel(ask: object, *, pool_size: int, seed: int) -> ExpertPanel:
    """A panel from a function, a jury or a list of judges; its size must equal the pool's."""
    if callable(ask):
        return Anyone(ask)
    jury = ask
    if not isinstance(jury, Jury):
        if not isinstance(ask, Sequence) or isinstance(ask, str):
            raise invalid("ask", ask, "a function of the item's id, a Jury, or a list of Judges", "pass one of these.")
        jury = Jury(ask, seed=seed)
    if len(jury.judges) != pool_size:
        rule = f"{len(jury.judges)}, the number of judges: the verdict is the plurality of the whole jury"
        raise invalid("pool_size", pool_size, rule, f"pass the session `pool_size={len(jury.judges)}`.")
    return jury


def _named(judge: object) -> str:
    if not isinstance(judge, Judge) or judge.name is None:
        raise invalid("judges", judge, "a Judge with a name", "pass Judge(name, ask, cost).")
    return judge.name
