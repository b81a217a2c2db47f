"""How the default `min_gain` of the method "quorate" was chosen, and how its rule compares: `make default-min-gain`.

For every data set at hand (the real ones when QUORATE_DATA names their folder; synthetic ones always) and a grid of
`min_gain`, prints votes per item and the error above the tie floor, i.e. what stopping early costs. The default is the
largest value on the grid whose excess error is at most one percentage point on every real set (mean over classifiers
and seeds), so that a newcomer who changes nothing stays within a point of asking everybody.

Beside it, the area under the error-cost curve of "quorate" relative to "finexp", which stops at a confidence instead:
below 1, our rule errs less at equal cost. Linear interpolation on the common range, mean of the ratios of the streams.
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
WIDE = [*GRID, 0.2, 0.4, 0.7]  # for the curve, down to hardly asking
THRESHOLDS = [0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.87, 0.92, 0.95, 0.98, 0.995]
SEEDS = [3, 4]
ALLOWED = 0.01
REAL = [("imagenet16h_shift", 6), ("cifar10h", 10), ("cifar10h", 50), ("chaosnli_snli", 100)]


def data_sets():
    folder = os.environ.get("QUORATE_DATA")
    for name, pool_size in REAL if folder else []:
        yield f"{name} N={pool_size}", load_npz(Path(folder) / f"{name}.npz"), pool_size, True
    dials = {"num_items": 4000, "accuracy": 0.75, "agreement": 0.75, "seed": 1}
    yield "synthetic, uneven classifier", synthetic(**dials, unevenness=0.6), 10, False
    yield "synthetic, even classifier", synthetic(**dials), 10, False
    yield "synthetic, useless classifier", synthetic(**dials | {"accuracy": 0.12, "calibration": 15.0}), 10, False


def curve(dataset, methods, **stream):
    """(knobs, 2): votes per item and error of each method on one stream."""
    return np.array([(run.mean_cost, run.error_rate) for run in (simulate(dataset, m, **stream) for m in methods)])


def area_ratio(ours, theirs):
    ours, theirs = (np.array(sorted(points.tolist())).T for points in (ours, theirs))
    grid = np.linspace(max(ours[0, 0], theirs[0, 0]), min(ours[0, -1], theirs[0, -1]), 400)
    return np.trapezoid(np.interp(grid, *ours), grid) / np.trapezoid(np.interp(grid, *theirs), grid)


def measure(dataset, pool_size):
    """Cost until settled; (len(GRID), 2) votes per item and error above the floor; area ratio: means over streams."""
    settled, points, ratios = [], [], []
    for model in range(len(dataset.models)):
        for seed in SEEDS:
            stream = {"pool_size": pool_size, "model": model, "seed": seed}
            floor = curve(dataset, ["until-settled"], **stream)[0]
            ours = curve(dataset, [method("quorate", min_gain=gain) for gain in WIDE], **stream)
            theirs = curve(dataset, [method("finexp", threshold=threshold) for threshold in THRESHOLDS], **stream)
            settled.append(floor[0])
            points.append(ours[: len(GRID)] - [0.0, floor[1]])
            ratios.append(area_ratio(ours, theirs))
    return np.mean(settled), np.mean(points, axis=0), np.mean(ratios)


def main():
    table = Table(title="votes per item / error above the tie floor, in points, by min_gain")
    table.add_column("data set")
    table.add_column("area to finexp", justify="right")
    table.add_column("until settled", justify="right")
    for gain in GRID:
        table.add_column(f"{gain:g}", justify="right")
    worst = np.zeros(len(GRID))
    for name, dataset, pool_size, real in track(list(data_sets()), description="data sets"):
        settled, points, ratio = measure(dataset, pool_size)
        cells = (f"{cost:.2f} / {100 * above:.2f}" for cost, above in points)
        table.add_row(name, f"{ratio:.3f}", f"{settled:.2f}", *cells)
        if real:
            worst = np.maximum(worst, points[:, 1])
    console = Console(width=170)
    console.print(table)
    if not os.environ.get("QUORATE_DATA"):
        console.print("QUORATE_DATA is not set: the default is chosen on the real sets, so nothing is chosen here.")
        return
    chosen = max(gain for gain, above in zip(GRID, worst, strict=True) if above <= ALLOWED)
    console.print(f"largest min_gain within {100 * ALLOWED:g} point of the floor on every real set: {chosen:g}")
    console.print(f"the default in quorate.methods is {DEFAULT_MIN_GAIN:g}")


if __name__ == "__main__":
    main()
