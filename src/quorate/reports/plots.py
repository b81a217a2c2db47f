"""Error-cost plots: error against votes per item, one line per method, ours in front, the tie floor drawn.

Colour says the family, the dash which member of it (Okabe and Ito's colours, safe for the colour-blind). Needs
matplotlib, an extra: without it nothing is drawn and `MISSING` says how to install it.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from quorate.errors import MissingExtra
from quorate.streams.curves import Comparison
from quorate.streams.sweep import Curve

MISSING = "No plots: matplotlib is not installed. To have them: pip install 'quorate[plot]'"
INK, QUIET, BUDGET, GRID = "#222222", "#767676", "#b9b9b9", "#ececec"
BLUE, ORANGE, GREEN, PURPLE, SKY = "#0072B2", "#D55E00", "#009E73", "#9A4F96", "#8C8C8C"

STYLES: dict[str, dict[str, Any]] = {
    "quorate": {"color": BLUE, "linewidth": 3.2, "zorder": 9},
    "finexp": {"color": ORANGE, "linestyle": "-"},
    "infexp": {"color": ORANGE, "linestyle": "--"},
    "fixed-ask-finexp": {"color": ORANGE, "linestyle": "-."},
    "fixed-ask-infexp": {"color": ORANGE, "linestyle": ":"},
    "fixed-finexp": {"color": GREEN, "linestyle": "-"},
    "fixed-infexp": {"color": GREEN, "linestyle": "--"},
    "beta": {"color": PURPLE, "linestyle": "-", "marker": "o"},
    "quorum": {"color": PURPLE, "linestyle": "--", "marker": "s"},
    "unanimous-then-cap": {"color": PURPLE, "linestyle": ":", "marker": "^"},
    "random": {"color": SKY, "linestyle": "-"},
    "entropy": {"color": SKY, "linestyle": "--"},
    "mp": {"color": SKY, "linestyle": "-."},
    "mp-released": {"color": SKY, "linestyle": ":"},
}
TICKS = (0.1, 0.2, 0.5, 1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100)
SINGLE = {"until-settled": "D", "ask-all": "X"}
RC: dict[Any, Any] = {
    "font.size": 9.5,
    "font.family": "sans-serif",
    "axes.edgecolor": QUIET,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": GRID,
    "text.color": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "svg.hashsalt": "quorate",
}


def can_plot() -> bool:
    """True if matplotlib is installed."""
    try:
        return find_spec("matplotlib") is not None
    except (ImportError, ValueError):
        return False


def write_plots(comparisons: Sequence[Comparison], folder: Path) -> tuple[Path, ...]:
    """All settings on one page, as PNG and SVG; nothing if matplotlib is missing."""
    if not can_plot():
        return ()
    with _styled() as figures:
        figure = figures.Figure(figsize=(11.5, 8.6), layout="constrained")
        panels = figure.subplots(2, (len(comparisons) + 1) // 2).flat
        for axes, comparison in zip(panels, comparisons, strict=False):
            draw(
                axes, comparison.curves, title=comparison.setting.title, budgets=[m.budget for m in comparison.matched]
            )
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside right center", frameon=False, handlelength=3.2)
        return _save(figure, folder)


def write_curves(curves: Sequence[Curve], folder: Path, *, title: str) -> tuple[Path, ...]:
    """One set of curves as PNG and SVG; nothing if matplotlib is missing."""
    if not can_plot():
        return ()
    with _styled() as figures:
        return _save(_single(figures, curves, title, ()), folder)


def data_uri(comparison: Comparison) -> str:
    """One setting's plot as an SVG to embed in a page."""
    if not can_plot():
        raise MissingExtra(MISSING)
    buffer = io.BytesIO()
    with _styled() as figures:
        budgets = [matched.budget for matched in comparison.matched]
        _single(figures, comparison.curves, "", budgets).savefig(buffer, format="svg", metadata={"Date": None})
    return "data:image/svg+xml;base64," + base64.b64encode(buffer.getvalue()).decode()


def draw(axes: Any, curves: Sequence[Curve], *, title: str, budgets: Sequence[float] = ()) -> None:  # noqa: ANN401
    """One panel; thin upright lines mark the budgets at which the tables compare."""
    from matplotlib.ticker import FixedLocator, NullLocator  # noqa: PLC0415

    for curve in sorted(curves, key=lambda c: list(STYLES).index(c.name) if c.name in STYLES else 99):
        _line(axes, curve)
    settled = next((curve.points[0] for curve in curves if curve.name == "until-settled"), None)
    if settled is not None:
        axes.axhline(100 * settled.error_rate, color=QUIET, linewidth=1, linestyle=(0, (1, 2)), zorder=1)
        axes.annotate(
            "ties: no one can do better", (1.0, 100 * settled.error_rate), (0, -7), xycoords=("axes fraction", "data"),
            textcoords="offset points", fontsize=8, color=QUIET, va="top", ha="right",
        )  # fmt: skip
    for number, budget in enumerate(budgets):
        label = None if number else "budgets compared"
        axes.axvline(budget, color=BUDGET, linewidth=1.0, linestyle=(0, (5, 3)), zorder=1, label=label)
    axes.set(title=title, xlabel="votes per item", ylabel="wrong answers, %", xlim=(0, None), yscale="log")
    axes.set_ylim(*_limits(curves))
    axes.yaxis.set_major_locator(FixedLocator(TICKS))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_locator(NullLocator())
    axes.title.set(fontweight="bold", fontsize=10.5)


def _line(axes: Any, curve: Curve) -> None:  # noqa: ANN401
    costs = [point.votes_per_item for point in curve.points]
    errors = [100 * point.error_rate for point in curve.points]
    if curve.name in SINGLE:
        axes.plot(
            costs, errors, SINGLE[curve.name], color=INK, markersize=6, label=curve.name, zorder=10, clip_on=False
        )
        return
    style = {"linewidth": 1.3, "markersize": 3.5, "zorder": 3} | STYLES.get(curve.name, {"color": INK})
    if len(costs) == 1:  # a single knob value is a point, not a line
        style |= {"marker": style.get("marker", "o"), "markersize": 7}
    axes.plot(costs, errors, label=curve.name, **style)


def _limits(curves: Sequence[Curve]) -> tuple[float, float]:
    """From below the best to above the worst error, in percent; the axis is logarithmic, so nothing hides at 0."""
    errors = [100 * point.error_rate for curve in curves for point in curve.points]
    return max(0.75 * min(errors), 0.05), min(1.15 * max(errors), 100.0)


def _single(figures: Any, curves: Sequence[Curve], title: str, budgets: Sequence[float]) -> Any:  # noqa: ANN401
    figure = figures.Figure(figsize=(5.2, 5.4), layout="constrained")
    axes = figure.subplots()
    draw(axes, curves, title=title, budgets=budgets)
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, handlelength=2.6, fontsize=8)
    return figure


def _save(figure: Any, folder: Path) -> tuple[Path, ...]:  # noqa: ANN401
    files = (folder / "error-cost.png", folder / "error-cost.svg")
    figure.savefig(files[0], dpi=150)
    figure.savefig(files[1], metadata={"Date": None})
    return files


@contextmanager
def _styled() -> Iterator[Any]:
    """matplotlib's figure module under our style, imported only when a plot is drawn."""
    import matplotlib  # noqa: PLC0415
    import matplotlib.figure  # noqa: PLC0415

    with matplotlib.rc_context(RC):
        yield matplotlib.figure
