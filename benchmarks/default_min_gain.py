"""How the default `min_gain` of the method "value" was chosen, and how its rules compare: `make default-min-gain`.

For every data set (synthetic ones, and the real ones if QUORATE_DATA is set) and a grid of `min_gain`, prints votes per
item and the error above the tie floor, i.e. the cost of stopping early. The default is the largest value on the grid
whose excess error is at most one percentage point on every real set (mean over classifiers and seeds), so that default
settings stay within a point of asking everybody.

Also prints the area under the error-cost curve of each rule of "value" relative to "finexp", which stops at a
confidence instead: below 1, our rule errs less at equal cost. Linear interpolation on the common range, mean of the
ratios of the streams; in brackets the worst stream.

`--items 2000` uses 2000 items of each set, drawn by the seed of the stream; `--only cifar` selects sets.
"""

from __future__ import annotations

import argparse
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from quorate import method, simulate
from quorate.datasets import load_npz, synthetic
from quorate.methods import DEFAULT_ERROR_COST
from quorate.rng import stream as random_stream
from scenarios import SETTINGS

GRID = [0.0002, 0.0003, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1]
WIDE = [*GRID, 0.2, 0.4, 0.7]  # for the curve, down to very few votes
THRESHOLDS = [0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.87, 0.92, 0.95, 0.98, 0.995]
RULES = ["blended", "optimistic"]
ALLOWED = 0.01
REAL = [
    ("imagenet16h_shift", 6), ("imagenet16h", 6), ("cifar10h", 10), ("cifar10h", 3), ("cifar10h", 50),
    ("chaosnli_snli", 100),
]  # fmt: skip


def data_sets():
    """Name, data set, pool size, whether it is real."""
    folder = os.environ.get("QUORATE_DATA")
    for name, pool_size in REAL if folder else []:
        yield f"{name} N={pool_size}", load_npz(Path(folder) / f"{name}.npz"), pool_size, True
    dials = {"num_items": 4000, "accuracy": 0.75, "agreement": 0.75, "seed": 1}
    yield "synthetic, uneven classifier", synthetic(**dials, unevenness=0.6), 10, False
    yield "synthetic, even classifier", synthetic(**dials), 10, False
    yield "synthetic, useless classifier", synthetic(**dials | {"accuracy": 0.12, "calibration": 15.0}), 10, False
    for setting in SETTINGS:
        yield f"demo, {setting.key}", setting.dataset(1), setting.pool_size, False


def part_of(dataset, num_items, seed):
    """A random part of the data set with `num_items` items, in its order."""
    if num_items is None or num_items >= dataset.num_items:
        return dataset
    drawn = np.sort(random_stream(seed, "part").permutation(dataset.num_items)[:num_items])
    return dataset.rows(drawn)


def area_ratio(ours, theirs):
    """Area under our curve divided by that under theirs; each curve (values, 2) votes per item and error."""
    ours, theirs = (np.array(sorted(points.tolist())).T for points in (ours, theirs))
    grid = np.linspace(max(ours[0, 0], theirs[0, 0]), min(ours[0, -1], theirs[0, -1]), 400)
    return np.trapezoid(np.interp(grid, *ours), grid) / np.trapezoid(np.interp(grid, *theirs), grid)


def measure(dataset, pool_size, options, threads):
    """Cost until settled; (len(GRID), 2) votes per item and error above the floor; area ratios (streams, rules)."""
    settled, points, ratios = [], [], []
    for model in range(len(dataset.models)):
        for seed in options.seeds:
            part = part_of(dataset, options.items, seed)

            def curve(methods, part=part, model=model, seed=seed):
                runs = threads.map(lambda m: simulate(part, m, pool_size=pool_size, model=model, seed=seed), methods)
                return np.array([(run.mean_cost, run.error_rate) for run in runs])

            floor = curve(["until-settled"])[0]
            theirs = curve([method("finexp", threshold=threshold) for threshold in THRESHOLDS])
            rules = [curve([method("value", rule=rule, min_gain=gain) for gain in WIDE]) for rule in options.rules]
            settled.append(floor[0])
            points.append(rules[0][: len(GRID)] - [0.0, floor[1]])
            ratios.append([area_ratio(ours, theirs) for ours in rules])
    return np.mean(settled), np.mean(points, axis=0), np.array(ratios)


def arguments():
    """The command-line arguments."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, help="items of each set (default: all)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[3, 4])
    parser.add_argument("--only", nargs="+", default=[""], help="sets whose name contains one of these")
    parser.add_argument("--rules", nargs="+", default=RULES, choices=RULES, help="the table is of the first")
    return parser.parse_args()


def main():
    """Measure every set, print its line at once and the table at the end."""
    options, console = arguments(), Console(width=190)
    table = Table(title=f"rule {options.rules[0]}: votes per item / error above the tie floor, in points, by min_gain")
    table.add_column("data set")
    for rule in options.rules:
        table.add_column(f"area to finexp, {rule}", justify="right")
    for name in ("until settled", *(f"{gain:g}" for gain in GRID)):
        table.add_column(name, justify="right")
    worst = np.zeros(len(GRID))
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        for name, dataset, pool_size, real in data_sets():
            if not any(part in name for part in options.only):
                continue
            settled, points, ratios = measure(dataset, pool_size, options, threads)
            areas = [f"{column.mean():.3f} ({column.max():.3f})" for column in ratios.T]
            cells = (f"{cost:.2f} / {100 * above:.2f}" for cost, above in points)
            table.add_row(name, *areas, f"{settled:.2f}", *cells)
            console.print(name, *areas)
            if real:
                worst = np.maximum(worst, points[:, 1])
    console.print(table)
    if not worst.any():
        console.print("The default is chosen on the real sets, in the folder QUORATE_DATA: none was measured.")
        return
    chosen = max((gain for gain, above in zip(GRID, worst, strict=True) if above <= ALLOWED), default=None)
    console.print(f"largest min_gain within {100 * ALLOWED:g} point of the floor on every real set: {chosen}")
    console.print(f"the default in quorate.methods is {DEFAULT_ERROR_COST:g}")


if __name__ == "__main__":
    main()
