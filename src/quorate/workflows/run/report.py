"""A run as one HTML page: what was saved, how often it was wrong and where, what was learned, what the data held.

No scripts, nothing loaded from elsewhere; light and dark, readable on a phone. Called by `RunResult.to_html`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from quorate.audit.statement import rounded_up
from quorate.reasons import SENTENCES
from quorate.reports.style import PAGE_STYLE
from quorate.reports.svg import CHART_STYLE, histogram, lines
from quorate.types import FloatArray
from quorate.version import __version__
from quorate.workflows.run.notes import notes
from quorate.workflows.run.summary import headline, item_errors, table_rows

if TYPE_CHECKING:
    from quorate.workflows.run.result import RunResult

NUM_BINS = 40  # points of the charts over time
MOST_ROWS = 40  # classes listed in a table; the rest is in summary.json
MOST_COLUMNS = 12  # classes in the table of confusions
STYLE = (
    PAGE_STYLE
    + CHART_STYLE
    + """
:root { --card: #f5f7fa; } @media (prefers-color-scheme: dark) { :root { --card: #1c222b; } }
body { overflow-wrap: break-word; }
.counts { display: flex; flex-wrap: wrap; gap: .6rem; margin: 1rem 0; padding: 0; list-style: none; }
.counts li { background: var(--card); border-radius: 8px; padding: .5rem .9rem; margin: 0; flex: 1 1 8.5rem; }
.counts b { display: block; font-size: 1.35rem; line-height: 1.2; font-variant-numeric: tabular-nums; }
th[scope=row], thead th:first-child, .text { text-align: left; font-weight: 400; white-space: normal; }
thead th { font-weight: 600 !important; } th[scope=row], td { vertical-align: top; } td.text { min-width: 8rem; }
.right { background: var(--ours); font-weight: 600; }
"""
)
CONTROL = {
    "asked_for": "asked for, per item",
    "status": "held, or an aim that the audits do not prove",
    "proved": "at most, per item, as the audits prove it",
    "reached": "reached, per item, as the control estimates it",
    "gap": "gap: reached / asked for - 1",
    "upper": "at most, per item, with the sureness asked for, if audited items are typical",
    "sureness": "sureness asked for",
    "overshoot": "most it was ever ahead of the plan, as a share of the whole plan",
    "knob": "knob that was turned",
    "first_knob": "knob at the first item",
    "last_knob": "knob at the last item",
    "audited": "audits",
    "incomplete_audits": "of them without enough recorded votes, counted as wrong",
    "audit_votes": "votes they took",
    "factor": "errors found in audits / errors expected there",
    "ties_seen": "ties of the pool seen, in errors per item",
}
ESTIMATES = {"reached", "gap", "upper", "overshoot", "factor"}  # shown where the audits support them
SHARES = {"gap", "overshoot", "ties_seen", "upper", "sureness"}  # of these, shown in per cent


def page(result: RunResult) -> str:
    """The whole page."""
    summary = result.summary()
    parts = (
        _votes(summary), _control(summary, result), _errors(summary), _error_costs(summary), _classes(summary),
        _confusion(summary), _confidence(result), _stops(summary), _over_time(result), _learned(summary),
        _pools(summary), _data(summary), _settings(summary),
    )  # fmt: skip
    text = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>quorate run: {summary["num_items"]} items</title><style>{STYLE}</style></head><body>
<header><h1>How many votes were needed?</h1>
<p class="headline">{escape(headline(summary))}</p>{_notes(summary)}</header>
<main>{"".join(parts)}</main>
<footer><p class="quiet">quorate {__version__}, seed {summary["settings"]["seed"]}. Every item is in decisions.csv and
decisions.parquet, every figure of this page in summary.json, what was learned in params.json, rows set aside in
rejects.csv.</p></footer>
</body></html>
"""
    return text.replace(" %", "\u00a0%")  # no line ends between 3.1 and %


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, caption: str, text: Sequence[int] = ()) -> str:
    """A table; the first column heads its row, `text` are further columns of words."""
    top = "".join(
        f'<th scope="col"{" class=text" if place in text else ""}>{escape(head)}</th>'
        for place, head in enumerate(heads)
    )
    body = "".join(
        f'<tr><th scope="row">{escape(first)}</th>'
        + "".join(
            f"<td{' class=text' if place in text else ''}>{escape(cell)}</td>" for place, cell in enumerate(rest, 1)
        )
        + "</tr>"
        for first, *rest in rows
    )
    return (
        f'<div class="scroll" tabindex="0"><table><caption>{escape(caption)}</caption><thead><tr>{top}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def percent(value: float | None, digits: int = 1) -> str:
    """A share as people read it.

    >>> percent(0.1234), percent(None)
    ('12.3 %', '–')
    """
    return "–" if value is None else f"{100 * value:.{digits}f} %"


def _notes(summary: Mapping[str, Any]) -> str:
    told = "".join(f"<li>{escape(note)}</li>" for note in notes(summary, see="The data below"))
    return f"<ul>{told}</ul>" if told else ""


def _votes(summary: Mapping[str, Any]) -> str:
    votes, error = summary["votes"], summary["error"]
    cards = [
        (f"{votes['per_item']:.2f}", "votes per item"),
        (percent(votes["saved_against_ask_all"], 0), "saved against asking everyone"),
        (percent(votes["saved_against_until_settled"], 0), "saved against until settled"),
        (percent(error["rate"], 2), "wrong answers"),
    ]
    if error["tied_items"]:
        cards.append((percent(error["tie_rate"], 2), "because the pool itself is tied"))
    money = votes["money"]
    if money is not None:
        cards.append((f"{money['saved_against_ask_all']:,.2f}", "money saved against asking everyone"))
        cards.append((f"{money['saved_against_until_settled']:,.2f}", "money saved against until settled"))
    shown = "".join(f"<li><b>{escape(value)}</b> {escape(what)}</li>" for value, what in cards)
    heads, cells = table_rows(summary)
    audits = f" Of the votes {votes['audit_votes']:,} went into audits." if votes["audit_votes"] else ""
    return f"""<section><h2>Votes{" and money" if money else ""}</h2><ul class="counts">{shown}</ul>
{table(heads, cells, caption="What was asked, and what it would have been")}
<p class="quiet">Until settled: asking, in the same order, until the missing votes cannot change the winner.{audits}</p>
</section>"""


def _control(summary: Mapping[str, Any], result: RunResult) -> str:
    control = summary["control"]
    if control is None:
        return ""
    shares = SHARES | ({"asked_for", "reached", "proved"} if control["kind"] == "target error" else set())
    is_target = control["kind"] == "target error"
    is_shown = not is_target or control["estimate_supported"]
    rows = [
        [text, _share(control, name) if name in shares else _plain(control[name])]
        for name, text in CONTROL.items()
        if name in control and (is_shown or name not in ESTIMATES)
    ]
    drawn = ""
    if result.outcome.reached is not None and is_shown:
        scale, what = (100, "wrong so far at most, %") if is_target else (1, "votes per item so far")
        xs, ys = stretches_of(scale * result.outcome.reached)
        aim = [scale * control["asked_for"]] * len(xs)
        drawn = lines([("line", xs, ys), ("aim", xs, aim)], title=what, x_label="items", y_label=what)
    return f"""<section><h2>How close the control came</h2>
{table(["", ""], rows, caption="Asked for, and reached; dashed in the picture: asked for")}
{_class_targets(control)}{drawn}</section>"""


def _share(row: Mapping[str, Any], name: str) -> str:
    """In per cent; a bound is rounded up, as in the sentences."""
    value = row[name]
    if name in ("upper", "proved") and value is not None:
        return f"{rounded_up(100 * value):.2f} %"
    return percent(value, 2)


def _class_targets(control: Mapping[str, Any]) -> str:
    if not control.get("classes"):
        return ""
    rows = [
        [
            row["class"], _share(row, "asked_for"), row["status"], _share(row, "proved"),
            *(_share(row, name) if row["estimate_supported"] else "–" for name in ("reached", "upper")),
            f"{row['weight']:.3g}",
        ]
        for row in control["classes"]
    ]  # fmt: skip
    heads = ["class", "target", "held or an aim", "proved at most", "estimate", "estimate at most", "last weight"]
    return table(heads, rows, caption="Share of the items of a class that have another answer")


def _errors(summary: Mapping[str, Any]) -> str:
    error = summary["error"]
    if error["rate"] is None:
        return "<section><h2>Errors</h2><p>No item has its whole pool recorded: no error can be told.</p></section>"
    said = (
        f"{error['wrong']:.1f} of {error['scored_items']} scored items are wrong, {percent(error['rate'], 2)} "
        f"(standard error {percent(error['standard_error'], 2)}): their answer is not the plurality of the whole pool. "
        f"The method itself expected {percent(error['expected_rate'], 2)}. {_tied(error['tied_items'])} tied; an "
        f"answer that shares a tie of t classes counts 1 - 1/t, which makes {error['from_ties']:.1f} of the errors. "
        f"Asking everyone would leave {percent(error['tie_rate'], 2)}."
    )
    return f"<section><h2>Errors</h2><p>{escape(said)}</p></section>"


def _tied(count: int) -> str:
    return "1 pool is" if count == 1 else f"{count} pools are"


def _error_costs(summary: Mapping[str, Any]) -> str:
    costs = summary["error_costs"]
    if costs is None:
        return ""
    names = costs["classes"][:MOST_COLUMNS]
    rows = [
        [name, *(f"{cell:g}" for cell in row[: len(names)])] for name, row in zip(names, costs["table"], strict=False)
    ]
    realised = "unknown" if costs["realised_per_item"] is None else f"{costs['realised_per_item']:.4g}"
    return f"""<section><h2>What errors cost</h2><p>Errors cost {realised} per item on the scored items; the method
expected {costs["expected_per_item"]:.4g}.</p>
{table(["truth", *names], rows, caption="Cost of an error: rows the truth, columns the answer")}</section>"""


def _classes(summary: Mapping[str, Any]) -> str:
    every = sorted(summary["per_class"], key=lambda row: -row["verdict"])
    rows = [
        [
            row["class"], f"{row['verdict']:.1f}", f"{row['answered']:.0f}", f"{row['missed']:.1f}",
            percent(row["found"]), percent(row["right_when_answered"]),
        ]
        for row in every[:MOST_ROWS]
    ]  # fmt: skip
    shares = ["found (recall)", "right when answered (precision)"]
    heads = ["class", "is the verdict of", "is answered for", "errors", *shares]
    note = _left_out(len(every), MOST_ROWS, "classes")
    return f"""<section><h2>Errors by class</h2>
{table(heads, rows, caption="Scored items, most frequent class first; a tie is shared between its classes")}{note}
</section>"""


def _confusion(summary: Mapping[str, Any]) -> str:
    confusion = summary["confusion"]
    if confusion is None:
        return ""
    cells = np.array(confusion["table"])
    order = np.argsort(-(cells.sum(axis=0) + cells.sum(axis=1)), kind="stable")[:MOST_COLUMNS]
    names = [confusion["classes"][k] for k in order]
    rows = [
        [name, *(f"{cells[k, j]:.1f}".removesuffix(".0") if cells[k, j] else "·" for j in order)]
        for name, k in zip(names, order, strict=True)
    ]
    note = _left_out(len(cells), MOST_COLUMNS, "classes")
    return (
        table(["verdict", *names], rows, caption="Scored items: rows the verdict, columns the answer; ties are shared")
        + note
    )


def _left_out(there: int, shown: int, what: str) -> str:
    return f'<p class="quiet">{there - shown} further {what} are in summary.json.</p>' if there > shown else ""


def _confidence(result: RunResult) -> str:
    counts, edges = np.histogram(np.clip(result.outcome.confidence, 0, 1), bins=20, range=(0, 1))
    drawn = histogram(
        counts.tolist(), edges.tolist(), title="Items by confidence", x_label="confidence", y_label="items"
    )
    return f"<section><h2>Confidence of the answers</h2>{drawn}</section>"


def _stops(summary: Mapping[str, Any]) -> str:
    stops, total = summary["stop_reasons"], summary["num_items"]
    rows = [
        [reason, f"{count:,}", percent(count / total), SENTENCES[reason]]
        for reason, count in sorted(stops.items(), key=lambda pair: -pair[1])
    ]
    heads = ["reason", "items", "share", "because"]
    return f"<section><h2>Stops</h2>{table(heads, rows, caption='Why the asking stopped', text=[3])}</section>"


def _over_time(result: RunResult) -> str:
    xs, asked = stretches_of(result.outcome.num_votes + result.outcome.audit_votes)
    _, settled = stretches_of(result.until_settled)
    _, wrong = stretches_of(item_errors(result))
    cost = lines(
        [("line", xs, asked), ("second", xs, settled)],
        title="Votes per item over time",
        x_label="items",
        y_label="votes per item",
        least_top=1.0,
    )
    error = ""
    if np.isfinite(wrong).any():
        shares = [100 * each for each in wrong]
        error = lines(
            [("line", xs, shares)], title="Errors over time", x_label="items", y_label="wrong, %", least_top=1.0
        )
    return f"""<section><h2>Over time</h2><p class="quiet">Means of equal stretches, in the order of the stream; dotted:
until settled.</p>{cost}{error}</section>"""


def stretches_of(values: Any) -> tuple[list[float], list[float]]:  # noqa: ANN401
    """Middles of up to `NUM_BINS` stretches of the stream, and the means there; NaN where nothing is known."""
    array: FloatArray = np.asarray(values, dtype=float)
    stretches = np.array_split(np.arange(len(array)), min(NUM_BINS, len(array)))
    known = [array[each][np.isfinite(array[each])] for each in stretches]
    return [float(each.mean()) + 1 for each in stretches], [float(k.mean()) if k.size else float("nan") for k in known]


def _learned(summary: Mapping[str, Any]) -> str:
    learned = summary["learned"]
    if learned is None:
        return "<section><h2>What was learned</h2><p>Nothing: this method does not learn.</p></section>"
    bias, tau = learned["bias"], learned["tau"]
    if summary["classifier"] is not None and not summary["classifier"]["models"]:
        tau = {}
        said = f"After {learned['fits']} fits, without a classifier: before any vote all classes are alike"
        said += " but for the bias below." if bias else "."
    else:
        said = (
            f"After {learned['fits']} fits what the classifier{'s say' if len(tau) > 1 else ' says'} counts as theta = "
            f"{learned['theta']:.3g} votes; phi = {learned['phi']:.3g} votes of doubt stay on every class. tau is the "
            "trust by class: 1 takes the classifier at its word, less makes it shyer, more makes it bolder. What the "
            "classifier saves stands at the top."
        )
    names = list(next(iter(learned["tau"].values())))
    heads = ["class", *(f"tau of {model}" for model in tau)] + (["bias"] if bias else [])
    rows = [
        [name, *(f"{each[name]:.3g}" for each in tau.values())] + ([f"{bias[name]:+.3g}"] if bias else [])
        for name in names[:MOST_ROWS]
    ]
    by_class = table(heads, rows, caption="By class") + _left_out(len(names), MOST_ROWS, "classes")
    return f"""<section><h2>What was learned</h2><p>{escape(said)}</p>
{by_class if len(heads) > 1 else ""}</section>"""


def _pools(summary: Mapping[str, Any]) -> str:
    pools = summary["pools"]
    rows = [[name.replace("_", " "), _plain(value)] for name, value in pools.items()]
    said = "The pool of an item is the votes recorded for it."
    if pools["pool_size"] != "recorded":
        said = (
            f"Every pool has {pools['pool_size']} members. Items with fewer votes are partly voted; unless those "
            f"settle the pool, the rule for their errors is: {pools['partly_voted_rule']}."
        )
    return f"<section><h2>Pools</h2><p>{escape(said)}</p>{table(['', ''], rows, caption='Items by pool')}</section>"


def _data(summary: Mapping[str, Any]) -> str:
    data = summary["data"]
    told = "".join(f"<li>{escape(line)}</li>" for line in data["understood"])
    totals = ", ".join(counted(number, name) for name, number in data["totals"].items())
    rows = [[finding["rule"], f"{finding['count']:,}", finding["met"], finding["done"]] for finding in data["findings"]]
    found = table(
        ["rule", "times", "what was met", "what was done"], rows, caption="Every rule that fired", text=[2, 3]
    )
    return f"""<section><h2>The data</h2><ul>{told}<li>{escape(totals)}</li></ul>
{found if rows else "<p>No irregularity was met.</p>"}</section>"""


def counted(number: int, name: str) -> str:
    """A number of things named in the plural.

    >>> counted(1, "models"), counted(1, "classes"), counted(1200, "votes")
    ('1 model', '1 class', '1,200 votes')
    """
    if number == 1:
        name = name.removesuffix("es") if name.endswith("sses") else name.removesuffix("s")
    return f"{number:,} {name}"


def _settings(summary: Mapping[str, Any]) -> str:
    method = summary["method"]
    rows = [["method", method["name"]], *([f"knob {name}", _plain(value)] for name, value in method["knobs"].items())]
    rows += [[f"knob {name}", f"turned by the {kind}"] for name, kind in method["turned"].items()]
    rows += [[name.replace("_", " "), _plain(value)] for name, value in summary["settings"].items()]
    return f"<section><h2>Settings</h2>{table(['', ''], rows, caption='In force', text=[1])}</section>"


def _plain(value: Any) -> str:  # noqa: ANN401
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_plain(each)}" for name, each in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(_plain(each) for each in value[:MOST_ROWS])
    return str(value)
