"""What `quorate run` prints: warnings, the answer in one sentence, the trade-off, notes, what was read, the report.

At most 24 lines of 100 columns. Takes the summary of a run. Called by the command and by `RunResult`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from quorate.commands.run.notes import notes, percent_of, warnings
from quorate.reports.format import WIDTH, text_table, wrapped

HEIGHT = 24
MOST_NOTES, MOST_WARNINGS = 3, 2


def screen(summary: Mapping[str, Any], folder: str) -> list[str]:
    """The lines of the screen; `folder` has the files of the run."""
    first = [f"Warning: {each}" for each in warnings(summary)]
    if len(first) > MOST_WARNINGS:
        first[MOST_WARNINGS - 1 :] = [f"{len(first) - MOST_WARNINGS + 1} more warnings are in the report."]
    heads, rows = tradeoff_rows(summary)
    above = [*_wrapped([*first, headline(summary)]), "", *text_table(heads, rows), ""]
    below = _wrapped([*worth(summary), *lowest_recall(summary)])
    last, told = _joined(read(summary), f"Report: {folder}/report.html"), notes(summary)[:MOST_NOTES]
    while told and len(above) + len(below) + len(_wrapped(told)) + len(last) > HEIGHT:
        told.pop()
    return [*above, *below, *_wrapped(told), *last]


def _wrapped(sentences: Sequence[str]) -> list[str]:
    return [line for each in sentences for line in wrapped(each)]


def _joined(first: str, second: str) -> list[str]:
    """Two sentences on one line if they fit."""
    both = f"{first} {second}"
    return [both] if len(both) <= WIDTH else _wrapped([first, second])


def headline(summary: Mapping[str, Any]) -> str:
    """The result of a run in one sentence; with a table of error costs a second one."""
    votes, pools, costs = summary["votes"], summary["pools"], summary["error_cost"]
    everyone = votes["ask_all_per_item"]
    shown = f"{everyone:.0f}" if pools["smallest"] == pools["largest"] == everyone else f"{everyone:.2f}"
    saved = f"{100 * votes['saved_against_ask_all']:.0f} % fewer"
    if votes["money"]:
        saved += f", {votes['money']['saved_against_ask_all']:,.2f} saved"
    if votes["audit_votes"]:
        saved += f"; {votes['audit_votes']:,} votes were audits"
    text = f"{votes['per_item']:.2f} votes per item instead of {shown} ({saved}); {_wrong(summary, shown)}."
    if costs is None:
        return text
    named = [
        f"{row['class']} {percent_of(row['found'])}" for row in summary["per_class"] if row["class"] in costs["named"]
    ]
    realised = costs["realised_per_item"]
    cost = "unknown" if realised is None else f"{realised:.2f} votes per item"
    return f"{text} Cost of errors: {cost}; recall: {', '.join(named)}."


def _wrong(summary: Mapping[str, Any], everyone: str) -> str:
    error, pools = summary["error"], summary["pools"]
    if summary["settings"]["target"] == "truth":
        if error["rate"] is None:
            return "no true class was given (`truth`), so the error is unknown"
        known = f"known for {error['scored_items']:,} items"
        return f"{percent_of(1 - error['rate'])} of the answers are the true class ({known})"
    if error["rate"] is None:
        return "no pool is complete, so the error is unknown"
    if pools["not_scored"]:
        worst = (error["wrong"] + pools["not_scored"]) / summary["num_items"]
        counted = f"{percent_of(worst)} if every incomplete, unsettled item is counted as wrong"
        return f"{percent_of(error['rate'])} wrong; {counted}"
    who = "everyone" if "." in everyone else f"all {everyone}"
    return f"{percent_of(error['rate'])} of the answers differ from what {who} would say"


def tradeoff_rows(summary: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Heads and rows of the table of the trade-off around the choice."""
    points, has_table = summary["tradeoff"], summary["error_cost"] is not None
    own = points["this_run"]["error_cost"]
    name = "this run"
    if own is not None:
        name = "these costs  (this run)" if has_table else f"{own:,.6g} votes  (this run)"
    named = {
        "cheaper": "a quarter of these costs" if has_table else None,
        "this_run": name,
        "dearer": "four times these costs" if has_table else None,
        "until_settled": "until the pool is settled",
        "everyone": "everyone",
    }
    rows = [
        [
            text or f"{points[key]['error_cost']:,.6g} votes",
            f"{points[key]['votes']:.2f}",
            percent_of(points[key]["error"]),
        ]
        for key, text in named.items()
        if points[key] is not None
    ]
    return ["" if own is None else "if a wrong answer costs", "votes per item", "wrong"], rows


def worth(summary: Mapping[str, Any]) -> list[str]:
    """What the classifier is worth, from two replays; and on how many items these were."""
    found, points = summary["classifier"], summary["tradeoff"]
    sampled = points["items"] < summary["num_items"] and (points["cheaper"] is not None or found["with"] is not None)
    on = f"Other settings were replayed on {points['items']:,} items, drawn by seed."
    if found["with"] is None:
        return [on] if sampled else []
    a, b = found["with"], found["without"]
    if a["error"] is None:
        text = f"With the classifier {a['votes']:.2f} votes, without it {b['votes']:.2f}."
    else:
        text = (
            f"With the classifier {a['votes']:.2f} votes and {percent_of(a['error'])} wrong, without it "
            f"{b['votes']:.2f} and {percent_of(b['error'])}."
        )
    return [f"{text} {on}" if sampled else text]


def lowest_recall(summary: Mapping[str, Any]) -> list[str]:
    """The class with the largest share of missed items, unless a note names it."""
    there = [row for row in summary["per_class"] if row["verdict"] >= 1]
    if len(there) < 2 or summary["lost_class"] is not None:
        return []
    if not any(row["missed"] for row in there):
        return ["No item of any class was missed."]
    worst = min(there, key=lambda row: (row["found"], -row["verdict"]))
    missed, all_ = (f"{worst[key]:,.1f}".removesuffix(".0") for key in ("missed", "verdict"))
    return [f"Lowest recall: {worst['class']} {percent_of(worst['found'])} ({missed} of {all_} missed)."]


def read(summary: Mapping[str, Any]) -> str:
    """What was read, in one sentence."""
    data = summary["data"]
    (line,) = (each for each in data["understood"] if each.startswith("Read "))
    return f"{line[:-1]} (rejects.csv)." if data["set_aside"] else str(line)
