"""Who can be asked, at what cost and in which order: a plain function, or a jury of named judges.

Called by the loops, which ask the next judge about an item until the session stops asking. A `Jury` learns how often
each judge agrees with the others (`Reliability`), which tells whom it is worth asking first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any, Literal, Protocol, get_args

import numpy as np

from quorate.experts.person import LEAST_COST
from quorate.experts.reliability import SHRINKAGE, reliability
from quorate.rng import stream
from quorate.session.inputs import checked_id
from quorate.validate import bounded, invalid, whole

FIRST_GUESS = 0.8  # of a judge's reliability; has the weight of SHRINKAGE votes
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
Order = Literal["random", "cheapest", "useful"]


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

    def line(self, item_id: str, acted: Collection[str]) -> Iterator[Judge]:
        """The judges to ask about the item, in order, without those who have acted on it."""

    def price_of(self, voter: str) -> float:
        """The cost of an answer of this voter; 0 if unknown."""

    def full_cost(self, pool_size: int) -> float:
        """The cost of asking everybody about an item, if all answer."""

    def learn(self, votes: Mapping[str, str]) -> None:
        """Learn from the votes of named voters on a decided item: voter -> label."""


class Reliability:
    """How often each judge agrees with the others, and the value of asking one per unit of cost.

        gain_j = max(0, (K r_j - 1) / (K - 1))^2 / cost_j

    r_j is the share of j's votes that agree with the plurality of the others, shrunk towards that of all judges
    (`experts.reliability`, with a first guess of 0.8), K the number of labels seen, at least 2. The information of a
    vote grows with the square of its lead over chance. `Jury` learns it from every item with at least two votes.

    >>> known = Reliability()
    >>> for _ in range(30):
    ...     known.learn({"ann": "cat", "bob": "cat", "eve": "dog"})
    >>> known.of("ann") > known.of("eve")
    True
    """

    def __init__(self) -> None:
        self.agreed: dict[str, float] = {}
        self.compared: Counter[str] = Counter()
        self._labels: set[str] = set()

    def learn(self, votes: Mapping[str, str]) -> None:
        """Learn from one item's votes, judge -> label: compares each with the plurality of the others, ties shared."""
        if len(votes) < 2:
            return
        counts = Counter(votes.values())
        self._labels.update(counts)
        for judge, label in votes.items():
            others = counts - Counter([label])
            most = max(others.values())
            leaders = [name for name, count in others.items() if count == most]
            self.agreed[judge] = self.agreed.get(judge, 0.0) + (label in leaders) / len(leaders)
            self.compared[judge] += 1

    def of(self, judge: str) -> float:
        """The probability that the judge agrees with the others, shrunk towards the panel's mean."""
        agreed, compared = np.array([self.agreed.get(judge, 0.0)]), np.array([float(self.compared[judge])])
        of_all = sum(self.agreed.values()), float(self.compared.total())
        return float(reliability(agreed, compared, of_all=of_all, first_guess=FIRST_GUESS, guess_votes=SHRINKAGE)[0])

    def gain(self, judge: str, cost: float) -> float:
        """The value of asking the judge per unit of cost; 0 for one who is no better than chance."""
        K = max(len(self._labels), 2)
        lead = (K * self.of(judge) - 1.0) / (K - 1.0)
        return max(lead, 0.0) ** 2 / max(cost, LEAST_COST)


@dataclass(frozen=True, slots=True)
class Jury:
    """Named judges, and the order in which they are asked.

    `order="random"` draws the order from `seed` and the item's id, so a resumed loop continues in the same order.
    `order="cheapest"` asks cheap judges first. `order="useful"` asks first those worth most per unit of cost, by how
    often they agree with the others (`Reliability.gain`): at the start, the cheapest. The posterior assumes that the
    votes are a random sample of the jury. In these two orders they are not, and if the judges asked first make the
    same errors, the confidence is too high.

    >>> jury = Jury([Judge("large", str, cost=5.0), Judge("small", str)], order="cheapest")
    >>> [judge.name for judge in jury.line("x1", acted=())], jury.full_cost(2)
    (['small', 'large'], 6.0)
    """

    judges: Sequence[Judge]
    order: Order = "random"
    seed: int = 0
    reliability: Reliability = field(default_factory=Reliability, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Check that the names differ and the order is known."""
        object.__setattr__(self, "judges", tuple(self.judges))
        names = [_named(judge) for judge in self.judges]
        if not names or len(set(names)) != len(names):
            raise invalid("judges", names, "at least one, each with a different name", "rename or add one.")
        if self.order not in get_args(Order):
            raise invalid("order", self.order, f"one of: {', '.join(get_args(Order))}", "choose one.")
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

    @property
    def learns_anew(self) -> bool:
        """Whether the order depends on what is learned, and nothing is learned yet."""
        return self.order == "useful" and not self.reliability.compared

    def learn(self, votes: Mapping[str, str]) -> None:
        """Learn from the judges' votes on a decided item: judge -> label."""
        self.reliability.learn(votes)

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

    def line(self, item_id: str, acted: Collection[str]) -> Iterator[Judge]:
        """The same function repeatedly: the session stops when the pool is exhausted."""
        return repeat(Judge(None, self.ask))

    def price_of(self, voter: str) -> float:
        """Every vote costs one unit."""
        return 1.0

    def full_cost(self, pool_size: int) -> float:
        """One unit for each member of the pool."""
        return float(pool_size)

    def learn(self, votes: Mapping[str, str]) -> None:
        """Does nothing: the votes are anonymous."""


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
