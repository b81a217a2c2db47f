"""Errors that cost unequally: which answer costs least, and how much doubt is left once its cost is counted.

Takes who may win the pool and a table of costs (K, K), rows the truth, columns the answer; gives the answer, and the
probabilities as a stopping rule should see them. Compiled; called by the compiled stream. With 1 for every error both
are what they are without costs.
"""

from __future__ import annotations

from quorate.compiled import kernel
from quorate.decision.belief import pick_label
from quorate.types import FloatArray


@kernel
def expected_cost(costs: FloatArray, probs: FloatArray, answer: int) -> float:
    """r(a) = sum over k of p_k C[k, a]: what answering a costs on average.

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
    """argmin over a of r(a); among answers that cost the same, the one `tie_draw` in [0, 1) points at.

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
    """Probabilities as the value-of-information rule is to see them, to out (K,).

    a = cheapest answer; out_k = p_k (C[k, a] - min_b C[k, b]) for k != a: what could be saved if k turned out to win.
    out_a is above the sum of them all, so that the rule takes a for the class to be overtaken.
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
    """Probabilities as the threshold rule is to see them, to out (K,): the largest is 1 - r(cheapest answer)."""
    answer = cheapest_answer(costs, probs, tie_draw, out)
    left = expected_cost(costs, probs, answer)
    out[:] = -1.0e300
    out[answer] = 1.0 - left
