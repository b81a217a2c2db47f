"""What a jury has saved compared with asking the cheapest first until settled: it pays for audits and expensive judges.

    saved by a closed item = L - cost of its judges
    L                      = least cost of asking the cheapest first until settled, whatever the missing votes are

A judge who is not the cheapest of those left is asked only if earlier items saved as much. The cheapest one left
belongs to L until the item is settled. So at no time has a jury cost more than asking the cheapest first until settled
would have on the same votes, at the judges' `cost`. Filled by `work_list.py`, asked by `judges.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

Votes = Mapping[str, str | None]  # judge -> class; None: an abstention


class Savings:
    """The savings of a jury; `left` is what is not promised to open items.

    >>> savings, prices = Savings(), {"small": 1.0, "medium": 2.0, "large": 4.0}
    >>> savings.open("first", prices)
    >>> savings.may_pay("first", 4.0)
    False
    >>> savings.close("first", {"small": "a"})
    >>> savings.left, savings.may_pay("second", 1.5)
    (2.0, True)
    """

    def __init__(self) -> None:
        self._orders: dict[str, Mapping[str, float]] = {}
        self._promised: dict[str, float] = {}
        self.left = 0.0

    def open(self, item_id: str, prices: Mapping[str, float]) -> None:
        """Count an item, whose judges have these prices, the cheapest first."""
        self._orders[item_id] = prices

    def may_pay(self, item_id: str, cost: float) -> bool:
        """Whether there is so much left; if so, it is promised to the item until the item is closed."""
        if cost > self.left:
            return False
        self.left -= cost
        self._promised[item_id] = self._promised.get(item_id, 0.0) + cost
        return True

    def close(self, item_id: str, votes: Votes | None) -> None:
        """Add what a closed item saved, or take what it lost; None: its votes are not known, so nothing is added."""
        promised, prices = self._promised.pop(item_id, 0.0), self._orders.pop(item_id, None)
        if votes is None:
            return
        self.left += promised
        if prices:
            self.left += least_cost(prices, votes) - sum(prices.get(name, 0.0) for name in votes)


def least_cost(prices: Mapping[str, float], votes: Votes) -> float:
    """L: the missing votes all go to the class that settles the item first.

    >>> least_cost({"small": 1.0, "medium": 2.0, "large": 4.0}, {"medium": "a", "large": "b"})
    3.0
    >>> least_cost({"small": 1.0, "medium": 2.0, "large": 4.0}, {"small": None})
    7.0
    """
    costs, classes = list(prices.values()), {label for label in votes.values() if label is not None} or {""}
    return min(cost_until_settled(costs, [votes.get(name, guess) for name in prices]) for guess in classes)


def cost_until_settled(prices: Sequence[float], labels: Sequence[str | None]) -> float:
    """The cost of asking in this order until the missing votes cannot change the plurality; None: an abstention.

    >>> cost_until_settled([1, 2, 4], ["a", "a", "b"]), cost_until_settled([1, 2, 4], ["a", None, "b"])
    (3, 7)
    """
    counts: Counter[str] = Counter()
    for position, label in enumerate(labels):
        first, second = [*(count for _, count in counts.most_common(2)), 0, 0][:2]
        if first > second + len(labels) - position:
            return sum(prices[:position])
        if label is not None:
            counts[label] += 1
    return sum(prices)
