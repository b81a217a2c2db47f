"""The stopping rule of panels of language models: the probability that the leader beats the runner-up.

A baseline from Adaptive-Consistency (Aggarwal et al., EMNLP 2023). Takes vote counts only; uses neither the classifier
nor the pool size.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quorate.types import IntArray, Item
from quorate.validate import fraction


def beta_leads(votes: IntArray) -> float:
    """P(Beta(a+1, b+1) > 1/2) for the top two counts a >= b; equals P(Binomial(a+b+1, 1/2) <= a)."""
    top = 0
    second = 0
    for count in votes:
        if count > top:
            second = top
            top = count
        elif count > second:
            second = count
    trials = top + second + 1
    log_term = -trials * np.log(2.0)  # log P(Binomial = 0)
    total = 0.0
    for successes in range(top + 1):
        total += np.exp(log_term)
        log_term += np.log((trials - successes) / (successes + 1.0))
    return float(min(total, 1.0))


@dataclass(frozen=True, slots=True)
class BetaStop:
    """Stop when P(Beta(a+1, b+1) > 1/2) >= threshold for the top two counts (4 unanimous votes at 0.95).

    >>> [round(float(beta_leads(np.array([n, 0]))), 3) for n in (0, 3, 4)]
    [0.5, 0.938, 0.969]
    """

    threshold: float = 0.95
    name = "beta"
    stop_reason = "rule"

    def __post_init__(self) -> None:
        """Check the parameter."""
        fraction(self.threshold, where="threshold")

    def ask(self, item: Item) -> bool:
        """Ask while the leader's probability is below the threshold."""
        return bool(beta_leads(item.votes) < self.threshold)
