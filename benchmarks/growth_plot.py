"""Curves of cost -> a figure of small multiples, log-log, each with its exponent. Called by growth.py."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter

LINE, FIT, TEXT, GRID = "#1f5fa8", "#e08a2e", "#333333", "#e6e6e6"
UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))
NAMES = {"N, pool size": "N", "K, classes": "K", "window, items": "W", "closed items": "items"}


@dataclass(frozen=True)
class Panel:
    """One curve: seconds against sizes."""

    what: str
    axis: str
    sizes: list[int]
    costs: list[float]

    @property
    def symbol(self) -> str:
        return NAMES[self.axis]

    @property
    def line(self) -> tuple[float, float]:
        """Slope and intercept in logarithms, through the upper half of the points (at least two)."""
        half = min(len(self.sizes) // 2, len(self.sizes) - 2)
        slope, intercept = np.polyfit(np.log(self.sizes[half:]), np.log(self.costs[half:]), 1)
        return float(slope), float(intercept)

    @property
    def exponent(self) -> float:
        return self.line[0]


def draw(panels: list[Panel], folder: Path) -> list[Path]:
    """growth.svg and growth.png in `folder`."""
    style = {"font.size": 10, "font.family": "DejaVu Sans", "text.color": TEXT, "axes.labelcolor": TEXT,
             "xtick.color": TEXT, "ytick.color": TEXT, "axes.edgecolor": "#999999",
             "svg.hashsalt": "quorate"}  # fmt: skip
    with plt.rc_context(style):
        figure, grid = plt.subplots(2, 3, figsize=(11.5, 6.6), layout="constrained")
        for axes, panel in zip(grid.flat, panels, strict=True):
            _panel(axes, panel)
        handles, labels = grid.flat[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
        folder.mkdir(parents=True, exist_ok=True)
        files = [folder / "growth.svg", folder / "growth.png"]
        figure.savefig(files[0], facecolor="white", metadata={"Date": None})
        figure.savefig(files[1], facecolor="white", dpi=130, metadata={"Software": None})
        plt.close(figure)
    return files


def _panel(axes: Axes, panel: Panel) -> None:
    slope, intercept = panel.line
    half = min(len(panel.sizes) // 2, len(panel.sizes) - 2)
    ends = np.array([panel.sizes[half], panel.sizes[-1]], dtype=float)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.plot(ends, np.exp(intercept) * ends**slope, color=FIT, linewidth=5, alpha=0.45, solid_capstyle="round",
              label="fitted power, upper half")  # fmt: skip
    axes.plot(panel.sizes, panel.costs, "o-", color=LINE, markersize=4.5, linewidth=1.4, label="measured, one thread")
    growth = f"time ∝ {panel.symbol}$^{{\\,{slope:.1f}}}$" if abs(slope) >= 0.05 else "time does not grow"
    axes.set_title(f"{panel.what}\n{growth}", fontsize=10.5)
    axes.set_xlabel(panel.axis)
    axes.xaxis.set_major_locator(FixedLocator(_thinned(panel.sizes)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda size, _: f"{size / 1000:g}k" if size >= 1000 else f"{size:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.minorticks_off()
    low, high = min(panel.costs), max(panel.costs)
    if high / low < 30:  # a flat curve gets a decade on both sides, so that it looks flat
        middle = np.sqrt(low * high)
        low, high = min(low, middle / 6), max(high, middle * 6)
    axes.set_ylim(low / 1.8, high * 1.8)
    axes.yaxis.set_major_locator(LogLocator(base=10, numticks=9))
    axes.yaxis.set_major_formatter(FuncFormatter(_duration))
    axes.grid(which="major", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _thinned(sizes: list[int]) -> list[int]:
    """Ticks that do not overlap: at least a factor of 1.9 apart, including the last one."""
    kept = [sizes[-1]]
    for size in reversed(sizes[:-1]):
        if kept[-1] / size >= 1.9:
            kept.append(size)
    return kept[::-1]


def _duration(value: float, _: object) -> str:
    for scale, unit in UNITS:
        if value >= 0.99 * scale:
            return f"{value / scale:g} {unit}"
    return f"{value * 1e6:g} µs"
