"""The demo as a report: the result, the picture, and all methods at equal cost. The command prints the same table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from quorate.commands.compare import Comparison
from quorate.methods import SENTENCES
from quorate.reports import render
from quorate.reports.figures import DrawnFigure
from quorate.reports.format import percent
from quorate.reports.section import Document, Section, Table
from quorate.version import __version__

METHOD = (
    "A classifier predicts each item for free; experts can be asked one at a time; the truth is the plurality of the "
    "whole pool.",
    "Every method had the same items, experts and ties. The parameter of each method was varied over its whole range, "
    "and its error was read at the same number of votes per item (between two settings: a mix of the two).",
    "An answer in a tie of two classes counts as half wrong, in a tie of three as two thirds wrong.",
)


def error_table(comparison: Comparison, budgets: Sequence[float]) -> Table:
    """The error of every method at each cost, the best at the middle one first."""
    table = comparison.table(budgets)
    return replace(table, rows=tuple(sorted(table.rows, key=lambda row: float(row[1 + len(budgets) // 2] or 0.0))))


def settled_sentence(comparison: Comparison) -> str:
    """What asking until settled takes."""
    return (
        f"Asking until the pool is settled takes {comparison.until_settled.votes_per_item:.1f} votes; ties leave "
        f"{percent(comparison.until_settled.error_rate)} wrong in any case."
    )


def page(
    comparison: Comparison, budgets: Sequence[float], about: str, *,
    drawn: Mapping[str, DrawnFigure], answer: str, seconds: float,
) -> str:  # fmt: skip
    """The page as text."""
    rules = tuple((curve.label, SENTENCES[curve.name]) for curve in comparison.curves)
    document = Document(
        title=f"quorate {__version__}: demo",
        question="When have enough experts been asked?",
        answer=answer,
        picture=comparison.figure(),
        notes=(about, settled_sentence(comparison)),
        sections=(Section("methods", "All methods", tables=(error_table(comparison, budgets),)),),
        folded=(
            Section("method", "How the methods were compared", points=METHOD),
            Section(
                "rules", "What each method does",
                tables=(Table("", "The methods", ("method", "rule"), rules, text_columns=2),),
            ),
        ),
        footer=f"quorate {__version__}; a synthetic stream, run in {seconds:.0f} s. Every point is in results.csv, the "
        "tables in summary.json.",
        drawn=dict(drawn),
    )  # fmt: skip
    return render.page(document)
