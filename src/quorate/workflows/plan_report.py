"""A `Plan` in words and files: the advice, what to beware of, tables, plan.json, curves.csv and the page.

Called by the methods of `Plan` and by `quorate plan`.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quorate.version import __version__
from quorate.workflows.plan_advice import Forecast, needed_pilot
from quorate.workflows.plan_plots import data_uri, png
from quorate.workflows.plots import MISSING, can_plot
from quorate.workflows.run_report import STYLE, table

if TYPE_CHECKING:
    from quorate.workflows.plan import Plan

FEW_ITEMS = 100  # below this a learner has hardly begun: it fits every 20 items
FEW_ERRORS = 5
MOST_PILOT = 10_000_000  # a pilot nobody will run
PROMISE = (
    "The intervals are for the next batch: other items from the same source, predicted by the same classifiers and put "
    "to the same kind of pool, met once, in one order, with a method that learns anew. They allow for what the pilot "
    "cannot know (its items were resampled, and the choice of the setting made again each time), for the next batch's "
    "own luck, and for what learning makes of both. They cannot allow for a source that changes."
)
CURVES = (
    "method", "setting", "votes_per_item", "votes_low", "votes_high", "error", "error_low", "error_high",
    "money_per_item",
)  # fmt: skip


def summarise(plan: Plan) -> dict[str, Any]:
    """Everything in one dictionary; no clock and no path in it, so that the same plan gives the same file."""
    advice, pilot = plan.advice, plan.pilot
    return {
        "quorate": __version__,
        "headline": headline(plan),
        "notes": notes(plan),
        "goal": {"kind": advice.goal.kind, "limit": advice.goal.limit, "given": plan.is_own_goal},
        "advice": {
            "method": advice.setting.method.describe(),
            "setting": advice.setting.knob,
            "status": advice.status,
            "chance": advice.chance,
            "votes_per_item": _expected(advice.votes, plan.level),
            "error": _expected(advice.errors, plan.level),
            "money": _money(plan),
            "saved_against_ask_all": _saved(plan, "ask-all"),
            "saved_against_until_settled": _saved(plan, "until-settled"),
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
            "num_items": pilot.num_items, "left_out": pilot.left_out, "single_vote": pilot.single,
            "pool_size": pilot.pool_size or "recorded", "smallest_pool": pilot.smallest, "largest_pool": pilot.largest,
            "classes": list(pilot.dataset.classes), "models": list(pilot.dataset.models),
        },
        "settings": dict(plan.settings) | {"price": plan.price},
        "data": None if plan.report is None else plan.report.as_dict(),
    }  # fmt: skip


def _expected(forecast: Forecast, level: float) -> dict[str, float]:
    low, high = forecast.interval(level)
    return {"expected": forecast.centre, "low": low, "high": high}


def _money(plan: Plan) -> dict[str, float] | None:
    """What the next batch costs, with its interval, beside the two references."""
    if plan.price is None:
        return None
    unit = plan.price * plan.batch_size
    expected = {name: unit * value for name, value in _expected(plan.advice.votes, plan.level).items()}
    return expected | {
        "until_settled": unit * plan.references["until-settled"].mean,
        "ask_all": unit * plan.references["ask-all"].mean,
    }


def _saved(plan: Plan, reference: str) -> float:
    there = plan.references[reference].mean
    return 1 - plan.advice.votes.centre / there if there else 0.0


def headline(plan: Plan) -> str:
    """What to use, what to expect, how sure that is, what it saves."""
    advice = plan.advice
    votes, errors = advice.votes.interval(plan.level), advice.errors.interval(plan.level)
    knob = f" with {advice.setting.knob}" if advice.setting.knob else ""
    said = (
        f"Use {advice.setting.method.name}{knob}: on the next {plan.batch_size:,} items expect "
        f"{advice.votes.centre:.2f} votes per item ({100 * plan.level:g} % interval {votes[0]:.2f} to {votes[1]:.2f}) "
        f"and {percent(advice.errors.centre)} wrong ({percent(errors[0])} to {percent(errors[1])}). "
        f"{_goal_sentence(plan)} "
        f"That is {_fewer(_saved(plan, 'ask-all'))} than asking everyone and {_fewer(_saved(plan, 'until-settled'))} "
        "than asking until settled"
    )
    money = _money(plan)
    if money is None:
        return said + "."
    return said + (
        f"; in money {money['expected']:,.2f} ({money['low']:,.2f} to {money['high']:,.2f}) instead of "
        f"{money['ask_all']:,.2f} and {money['until_settled']:,.2f}."
    )


def _fewer(saved: float) -> str:
    return f"{100 * abs(saved):.0f} % {'fewer' if saved >= 0 else 'more'} votes"


def _goal_sentence(plan: Plan) -> str:
    goal, chance = plan.advice.goal, f"{100 * min(max(plan.advice.chance, 0.01), 0.99):.0f} %"
    if goal.kind == "budget":
        return f"The budget of {goal.limit:.2f} votes per item is kept with a probability of {chance}."
    own = "" if plan.is_own_goal else f" (none was given: the tie floor of {percent(plan.floor)} and a point)"
    return f"The target of {percent(goal.limit)} wrong{own} is met with a probability of {chance}."


def notes(plan: Plan) -> list[str]:
    """What a reader must know, the gravest first."""
    found = [_goal_note(plan), _width_note(plan), _errors_note(plan), _size_note(plan), _rival_note(plan)]
    return [note for note in [*found, _floor_note(plan), *_pool_notes(plan)] if note]


def _goal_note(plan: Plan) -> str:
    advice, goal = plan.advice, plan.advice.goal
    if advice.status == "sure":
        return ""
    wanted = f"a probability of {100 * goal.sureness:g} %"
    if advice.status == "unreachable":
        if goal.kind == "target-error" and goal.limit < plan.floor:
            return (
                f"Out of reach: ties of the pool alone cost {percent(plan.floor)}, more than the target. The setting "
                "named errs least."
            )
        return (
            f"Out of reach: no setting of {advice.setting.method.name} on the pilot keeps to it. The nearest is named."
        )
    return (
        f"Too small to promise: no setting meets the target with {wanted}; the one named does by the pilot's own "
        f"figures only. {_needed_sentence(plan)}"
    )


def _needed_sentence(plan: Plan) -> str:
    forecast = plan.advice.errors if plan.advice.goal.kind == "target-error" else plan.advice.votes
    needed = needed_pilot(forecast, plan.advice.goal)
    if needed is None or needed > MOST_PILOT:
        return (
            f"A larger pilot alone would not help: so near to the target, {plan.batch_size:,} items vary too "
            "much by themselves. Allow more errors, or judge by more items."
        )
    return f"For the same figures a pilot of about {max(needed, plan.pilot.num_items + 1):,} items would do."


def _width_note(plan: Plan) -> str:
    low, high = plan.advice.errors.interval(plan.level)
    limit = plan.advice.goal.limit if plan.advice.goal.kind == "target-error" else 0.1
    if high - low <= limit:
        return ""
    return (
        f"The error of the next batch may be anywhere from {percent(low)} to {percent(high)}: too wide to plan on. A "
        f"pilot of four times as many items, and as many in the batch, would halve that."
    )


def _errors_note(plan: Plan) -> str:
    seen = plan.advice.setting.errors.mean * plan.pilot.num_items
    if seen >= FEW_ERRORS:
        return ""
    high = plan.advice.errors.interval(plan.level)[1]
    return (
        f"The pilot shows only {seen:.1f} wrong answers at this setting: the error is known to be small (below "
        f"{percent(high)}), but hardly more."
    )


def _size_note(plan: Plan) -> str:
    number = plan.pilot.num_items
    if number >= FEW_ITEMS:
        return ""
    return (
        f"The pilot has only {number} items: a method that learns has hardly begun by then, and the intervals are "
        f"rough. Record at least {FEW_ITEMS}."
    )


def _rival_note(plan: Plan) -> str:
    better = [rival for rival in plan.rivals if rival.is_better]
    if not better:
        return ""
    best = better[0]
    return (
        f"On this pilot {best.name} does better, beyond noise: at the same votes per item it errs "
        f"{100 * -best.difference:.2f} points less ({100 * -best.high:.2f} to {100 * -best.low:.2f}). Plan with it: "
        f"--method {best.name}."
    )


def _floor_note(plan: Plan) -> str:
    return (
        f"An answer is wrong if it is not the plurality of the item's pool; ties count by expectation. They alone cost "
        f"{percent(plan.floor)}, whoever is asked."
    )


def _pool_notes(plan: Plan) -> list[str]:
    pilot = plan.pilot
    said = []
    if pilot.left_out:
        said.append(f"{pilot.left_out:,} items with fewer than {pilot.pool_size} votes were left out.")
    if pilot.pool_size is None and pilot.smallest < pilot.largest:
        said.append(
            f"The pool of an item is the votes recorded for it, {pilot.smallest} to {pilot.largest}. If more could "
            "have been asked, the verdict is theirs, not these votes': --pool-size N plans on the items with N votes."
        )
    if pilot.single:
        said.append(f"{pilot.single:,} items have a pool of one: a single vote settles them.")
    if plan.batch_size > pilot.num_items:
        said.append("Items beyond the length of the pilot are taken to go as its last half did.")
    return said


def percent(value: float) -> str:
    """A share as text.

    >>> percent(0.0123)
    '1.23 %'
    """
    return f"{100 * value:.2f} %"


def curve_rows(plan: Plan) -> list[dict[str, Any]]:
    """A row for every setting of every method: votes, error, their bands, money."""
    rows = []
    for curve, band in zip(plan.curves, plan.bands, strict=True):
        for k, setting in enumerate(curve.settings):
            low, high = (float(end) for end in band.votes[k])
            least, most = (float(end) for end in band.errors[k])
            votes = setting.votes.mean
            money = None if plan.price is None else plan.price * votes
            values = (curve.name, setting.knob, votes, low, high, setting.errors.mean, least, most, money)
            rows.append(dict(zip(CURVES, values, strict=True)))
    return rows


def table_rows(plan: Plan) -> tuple[list[str], list[list[str]]]:
    """Every method at the votes of the advice or nearest to it, then the references; money if there is a price."""
    cost = plan.advice.setting.votes.mean
    rows = []
    for curve, band in zip(plan.curves, plan.bands, strict=True):
        k = int(abs(curve.votes - cost).argmin())
        low, high = band.errors[k]
        band_text = f"{percent(low)} to {percent(high)}"
        rows.append(_priced(plan, [curve.name, curve.settings[k].knob], curve.votes[k], curve.errors[k], band_text))
    rows += [_priced(plan, [name, ""], votes.mean, plan.floor, "") for name, votes in plan.references.items()]
    interval = f"{100 * plan.level:g} % interval"
    money = [] if plan.price is None else ["money per item"]
    return ["method", "setting", "votes per item", "wrong", interval, *money], rows


def _priced(plan: Plan, words: list[str], votes: float, error: float, band: str) -> list[str]:
    money = [] if plan.price is None else [f"{plan.price * votes:.3f}"]
    return [*words, f"{votes:.2f}", percent(error), band, *money]


def short_html(plan: Plan) -> str:
    """Advice, notes and table, for notebooks."""
    heads, rows = table_rows(plan)
    said = "".join(f"<li>{escape(note)}</li>" for note in notes(plan))
    top = "".join(f"<th>{escape(head)}</th>" for head in heads)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<p><b>quorate</b> {escape(headline(plan))}</p><ul>{said}</ul><table><tr>{top}</tr>{body}</table>"


def page(plan: Plan) -> str:
    """The whole page."""
    said = "".join(f"<li>{escape(note)}</li>" for note in notes(plan))
    heads, rows = table_rows(plan)
    near = table(heads, rows, caption="On the pilot: each method's setting nearest to the votes advised", text=[1])
    text = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>quorate plan: {plan.pilot.num_items} items</title><style>{STYLE}</style></head><body>
<header><h1>What should the next batch be asked?</h1>
<p class="headline">{escape(headline(plan))}</p><ul>{said}</ul></header>
<main>{_picture(plan)}<section><h2>At the same cost</h2>{near}{_rivals_table(plan)}</section>
<section><h2>Every setting</h2>{_settings_tables(plan)}</section>
<section><h2>What is promised</h2><p>{escape(PROMISE)}</p></section></main>
<footer><p class="quiet">quorate {__version__}, seed {plan.settings["seed"]}, {plan.settings["orderings"]} orderings,
{plan.settings["draws"]} resampled pilots. Every setting is in curves.csv, every figure of this page in plan.json.</p>
</footer></body></html>
"""
    return text.replace(" %", "\u00a0%")  # no line ends between 3.1 and %


