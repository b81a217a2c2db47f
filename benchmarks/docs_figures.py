"""Draws the pictures of docs/concepts.md, docs/figures/concepts-*.svg: `make docs-figures`.

Every curve is computed by the library, on one worked example: four classes, a pool of nine, one classifier. Dark lines
on a light background, readable in both colour schemes. The pages quote the numbers printed here.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

import quorate
from quorate.model.decision.blended import blended_gain

ROOT = Path(__file__).parents[1]
BLUE, ORANGE, GREEN, GREY, INK, PALE = "#1f5fa8", "#d9822b", "#3f8f5b", "#8a8f98", "#2b2f36", "#eef3fa"
COLOURS = (BLUE, ORANGE, GREEN, GREY)
CLASSES = ("cat", "dog", "bird", "frog")
PREDICTION = np.array([0.60, 0.25, 0.10, 0.05])
POOL = 9
PARAMS = quorate.PriorParams(theta=3.0, phi=0.2, tau=[1.0, 1.0, 1.0, 1.0])
BALLOTS = ("cat", "dog", "cat", "cat", "cat", "dog", "cat", "dog", "cat")
ERROR_COST = 100
STYLE = {
    "font.size": 11, "font.family": "DejaVu Sans", "text.color": INK, "axes.labelcolor": INK, "xtick.color": INK,
    "ytick.color": INK, "axes.edgecolor": "#b5bac2", "axes.spines.top": False, "axes.spines.right": False,
    "axes.titlesize": 11.5, "axes.titlelocation": "left", "svg.hashsalt": "quorate", "legend.frameon": False,
}  # fmt: skip


def box(axes: Axes, at: tuple[float, float], size: tuple[float, float], head: str, text: str, colour: str) -> None:
    """A rounded box with a head and a line or two below it; `at` is its centre."""
    (x, y), (width, height) = at, size
    axes.add_patch(
        FancyBboxPatch(
            (x - width / 2, y - height / 2), width, height, boxstyle="round,pad=0,rounding_size=0.12",
            facecolor=PALE, edgecolor=colour, linewidth=1.6,
        )
    )  # fmt: skip
    axes.text(x, y + height / 2 - 0.16, head, ha="center", va="top", weight="bold", color=colour, fontsize=12)
    axes.text(x, y - 0.16, text, ha="center", va="center", fontsize=9.5, linespacing=1.35)


def arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float], curve: float = 0.0) -> None:
    axes.add_patch(
        FancyArrowPatch(
            start, end, arrowstyle="-|>", mutation_scale=15, color=INK, linewidth=1.3,
            connectionstyle=f"arc3,rad={curve}", shrinkA=2, shrinkB=2,
        )
    )  # fmt: skip


def blank(width: float, height: float) -> tuple[Figure, Axes]:
    figure = plt.figure(figsize=(width, height))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(0, height))
    axes.axis("off")
    return figure, axes


def flow() -> Figure:
    figure, axes = blank(10.4, 4.6)
    size = (2.15, 1.3)
    top, low = 3.55, 1.25
    box(axes, (1.25, top), size, "prior", "prediction → alpha\ntheta, phi, tau", BLUE)
    box(axes, (3.9, top), size, "posterior", "alpha + votes → who\nwins the pool", BLUE)
    box(axes, (6.55, top), size, "decision", "ask one more,\nor stop and answer", ORANGE)
    box(axes, (9.2, top), size, "session", "writes every event\nto the journal", GREEN)
    box(axes, (5.2, low), size, "learning", "closed items → better\ntheta, phi, tau", GREEN)
    box(axes, (1.25, low), size, "classifier", "one prediction per\nitem, for free", GREY)
    box(axes, (9.2, low), size, "experts", "one vote at a time,\nat a cost", GREY)
    for left, right in ((1.25, 3.9), (3.9, 6.55), (6.55, 9.2)):
        arrow(axes, (left + 1.08, top), (right - 1.08, top))
    arrow(axes, (1.25, low + 0.65), (1.25, top - 0.65))
    arrow(axes, (9.05, top - 0.65), (9.05, low + 0.65))
    arrow(axes, (9.35, low + 0.65), (9.35, top - 0.65))
    axes.text(8.95, 2.4, "ask", ha="right", va="center", fontsize=9.5)
    axes.text(9.47, 2.4, "vote", ha="left", va="center", fontsize=9.5)
    arrow(axes, (8.12, top - 0.5), (6.28, low + 0.3), curve=-0.12)
    axes.text(7.0, 2.12, "closed", ha="right", va="center", fontsize=9.5)
    arrow(axes, (4.12, low + 0.3), (2.0, top - 0.65), curve=-0.12)
    axes.text(3.25, 2.35, "every 20 closed items", ha="left", va="center", fontsize=9.5)
    return figure


def bars(axes: Axes, title: str, settings: list[tuple[str, quorate.PriorParams]]) -> None:
    """alpha of each class, a group of bars per class, a bar per setting."""
    width = 0.8 / len(settings)
    for number, (label, params) in enumerate(settings):
        alpha = quorate.concentration(params, PREDICTION)
        print(f"  alpha, {label}: {np.round(alpha, 2).tolist()}")
        places = np.arange(4) - 0.4 + width * (number + 0.5)
        axes.bar(places, alpha, width * 0.92, label=label, color=COLOURS[number])
    axes.set_xticks(range(4), CLASSES)
    axes.set_title(title)
    axes.legend(fontsize=9.5, loc="upper right")


def learned() -> Figure:
    figure, (first, second, third) = plt.subplots(1, 3, figsize=(10.4, 3.3), layout="constrained", sharey=True)
    one = [1.0] * 4
    make = quorate.PriorParams
    bars(first, "theta: votes it is worth", [(f"theta = {t:g}", make(theta=t, phi=0.2, tau=one)) for t in (1.0, 5.0)])
    bars(second, "phi: doubt on every class", [(f"phi = {p:g}", make(theta=3.0, phi=p, tau=one)) for p in (0.1, 1.0)])
    trusts = [("tau = 1", one), ("tau = 2", [2.0] * 4), ("tau of cat = 3", [3.0, 1.0, 1.0, 1.0])]
    bars(third, "tau: how far to believe it", [(label, make(theta=3.0, phi=0.2, tau=t)) for label, t in trusts])
    first.set_ylabel("prior votes (alpha)")
    first.set_ylim(0, 5.4)
    return figure


def beliefs() -> tuple[np.ndarray, np.ndarray]:
    """After each vote of the example: who wins (n+1, K), and the gain of a further vote (n+1,)."""
    alpha = quorate.concentration(PARAMS, PREDICTION)
    votes, probs, gains = np.zeros(4, dtype=np.int64), [], []
    for ballot in (*BALLOTS, None):
        probs.append(quorate.plurality_finite(alpha, votes=votes, pool_size=POOL))
        left = POOL - int(votes.sum())
        gains.append(blended_gain(-1.0, probs[-1], probs[-1], votes, left, alpha, np.zeros((0, 0))) if left else 0.0)
        if ballot is not None:
            votes[CLASSES.index(ballot)] += 1
    return np.array(probs), np.array(gains)


def plurality() -> Figure:
    probs, _ = beliefs()
    figure, axes = plt.subplots(figsize=(9.2, 3.7), layout="constrained")
    seen = np.arange(len(probs))
    for k, name in enumerate(CLASSES):
        axes.plot(seen, probs[:, k], color=COLOURS[k], marker="o", markersize=4.5, linewidth=2, label=name)
        print(f"  {name} wins: {np.round(probs[:, k], 3).tolist()}")
    axes.set_xticks(seen, ["before\nany vote", *(f"{n + 1}\n{ballot}" for n, ballot in enumerate(BALLOTS))])
    axes.set_ylabel("probability of winning the pool")
    axes.set_ylim(-0.03, 1.06)
    settled = int(np.argmax(probs[:, 0] == 1.0))
    axes.axvspan(settled, len(probs) - 0.7, color=PALE, zorder=0)
    axes.text(settled + 0.08, 0.5, "settled: the missing\nvotes cannot matter", fontsize=9.5, va="center")
    axes.set_title(f"A pool of {POOL}; the votes as they come in")
    axes.legend(loc="center left", bbox_to_anchor=(0.0, 0.5), ncols=2, fontsize=9.5)
    return figure


def stopping() -> Figure:
    probs, gains = beliefs()
    figure, (left, right) = plt.subplots(1, 2, figsize=(10.4, 3.5), layout="constrained")
    seen = np.arange(len(gains))
    left.plot(seen, probs.max(axis=1), color=BLUE, marker="o", linewidth=2)
    left.axhline(0.95, color=ORANGE, linestyle="--")
    left.text(9, 0.935, "threshold 0.95", color=ORANGE, ha="right", va="top", fontsize=9.5)
    left.set(title="A threshold: stop when sure enough", ylabel="confidence", xlabel="votes seen", ylim=(0.4, 1.03))
    right.plot(seen, gains, color=BLUE, marker="o", linewidth=2)
    right.axhline(1 / ERROR_COST, color=ORANGE, linestyle="--")
    label = f"1 / error_cost = {1 / ERROR_COST:g}"
    right.text(9, 1 / ERROR_COST + 0.006, label, color=ORANGE, ha="right", va="bottom", fontsize=9.5)
    right.set(title="Its worth: stop when a vote is not worth it", ylabel="blended gain per vote", xlabel="votes seen")
    for axes, stops in ((left, probs.max(axis=1) > 0.95), (right, gains <= 1 / ERROR_COST)):
        stop = int(np.argmax(stops))
        value = (probs.max(axis=1) if axes is left else gains)[stop]
        axes.plot([stop], [value], marker="o", markersize=13, markerfacecolor="none", markeredgecolor=ORANGE, mew=2)
        axes.annotate("stops here", (stop, value), xytext=(0, -26 if axes is left else 26), ha="center",
                      textcoords="offset points", fontsize=9.5)  # fmt: skip
        axes.set_xticks(seen)
    print(f"  confidence {np.round(probs.max(axis=1), 3).tolist()}\n  gain {np.round(gains, 4).tolist()}")
    return figure


FIGURES = {"flow": flow, "learned": learned, "plurality": plurality, "stopping": stopping}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "figures", help="folder for concepts-*.svg")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    with plt.rc_context(STYLE):
        for name, make in FIGURES.items():
            print(name)
            figure = make()
            figure.savefig(out / f"concepts-{name}.svg", facecolor="white", metadata={"Date": None})
            plt.close(figure)
    return 0


if __name__ == "__main__":
    sys.exit(main())
