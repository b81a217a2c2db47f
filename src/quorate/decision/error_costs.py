"""Unequal error costs: the cheapest answer, and the probabilities weighted by cost for the stopping rules.

Takes the probabilities of the winner and a table of costs (K, K), rows the truth, columns the answer. With a cost of 1
for every error the results are those without costs. Compiled; called by `decision` and the compiled stream.
"""

from __future__ import annotations

from quorate.compiled import kernel
from quorate.decision.belief import pick_label
from quorate.types import FloatArray


@kernel
def expected_cost(costs: FloatArray, probs: FloatArray, answer: int) -> float:
    """r(a) = sum over k of p_k C[k, a]: the expected cost of answer a.

    >>> import numpy as np
    >>> expected_cost(np.array([[0.0, 1.0], [50.0, 0.0]]), np.array([0.9, 0.1]), 0)
    5.0
    """
    total = 0.0
    for k in range(probs.shape[0]):
        total += probs[k] * costs[k, answer]
    return total


@kernel
def cheapest_answer(costs: FloatArray, probs: FloatArray, tie_draw: float, work: FloatArray) -> int:
    """argmin over a of r(a); among answers of equal cost, `tie_draw` in [0, 1) selects one.

    `work` (K,) is overwritten.

    >>> import numpy as np
    >>> cheapest_answer(np.array([[0.0, 1.0], [50.0, 0.0]]), np.array([0.9, 0.1]), 0.0, np.empty(2))
    1
    """
    for answer in range(probs.shape[0]):
        work[answer] = -expected_cost(costs, probs, answer)
    return pick_label(work, tie_draw)


@kernel
def weigh_for_gain(costs: FloatArray, probs: FloatArray, tie_draw: float, out: FloatArray) -> None:
    """Write the weighted probabilities for the value-of-information rules to out (K,).

    a = cheapest answer; out_k = p_k (C[k, a] - min_b C[k, b]) for k != a: what is saved if k turns out to win.
    out_a is above the sum of the others, so that the rule treats a as the leader.
    """
    answer = cheapest_answer(costs, probs, tie_draw, out)
    total = 0.0
    for k in range(probs.shape[0]):
        if k != answer:
            out[k] = probs[k] * (costs[k, answer] - costs[k].min())
            total += out[k]
    out[answer] = total + 1.0


@kernel
def weigh_for_threshold(costs: FloatArray, probs: FloatArray, tie_draw: float, out: FloatArray) -> None:
    """Write the weighted probabilities for the threshold rule to out (K,): the largest is 1 - r(cheapest answer)."""
    answer = cheapest_answer(costs, probs, tie_draw, out)
    left = expected_cost(costs, probs, answer)
    out[:] = -1.0e300
    out[answer] = 1.0 - left
