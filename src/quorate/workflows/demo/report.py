"""The demo as a report: the result, the picture, and all methods at equal cost. The command prints the same table."""

from __future__ import annotations

from quorate.catalogue import SENTENCES
from quorate.reports import render
from quorate.reports.figures import comparison_figure, draw_all
from quorate.reports.format import percent
from quorate.reports.section import Document, Section, Table
from quorate.streams.curves import OURS, REFERENCES, Comparison
from quorate.version import __version__

METHOD = (
    "A classifier predicts each item for free; experts can be asked one at a time; the truth is the plurality of the "
    "whole pool.",
    "Every method had the same items, experts and ties. The parameter of each method was varied over its whole range, "
    "and its error was read at the same number of votes per item (between two settings: a mix of the two).",
    "An answer in a tie of two classes counts as half wrong, in a tie of three as two thirds wrong.",
)


def error_table(comparison: Comparison) -> Table:
    """The error of every method at each cost, in the order of the middle one."""
    heads = ("wrong, % of the items, with", *(f"{each.budget:.1f} votes" for each in comparison.matched))
    at = [{each.name: f"{100 * each.error_rate:.2f}" for each in matched.readings} for matched in comparison.matched]
    rows = tuple((each.name, *(errors[each.name] for errors in at)) for each in comparison.middle.readings)
    return Table("", "Methods at equal cost", heads, rows, highlight=(OURS,))


def settled_sentence(comparison: Comparison) -> str:
    """What asking until settled takes."""
    return (
        f"Asking until the pool is settled takes {comparison.until_settled:.1f} votes; ties leave "
        f"{percent(comparison.tie_floor)} wrong in any case."
    )


def page(comparison: Comparison, *, answer: str, seconds: float) -> str:
    """The page as text."""
    figure = comparison_figure(comparison)
    settings = Table(
        "", f"Settings at {comparison.middle.budget:.2f} votes per item", ("method", "setting"),
        tuple((reading.name, reading.parameter) for reading in comparison.middle.readings), text_columns=2,
    )  # fmt: skip
    rules = Table(
        "", "The methods", ("method", "rule"),
        tuple((curve.name, SENTENCES[curve.name]) for curve in comparison.curves if curve.name not in REFERENCES),
        text_columns=2,
    )  # fmt: skip
    document = Document(
        title=f"quorate {__version__}: demo",
        question="When have enough experts been asked?",
        answer=answer,
        picture=figure,
        notes=(comparison.setting.about, settled_sentence(comparison)),
        sections=(Section("methods", "All methods", tables=(error_table(comparison),)),),
        folded=(
            Section("method", "How the methods were compared", points=METHOD, tables=(settings,)),
            Section("rules", "What each method does", tables=(rules,)),
        ),
        footer=f"quorate {__version__}; a synthetic stream, run in {seconds:.0f} s. Every point is in results.csv, the "
        "tables in summary.json.",
        drawn=draw_all([figure]),
    )
    return render.page(document)
