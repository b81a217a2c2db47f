"""The figure of learned tau: the classifier's accuracy on each class above, tau of that class below.

Takes values, fills an empty matplotlib figure. Called through `calibration`'s `Figure`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from quorate.types import FloatArray
from quorate.workflows.plots import BLUE, INK, ORANGE, QUIET

COLOURS = {"finexp": BLUE, "infexp": ORANGE}
WIDTHS = {"finexp": 3.6, "infexp": 1.3}  # the two nearly coincide: one shows behind the other
DASHES: dict[float, Any] = {1.0: "-", 2.0: (0, (5, 2)), 3.0: (0, (1, 1.5))}
BARS = "#c9d6de"


class Panel(NamedTuple):
    """One classifier: accuracy (K,) of each class; lines of (method, votes an item, tau (K,))."""

    model: str
    classes: tuple[str, ...]
    accuracy: FloatArray
    lines: tuple[tuple[str, float, FloatArray], ...]


def draw(panels: tuple[Panel, ...], figure: Any) -> None:  # noqa: ANN401
    """Fill the figure: a column a classifier, classes from the worst to the best."""
    rows = figure.subplots(2, len(panels), squeeze=False, sharex="col", sharey="row", height_ratios=(2, 3))
    for above, below, panel in zip(*rows, panels, strict=True):
        order = np.argsort(panel.accuracy)
        _accuracy(above, panel, order)
        _tau(below, panel, order)
    known = [tau[~np.isnan(tau)] for panel in panels for _, _, tau in panel.lines]  # a budget nobody reached has none
    rows[1][0].set_ylim(0, 1.06 * max((float(tau.max()) for tau in known if len(tau)), default=1.0))
    rows[0][0].set_ylabel("accuracy, %")
    rows[1][0].set_ylabel("learned tau")
    handles, labels = rows[1][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False, handlelength=3.2)


def _accuracy(axes: Any, panel: Panel, order: np.ndarray) -> None:  # noqa: ANN401
    places = np.arange(len(order))
    axes.bar(places, 100 * panel.accuracy[order], color=BARS, edgecolor=QUIET, linewidth=0.6, zorder=2)
    for place, value in zip(places, panel.accuracy[order], strict=True):
        axes.annotate(f"{100 * value:.0f}", (place, 100 * value), (0, 2), textcoords="offset points", ha="center",
                      fontsize=8, color=INK)  # fmt: skip
    axes.set_ylim(0, 108)
    axes.set_title(panel.model, fontweight="bold", fontsize=10.5)


def _tau(axes: Any, panel: Panel, order: np.ndarray) -> None:  # noqa: ANN401
    places = np.arange(len(order))
    for method, budget, tau in panel.lines:
        votes = "1 vote" if budget == 1 else f"{budget:g} votes"
        axes.plot(places, tau[order], color=COLOURS[method], linestyle=DASHES[budget], linewidth=WIDTHS[method],
                  marker="o", markersize=3, label=f"{method}, {votes} an item")  # fmt: skip
    axes.set_xticks(places, [panel.classes[k] for k in order], rotation=45, ha="right", rotation_mode="anchor")
