"""A `Plan` as tables and files: plan.json, curves.csv, rejects.csv, the page.

Called by the methods of `Plan` and by `quorate plan`.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Mapping
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from quorate.files import write_contents
from quorate.reports.plots import MISSING, can_plot
from quorate.version import __version__
from quorate.workflows.plan.plots import data_uri, png
from quorate.workflows.plan.uses import command, project_settings, session_code, uses
from quorate.workflows.plan.words import error_text, expected, headline, money_of, notes, saved
from quorate.workflows.run.report import STYLE, table

if TYPE_CHECKING:
    from quorate.workflows.plan import Plan

PROMISE = (
    "The intervals are for the next batch: other items from the same source, predicted by the same classifiers and put "
    "to the same kind of pool, met once, in one order, with a method that learns anew. They allow for what the pilot "
    "cannot know (its items were resampled, and the choice of the setting made again each time), for the next batch's "
    "own luck, and for what learning makes of both. They cannot allow for a source that changes."
)
PLAN_STYLE = """
.command { background: var(--card); border-radius: 8px; padding: .7rem .9rem; margin: .4rem 0 1rem; }
.command code { white-space: normal; } code { font-size: .88rem; } code span, li code { white-space: nowrap; }
details { margin: .6rem 0; } summary { cursor: pointer; font-weight: 600; padding: .2rem 0; }
"""
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
        "command": command(plan),
        "session": session_code(plan),
        "project": project_settings(plan),
        "notes": notes(plan),
        "goal": {"kind": advice.goal.kind, "limit": advice.goal.limit, "given": plan.is_own_goal},
        "advice": {
            "method": advice.setting.method.describe(),
            "setting": advice.setting.knob,
            "status": advice.status,
            "chance": advice.chance,
            "votes_per_item": expected(advice.votes, plan.level),
            "error": expected(advice.errors, plan.level),
            "money": money_of(plan),
            "saved_against_ask_all": saved(plan, "ask-all"),
            "saved_against_until_settled": saved(plan, "until-settled"),
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
            "partly_voted": pilot.partly, "missing_votes": pilot.missing,
            "votes_drawn": pilot.missing if pilot.model is not None else 0,
            "pool_size": pilot.pool_size or "recorded", "smallest_pool": pilot.smallest, "largest_pool": pilot.largest,
            "classes": list(pilot.dataset.classes), "models": list(pilot.dataset.models),
        },
        "classifier": plan.classifier.describe(),
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
        band_text = f"{error_text(plan, low)} to {error_text(plan, high)}"
        rows.append(_priced(plan, [curve.name, curve.settings[k].knob], curve.votes[k], curve.errors[k], band_text))
    rows += [_priced(plan, [name, ""], votes.mean, plan.floor, "") for name, votes in plan.references.items()]
    interval = f"{100 * plan.level:g} % interval"
    money = [] if plan.price is None else ["money per item"]
    return ["method", "setting", "votes per item", error_head(plan), interval, *money], rows


def error_head(plan: Plan) -> str:
    """What the errors are called in tables."""
    return "wrong" if plan.pilot.error_costs is None else "cost of errors"


def _priced(plan: Plan, words: list[str], votes: float, error: float, band: str) -> list[str]:
    money = [] if plan.price is None else [f"{plan.price * votes:.3f}"]
    return [*words, f"{votes:.2f}", error_text(plan, error), band, *money]


def short_html(plan: Plan) -> str:
    """Advice, notes and table, for notebooks."""
    heads, rows = table_rows(plan)
    said = "".join(f"<li>{escape(note)}</li>" for note in notes(plan))
    top = "".join(f"<th>{escape(head)}</th>" for head in heads)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    use = f"<pre>{escape(command(plan))}</pre>"
    return f"<p><b>quorate</b> {escape(headline(plan))}</p>{use}<ul>{said}</ul><table><tr>{top}</tr>{body}</table>"


def page(plan: Plan) -> str:
    """The whole page."""
    said = "".join(f"<li>{_with_code(note)}</li>" for note in notes(plan))
    heads, rows = table_rows(plan)
    near = table(heads, rows, caption="On the pilot: each method's setting nearest to the votes advised", text=[1])
    text = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>quorate plan: {plan.pilot.num_items} items</title><style>{STYLE}{PLAN_STYLE}</style></head><body>
<header><h1>What should the next batch be asked?</h1>
<p class="headline">{escape(headline(plan))}</p>
{_uses(plan)}<ul>{said}</ul></header>
<main>{_picture(plan)}<section><h2>At the same cost</h2>{near}{_rivals_table(plan)}</section>
<section><h2>Every setting</h2>{_settings_tables(plan)}</section>
{_data(plan)}<section><h2>What is promised</h2><p>{escape(PROMISE)}</p></section></main>
<footer><p class="quiet">quorate {__version__}, seed {plan.settings["seed"]}, {plan.settings["orderings"]} orderings,
{plan.settings["draws"]} resampled pilots. Every setting is in curves.csv, every figure of this page in plan.json.</p>
</footer></body></html>
"""
    return text.replace(" %", "\u00a0%")  # no line ends between 3.1 and %


