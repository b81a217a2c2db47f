"""The optimistic value of information: V of the blended rule, and a rule by itself (rule="optimistic").

The winner's probabilities are a martingale, so j more votes can raise the accuracy by at most the probability of the
classes that can take the lead within j votes. Ask while the best such gain per vote exceeds `min_gain`.
"""

from __future__ import annotations

from dataclasses import dataclass

from quorate.compiled import kernel
from quorate.decision.policy import Stateless
from quorate.types import FloatArray, IntArray, Item
from quorate.validate import bounded


@kernel
def optimistic_gain(probs: FloatArray, votes: IntArray, num_remaining: int) -> float:
    """V = max over 1 <= j <= R of (1/j) * sum of p_k over the k != t with d_k <= j.

    t = argmax p, d_k = max(1, votes_t - votes_k + 1): consecutive votes class k needs to overtake t. At most O(K^2), in
    practice O(K * distinct d); allocates nothing.
    """
    leader = probs.argmax()
    best = 0.0
    for k in range(probs.shape[0]):
        needed = max(1, votes[leader] - votes[k] + 1)
        if k == leader or needed > num_remaining:
            continue
        mass = 0.0
        for j in range(probs.shape[0]):
            if j != leader and max(1, votes[leader] - votes[j] + 1) <= needed:
                mass += probs[j]
        best = max(best, mass / needed)
    return best


@dataclass(frozen=True, slots=True)
class ValueOfInformation(Stateless):
    """Ask while a further vote can be worth more than `min_gain` (in probability of a right answer per vote).

    1 / min_gain is the cost of one error in votes: 0.01 means that an error costs as much as 100 votes.
    """

    min_gain: float
    name = "value-of-information"
    stop_reason = "not_worth_it"

    def __post_init__(self) -> None:
        """Check the parameter."""
        bounded(self.min_gain, where="min_gain", least=0.0)

    def asks(self, state: None, item: Item, probs: FloatArray) -> bool:
        """Ask while the optimistic gain per vote is above `min_gain`."""
        return bool(optimistic_gain(probs, item.votes, item.num_remaining) > self.min_gain)
