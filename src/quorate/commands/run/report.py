"""`RunResult` -> the report: votes saved, errors overall and by class, what was learned, how the data were read.

Called by `RunResult.to_html`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from quorate.audit import rounded_up
from quorate.commands.run.screen import headline, tradeoff_rows, worth
from quorate.commands.run.summary import MOST_NOTES, item_errors
from quorate.reasons import SENTENCES
from quorate.reports import render
from quorate.reports.format import Cell, interval, percent, setting_text
from quorate.reports.section import Chart, Document, Section, Table, data_section
from quorate.reports.svg import Bar, bars, histogram, lines
from quorate.types import FloatArray
from quorate.version import __version__

if TYPE_CHECKING:
    from quorate.commands.run.result import RunResult

NUM_BINS = 40  # points of the charts over time
MOST_ROWS = 40  # classes listed in a table; the rest is in summary.json
MOST_COLUMNS = 12  # classes in the table of confusions
MOST_LISTED = 20  # people in the table, those asked most; more would be folded away
CONTROL = {
    "asked_for": "goal, per item",
    "status": "held, or an aim that the audits do not prove",
    "proved": "at most, per item, as the audits prove it",
    "reached": "reached, per item, as the control estimates it",
    "gap": "gap: reached / goal - 1",
    "upper": "at most, per item, if audited items are typical",
    "confidence_level": "confidence level",
    "overshoot": "most above an even spread over the items at any time, as a share of the whole",
    "parameter": "parameter that the control changed",
    "first_parameter": "its value at the first item",
    "last_parameter": "its value at the last item",
    "audited": "audits",
    "incomplete_audits": "of them without enough recorded votes, counted as wrong",
    "audit_votes": "votes they took",
    "factor": "errors found in audits / errors expected there",
    "ties_seen": "ties of the pool seen, in errors per item",
}
ESTIMATES = {"reached", "gap", "upper", "overshoot", "factor"}  # shown where the audits support them
SHARES = {"gap", "overshoot", "ties_seen", "upper", "confidence_level"}  # of these, shown in per cent
POOLS = {
    "pool_size": "votes of a pool",
    "smallest": "smallest pool",
    "median": "median pool",
    "largest": "largest pool",
    "incomplete": "items with fewer votes than their pool",
    "not_scored": "of them left out of the error, because their votes do not settle the pool",
    "short_of_votes": "items with fewer recorded votes than the method asked for",
    "votes_beyond_the_pool": "recorded votes beyond the pool, not used",
}


def page(result: RunResult) -> str:
    """The whole page."""
    return render.page(document(result))


def document(result: RunResult) -> Document:
    """The run as a report."""
    summary = result.summary()
    is_of_people = result.method.answers_by_people
    learned = "" if is_of_people else "what was learned in params.json, "
    return Document(
        title=f"quorate run: {summary['num_items']} items",
        question="How many votes were needed?",
        answer=headline(summary),
        picture=_picture(summary),
        notes=tuple([*(f"Warning: {each}" for each in summary["warnings"]), *summary["notes"]][:MOST_NOTES]),
        sections=(
            _votes(summary), _control(summary, result), _errors(summary), _classes(summary), _error_cost(summary),
            _people(summary), _stops(summary), _confidence(summary, result), _calibration(result), _over_time(result),
        ),
        folded=(
            _learned(summary, is_of_people=is_of_people), _pools(summary), data_section(summary["data"]),
            _settings(summary),
        ),
        footer=f"quorate {__version__}, seed {summary['settings']['seed']}. Every item is in decisions.csv and "
        f"decisions.parquet, every figure of this page in summary.json, {learned}rows that were not used in "
        "rejects.csv.",
    )  # fmt: skip


def _table(
    title: str, heads: Sequence[str], rows: Iterable[Sequence[Cell]], *, note: str = "", text_columns: int = 1
) -> Table:
    return Table("", title, tuple(heads), tuple(tuple(row) for row in rows), note, text_columns)


def _picture(summary: Mapping[str, Any]) -> Chart:
    """Votes per item of this run, of asking until settled and of asking everyone."""
    votes = summary["votes"]
    rows = [Bar("this run", votes["per_item"], f"{votes['per_item']:.2f} votes per item", is_ours=True)]
    for name, key in (("asking until settled", "until_settled"), ("asking everyone", "ask_all")):
        rows.append(Bar(name, votes[f"{key}_per_item"], f"{votes[f'{key}_per_item']:.2f}"))
    caption = "Until settled: asking, in the same order, until the missing votes cannot change the winner."
    return Chart(bars(rows, title="Votes per item: this run, until settled, everyone"), caption)


def _votes(summary: Mapping[str, Any]) -> Section:
    votes = summary["votes"]
    money = votes["money"]
    text = f"{votes['total']:,} votes were asked; everybody recorded gave {votes['ask_all']:,}."
    if money:
        text += f" They cost {money['spent']:,.2f} instead of {money['ask_all']:,.2f}."
    if votes["audit_votes"]:
        text += f" {votes['audit_votes']:,} of them went into audits."
    table = _table("Votes per item and wrong answers at other settings", *tradeoff_rows(summary))
    none = summary["without_votes"]
    asked = [f"Items answered without any vote: {none['items']:,}."] if none["items"] else []
    return Section("votes", f"Votes{' and money' if money else ''}", (text, *worth(summary), *asked), tables=(table,))


def _control(summary: Mapping[str, Any], result: RunResult) -> Section:
    control, title = summary["control"], "How close the control came"
    if control is None:
        return Section("control", title)
    is_target = control["kind"] == "target error"
    shares = SHARES | ({"asked_for", "reached", "proved"} if is_target else set())
    is_shown = not is_target or control["estimate_supported"]
    rows = [
        [text, _share(control, name) if name in shares else setting_text(control[name])]
        for name, text in CONTROL.items()
        if name in control and (is_shown or name not in ESTIMATES)
    ]
    charts = []
    if result.outcome.reached is not None and is_shown:
        scale, what = (100, "wrong so far at most, %") if is_target else (1, "votes per item so far")
        xs, ys = stretches_of(scale * result.outcome.reached)
        aim = [scale * control["asked_for"]] * len(xs)
        drawn = lines([("line", xs, ys), ("aim", xs, aim)], title=what, x_label="items", y_label=what)
        charts.append(Chart(drawn, f"{what.capitalize()}; dashed: the goal."))
    tables = (_table("Goal and result", ("", ""), rows),)
    return Section("control", title, tables=tables, charts=tuple(charts))


def _share(row: Mapping[str, Any], name: str) -> str:
    """In per cent; bounds are rounded up, as in the sentences."""
    value = row[name]
    if name in ("upper", "proved") and value is not None:
        return f"{rounded_up(100 * value):.2f} %"
    return percent(value, 2)


def _errors(summary: Mapping[str, Any]) -> Section:
    error = summary["error"]
    if error["rate"] is None:
        why = "No item has its whole pool recorded, so the error is unknown."
        return Section("errors", "Errors", (_truth(summary) if _by_truth(summary) else why,))
    verdict = "true class" if _by_truth(summary) else "plurality of the whole pool"
    text = (
        f"{error['wrong']:.1f} of {error['scored_items']:,} scored items are wrong: {percent(error['rate'], 2)} "
        f"(standard error {percent(error['standard_error'], 2)}). {_expected(summary)}An answer is wrong if it is not "
        f"the {verdict}."
    )
    if _by_truth(summary):
        return Section("errors", "Errors", (text,))
    if error["refuted"]:
        text += f" {error['refuted']:,} are known from audits and count here: decisions.csv has the panel's verdict."
    tied = "1 pool is" if error["tied_items"] == 1 else f"{error['tied_items']:,} pools are"
    ties = (
        f"{tied} tied. An answer that shares a tie of t classes counts as 1 - 1/t of an error, which makes "
        f"{error['from_ties']:.1f} of the errors. Asking everyone would leave {percent(error['tie_rate'], 2)}."
    )
    return Section("errors", "Errors", (text, ties))


def _truth(summary: Mapping[str, Any]) -> str:
    """Without true classes: how far the answers agree with the pool."""
    agreed, unknown = summary["pool_agreement"], "No true class was given (`truth`), so the error is unknown."
    if agreed is None:
        return unknown
    return f"{unknown} {percent(agreed['rate'], 1)} of the answers are the plurality of the item's recorded votes."


def _expected(summary: Mapping[str, Any]) -> str:
    """What the method expected; nothing where its confidence is a score."""
    if summary["confidence_is"] == "score":
        return ""
    return f"The method itself expected {percent(summary['error']['expected_rate'], 2)}. "


def _error_cost(summary: Mapping[str, Any]) -> Section:
    costs, title = summary["error_cost"], "What errors cost"
    if costs is None:
        return Section("error-costs", title)
    names = costs["classes"][:MOST_COLUMNS]
    rows = [
        [name, *(f"{cell:g}" for cell in row[: len(names)])] for name, row in zip(names, costs["table"], strict=False)
    ]
    realised = "unknown" if costs["realised_per_item"] is None else f"{costs['realised_per_item']:.4g}"
    text = f"Errors cost {realised} per item on the scored items; the method expected {costs['expected_per_item']:.4g}."
    table = _table("Cost of an error: rows the truth, columns the answer", ("truth", *names), rows)
    return Section("error-costs", title, (text,), tables=(table,))


def _classes(summary: Mapping[str, Any]) -> Section:
    if not summary["error"]["scored_items"]:
        return Section("classes", "Errors by class")
    every = sorted(summary["per_class"], key=lambda row: -row["verdict"])
    rows = [
        [
            row["class"], f"{row['verdict']:.1f}", f"{row['answered']:.0f}", f"{row['missed']:.1f}",
            percent(row["found"]), percent(row["right_when_answered"]),
        ]
        for row in every[:MOST_ROWS]
    ]  # fmt: skip
    whose = "items of this class" if _by_truth(summary) else "items whose pool says so"
    heads = ("class", whose, "items with this answer", "errors", "recall", "precision")
    ties = "" if _by_truth(summary) else "; a tie is shared between its classes"
    title = f"Scored items, most frequent class first{ties}"
    found = _table(title, heads, rows, note=_left_out(len(every), MOST_ROWS))
    return Section("classes", "Errors by class", tables=(found, *_confusion(summary)))


def _confusion(summary: Mapping[str, Any]) -> list[Table]:
    confusion = summary["confusion"]
    if confusion is None:
        return []
    cells = np.array(confusion["table"])
    order = np.argsort(-(cells.sum(axis=0) + cells.sum(axis=1)), kind="stable")[:MOST_COLUMNS]
    names = [confusion["classes"][k] for k in order]
    rows = [
        [name, *(f"{cells[k, j]:.1f}".removesuffix(".0") if cells[k, j] else "·" for j in order)]
        for name, k in zip(names, order, strict=True)
    ]
    title, head = "Scored items: rows the pool's verdict, columns the answer; ties are shared", "verdict"
    if _by_truth(summary):
        title, head = "Scored items: rows the true class, columns the answer", "truth"
    return [_table(title, (head, *names), rows, note=_left_out(len(cells), MOST_COLUMNS))]


def _by_truth(summary: Mapping[str, Any]) -> bool:
    return bool(summary["settings"]["target"] == "truth")


def _left_out(there: int, shown: int) -> str:
    return f"{there - shown} further classes are in summary.json." if there > shown else ""


def _people(summary: Mapping[str, Any]) -> Section:
    """Who was asked, most often first."""
    people, title = summary["people"], "Who was asked"
    if people is None or not people["rows"]:
        return Section("people", title)
    rows = [
        [row["person"], row["asked"], percent(row["agreement"]), f"{row['cost']:,.2f}"]
        for row in people["rows"][:MOST_LISTED]
    ]
    left = people["num_asked"] - len(rows)
    note = (
        f"{left:,} further people were asked, less often: decisions.csv names the voters of every item, `quorate "
        "experts` rates everybody."
    )
    never = people["num_people"] - people["num_asked"]
    text = f"{people['num_asked']:,} people were asked{f', {never:,} were never needed' if never else ''}. "
    text += (
        "Agreement with the answer is not skill: an answer rests on these votes, and whoever is asked about the hard "
        "items agrees less."
    )
    heads = ("person", "votes asked", "agreement with the answer", "money" if summary["votes"]["price"] else "cost")
    table = _table("Most asked first; audits included", heads, rows, note=note if left else "")
    return Section("people", title, (text,), tables=(table,))


def _confidence(summary: Mapping[str, Any], result: RunResult) -> Section:
    counts, edges = np.histogram(np.clip(result.outcome.confidence, 0, 1), bins=20, range=(0, 1))
    drawn = histogram(
        counts.tolist(), edges.tolist(), title="Items by confidence", x_label="confidence", y_label="items"
    )
    if summary["confidence_is"] == "score":
        caption = "A score, not a probability: too few true classes are known to calibrate it."
        return Section("confidence", "Confidence of the answers: a score", charts=(Chart(drawn, caption),))
    return Section("confidence", "Confidence of the answers", charts=(Chart(drawn),))


def _calibration(result: RunResult) -> Section:
    """The reliability table."""
    found, title = result.calibration, "Is the confidence honest?"
    if found is None:
        return Section("calibration", title)
    rows: list[list[Cell]] = [
        [
            f"{each.lowest:.4f} to {each.highest:.4f}", each.num, percent(each.confidence), percent(each.right),
            interval(*map(percent, each.interval)),
        ]
        for each in found.bins
    ]  # fmt: skip
    text = (
        "Error: the mean distance of confidence and share right over these bins. An honest predictor stays below "
        f"{percent(found.error_by_chance)} in 97.5 of 100 cases. Brier score {found.brier:.4f}, log score "
        f"{found.log_score:.4f}."
    )
    heads = ("confidence", "answers", "mean", "right", "95 % interval")
    table = _table("Answers given before the pool was settled, by rising confidence", heads, rows)
    return Section("calibration", title, (str(found), text), tables=(table,))


def _stops(summary: Mapping[str, Any]) -> Section:
    stops, total = summary["stop_reasons"], summary["num_items"]
    rows = [
        [reason, count, percent(count / total), SENTENCES[reason]]
        for reason, count in sorted(stops.items(), key=lambda pair: -pair[1])
    ]
    table = _table("Reasons to stop, most frequent first", ("reason", "items", "share", "because"), rows)
    return Section("stops", "Why asking stopped", tables=(table,))


def _over_time(result: RunResult) -> Section:
    xs, asked = stretches_of(result.outcome.num_votes + result.outcome.audit_votes)
    _, settled = stretches_of(result.until_settled)
    _, wrong = stretches_of(item_errors(result))
    votes = lines(
        [("line", xs, asked), ("second", xs, settled)],
        title="Votes per item over time",
        x_label="items",
        y_label="votes per item",
        least_top=1.0,
    )
    charts = [Chart(votes, "Votes per item, means over equal parts of the stream; dotted: until settled.")]
    if np.isfinite(wrong).any():
        shares = [100 * each for each in wrong]
        drawn = lines(
            [("line", xs, shares)], title="Errors over time", x_label="items", y_label="wrong, %", least_top=1.0
        )
        charts.append(Chart(drawn, "Wrong answers in the same parts."))
    return Section("over-time", "Over time", charts=tuple(charts))


def stretches_of(values: ArrayLike) -> tuple[list[float], list[float]]:
    """Middles of up to `NUM_BINS` equal parts of the stream, and the means there; NaN where nothing is known."""
    array: FloatArray = np.asarray(values, dtype=float)
    stretches = np.array_split(np.arange(len(array)), min(NUM_BINS, len(array)))
    known = [array[each][np.isfinite(array[each])] for each in stretches]
    return [float(each.mean()) + 1 for each in stretches], [float(k.mean()) if k.size else float("nan") for k in known]


def _learned(summary: Mapping[str, Any], *, is_of_people: bool) -> Section:
    learned, title = summary["learned"], "What was learned"
    if is_of_people:
        return Section("learned", title, ("How each person votes. `quorate experts` rates them on the same votes.",))
    if learned is None:
        return Section("learned", title, ("Nothing: this method does not learn.",))
    bias, tau = learned["bias"], learned["tau"]
    if summary["classifier"]["with"] is None:
        tau = {}
        text = f"After {learned['fits']} fits, without a classifier: before any vote all classes are equally likely"
        text += ", apart from the bias below." if bias else "."
    else:
        several = len(tau) > 1
        text = (
            f"After {learned['fits']} fits the {'classifiers count' if several else 'classifier counts'} as theta = "
            f"{learned['theta']:.3g} votes; phi = {learned['phi']:.3g} votes of doubt stay on every class. tau weighs "
            "log f by class: if all are 1 the classifier's probabilities are used unchanged, if all are less they "
            "are made more even, if all are more sharper."
        )
    names = list(next(iter(learned["tau"].values())))
    heads = ["class", *(f"tau of {model}" for model in tau)] + (["bias"] if bias else [])
    rows = [
        [name, *(f"{each[name]:.3g}" for each in tau.values())] + ([f"{bias[name]:+.3g}"] if bias else [])
        for name in names[:MOST_ROWS]
    ]
    by_class = _table("By class", heads, rows, note=_left_out(len(names), MOST_ROWS))
    return Section("learned", title, (text,), tables=(by_class,) if len(heads) > 1 else ())


def _pools(summary: Mapping[str, Any]) -> Section:
    pools = summary["pools"]
    text = "The pool of an item is the votes recorded for it."
    if pools["pool_size"] != "recorded":
        text = (
            f"Every pool has {pools['pool_size']} members. An item with fewer votes is left out of the error "
            "unless its votes settle the pool."
        )
    rows = [[POOLS[name], setting_text(value)] for name, value in pools.items()]
    return Section("pools", "Pools", (text,), tables=(_table("Items by pool", ("", ""), rows, text_columns=2),))


def _settings(summary: Mapping[str, Any]) -> Section:
    method = summary["method"]
    rows = [["method", method["name"]]]
    rows += [[f"parameter {name}", setting_text(value)] for name, value in method["parameters"].items()]
    rows += [[f"parameter {name}", f"set by the {kind}"] for name, kind in method["turned"].items()]
    rows += [[name.replace("_", " "), setting_text(value)] for name, value in summary["settings"].items()]
    return Section("settings", "Settings", tables=(_table("In force", ("", ""), rows, text_columns=2),))
