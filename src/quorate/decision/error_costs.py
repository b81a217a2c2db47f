"""Unequal error costs: the cheapest answer, and the probabilities weighted by cost for the stopping rules.

The kernels take the probabilities of the winner and weights (K, K), rows the truth, columns the answer. With a weight
of 1 for every error the results are those without costs. Called by `decision`, the session and the compiled stream.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from quorate.compiled import kernel
from quorate.decision.belief import pick_label
from quorate.types import FloatArray

DEFAULT_ERROR_COST = 200.0  # what a wrong answer costs, in votes: docs/default-error-cost.md
NO_WEIGHTS = np.zeros((0, 0))  # all errors cost the same


@dataclass(frozen=True, slots=True, eq=False)
class ErrorCosts:
    """What errors cost, in votes, by truth and answer: `votes` (K, K), which are not all the same.

    `weights` (K, K): divided by the default, for the kernels; the method's own error cost then weighs all of them.
    """

    votes: FloatArray
    weights: FloatArray

    @classmethod
    def of(cls, votes: FloatArray) -> ErrorCosts:
        """The costs of a table (K, K)."""
        return cls(votes, votes / DEFAULT_ERROR_COST)

    def __eq__(self, other: object) -> bool:
        """Whether all costs are the same."""
        return isinstance(other, ErrorCosts) and np.array_equal(self.votes, other.votes)

    __hash__ = None  # type: ignore[assignment]

    def by_name(self, classes: Sequence[str]) -> dict[str, dict[str, float]]:
        """The costs that differ from the default, by truth and answer, as journals and files store them.

        >>> ErrorCosts.of(np.array([[0.0, 200.0], [500.0, 0.0]])).by_name(["normal", "abnormal"])
        {'abnormal': {'normal': 500.0}}
        """
        table = {
            truth: {answer: float(cost) for answer, cost in zip(classes, row, strict=True)
                    if answer != truth and cost != DEFAULT_ERROR_COST}
            for truth, row in zip(classes, self.votes, strict=True)
        }  # fmt: skip
        return {truth: row for truth, row in table.items() if row}


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
