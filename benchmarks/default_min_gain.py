"""How the default `min_gain` of the method "quorate" was chosen. Run by `make default-knob`.

For every data set at hand (the real ones when QUORATE_DATA names their folder; synthetic ones always) and a grid of
`min_gain`, prints votes per item and the error above the tie floor, i.e. what stopping early costs. The default is the
largest value on the grid whose excess error is at most one percentage point on every real set (mean over classifiers
and seeds), so that a newcomer who changes nothing stays within a point of asking everybody.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from quorate import method, simulate
from quorate.datasets import load_npz, synthetic
from quorate.methods import DEFAULT_MIN_GAIN

GRID = [0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1]
SEEDS = [3, 4]
ALLOWED = 0.01
REAL = [("imagenet16h_shift", 6), ("cifar10h", 10), ("cifar10h", 50), ("chaosnli_snli", 100)]


def data_sets():
    folder = os.environ.get("QUORATE_DATA")
    for name, pool_size in REAL if folder else []:
        yield f"{name} N={pool_size}", load_npz(Path(folder) / f"{name}.npz"), pool_size, True
    yield "synthetic N=10", synthetic(num_items=4000, pool_size=10, accuracy=0.75, agreement=0.75, seed=1), 10, False
    yield "synthetic, useless classifier", synthetic(accuracy=0.15, calibration=8, agreement=0.75, seed=1), 10, False


def excess(dataset, pool_size, gain):
    """(votes per item, error above the floor, settled cost), averaged over classifiers and seeds."""
    runs = []
    for model in range(len(dataset.models)):
        for seed in SEEDS:
            floor = simulate(dataset, "until-settled", pool_size=pool_size, model=model, seed=seed)
            run = simulate(dataset, method("quorate", min_gain=gain), pool_size=pool_size, model=model, seed=seed)
            runs.append((run.mean_cost, run.error_rate - floor.error_rate, floor.mean_cost))
    return np.mean(runs, axis=0)


def main():
    table = Table(title="votes per item / error above the tie floor, in points, by min_gain")
    table.add_column("data set")
    table.add_column("until settled", justify="right")
    for gain in GRID:
        table.add_column(f"{gain:g}", justify="right")
    worst = dict.fromkeys(GRID, 0.0)
    for name, dataset, pool_size, real in track(list(data_sets()), description="data sets"):
        row = [excess(dataset, pool_size, gain) for gain in GRID]
        table.add_row(name, f"{row[0][2]:.2f}", *(f"{cost:.2f} / {100 * above:.2f}" for cost, above, _ in row))
        if real:
            worst = {gain: max(worst[gain], above) for gain, (_, above, _) in zip(GRID, row, strict=True)}
    console = Console(width=160)
    console.print(table)
    if not os.environ.get("QUORATE_DATA"):
        console.print("QUORATE_DATA is not set: the default is chosen on the real sets, so nothing is chosen here.")
        return
    chosen = max(gain for gain in GRID if worst[gain] <= ALLOWED)
    console.print(f"largest min_gain within {100 * ALLOWED:g} point of the floor on every real set: {chosen:g}")
    console.print(f"the default in quorate.methods is {DEFAULT_MIN_GAIN:g}")


if __name__ == "__main__":
    main()
