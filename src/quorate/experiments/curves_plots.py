"""Error-cost figures: a page of panels for each data set and pool size, and one picture of all classifiers' mean.

LOWESS lines through the runs of all seeds, the range of the seeds as a band, the tie floor dotted. Called by `curves`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from quorate.errors import MissingExtra
from quorate.experiments.curves_tables import FUSED, groups
from quorate.experiments.grids import METHOD_LABELS
from quorate.experiments.panels import Panel, Stream
from quorate.experiments.readings import curve
from quorate.experiments.section import Figure
from quorate.types import FloatArray
from quorate.workflows.plots import BLUE, STYLES

LINES = STYLES | {FUSED: {"color": BLUE, "linewidth": 2.4, "linestyle": "--", "zorder": 10}}
FRACTION = 0.2


def figures(panels: Sequence[Panel]) -> tuple[Figure, ...]:
    """One figure for each data set and pool size."""
    return tuple(_page(name, some) for name, some in groups(panels).items() if any(p.model != "all" for p in some))


def _page(name: str, panels: Sequence[Panel]) -> Figure:
    single = [panel for panel in panels if panel.model != "all"]
    fused = next((panel for panel in panels if panel.model == "all" and panel.family != "imagenet16h"), None)
    columns = min(len(single), 3 if len(single) != 4 else 2)
    rows = math.ceil(len(single) / columns)
    family = panels[0].family
    return Figure(
        key=f"curves-{family.replace('_', '-')}-{panels[0].pool_size}",
        title=name,
        caption=f"Share of wrong answers against votes per item, a panel for each classifier.{_fused_note(fused)}",
        alt=f"Error-cost curves on {name} for {', '.join(panel.model for panel in single)}",
        draw=_drawer(single, fused, rows, columns),
        size=(4.2 * columns + 0.4, 3.3 * rows + 0.9),
    )


def _fused_note(fused: Panel | None) -> str:
    return "" if fused is None else " The dashed blue line fuses all classifiers and is the same in each panel."


def _drawer(panels: Sequence[Panel], fused: Panel | None, rows: int, columns: int) -> Callable[[Any], None]:
    def draw(figure: Any) -> None:  # noqa: ANN401
        axes = figure.subplots(rows, columns, squeeze=False)
        for number, axis in enumerate(axes.flat):
            if number < len(panels):
                draw_panel(axis, panels[number], fused)
            else:
                axis.set_visible(False)
            axis.set_ylabel("wrong, %" if number % columns == 0 else "")
        handles, labels = axes.flat[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False, handlelength=3.0)

    return draw


def draw_panel(axis: Any, panel: Panel, fused: Panel | None) -> None:  # noqa: ANN401
    """One classifier: a line and a band for every method."""
    methods = dict(panel.methods) | (dict(fused.methods) if fused is not None else {})
    for name, streams in methods.items():
        style = {"linewidth": 1.5} | LINES.get(name, {})
        costs, errors = smooth(streams)
        axis.plot(costs, 100 * errors, label=METHOD_LABELS.get(name, name), **{**style, "marker": None})
        if name in ("quorate", "finexp", "random"):
            grid = np.linspace(0.0, float(panel.until_settled.mean()), 60)
            read = np.array([stream.reached(grid) for stream in streams])
            axis.fill_between(grid, 100 * read.min(0), 100 * read.max(0), color=style["color"], alpha=0.15, linewidth=0)
    axis.axhline(100 * float(panel.tie_floor.mean()), color="#555555", linestyle=":", linewidth=1)
    right = "" if panel.accuracy is None else f" ({100 * panel.accuracy:.0f} % right)"
    axis.set_title(panel.model + right, fontsize=10)
    axis.set_xlabel("votes per item")
    axis.set_yscale("log")
    _percent_ticks(axis, panel)
    axis.set_xlim(0, float(panel.until_settled.mean()) * (1.0 if panel.pool_size <= 10 else 0.6))


def _percent_ticks(axis: Any, panel: Panel) -> None:  # noqa: ANN401
    lowest = 100 * min(float(stream.errors.min()) for some in panel.methods.values() for stream in some)
    highest = 100 * max(float(stream.errors.max()) for some in panel.methods.values() for stream in some)
    axis.set_ylim(max(lowest * 0.85, 0.02), highest * 1.1)
    ticks = [tick for tick in (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50) if lowest * 0.85 <= tick <= highest * 1.1]
    axis.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.minorticks_off()


def smooth(streams: Sequence[Stream]) -> tuple[FloatArray, FloatArray]:
    """LOWESS with fraction 0.2 through the distinct points of all streams, by rising cost."""
    pairs = [curve(stream.costs, stream.errors) for stream in streams]
    costs, errors = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
    try:
        from statsmodels.nonparametric.smoothers_lowess import lowess  # noqa: PLC0415
    except ImportError as cause:
        raise MissingExtra("statsmodels is not installed; to reproduce: pip install 'quorate[reproduce]'") from cause
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # points that share their cost leave some neighbourhoods without a slope
        fitted = lowess(errors, costs, frac=max(FRACTION, 3.5 / len(costs)), it=0, return_sorted=True)
    known = ~np.isnan(fitted[:, 1])
    return fitted[known, 0], np.maximum(fitted[known, 1], 0.0)
