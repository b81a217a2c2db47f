"""`FindingsResult` -> totals as plain values, a table with a row per finding, and a page that links to each report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from quorate.reports import render
from quorate.reports.format import Cell, percent
from quorate.reports.section import Chart, Document, Section, Table
from quorate.reports.svg import Bar, bars
from quorate.version import __version__

if TYPE_CHECKING:
    from quorate.workflows.run.findings import FindingsResult

ALL = "all findings"
COUNTS = ("asked", "audit_votes", "total", "ask_all", "until_settled")


def summarise_findings(result: FindingsResult) -> dict[str, Any]:
    """Everything in one dictionary, without times or paths, so that equal runs give equal files."""
    each = {name: found.summary() for name, found in result.results.items()}
    return {
        "quorate": __version__,
        "num_findings": len(each),
        "num_items": len({item for found in result.results.values() for item in found.items}),
        "votes": _votes([found["votes"] for found in each.values()], sum(s["num_items"] for s in each.values())),
        "error": _error([found["error"] for found in each.values()]),
        "reads": _reads(result),
        "findings": {name: {"folder": result.folders[name], **found} for name, found in each.items()},
    }


def _votes(each: list[Mapping[str, Any]], num_answers: int) -> dict[str, Any]:
    """Votes over all findings; a vote is one person's label of one finding of one item."""
    sums = {name: sum(votes[name] for votes in each) for name in COUNTS}
    monies = [votes["money"] for votes in each]
    return sums | {
        "answers": num_answers,
        "per_answer": sums["total"] / num_answers,
        "ask_all_per_answer": sums["ask_all"] / num_answers,
        "saved_against_ask_all": 1 - sums["total"] / sums["ask_all"],
        "price": each[0]["price"],
        "money": None if monies[0] is None else {name: sum(money[name] for money in monies) for name in monies[0]},
    }


def _error(each: list[Mapping[str, Any]]) -> dict[str, Any]:
    scored, wrong = sum(error["scored_items"] for error in each), sum(error["wrong"] for error in each)
    return {"scored_items": scored, "wrong": wrong, "rate": wrong / scored if scored else None}


def _reads(result: FindingsResult) -> dict[str, Any] | None:
    """Reads if one read answers every finding; None where they are unknown."""
    reads = result.reads_per_item
    if reads is None:
        return None
    first = next(iter(result.results.values()))
    everyone = int(first.pools.stream.recorded.sum())
    return {
        "total": int(reads.sum()),
        "per_item": float(reads.mean()),
        "ask_all": everyone,
        "ask_all_per_item": everyone / len(reads),
        "saved_against_ask_all": 1 - float(reads.sum()) / everyone,
    }


def findings_headline(summary: Mapping[str, Any]) -> str:
    """The result over all findings in one sentence."""
    votes, rate = summary["votes"], summary["error"]["rate"]
    error = "the error is unknown" if rate is None else f"{percent(rate, 2)} of the answers are wrong"
    return (
        f"{summary['num_findings']} findings on {summary['num_items']:,} items took {votes['per_answer']:.2f} votes "
        f"per item and finding, {percent(votes['saved_against_ask_all'], 0)} fewer than asking everyone "
        f"({votes['ask_all_per_answer']:.2f}); {error}."
    )


def reads_sentence(summary: Mapping[str, Any]) -> str:
    """How many reads items need if one read answers every finding, or why that is unknown."""
    reads = summary["reads"]
    if reads is None:
        return (
            "The number of reads, if one read answers every finding, is known only if every row has a label for every "
            "finding and votes are asked in the order of the rows."
        )
    return (
        f"If one read answers every finding, an item needs the reads of its slowest finding: {reads['per_item']:.2f} "
        f"per item, {percent(reads['saved_against_ask_all'], 0)} fewer than everyone ({reads['ask_all_per_item']:.2f})."
    )


def findings_rows(summary: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Heads and rows of the table: a row per finding, then all of them; money if there is a price."""
    votes = summary["votes"]
    heads = ["finding", "items", "votes", "votes per item", "saved", "wrong"]
    money = ["money", "money saved"] if votes["money"] else []
    rows = [
        _row(name, found["num_items"], found["votes"], found["votes"]["per_item"], found["error"]["rate"])
        for name, found in summary["findings"].items()
    ]
    rows.append(_row(ALL, summary["num_items"], votes, votes["per_answer"], summary["error"]["rate"]))
    return heads + money, rows


def _row(name: str, num_items: int, votes: Mapping[str, Any], per_item: float, error: float | None) -> list[str]:
    money = votes["money"]
    paid = [f"{money[key]:,.2f}" for key in ("spent", "saved_against_ask_all")] if money else []
    saved = percent(votes["saved_against_ask_all"], 0)
    return [name, f"{num_items:,}", f"{votes['total']:,}", f"{per_item:.2f}", saved, percent(error, 2), *paid]


def findings_page(summary: Mapping[str, Any]) -> str:
    """The whole page."""
    heads, rows = findings_rows(summary)
    cells: tuple[tuple[Cell, ...], ...] = tuple(map(tuple, rows))
    links = {name: f"{quote(found['folder'])}/report.html" for name, found in summary["findings"].items()}
    note = "Saved: compared with asking everyone recorded. The name of a finding links to its report."
    table = Table("", "Findings", tuple(heads), cells, note, highlight=(ALL,), links=links)
    return render.page(
        Document(
            title=f"quorate run: {summary['num_findings']} findings",
            question="How many votes did each finding need?",
            answer=findings_headline(summary),
            picture=_picture(summary),
            sections=(Section("findings", "Findings", (reads_sentence(summary),), tables=(table,)),),
            footer=f"quorate {__version__}. Every figure of this page is in summary.json; the decisions on a finding "
            "are in its folder.",
        )
    )


def _picture(summary: Mapping[str, Any]) -> Chart:
    """Votes per item of each finding, and of asking everyone."""
    rows = [
        Bar(name, found["votes"]["per_item"], f"{found['votes']['per_item']:.2f} votes per item", is_ours=True)
        for name, found in summary["findings"].items()
    ]
    everyone = summary["votes"]["ask_all_per_answer"]
    rows.append(Bar("asking everyone", everyone, f"{everyone:.2f}"))
    return Chart(bars(rows, title="Votes per item: each finding, and asking everyone"))
