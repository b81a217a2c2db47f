"""A `Plan` as tables, a figure, a report and files: plan.json, curves.csv, rejects.csv, plan.png, report.html.

The figure needs matplotlib, an extra. Called by the methods of `Plan` and by `quorate plan`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from quorate.files import Content, write_folder
from quorate.reports import render
from quorate.reports.figures import INK, QUIET, STYLES, TICKS, DrawnFigure, draw_all
from quorate.reports.format import interval, json_page
from quorate.reports.section import Document, Figure, Section, Table, data_section
from quorate.version import __version__
from quorate.workflows.plan.next_steps import command, project_settings, session_code, uses
from quorate.workflows.plan.notes import error_text, expected, headline, money_of, notes, per_vote, saved

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MplFigure

    from quorate.workflows.plan import Plan


FILES = ("curves.csv", "rejects.csv", "plan.png", "report.html", "plan.json")
PROMISE = (
    "The forecast is for the next batch: other items from the same source, predicted by the same classifiers and voted "
    "on by the same kind of pool, asked once, in one order, with a method that learns from the start.",
    "The prediction intervals allow for what the pilot cannot know (its items were resampled, and the choice of the "
    "setting was repeated each time), for the next batch's own luck, and for what learning makes of both.",
    "The confidence intervals of the methods are about the pilot: where the error of a setting would lie on very many "
    "items like these. They do not include the luck of a batch, so they are narrower than prediction intervals.",
    "No interval allows for a source that changes.",
)
CURVES = (
    "method", "setting", "votes_per_item", "votes_low", "votes_high", "error", "error_low", "error_high",
    "money_per_item", "cost_per_item",
)  # fmt: skip


def summarise(plan: Plan) -> dict[str, Any]:
    """Everything in one dictionary; no clock and no path in it, so that the same plan gives the same file."""
    advice, pilot = plan.advice, plan.pilot
    return {
        "quorate": __version__,
        "headline": headline(plan),
        "command": command(plan),
        "session": session_code(plan),
        "project": project_settings(plan),
        "notes": notes(plan),
        "goal": {"kind": advice.goal.kind, "limit": advice.goal.limit, "given": plan.is_own_goal},
        "advice": {
            "method": advice.setting.method.describe(),
            "setting": advice.setting.parameter,
            "status": advice.status,
            "chance": advice.chance,
            "votes_per_item": expected(advice.votes, plan.level),
            "error": expected(advice.errors, plan.level),
            "money": money_of(plan),
            "saved_against_ask_all": saved(plan, "ask-all"),
            "saved_against_until_settled": saved(plan, "until-settled"),
            "money_saved_against_ask_all": saved(plan, "ask-all", money=True),
            "money_saved_against_until_settled": saved(plan, "until-settled", money=True),
            "cost_per_vote": per_vote(plan),
        },
        "safest": None if advice.safest is None else {
            "setting": advice.safest.setting.parameter,
            "chance": advice.safest.chance,
            "votes_per_item": expected(advice.safest.votes, plan.level),
            "error": expected(advice.safest.errors, plan.level),
        },
        "level": plan.level,
        "batch_size": plan.batch_size,
        "tie_floor": plan.floor,
        "until_settled_per_item": plan.references["until-settled"].mean,
        "ask_all_per_item": plan.references["ask-all"].mean,
        "rivals": [
            {"method": r.name, "error_above_ours": r.difference, "low": r.low, "high": r.high, "is_better": r.is_better}
            for r in plan.rivals
        ],
        "curves": curve_rows(plan),
        "pilot": {
            "num_items": pilot.num_items, "unused": pilot.unused, "left_out": pilot.left_out,
            "single_vote": pilot.single, "partly_voted": pilot.partly, "missing_votes": pilot.missing,
            "votes_drawn": pilot.missing if pilot.model is not None else 0,
            "pool_size": pilot.pool_size or "recorded", "smallest_pool": pilot.smallest, "largest_pool": pilot.largest,
            "classes": list(pilot.dataset.classes), "models": list(pilot.dataset.models),
        },
        "classifier": None if plan.classifier is None else plan.classifier.describe(),
        "people": None if plan.people is None else plan.people.describe(
            price=plan.price, num_items=plan.batch_size
        ),
        "settings": dict(plan.settings),
        "data": plan.report.as_dict(),
    }  # fmt: skip


def curve_rows(plan: Plan) -> list[dict[str, Any]]:
    """A row for every setting of every method: votes, error, their bands, money."""
    rows = []
    for curve, band in zip(plan.curves, plan.bands, strict=True):
        for k, setting in enumerate(curve.settings):
            low, high = (float(end) for end in band.votes[k])
            least, most = (float(end) for end in band.errors[k])
            votes, paid = setting.votes.mean, setting.paid.mean
            money = None if plan.price is None else plan.price * paid
            values = (curve.name, setting.parameter, votes, low, high, setting.errors.mean, least, most, money, paid)
            rows.append(dict(zip(CURVES, values, strict=True)))
    return rows


def expected_rows(plan: Plan) -> tuple[list[str], list[list[str]]]:
    """Heads and rows of what to expect of the next batch, beside asking until settled and asking everyone."""
    advice, settled, everyone = plan.advice, *(plan.references[name].mean for name in ("until-settled", "ask-all"))
    low, high = advice.votes.interval(plan.level)
    least, most = (error_text(plan, end) for end in advice.errors.interval(plan.level))
    ties = error_text(plan, plan.floor)
    votes = f"{low:.2f} to {high:.2f}"
    rows = [
        ["votes per item", f"{advice.votes.centre:.2f}", votes, f"{settled:.2f}", f"{everyone:.2f}"],
        [error_head(plan), error_text(plan, advice.errors.centre), interval(least, most), ties, ties],
    ]
    if (money := money_of(plan)) is not None:
        cells = [f"{money[name]:,.2f}" for name in ("expected", "low", "high", "until_settled", "ask_all")]
        rows.append([money_head(plan), cells[0], f"{cells[1]} to {cells[2]}", *cells[3:]])
    rows.append(["votes saved", "", "", *_saved_cells(plan, money=False)])
    if plan.pilot.voter_costs is not None:
        rows.append([f"{money_head(plan)} saved", "", "", *_saved_cells(plan, money=True)])
    batch = f"next {plan.batch_size:,} items"
    return [batch, "expected", f"{100 * plan.level:g} % prediction interval", "until settled", "asking everyone"], rows


def _saved_cells(plan: Plan, *, money: bool) -> list[str]:
    return [f"{100 * saved(plan, name, money=money):.0f} %" for name in ("until-settled", "ask-all")]


def money_head(plan: Plan) -> str:
    """What is paid, in tables: money, or without a price the costs of people."""
    return "cost" if plan.price is None else "money"


def table_rows(plan: Plan) -> tuple[list[str], list[list[str]]]:
    """Every method at the votes of the advice or nearest to it, then the references; money if there is a price."""
    cost = plan.advice.setting.votes.mean
    rows = []
    for curve, band in zip(plan.curves, plan.bands, strict=True):
        k = int(abs(curve.votes - cost).argmin())
        band_text = interval(*(error_text(plan, end) for end in band.errors[k]))
        near = curve.settings[k]
        rows.append(
            _priced(plan, [curve.name, near.parameter], near.votes.mean, near.paid.mean, near.errors.mean, band_text)
        )
    rows += [
        _priced(plan, [name, ""], votes.mean, plan.paid[name], plan.floor, "")
        for name, votes in plan.references.items()
    ]
    money = [] if money_of(plan) is None else [f"{money_head(plan)} per item"]
    heads = ["method", "setting", "votes per item", error_head(plan), f"{100 * plan.level:g} % confidence interval"]
    return [*heads, *money], rows


def error_head(plan: Plan) -> str:
    """What the errors are called in tables."""
    return "wrong" if plan.pilot.error_costs is None else "cost of errors"


def _priced(plan: Plan, words: list[str], votes: float, paid: float, error: float, band: str) -> list[str]:
    price = 1.0 if plan.price is None else plan.price
    money = [] if money_of(plan) is None else [f"{price * paid:.3f}"]
    return [*words, f"{votes:.2f}", error_text(plan, error), band, *money]


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], *, text_columns: int = 1) -> Table:
    return Table("", title, tuple(heads), tuple(tuple(row) for row in rows), text_columns=text_columns, highlight=())


def _near(plan: Plan) -> Table:
    title = "On the pilot: each method at its setting nearest to the votes advised"
    return replace(_table(title, *table_rows(plan), text_columns=2), highlight=(plan.curves[0].name,))


def short_html(plan: Plan) -> str:
    """Advice, notes and table, for notebooks."""
    return render.fragment(headline(plan), _near(plan), notes=tuple(notes(plan)), command=command(plan))


def page(plan: Plan, drawn: Mapping[str, DrawnFigure] | None = None) -> str:
    """The report as one page; `drawn`: its figure by key, drawn already."""
    return render.page(document(plan, draw_all([plan_figure(plan)]) if drawn is None else drawn))


def document(plan: Plan, drawn: Mapping[str, DrawnFigure]) -> Document:
    """The plan as a report."""
    settings = plan.settings
    return Document(
        title=f"quorate plan: {plan.pilot.num_items} items",
        question="What should the next batch be asked?",
        answer=headline(plan),
        picture=plan_figure(plan),
        notes=tuple(notes(plan)),
        sections=(
            Section("next", "What to expect", tables=(_table("The next batch", *expected_rows(plan)),)),
            Section("use", "How to use the setting", commands=tuple(uses(plan).items())),
            Section("near", "Other methods at the same cost", tables=(_near(plan), *_rivals(plan))),
        ),
        folded=(
            Section("settings", "Every setting of every method", tables=tuple(_settings_tables(plan))),
            data_section(plan.report.as_dict()),
            Section("promise", "What the intervals promise", points=PROMISE),
        ),
        footer=f"quorate {__version__}, seed {settings['seed']}, {settings['orderings']} orderings, "
        f"{settings['draws']} resampled pilots. Every setting is in curves.csv, every figure in plan.json.",
        drawn=drawn,
    )


def _rivals(plan: Plan) -> list[Table]:
    unit, name = (100, "points") if plan.pilot.error_costs is None else (1, "cost per item")
    rows = [
        [r.name, f"{unit * r.difference:+.2f}", f"{unit * r.low:+.2f} to {unit * r.high:+.2f}",
         "better" if r.is_better else "worse" if r.low > 0 else "within noise"]
        for r in plan.rivals
    ]  # fmt: skip
    title = (
        f"How much more each method errs than {plan.advice.setting.method.name} at the same votes per item, in {name}; "
        f"all intervals hold together at {100 * plan.level:g} %"
    )
    return [_table(title, ("method", name, "confidence interval", "verdict"), rows)] if rows else []


def _settings_tables(plan: Plan) -> list[Table]:
    """A table per method, by rising cost."""
    heads = ("setting", "votes per item", "confidence interval", error_head(plan), "confidence interval")
    found = []
    for curve in plan.curves:
        rows = [
            [row["setting"], f"{row['votes_per_item']:.2f}", f"{row['votes_low']:.2f} to {row['votes_high']:.2f}",
             error_text(plan, row["error"]),
             interval(error_text(plan, row["error_low"]), error_text(plan, row["error_high"]))]
            for row in curve_rows(plan) if row["method"] == curve.name
        ]  # fmt: skip
        found.append(_table(f"{curve.name}, by rising cost", heads, rows))
    return found


def _curves_csv(plan: Plan) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, CURVES, lineterminator="\n")
    writer.writeheader()
    writer.writerows(curve_rows(plan))
    return text.getvalue()


def write_plan(plan: Plan, folder: Path) -> tuple[Path, ...]:
    """Write all files of a plan; each is whole or not there. plan.png needs matplotlib.

    plan.json comes last: a folder that has it is complete.
    """
    drawn = draw_all([plan_figure(plan)])
    files: dict[str, Content] = {
        "curves.csv": _curves_csv(plan),
        "rejects.csv": plan.report.write_rejects,
        "report.html": page(plan, drawn),
        "plan.json": json_page(summarise(plan)),
    }
    if drawn:
        files["plan.png"] = drawn[KEY].png
    return write_folder(folder, {name: files[name] for name in FILES if name in files})


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
        named = "ties alone" if plan.pilot.target == "plurality" else "plurality of all votes"
        axes.axhline(unit * plan.floor, color=QUIET, linewidth=1, linestyle=(0, (1, 2)), label=named, zorder=1)
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
    if plan.price is not None and plan.pilot.voter_costs is None:  # else the money is not a multiple of the votes
        price = plan.price or 1.0
        money = axes.secondary_xaxis("top", functions=(partial(np.multiply, price), partial(np.multiply, 1 / price)))
        money.set_xlabel("money per item")
