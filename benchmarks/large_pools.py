"""What one belief about a large pool costs, beside the exact method and what is required.

    python benchmarks/large_pools.py [--quick] [--out FOLDER]

Prints one row for each requirement: CPU time of the thread, median of several calls, both methods in turn, so that
ratios hold on a busy machine, too; the distance between their answers; and what looking ahead costs (`decision` needs
one belief a vote). Draws docs/figures/large_pools.svg: how cost grows with the pool and with the classes.
"""

from __future__ import annotations

from common import ROOT, compile_first, median, say  # first: it sets one thread before NumPy loads

# isort: split

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")

from matplotlib import pyplot as plt

from quorate.posterior.finite import finite_into, winners_into
from quorate.rng import stream
from quorate.service.domain.cost import belief_seconds
from report import Row

COMPILE = "from quorate import plurality_finite as f; f([1.0, 1.0], [0, 0], pool_size=5)"
EXACT = -1.0  # what `winners_into` takes for the exact method
REQUIRED = [  # classes, pool, how many times faster than the exact method (0.9: no slower, but for noise)
    (10, 50, 0.9),
    (10, 200, 1.5),
    (10, 1000, 5.7),
    (10, 5000, 43.0),
    (50, 1000, 17.8),
    (2, 10_000, 93.0),
]
CLOSE = 1e-10  # how far the answers may differ
SLOW = 2.0  # seconds: the exact method is timed once where it takes longer
POOLS = [50, 100, 150, 151, 200, 300, 500, 1000, 2000, 5000]
CLASSES = [2, 3, 5, 10, 20, 50, 100]
LINE, OLD, GRID = "#1f5fa8", "#e08a2e", "#e6e6e6"


def concentrations(num_classes: int, kind: str) -> np.ndarray:
    """alpha (K,): of a classifier worth three votes with half a vote of doubt, or the same for all classes."""
    if kind == "flat":
        return np.ones(num_classes)
    return 3.0 * stream(1, "growth", num_classes).dirichlet(np.full(num_classes, 0.3)) + 0.5 / num_classes


def cpu(task: Callable[[], object]) -> float:
    """Seconds of CPU time of one call."""
    begin = time.thread_time()
    task()
    return time.thread_time() - begin


def both(num_classes: int, pool_size: int, kind: str, *, rounds: int, exact: bool = True) -> tuple[float, float, float]:
    """Median seconds now and with the exact method (nan if it is left out), and how far their answers differ."""
    alpha, votes = concentrations(num_classes, kind), np.zeros(num_classes, np.int64)
    new, old = np.empty(num_classes), np.full(num_classes, np.nan)
    times: list[float] = []
    old_times: list[float] = []
    for _ in range(rounds):
        times.append(cpu(lambda: finite_into(alpha, votes, pool_size, new)))
        if exact and not (old_times and old_times[0] > SLOW):
            old_times.append(cpu(lambda: winners_into(alpha, votes, pool_size, EXACT, old)))
    return median(times), median(old_times) if old_times else np.nan, float(np.abs(new - old).max())


def pool_rows(*, quick: bool) -> list[Row]:
    """The requirements as rows of `make bench`; a quick run leaves out the largest."""
    compile_first(COMPILE)
    wanted = REQUIRED[:2] if quick else REQUIRED
    return [_row(num_classes, pool_size, times, quick=quick) for num_classes, pool_size, times in wanted]


def _row(num_classes: int, pool_size: int, times: float, *, quick: bool) -> Row:
    now, old, distance = both(num_classes, pool_size, "skewed", rounds=3 if quick else 7)
    row = Row(
        f"large_pool_{num_classes}_{pool_size}",
        f"plurality_finite, K={num_classes}, N={pool_size:,}",
        "the exact sums of products",
        f"before any vote; answers within {distance:.0e}",
        now,
        old,
    ).at_least(times)
    row.met = row.met and distance <= CLOSE
    return row


def table(*, rounds: int, quick: bool) -> None:
    """One row for each requirement and kind of alpha."""
    print("classes   pool  alpha      now ms   exact ms   required  exact/now  distance   model ms")
    for num_classes, pool_size, required in REQUIRED:
        for kind in ("skewed", "flat"):
            exact = not (quick and pool_size == 5000)
            now, old, distance = both(num_classes, pool_size, kind, rounds=rounds, exact=exact)
            model = belief_seconds("finite", num_classes, pool_size)
            print(
                f"{num_classes:7d} {pool_size:6d}  {kind:7s} {1e3 * now:9.3f} {1e3 * old:10.3f} {required:9.1f}x "
                f"{old / now:10.1f} {distance:9.0e} {1e3 * model:10.3f}",
                flush=True,
            )


def draw(folder: Path, *, rounds: int, quick: bool) -> Path:
    """large_pools.svg in `folder`: cost by pool with 10 classes, by classes in a pool of 1000."""
    pools, classes = (POOLS[:6], CLASSES[:3]) if quick else (POOLS, CLASSES)
    by_pool = [both(10, n, "skewed", rounds=rounds, exact=n <= 2000) for n in pools]
    size = 200 if quick else 1000
    by_class = [both(k, size, "skewed", rounds=rounds, exact=k <= 50) for k in classes]
    style = {"font.size": 10, "font.family": "DejaVu Sans", "svg.hashsalt": "quorate"}
    with plt.rc_context(style):
        figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.9), layout="constrained")
        for axes, sizes, found, title, label in (
            (left, pools, by_pool, "10 classes", "N, pool size"),
            (right, classes, by_class, f"pool of {size}", "K, classes"),
        ):
            axes.set(xscale="log", yscale="log", title=title, xlabel=label, ylabel="ms of one belief")
            axes.plot(
                sizes, [1e3 * old for _, old, _ in found], "o--", color=OLD, markersize=4, label="sums of products"
            )
            axes.plot(sizes, [1e3 * now for now, _, _ in found], "o-", color=LINE, markersize=4, label="now")
            axes.grid(which="major", color=GRID, linewidth=0.8)
            axes.set_axisbelow(True)
            axes.spines[["top", "right"]].set_visible(False)
        left.legend(frameon=False)
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "large_pools.svg"
        figure.savefig(file, facecolor="white", metadata={"Date": None})
        plt.close(figure)
    return file


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "figures", help="folder for large_pools.svg")
    parser.add_argument("--quick", action="store_true", help="a smoke run: fewer rounds, smaller pools in the figure")
    options = parser.parse_args()
    compile_first(COMPILE)
    rounds = 3 if options.quick else 7
    both(3, 200, "flat", rounds=1)  # loads the kernels
    table(rounds=rounds, quick=options.quick)
    say(f"wrote {draw(options.out, rounds=rounds, quick=options.quick).name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
