"""The blended value of information: the stopping rule of the method "quorate".

The optimistic value V is what the next votes could gain at best, the expected value G what they gain on average if the
belief is right. V alone asks too much where the belief is good, G alone too little while it is still poor. Ask while V
and the geometric mean of both exceed `min_gain`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from quorate.compiled import kernel
from quorate.decision.look_ahead import expected_gain, gain_or_enough
from quorate.decision.policy import Stateless
from quorate.decision.value import optimistic_gain
from quorate.types import FloatArray, IntArray, Item
from quorate.validate import bounded


@kernel
def blended_gain(
    min_gain: float,
    probs: FloatArray,
    weighted: FloatArray,
    votes: IntArray,
    num_remaining: int,
    alpha: FloatArray,
    error_costs: FloatArray,
) -> float:
    """min(V, sqrt(V G)); V alone if that is not above `min_gain`, or if `min_gain` is 0: G is not computed then.

    probs, votes, alpha (K,); `weighted` (K,) what V takes for the probabilities: probs, unless errors cost unequally.
    """
    optimistic = optimistic_gain(weighted, votes, num_remaining)
    if optimistic <= min_gain or min_gain == 0.0:
        return optimistic
    expected = expected_gain(alpha, votes, num_remaining, probs, error_costs)
    return min(optimistic, math.sqrt(optimistic * expected))


@kernel
def blended_asks(
    min_gain: float,
    probs: FloatArray,
    weighted: FloatArray,
    votes: IntArray,
    num_remaining: int,
    alpha: FloatArray,
    error_costs: FloatArray,
) -> bool:
    """`blended_gain` > min_gain, looking ahead no further than this needs."""
    optimistic = optimistic_gain(weighted, votes, num_remaining)
    if optimistic <= min_gain or min_gain == 0.0:
        return optimistic > min_gain
    enough = min_gain * min_gain / optimistic
    expected = gain_or_enough(alpha, votes, num_remaining, probs, error_costs, enough)
    return min(optimistic, math.sqrt(optimistic * expected)) > min_gain


@dataclass(frozen=True, slots=True)
class BlendedValue(Stateless):
    """Ask while a further vote is worth more than `min_gain` (in probability of a right answer per vote).

    1 / min_gain is the price of one error in votes: 0.01 says that an error costs as much as 100 votes. At 0 it asks
    while another class can come to lead.
    """

    min_gain: float
    name = "blended"
    stop_reason = "not_worth_it"

    def __post_init__(self) -> None:
        """Check the parameter."""
        bounded(self.min_gain, where="min_gain", least=0.0)

    def asks(self, state: None, item: Item, probs: FloatArray) -> bool:
        """Ask while the blended gain per vote is above `min_gain`; without `alpha` the prediction is worth one vote."""
        alpha = np.array(item.prediction if item.alpha is None else item.alpha)
        seen, votes = np.array(probs), np.array(item.votes)  # copies: a kernel is compiled anew for read-only arrays
        least = float(self.min_gain)
        return bool(blended_asks(least, seen, seen, votes, item.num_remaining, alpha, np.zeros((0, 0))))
