"""What errors cost, by truth and answer: a table of the user, and the weights (K, K) that decisions use.

With a weight of 1 for every error the results are those without costs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from quorate.types import FloatArray

DEFAULT_ERROR_COST = 200.0  # what a wrong answer costs, in votes: docs/default-error-cost.md
NO_WEIGHTS = np.zeros((0, 0))  # all errors cost the same


@dataclass(frozen=True, slots=True, eq=False)
class ErrorCosts:
    """What errors cost, in votes, by truth and answer: `votes` (K, K), which are not all the same.

    `weights` (K, K): divided by the default, for the core; the method's own error cost then weighs all of them.
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
