"""The blended value of information: the stopping rule of the method "quorate".

The optimistic value V is the most that the next votes could gain, the expected value G their average gain if the belief
is right. V alone asks too much if the belief is good, G alone too little while it is still poor. Ask while V and the
geometric mean of both exceed `min_gain`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from quorate.compiled import kernel
from quorate.decision.look_ahead import expected_gain, gain_of_two, gain_or_enough, wins_alone
from quorate.decision.policy import Stateless
from quorate.decision.value import optimistic_gain
from quorate.types import FloatArray, IntArray, Item
from quorate.validate import bounded

_SURE = 1e-9  # what a bound must be above, so that no rounding of the probabilities matters
SURELY_ASKS, UNSURE = -2, -1  # else `choice_by_bounds` is a class
MOST_REMAINING = 150  # with more, products of `wins_alone` could overflow


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
    """min(V, sqrt(V G)); V, without computing G, if V is not above `min_gain` or `min_gain` is 0.

    probs, votes, alpha (K,); `weighted` (K,) the probabilities for V: equal to probs, unless errors cost unequally.
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
    """`blended_gain` > min_gain, looking ahead only as far as needed."""
    optimistic = optimistic_gain(weighted, votes, num_remaining)
    if optimistic <= min_gain or min_gain == 0.0:
        return optimistic > min_gain
    enough = min_gain * min_gain / optimistic
    expected = gain_or_enough(alpha, votes, num_remaining, probs, error_costs, enough)
    return min(optimistic, math.sqrt(optimistic * expected)) > min_gain


@kernel
def choice_by_bounds(min_gain: float, alpha: FloatArray, votes: IntArray, num_remaining: int) -> int:
    """What `blended_asks` certainly decides with the probabilities p of the finite pool, without computing them.

    SURELY_ASKS; or it certainly stops: the most probable class; or UNSURE.
    alpha, votes (K,), errors of equal cost, at least one vote remaining. q_k, the probability that class k gets more
    votes than any other could then have, is a lower bound of p_k. If the class with the most votes, a, also leads
    beta = alpha + votes, no class has a larger p; the same is true of the second, b, among the others. Hence V is
    bounded from below with q_k instead of p_k, and from above by (1 - q_a) / d, d the votes that b needs to take the
    lead; G depends on p only through a and b.
    For rounding, p_b - p_k >= q_b (beta_b - beta_k) / (beta_b + R) must be above 1e-9: exchanging what b and k get in
    the R remaining votes makes every outcome in which b wins alone less likely by this share, or lets b win still.
    """
    if num_remaining > MOST_REMAINING:
        return UNSURE
    first, second, third = -1, -1, -1  # by votes, then by alpha
    total = 0.0
    for k in range(votes.size):
        total += alpha[k] + votes[k]
        if first < 0 or votes[k] > votes[first] or (votes[k] == votes[first] and alpha[k] > alpha[first]):
            first, second = k, first
        elif second < 0 or votes[k] > votes[second] or (votes[k] == votes[second] and alpha[k] > alpha[second]):
            second = k
    if second < 0 or votes[first] - votes[second] + 1 > num_remaining:
        return UNSURE
    least = wins_alone(second, alpha, votes, num_remaining, total)
    if least <= _SURE:
        return UNSURE
    most = wins_alone(first, alpha, votes, num_remaining, total)
    if min_gain == 0.0:  # whoever leads, the first or the second can take the lead
        return SURELY_ASKS if most > _SURE else UNSURE
    for k in range(votes.size):
        if k not in (first, second) and (third < 0 or alpha[k] + votes[k] > alpha[third] + votes[third]):
            third = k
    if third < 0:
        return UNSURE
    ahead = alpha[first] + votes[first] - alpha[second] - votes[second]
    clear = alpha[second] + votes[second] - alpha[third] - votes[third]
    if most * ahead <= _SURE * (total + num_remaining) or least * clear <= _SURE * (total + num_remaining):
        return UNSURE
    bounds = np.empty(votes.size)
    for k in range(votes.size):
        bounds[k] = wins_alone(k, alpha, votes, num_remaining, total) if k not in (first, second) else least
    bounds[first] = 2.0  # it leads
    lowest = optimistic_gain(bounds, votes, num_remaining) - _SURE
    highest = (1.0 - most) / (votes[first] - votes[second] + 1) + _SURE
    if highest <= min_gain:
        return first
    limit = min_gain * min_gain
    enough = limit / lowest if lowest > min_gain else math.inf
    expected = gain_of_two(alpha, votes, num_remaining, first, second, enough)
    if expected >= 0.0 and highest * expected < limit * (1.0 - _SURE):
        return first
    return SURELY_ASKS if lowest > min_gain and lowest * expected > limit * (1.0 + _SURE) else UNSURE


@dataclass(frozen=True, slots=True)
class BlendedValue(Stateless):
    """Ask while a further vote is worth more than `min_gain` (in probability of a right answer per vote).

    1 / min_gain is the cost of one error in votes: 0.01 means that an error costs as much as 100 votes. With 0 it asks
    while another class can take the lead.
    """

    min_gain: float
    name = "blended"
    stop_reason = "not_worth_it"

    def __post_init__(self) -> None:
        """Check the parameter."""
        bounded(self.min_gain, where="min_gain", least=0.0)

    def asks(self, state: None, item: Item, probs: FloatArray) -> bool:
        """Ask while the blended gain per vote is above `min_gain`; without `alpha` the prediction is one vote."""
        alpha = np.array(item.prediction if item.alpha is None else item.alpha)
        belief, votes = np.array(probs), np.array(item.votes)  # copies: numba compiles again for read-only arrays
        min_gain = float(self.min_gain)
        return bool(blended_asks(min_gain, belief, belief, votes, item.num_remaining, alpha, np.zeros((0, 0))))
