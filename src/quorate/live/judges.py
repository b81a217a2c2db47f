"""Who can be asked, what each costs and in which order: a plain function, or a jury of named judges.

Called by the loops, which take the next in line for an item until the session stops asking.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any, Literal, Protocol, get_args

from quorate.live.reliability import Reliability
from quorate.rng import stream
from quorate.session.inputs import checked_id
from quorate.validate import bounded, broken, whole

ABSTAIN: None = None  # what an `ask` returns when its expert will not vote


@dataclass(frozen=True, slots=True)
class Answer:
    """What an `ask` may return in the place of a class name, if the price of this call is known: tokens, say.

    `label` a class name, or ABSTAIN. `cost` of this answer, in the currency of the judges; None: the judge's `cost`.
    """

    label: str | None
    cost: float | None = None

    def __post_init__(self) -> None:
        """Check the price."""
        if self.cost is not None:
            object.__setattr__(self, "cost", bounded(self.cost, where="cost", least=0.0))


Said = str | Answer | None
Ask = Callable[[Any], Said] | Callable[[Any], Awaitable[Said]]
Order = Literal["random", "cheapest", "useful"]


@dataclass(frozen=True, slots=True)
class Judge:
    """An expert with a name and a price. `ask(item_id)` returns a class name, ABSTAIN, or an `Answer` with its cost.

    It may be `async def`. A `Panel` passes its question in the place of the id.

    `cost` is what an answer costs, an abstention too; `failure_cost` what a call that failed costs. Any one currency.

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
            raise broken("ask", self.ask, "a function of the item's id", "pass one that can be called.", place=place)
        for price in ("cost", "failure_cost"):
            object.__setattr__(self, price, bounded(getattr(self, price), where=price, least=0.0))


class ExpertPanel(Protocol):
    """What a loop needs to know of the experts."""

    def line(self, item_id: str, acted: Collection[str]) -> Iterator[Judge]:
        """Whom to ask about the item, in order, leaving out those who have acted on it."""

    def price_of(self, voter: str) -> float:
        """What an answer of this voter costs; 0 for a stranger."""

    def full_cost(self, pool_size: int) -> float:
        """What asking everybody about an item costs, at the price of an answer."""

    def learn(self, votes: Mapping[str, str]) -> None:
        """How named voters voted on an item that was decided: voter -> label."""


@dataclass(frozen=True, slots=True)
class Jury:
    """Named judges, asked about each item in an order of its own.

    `order="random"` draws it from `seed` and the item's id, so a resumed loop goes on in the same order.
    `order="cheapest"` asks cheap judges first. `order="useful"` asks those first who are worth most per unit of cost,
    judged by how often they agree with the others (`quorate.live.reliability`): the cheapest, until more is known. The
    posterior takes the votes seen for a random sample of the jury; in these two orders they are not, and if those who
    are asked first err alike the confidence is too high.

    >>> jury = Jury([Judge("large", str, cost=5.0), Judge("small", str)], order="cheapest")
    >>> [judge.name for judge in jury.line("x1", acted=())], jury.full_cost(2)
    (['small', 'large'], 6.0)
    """

    judges: Sequence[Judge]
    order: Order = "random"
    seed: int = 0
    reliability: Reliability = field(default_factory=Reliability, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Every judge has a name of its own; the order is one we know."""
        object.__setattr__(self, "judges", tuple(self.judges))
        names = [_named(judge) for judge in self.judges]
        if not names or len(set(names)) != len(names):
            raise broken("judges", names, "at least one, each with a name of its own", "rename or add one.")
        if self.order not in get_args(Order):
            raise broken("order", self.order, f"one of: {', '.join(get_args(Order))}", "choose one.")
        whole(self.seed, where="seed", least=0)

    def line(self, item_id: str, acted: Collection[str]) -> Iterator[Judge]:
        """Whom to ask about the item, in order, leaving out those who have acted on it."""
        left = [judge for judge in self._ordered(item_id) if judge.name not in acted]
        while left:
            yield left.pop(0 if self.order != "useful" else self._most_useful(left))

    def _ordered(self, item_id: str) -> list[Judge]:
        if self.order != "random":
            return sorted(self.judges, key=lambda judge: judge.cost)
        places = stream(self.seed, "judges", item_id).permutation(len(self.judges))
        return [self.judges[place] for place in places]

    def _most_useful(self, left: Sequence[Judge]) -> int:
        gains = [self.reliability.gain(judge.name or "", judge.cost) for judge in left]
        return gains.index(max(gains))

    def learn(self, votes: Mapping[str, str]) -> None:
        """How the judges voted on an item that was decided: judge -> label."""
        self.reliability.learn(votes)

    def price_of(self, voter: str) -> float:
        """What an answer of this judge costs; 0 for somebody who is not of the jury."""
        return sum(judge.cost for judge in self.judges if judge.name == voter)

    def full_cost(self, pool_size: int) -> float:
        """What the whole jury costs for an item, if every judge answers."""
        return sum(judge.cost for judge in self.judges)


@dataclass(frozen=True, slots=True)
class Anyone:
    """One function that finds somebody to ask each time it is called: nameless votes, at one unit each."""

    ask: Ask

    def line(self, item_id: str, acted: Collection[str]) -> Iterator[Judge]:
        """The function again and again: the session knows when the pool is used up."""
        return repeat(Judge(None, self.ask))

    def price_of(self, voter: str) -> float:
        """Votes cost one unit, whoever casts them."""
        return 1.0

    def full_cost(self, pool_size: int) -> float:
        """A unit for each member of the pool."""
        return float(pool_size)

    def learn(self, votes: Mapping[str, str]) -> None:
        """Nameless voters are not told apart."""


def as_panel(ask: object, *, pool_size: int, seed: int) -> ExpertPanel:
    """The panel that was given, or the one around a list of judges or a function; it must fit the pool."""
    if callable(ask):
        return Anyone(ask)
    jury = ask
    if not isinstance(jury, Jury):
        if not isinstance(ask, Sequence) or isinstance(ask, str):
            raise broken("ask", ask, "a function of the item's id, a Jury, or a list of Judges", "pass one of these.")
        jury = Jury(ask, seed=seed)
    if len(jury.judges) != pool_size:
        rule = f"{len(jury.judges)}, as many as there are judges: the answer sought is the whole jury's plurality"
        raise broken("pool_size", pool_size, rule, f"pass the session `pool_size={len(jury.judges)}`.")
    return jury


def _named(judge: object) -> str:
    if not isinstance(judge, Judge) or judge.name is None:
        raise broken("judges", judge, "a Judge with a name", "pass Judge(name, ask, cost).")
    return judge.name
