"""Error-cost plots: error against votes per item, one line per method, ours in front, the tie floor drawn.

Colour shows the family of a method, the dash its member (Okabe and Ito's colours, safe for the colour-blind). Needs
matplotlib, an extra: without it nothing is drawn and `MISSING` says how to install it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quorate.files import write_atomic
from quorate.reports.figures import (
    BLUE,
    BUDGET,
    GREEN,
    GREY,
    INK,
    ORANGE,
    PURPLE,
    QUIET,
    can_plot,
    draw,
)
from quorate.reports.section import Figure
from quorate.streams.curves import Comparison
from quorate.streams.sweep import Curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MplFigure

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
    "random": {"color": GREY, "linestyle": "-"},
    "entropy": {"color": GREY, "linestyle": "--"},
    "mp": {"color": GREY, "linestyle": "-."},
    "mp-released": {"color": GREY, "linestyle": ":"},
}
TICKS = (0.1, 0.2, 0.5, 1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100)
SINGLE = {"until-settled": "D", "ask-all": "X"}


def write_plots(comparisons: Sequence[Comparison], folder: Path) -> tuple[Path, ...]:
    """Write all settings in one figure, as PNG and SVG; nothing if matplotlib is missing."""

    def panels(figure: MplFigure) -> None:
        for axes, each in zip(figure.subplots(2, (len(comparisons) + 1) // 2).flat, comparisons, strict=False):
            draw_curves(axes, each.curves, title=each.setting.title, budgets=[m.budget for m in each.matched])
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside right center", frameon=False, handlelength=3.2)

    return _write(Figure("error-cost", "", "", "", panels, size=(11.5, 8.6)), folder)


def write_curves(curves: Sequence[Curve], folder: Path, *, title: str) -> tuple[Path, ...]:
    """Write one set of curves as PNG and SVG; nothing if matplotlib is missing."""
    return _write(_single("error-cost", curves, title, ()), folder)


def comparison_figure(comparison: Comparison) -> Figure:
    """One setting's plot, for a report."""
    setting, budgets = comparison.setting, [matched.budget for matched in comparison.matched]
    return _single(setting.key, comparison.curves, setting.title, budgets)


def _single(key: str, curves: Sequence[Curve], title: str, budgets: Sequence[float]) -> Figure:
    def one(figure: MplFigure) -> None:
        axes = figure.subplots()
        draw_curves(axes, curves, title=title, budgets=budgets)
        handles, labels = axes.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside right center", frameon=False, handlelength=2.6, fontsize=8)

    return Figure(key, title, "", f"{title}: wrong answers against votes per item, a line per method", one, (7.4, 4.8))


def _write(figure: Figure, folder: Path) -> tuple[Path, ...]:
    if not can_plot():
        return ()
    done = draw(figure)
    contents = {f"{figure.key}.png": done.png, f"{figure.key}.svg": done.svg}
    return tuple(write_atomic(folder / name, content) for name, content in contents.items())


def draw_curves(
    axes: Axes,
    curves: Sequence[Curve],
    *,
    title: str,
    budgets: Sequence[float] = (),
) -> None:
    """One panel; thin vertical lines mark the budgets of the tables."""
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


def _line(axes: Axes, curve: Curve) -> None:
    costs = [point.votes_per_item for point in curve.points]
    errors = [100 * point.error_rate for point in curve.points]
    if curve.name in SINGLE:
        axes.plot(
            costs, errors, SINGLE[curve.name], color=INK, markersize=6, label=curve.name, zorder=10, clip_on=False
        )
        return
    style = {"linewidth": 1.3, "markersize": 3.5, "zorder": 3} | STYLES.get(curve.name, {"color": INK})
    if len(costs) == 1:  # a single setting is a point, not a line
        style |= {"marker": style.get("marker", "o"), "markersize": 7}
    axes.plot(costs, errors, label=curve.name, **style)


def _limits(curves: Sequence[Curve]) -> tuple[float, float]:
    """From below the best to above the worst error, in per cent, for a logarithmic axis."""
    errors = [100 * point.error_rate for curve in curves for point in curve.points]
    return max(0.75 * min(errors), 0.05), min(1.15 * max(errors), 100.0)
