"""Audits of real streams: the method's own confidence and errors, many audit samples."""

import numpy as np
import pytest

import quorate
from quorate.audit import running_totals
from quorate.commands.audit.files import ClosedItem
from quorate.datasets import load_npz

SETS = [("imagenet16h_shift", 6, 20), ("cifar10h", 10, 20), ("chaosnli_snli", 100, 100)]


@pytest.mark.parametrize(("name", "pool_size", "error_cost"), SETS)
def test_the_bound_covers_at_every_time_on_real_errors_and_the_known_losses_are_right(
    data_dir, name, pool_size, error_cost
):
    dataset = load_npz(data_dir / f"{name}.npz")
    run = quorate.simulate(dataset, quorate.method("value", error_cost=error_cost), pool_size=pool_size, seed=3)
    closed = [
        ClosedItem(str(n), "", min(float(run.confidence[n]), 1.0), run.reasons[n], int(run.costs[n]), pool_size)
        for n in range(250)
    ]
    loss = run.expected_errors[:250]
    settled = np.array([each.is_settled for each in closed])
    known = np.array([each.settled_loss for each in closed])
    assert known[settled] == pytest.approx(loss[settled], abs=1e-9)  # 0, or the part of a tie
    u = np.array([each.expected_loss for each in closed])
    draws = np.random.default_rng(5).random((2000, 250)) < 0.1
    same = {"expected_loss": u, "rate": np.full(250, 0.1), "loss": loss, "settled": settled}
    wide = {key: np.broadcast_to(values, draws.shape) for key, values in same.items()}
    for alpha in (0.05, 0.2):
        totals = running_totals(**wide, audited=draws, min_rate=0.1, alpha=alpha)
        violated = (totals < loss.cumsum() - 1e-9).any(axis=-1).mean()
        assert violated <= alpha + 3 * (alpha * (1 - alpha) / 2000) ** 0.5