def _picture(plan: Plan) -> str:
    if not can_plot():
        return f"<p>{escape(MISSING)}</p>"
    said = "Wrong answers against votes per item, a line per method with its band, the setting advised"
    return f'<div class="scroll"><img alt="{said}" src="{data_uri(plan)}"></div>'


def _rivals_table(plan: Plan) -> str:
    rows = [
        [r.name, f"{100 * r.difference:+.2f}", f"{100 * r.low:+.2f} to {100 * r.high:+.2f}",
         "better" if r.is_better else "worse" if r.low > 0 else "within noise"]
        for r in plan.rivals
    ]  # fmt: skip
    caption = (
        f"Error above that of {plan.advice.setting.method.name} at its votes per item (a mix of two settings), in "
        f"points; the intervals hold together at {100 * plan.level:g} %"
    )
    return table(["method", "points", "interval", ""], rows, caption=caption) if rows else ""


def _settings_tables(plan: Plan) -> str:
    """A folded table per method."""
    parts = []
    for curve in plan.curves:
        rows = [
            [row["setting"], f"{row['votes_per_item']:.2f}", f"{row['votes_low']:.2f} to {row['votes_high']:.2f}",
             percent(row["error"]), f"{percent(row['error_low'])} to {percent(row['error_high'])}"]
            for row in curve_rows(plan) if row["method"] == curve.name
        ]  # fmt: skip
        drawn = table(["setting", "votes per item", "interval", "wrong", "interval"], rows, caption="By rising cost")
        opened = " open" if curve is plan.curves[0] else ""
        parts.append(f"<details{opened}><summary>{escape(curve.name)}</summary>{drawn}</details>")
    return "".join(parts)


def _curves_csv(plan: Plan) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, CURVES, lineterminator="\n")
    writer.writeheader()
    writer.writerows(curve_rows(plan))
    return text.getvalue().encode()


def _plan_json(plan: Plan) -> bytes:
    return (json.dumps(summarise(plan), indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def files(*, with_plot: bool) -> Mapping[str, Callable[[Plan], bytes]]:
    """What a plan writes, by name; plan.json comes last: a folder with it is complete."""
    picture = {"plan.png": png} if with_plot else {}
    return {"curves.csv": _curves_csv, **picture, "plan.html": lambda p: page(p).encode(), "plan.json": _plan_json}


def write_plan(plan: Plan, folder: Path) -> tuple[Path, ...]:
    """Write all files of a plan; each is whole or not there."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "plan.json").unlink(missing_ok=True)
    written = files(with_plot=can_plot())
    for name, content in written.items():
        beside = folder / f".{name}.part"
        beside.write_bytes(content(plan))
        beside.replace(folder / name)
    return tuple(folder / name for name in written)
