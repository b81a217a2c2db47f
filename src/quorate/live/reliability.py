"""How often each judge of a panel agrees with the others, and the value of asking one per unit of cost.

    gain_j = max(0, (K r_j - 1) / (K - 1))^2 / cost_j

r_j is the share of j's votes that agree with the plurality of the others, shrunk towards that of all judges
(`experts.reliability`, with a first guess of 0.8), K the number of labels seen, at least 2. The information of a vote
grows with the square of its lead over chance. Learned by `Jury` from every item with at least two votes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from quorate.experts.person import LEAST_COST
from quorate.experts.reliability import SHRINKAGE, reliability

FIRST_GUESS = 0.8  # has the weight of SHRINKAGE votes, like the share of all judges


class Reliability:
    """Agreements and comparisons by judge.

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
