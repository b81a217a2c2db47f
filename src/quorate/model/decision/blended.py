"""The blended value of information: the stopping rule of the method "value".

The optimistic value V is the most that votes in a row could gain, the expected value G what the best plan gains with
each vote if the belief is right. V alone asks too much if the belief is good, G alone too little while it is still
poor. Ask while V and the geometric mean sqrt(V G) exceed `min_gain`. G can be above V: then V decides.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from quorate import core
from quorate.model.decision.error_costs import NO_WEIGHTS
from quorate.model.decision.value import optimistic_gain
from quorate.types import FloatArray, IntArray, Item
from quorate.validate import above_zero


def blended_gain(
    min_gain: float,
    probs: FloatArray,
    weighted: FloatArray,
    votes: IntArray,
    num_remaining: int,
    alpha: FloatArray,
    error_costs: FloatArray,
) -> float:
    """min(V, sqrt(V G)); V, without computing G, if V is not above `min_gain` or `min_gain` is 0.

    probs, votes, alpha (K,); `weighted` (K,) the probabilities for V: equal to probs, unless errors cost unequally.
    """
    optimistic = optimistic_gain(weighted, votes, num_remaining)
    if optimistic <= min_gain or min_gain == 0.0:
        return optimistic
    expected = core.expected_gain(alpha, votes, probs, error_costs, num_remaining)
    return min(optimistic, math.sqrt(optimistic * expected))


BLENDED = 5  # its code in `decision.rules`


@dataclass(frozen=True, slots=True)
class BlendedValue:
    """Ask while a further vote is expected to save more than it costs; a wrong answer costs `error_cost` votes.

    >>> BlendedValue(200.0).min_gain
    0.005
    """

    error_cost: float
    name = "blended"
    stop_reason = "not_worth_it"

    def __post_init__(self) -> None:
        """Check the parameter."""
        object.__setattr__(self, "error_cost", above_zero(self.error_cost, where="error_cost"))

    @property
    def min_gain(self) -> float:
        """The gain in probability of a right answer that is worth one vote."""
        return 1.0 / self.error_cost

    def ask(self, item: Item) -> bool:
        """Ask while the blended gain per vote is above `min_gain`; without `alpha` the prediction is one vote."""
        alpha = item.prediction if item.alpha is None else item.alpha
        arrays = (np.ascontiguousarray(item.probs), np.ascontiguousarray(item.votes), np.ascontiguousarray(alpha))
        return bool(core.rule_asks(*arrays, NO_WEIGHTS, BLENDED, item.num_remaining, self.min_gain, 0.0, 0.0))