def _with_code(note: str) -> str:
    """A note as HTML; what stands between backticks is code.

    >>> _with_code("See `quorate run` & co.")
    'See <code>quorate run</code> &amp; co.'
    """
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(note))


def _uses(plan: Plan) -> str:
    return "".join(
        f'<p>{escape(where)}:</p><p class="command scroll"><code>{_unbroken(what)}</code></p>'
        for where, what in uses(plan).items()
    )


def _unbroken(command: str) -> str:
    """A command as HTML that only breaks between an option with its value and the next."""
    parts = command.replace(" --", "\n--").split("\n")
    return " ".join(f"<span>{escape(part)}</span>" for part in parts)


def _data(plan: Plan) -> str:
    """How the tables were read, and every irregularity met in them."""
    told = "".join(f"<li>{escape(line)}</li>" for line in plan.report.decisions)
    totals = ", ".join(f"{number:,} {name}" for name, number in plan.report.totals.items())
    rows = [[f.rule, f"{f.count:,}", f.met, f.done] for f in plan.report.findings]
    found = table(["rule", "times", "met", "done"], rows, caption="What was not regular", text=[2, 3]) if rows else ""
    clean = "" if rows else "<p>Nothing irregular was met.</p>"
    return f"<section><h2>The data</h2><ul>{told}<li>{escape(totals)}</li></ul>{found}{clean}</section>"


def _picture(plan: Plan) -> str:
    if not can_plot():
        return f"<p>{escape(MISSING)}</p>"
    said = "Wrong answers against votes per item, a line per method with its band, the setting advised"
    return f'<div class="scroll"><img alt="{said}" src="{data_uri(plan)}"></div>'


def _rivals_table(plan: Plan) -> str:
    unit, name = (100, "points") if plan.pilot.error_costs is None else (1, "cost per item")
    rows = [
        [r.name, f"{unit * r.difference:+.2f}", f"{unit * r.low:+.2f} to {unit * r.high:+.2f}",
         "better" if r.is_better else "worse" if r.low > 0 else "within noise"]
        for r in plan.rivals
    ]  # fmt: skip
    caption = (
        f"Error above that of {plan.advice.setting.method.name} at its votes per item (a mix of two settings), in "
        f"{name}; the intervals hold together at {100 * plan.level:g} %"
    )
    return table(["method", name, "interval", "verdict"], rows, caption=caption) if rows else ""


def _settings_tables(plan: Plan) -> str:
    """A folded table per method."""
    parts = []
    for curve in plan.curves:
        rows = [
            [row["setting"], f"{row['votes_per_item']:.2f}", f"{row['votes_low']:.2f} to {row['votes_high']:.2f}",
             error_text(plan, row["error"]),
             f"{error_text(plan, row['error_low'])} to {error_text(plan, row['error_high'])}"]
            for row in curve_rows(plan) if row["method"] == curve.name
        ]  # fmt: skip
        drawn = table(
            ["setting", "votes per item", "interval", error_head(plan), "interval"], rows, caption="By rising cost"
        )
        opened = " open" if curve is plan.curves[0] else ""
        parts.append(f"<details{opened}><summary>{escape(curve.name)}</summary>{drawn}</details>")
    return "".join(parts)


def _curves_csv(plan: Plan) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, CURVES, lineterminator="\n")
    writer.writeheader()
    writer.writerows(curve_rows(plan))
    return text.getvalue().encode()


def _rejects(plan: Plan) -> bytes:
    """Every row set aside, with its number and the reason."""
    with TemporaryDirectory() as folder:
        plan.report.write_rejects(Path(folder) / "rejects.csv")
        return (Path(folder) / "rejects.csv").read_bytes()


def _plan_json(plan: Plan) -> bytes:
    return (json.dumps(summarise(plan), indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def files(*, with_plot: bool) -> Mapping[str, Callable[[Plan], bytes]]:
    """What a plan writes, by name; plan.json comes last: a folder with it is complete."""
    picture = {"plan.png": png} if with_plot else {}
    return {
        "curves.csv": _curves_csv,
        "rejects.csv": _rejects,
        **picture,
        "plan.html": lambda p: page(p).encode(),
        "plan.json": _plan_json,
    }


def write_plan(plan: Plan, folder: Path) -> tuple[Path, ...]:
    """Write all files of a plan; each is whole or not there."""
    contents = {name: content(plan) for name, content in files(with_plot=can_plot()).items()}
    return write_contents(folder, contents)
