"""A plan as a figure: error against votes per item, each method with its band, the goal, and the setting advised.

Needs matplotlib, an extra. Called by `Plan.plot` and the report.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from quorate.reports.figures import INK, QUIET
from quorate.reports.plots import STYLES, TICKS
from quorate.reports.section import Figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MplFigure

    from quorate.workflows.plan import Plan

KEY = "plan"


def plan_figure(plan: Plan) -> Figure:
    """One panel: the curves, the goal and the forecast."""

    def one(figure: MplFigure) -> None:
        axes = figure.subplots()
        _curves(axes, plan)
        _marks(axes, plan)
        _advised(axes, plan)
        _scales(axes, plan)
        figure.legend(loc="outside lower center", ncols=4, frameon=False, handlelength=2.6, fontsize=8)

    caption = (
        f"Each line is a method on the pilot; the shaded band is the {100 * plan.level:g} % confidence interval of its "
        f"error there. The black dot is the forecast for the next batch; its bars are {100 * plan.level:g} % "
        "prediction intervals."
    )
    alt = "Wrong answers against votes per item, a line per method with its band, and the setting advised"
    return Figure(KEY, "Error against votes", caption, alt, one, (7.6, 5.6))


def _curves(axes: Axes, plan: Plan) -> None:
    for place, (curve, band) in enumerate(zip(plan.curves, plan.bands, strict=True)):
        style = {"linewidth": 1.3, "markersize": 3.5, "zorder": 3} | STYLES.get(curve.name, {"color": INK})
        if len(curve.settings) == 1:  # a single setting is a point, not a line
            style |= {"marker": style.get("marker", "o"), "markersize": 7}
        axes.plot(curve.votes, _unit(plan) * curve.errors, label=curve.name, **style)
        low, high = _unit(plan) * band.errors.T
        shade = 0.22 if place == 0 else 0.045  # six bands lie upon each other at the right end
        axes.fill_between(curve.votes, low, high, color=style["color"], alpha=shade, linewidth=0, zorder=2)


def _unit(plan: Plan) -> int:
    """Errors are drawn in per cent, their costs as they are."""
    return 100 if plan.pilot.error_costs is None else 1


def _marks(axes: Axes, plan: Plan) -> None:
    unit = _unit(plan)
    settled, goal = plan.references["until-settled"].mean, plan.advice.goal
    axes.plot([settled], [unit * plan.floor], "D", color=INK, markersize=6, label="until settled", zorder=8)
    if plan.floor > 0:
        axes.axhline(unit * plan.floor, color=QUIET, linewidth=1, linestyle=(0, (1, 2)), label="ties alone", zorder=1)
    draw = axes.axhline if goal.kind == "target-error" else axes.axvline
    named = "target" if goal.kind == "target-error" else "budget"
    draw(unit * goal.limit if named == "target" else goal.limit, color=INK, linewidth=1, linestyle="--", label=named)


def _advised(axes: Axes, plan: Plan) -> None:
    """The forecast of the next batch as a cross of its two intervals."""
    votes, errors = plan.advice.votes, plan.advice.errors
    unit = _unit(plan)
    (left, right), (low, high) = votes.interval(plan.level), errors.interval(plan.level)
    axes.errorbar(
        [votes.centre], [unit * errors.centre], fmt="none", ecolor=INK, elinewidth=1.5, capsize=3, zorder=10,
        xerr=[[votes.centre - left], [right - votes.centre]],
        yerr=[[unit * max(errors.centre - low, 0)], [unit * (high - errors.centre)]],
    )  # fmt: skip
    axes.plot(
        [votes.centre], [unit * errors.centre], "o", color=INK, markeredgecolor="white", markersize=7.5, zorder=11,
        label=f"next batch, {100 * plan.level:g} %",
    )  # fmt: skip


def _scales(axes: Axes, plan: Plan) -> None:
    from matplotlib.ticker import FixedLocator, LogLocator, NullLocator  # noqa: PLC0415 - optional

    seen = [_unit(plan) * error for curve in plan.curves for error in curve.errors]
    least = min([error for error in seen if error > 0] or [0.1])
    is_share = plan.pilot.error_costs is None
    named = "wrong answers, %" if is_share else "cost of errors per item"
    axes.set(xlabel="votes per item", ylabel=named, xlim=(0, None), yscale="log")
    if is_share:
        axes.set_ylim(max(0.6 * least, 0.05), min(1.15 * max(*seen, 1.0), 100.0))
        axes.yaxis.set_major_locator(FixedLocator(TICKS))
    else:
        axes.set_ylim(0.6 * least, 1.15 * max(seen))
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_title(f"A pilot of {plan.pilot.num_items:,} items; bands {100 * plan.level:g} %", fontweight="bold")
    if plan.price is not None:
        price = plan.price or 1.0
        money = axes.secondary_xaxis("top", functions=(partial(np.multiply, price), partial(np.multiply, 1 / price)))
        money.set_xlabel("money per item")
