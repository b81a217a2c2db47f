"""Measures how cost grows with classes, pool, window and history. Run by `make docs-figures`.

Prints a table and draws docs/figures/growth.svg and growth.png. An exponent is the slope of the log-log line through
the upper half of the points, where fixed overheads no longer matter.
"""

from __future__ import annotations

from common import ROOT, compile_first, median, say, seconds  # first: it sets one thread before NumPy loads

# isort: split

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from growth_plot import Panel, draw
from memory import COMPILE, WARM_UP, Feed
from quorate import plurality_finite, plurality_infinite
from quorate.learning.learner import Window, refit
from quorate.prior import HYPERPRIORS
from quorate.rng import stream
from quorate.validate import floored

CLASSES = [2, 5, 10, 20, 50, 100, 200, 500, 1000]
POOLS = [6, 10, 20, 50, 100, 200, 500, 1000]
WINDOWS = [50, 100, 200, 500, 1000, 2000, 5000]
HISTORY = [5000, 10_000, 20_000, 50_000, 100_000]
ITEMS, VOTES_SEEN, NEW_ITEMS, AT_ONCE = 20, 3, 20, 1000
PRIOR = HYPERPRIORS["default"]


def timed(task: Callable[[], object], *, budget: float = 0.4) -> float:
    """Median seconds per call, over at least three calls and as many as the budget allows."""
    task()
    rounds = int(np.clip(budget / max(seconds(task), 1e-6), 3, 200))
    return median([seconds(task) for _ in range(rounds)])


def concentrations(num_classes: int) -> np.ndarray:
    """alpha (ITEMS, K) of a classifier worth three votes, plus half a vote spread over all classes."""
    share = stream(1, "growth", num_classes).dirichlet(np.full(num_classes, 0.3), size=ITEMS)
    return 3.0 * share + 0.5 / num_classes


def finite(num_classes: int, pool_size: int) -> float:
    """Seconds per item before any vote, which takes longest."""
    alpha, votes = concentrations(num_classes), np.zeros(num_classes, dtype=np.int64)
    return timed(lambda: plurality_finite(alpha, votes, pool_size=pool_size)) / ITEMS


def infinite(num_classes: int) -> float:
    """Seconds per item before any vote."""
    alpha, votes = concentrations(num_classes), np.zeros(num_classes, dtype=np.int64)
    return timed(lambda: plurality_infinite(alpha, votes)) / ITEMS


def warm(num_classes: int, size: int) -> float:
    """Seconds of a refit after NEW_ITEMS new items; every item in the window has VOTES_SEEN votes."""
    rng = stream(1, "refit", num_classes, size)
    share = floored(rng.dirichlet(np.full(num_classes, 0.3), size=size + NEW_ITEMS))  # (T, K)
    beliefs = rng.standard_gamma(3.0 * share + 0.5 / num_classes) + 1e-300
    votes = rng.multinomial(VOTES_SEEN, beliefs / beliefs.sum(axis=1, keepdims=True))  # (T, K)
    window = Window(size, 1, num_classes)
    params = PRIOR.mode(num_classes)
    for t in range(size + NEW_ITEMS):
        if t == size:
            params, _ = refit(params, window, PRIOR)
        window.enter(str(t), np.log(share[t])[None])
        for label in np.flatnonzero(votes[t]):
            window.add(str(t), int(label), int(votes[t, label]))
    return timed(lambda: refit(params, window, PRIOR), budget=1.0)


def history(counts: list[int]) -> list[float]:
    """Seconds per decision of one session, median over the AT_ONCE items before it has closed each of `counts`."""
    feed = Feed()
    session = feed.session()
    times: list[float] = []
    found = []
    for t in range(counts[-1]):
        times.append(feed.pass_item(session, t)[1])
        if t + 1 in counts:
            found.append(median(times[-AT_ONCE:]))
            times.clear()
    return found


def panels(*, quick: bool) -> list[Panel]:
    """Every curve of the figure."""
    few = slice(0, 3) if quick else slice(None)
    classes, pools, windows, closed = CLASSES[few], POOLS[few], WINDOWS[few], HISTORY[few]
    if quick:
        closed = [AT_ONCE, WARM_UP]
    plan: list[tuple[str, str, list[int], Callable[[], list[float]]]] = [
        ("plurality_finite, K = 10", "N, pool size", pools, lambda: [finite(10, n) for n in pools]),
        ("plurality_finite, N = 10", "K, classes", classes, lambda: [finite(k, 10) for k in classes]),
        ("plurality_infinite", "K, classes", classes, lambda: [infinite(k) for k in classes]),
        ("warm refit, K = 10", "window, items", windows, lambda: [warm(10, w) for w in windows]),
        ("warm refit, window 500", "K, classes", classes, lambda: [warm(k, 500) for k in classes]),
        ("session decision, K = 10, N = 6", "closed items", closed, lambda: history(closed)),
    ]
    done = []
    for number, (what, axis, sizes, measure) in enumerate(plan, start=1):
        say(f"[{number}/{len(plan)}] {what} by {axis}")
        done.append(Panel(what, axis, sizes, measure()))
    return done


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "figures", help="folder for growth.svg and .png")
    parser.add_argument("--quick", action="store_true", help="a smoke run: three points per curve")
    options = parser.parse_args()
    compile_first(COMPILE)
    measured = panels(quick=options.quick)
    for panel in measured:
        print(f"{panel.what}: time ~ {panel.symbol}^{panel.exponent:.2f}")
        print(
            "  "
            + "  ".join(f"{size}: {1e6 * cost:.3g} us" for size, cost in zip(panel.sizes, panel.costs, strict=True))
        )
    for file in draw(measured, options.out):
        say(f"wrote {file.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
