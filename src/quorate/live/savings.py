"""What a jury has saved compared with asking the cheapest first until settled: it pays for audits and dear judges.

    saved by a closed item = L - cost of its judges
    L                      = least cost of asking the cheapest first until settled, whatever the missing votes are

A judge who is not the cheapest of those left, and an audit, are asked only if earlier items saved as much. Before an
item is settled its cheapest judge is part of any such L, so a jury never costs more than asking the cheapest first until
settled would have cost on the same votes, at the judges' `cost`. Filled by `work_list.py`, asked by `judges.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

Votes = Mapping[str, str | None]  # judge -> class; None: an abstention


class Savings:
    """The savings of a jury with these prices; those promised to open items are not in `left`.

    >>> savings = Savings({"small": 1.0, "medium": 2.0, "large": 4.0})
    >>> savings.may_pay("first", 4.0)
    False
    >>> savings.close("first", {"small": "a"})
    >>> savings.left, savings.may_pay("second", 1.5)
    (2.0, True)
    """

    def __init__(self, prices: Mapping[str, float]) -> None:
        self._prices = dict(sorted(prices.items(), key=lambda each: each[1]))
        self._promised: dict[str, float] = {}
        self.left = 0.0

    def may_pay(self, item_id: str, cost: float) -> bool:
        """Whether there is so much left; if so, it is promised to the item until the item is closed."""
        if cost > self.left:
            return False
        self.left -= cost
        self._promised[item_id] = self._promised.get(item_id, 0.0) + cost
        return True

    def close(self, item_id: str, votes: Votes) -> None:
        """Add what a closed item saved, or take what it lost."""
        spent = sum(self._prices.get(name, 0.0) for name in votes)
        self.left += self._promised.pop(item_id, 0.0) + self._least(votes) - spent

    def _least(self, votes: Votes) -> float:
        """L: the missing votes all go to one class, the one that settles the item first."""
        known = [votes.get(name, "?") for name in self._prices]
        every = {label for label in known if label is not None}
        return min(
            (cost_until_settled(list(self._prices.values()), [k if y == "?" else y for y in known]) for k in every),
            default=sum(self._prices.values()),
        )


def cost_until_settled(prices: Sequence[float], labels: Sequence[str | None]) -> float:
    """The cost of asking in this order until the missing votes cannot change the plurality; None: an abstention.

    >>> cost_until_settled([1, 2, 4], ["a", "a", "b"]), cost_until_settled([1, 2, 4], ["a", None, "b"])
    (3, 7)
    """
    counts: Counter[str] = Counter()
    for place, label in enumerate(labels):
        first, second = [*(count for _, count in counts.most_common(2)), 0, 0][:2]
        if first > second + len(labels) - place:
            return sum(prices[:place])
        if label is not None:
            counts[label] += 1
    return sum(prices)
