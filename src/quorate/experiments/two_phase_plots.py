"""The two-phase figure: accuracy gained without experts against what the first phase cost, a panel a classifier.

Takes lines and the paper's cells as values, fills an empty matplotlib figure. Called through `two_phase`'s `Figure`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from quorate.types import FloatArray
from quorate.workflows.plots import INK, ORANGE, PURPLE, QUIET, STYLES

STYLE: dict[str, dict[str, Any]] = {
    "quorate": STYLES["quorate"],
    "infexp": {"color": ORANGE, "linestyle": "--", "marker": "s"},
    "fixed-ask-infexp": {"color": PURPLE, "linestyle": "--", "marker": "D"},
    "finexp": {"color": ORANGE, "linestyle": "-", "marker": "o"},
    "fixed-ask-finexp": {"color": PURPLE, "linestyle": "-", "marker": "^"},
}
OFFSETS = {"infexp": -0.09, "fixed-ask-infexp": -0.03, "finexp": 0.03, "fixed-ask-finexp": 0.09}
PAPER_PRIOR = {"linestyle": ":", "linewidth": 1.6}


class Line(NamedTuple):
    """A method's mean gain (points) over costs; `paper_prior`: under the hyperprior the paper gives FinExp."""

    method: str
    paper_prior: bool
    costs: FloatArray
    gains: FloatArray


class Panel(NamedTuple):
    """One classifier. `marks`: (method, budget, printed gain, its standard error), for a classifier of `accuracy` %."""

    title: str
    lines: tuple[Line, ...]
    marks: tuple[tuple[str, float, float, float], ...]
    accuracy: int | None


def draw(panels: tuple[Panel, ...], figure: Any) -> None:  # noqa: ANN401
    """Fill the figure."""
    columns = min(2, len(panels))
    grid = figure.subplots((len(panels) + columns - 1) // columns, columns, squeeze=False, sharex=True).flat
    for axes, panel in zip(grid, panels, strict=False):
        _panel(axes, panel)
    for axes in list(grid)[len(panels) :]:
        axes.set_axis_off()
    labelled: dict[str, Any] = {}
    for axes in figure.axes:
        labelled |= dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    figure.legend(
        labelled.values(), labelled.keys(), loc="outside lower center", ncols=3, frameon=False, handlelength=3.0
    )


def _panel(axes: Any, panel: Panel) -> None:  # noqa: ANN401
    axes.axhline(0.0, color=QUIET, linewidth=1, zorder=1)
    for line in panel.lines:
        style = {"linewidth": 1.5, "zorder": 3} | STYLE[line.method] | {"marker": ""}
        name = line.method
        if line.paper_prior:
            style, name = style | PAPER_PRIOR, f"{line.method}, Gamma(1.1, 1)"
        there = ~np.isnan(line.gains)
        axes.plot(line.costs[there], line.gains[there], label=name, **style)
    for method, budget, gain, error in panel.marks:
        style = STYLE[method]
        axes.errorbar(
            budget + OFFSETS[method], gain, error, fmt=style["marker"], color=style["color"], markersize=5,
            markerfacecolor="white", elinewidth=1, zorder=6, label=f"paper: {method}",
        )  # fmt: skip
    beside = f"   (marks: the paper's {panel.accuracy} %)" if panel.marks else ""
    axes.set_title(panel.title + beside, fontweight="bold", fontsize=10, color=INK)
    axes.set(xlabel="votes per item in the first phase", ylabel="accuracy gained, points", xlim=(0.2, 3.6))
