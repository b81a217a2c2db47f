"""Compares the time of one exact belief, by classes and pool size, with the service's model (`service/domain/cost.py`).

    python benchmarks/decision_cost.py

The model should be at or above the measured time.
"""

from __future__ import annotations

import time

import numpy as np

from quorate.posterior.finite import finite_into
from quorate.service.domain.cost import DECISION_SECONDS, belief_seconds

CASES = [
    (2, 1000), (2, 10_000), (2, 100_000), (3, 3000), (5, 1000), (10, 50), (10, 150), (10, 200), (10, 500), (10, 1000),
    (10, 2000), (50, 150), (50, 200), (50, 1000), (200, 100), (200, 300),
]  # fmt: skip
ALPHAS = (0.05, 1.0, 30.0)


def measured(num_classes: int, pool_size: int, *, rounds: int = 3) -> float:
    """Seconds of CPU time of the slowest of ALPHAS, the fastest of `rounds` each."""
    votes, out, slowest = np.zeros(num_classes, np.int64), np.empty(num_classes), 0.0
    for alpha in ALPHAS:
        times = []
        for _ in range(rounds):
            begin = time.thread_time()
            finite_into(np.full(num_classes, alpha), votes, pool_size, out)
            times.append(time.thread_time() - begin)
        slowest = max(slowest, min(times))
    return slowest


def main() -> None:
    """Print the table."""
    measured(3, 5)  # compiles
    print(f"budget of one decision: {1000 * DECISION_SECONDS:g} ms")
    print("classes   pool  measured ms   model ms")
    for num_classes, pool_size in CASES:
        seconds, model = measured(num_classes, pool_size), belief_seconds("finite", num_classes, pool_size)
        print(f"{num_classes:7d} {pool_size:6d} {1000 * seconds:12.3f} {1000 * model:10.3f}")


if __name__ == "__main__":
    main()
