"""The time of one exact belief and of the look-ahead that goes with it, by classes and pool size.

    python benchmarks/decision_cost.py

Compares both with the service's model (`service/domain/cost.py`), which should be at or above the measured time, and
prints the largest multiple of a belief that a look-ahead takes: the best plan at one price, as in the stopping rule.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np

from quorate import method
from quorate.decision.look_ahead import gains_more_than
from quorate.posterior.finite import finite_into
from quorate.service.domain.cost import DECISION_SECONDS, belief_seconds, decision_seconds

CASES = [
    (2, 10), (2, 43), (2, 100), (3, 6), (3, 16), (3, 27), (3, 100), (5, 7), (6, 6), (10, 6), (10, 10), (10, 16),
    (16, 6), (2, 1000), (2, 10_000), (2, 100_000), (3, 3000), (5, 1000), (10, 50), (10, 150), (10, 200), (10, 500),
    (10, 1000), (10, 2000), (50, 150), (50, 200), (50, 1000), (200, 100), (200, 300),
]  # fmt: skip
ALPHAS = (0.05, 1.0, 30.0)
ROUND_SECONDS = 0.002  # a short call is repeated for at least this long


def fastest(task: Callable[[], object], *, rounds: int = 5) -> float:
    """Seconds of CPU time of one call, the fastest of `rounds`; short ones are called many times."""
    times = []
    for _ in range(rounds):
        calls, begin = 0, time.thread_time()
        while calls == 0 or time.thread_time() - begin < ROUND_SECONDS:
            task()
            calls += 1
        times.append((time.thread_time() - begin) / calls)
    return min(times)


def measured(num_classes: int, pool_size: int) -> tuple[float, float, float]:
    """Seconds of a belief and of the look-ahead, before any vote, and their ratio: each the largest of ALPHAS."""
    votes, probs, no_costs = np.zeros(num_classes, np.int64), np.empty(num_classes), np.zeros((0, 0))
    found = []
    for size in ALPHAS:
        alpha = np.full(num_classes, size)
        belief = fastest(partial(finite_into, alpha, votes, pool_size, probs))
        ahead = fastest(partial(gains_more_than, 1.0, alpha, votes, pool_size, probs, no_costs))
        found.append((belief, ahead, ahead / belief))
    belief, ahead, ratio = np.max(found, axis=0)
    return float(belief), float(ahead), float(ratio)


def main() -> None:
    """Print the table."""
    measured(3, 5)  # compiles
    print(f"budget of one decision: {1000 * DECISION_SECONDS:g} ms")
    print("classes   pool  belief us  (model)  look-ahead us  (model)  of a belief")
    largest, above = 0.0, 0
    for num_classes, pool_size in CASES:
        belief, ahead, ratio = measured(num_classes, pool_size)
        model = belief_seconds("finite", num_classes, pool_size)
        model_ahead = decision_seconds(method("quorate"), num_classes, pool_size) - model
        largest, above = max(largest, ratio), above + (belief + ahead > model + model_ahead)
        print(
            f"{num_classes:7d} {pool_size:6d} {1e6 * belief:10.1f} {1e6 * model:8.0f} {1e6 * ahead:14.1f} "
            f"{1e6 * model_ahead:8.0f} {ratio:12.2f}"
        )
    print(f"a look-ahead takes at most {largest:.1f} beliefs; above the model: {above} of {len(CASES)}")


if __name__ == "__main__":
    main()
