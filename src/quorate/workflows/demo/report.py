"""The demo as a report: what came out on each stream, its plot, and all methods at equal cost. Called by `demo`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from quorate.catalogue import SENTENCES
from quorate.files import write_atomic
from quorate.reports import render
from quorate.reports.figures import draw_all
from quorate.reports.format import percent
from quorate.reports.plots import comparison_figure
from quorate.reports.section import Document, Section, Table
from quorate.streams.curves import COUPLED, OURS, REFERENCES, Comparison, Matched, equal_error_sentence, verdict
from quorate.streams.sweep import CurveReading
from quorate.version import __version__

HEADS = (
    "method", "wrong, %", "votes per item", "setting", "saved against asking everyone", "saved against until settled",
)  # fmt: skip
METHOD = (
    "A classifier predicts each item for free; experts can be asked one at a time; the truth is the plurality of the "
    "whole pool.",
    "Every method met the same items, experts and ties. Each method's parameter was varied over its whole range, and "
    "its error read at the same number of votes per item as all others (between two settings: a mix of the two).",
    "Ties of the pool count as half wrong between two classes, two thirds between three, for everyone.",
    COUPLED,
)


def write_report(comparisons: Sequence[Comparison], path: Path, *, headline: str, context: str, seconds: float) -> Path:
    """Write the page."""
    return write_atomic(path, page(comparisons, headline=headline, context=context, seconds=seconds))


def page(comparisons: Sequence[Comparison], *, headline: str, context: str = "", seconds: float) -> str:
    """The page as text."""
    figures = [comparison_figure(comparison) for comparison in comparisons]
    methods = Table("", "What each method does", ("method", "rule"), tuple(SENTENCES.items()), text_columns=2)
    document = Document(
        title=f"quorate {__version__}: demo",
        question="When have enough experts been asked?",
        answer=headline,
        picture=figures[0],
        notes=(context,) if context else (),
        sections=tuple(section(each, is_first=number == 0) for number, each in enumerate(comparisons)),
        folded=(
            Section("method", "How the methods were compared", points=METHOD),
            Section("methods", "The methods", tables=(methods,)),
        ),
        footer=f"quorate {__version__}; synthetic streams, run in {seconds:.0f} s. Every point is in results.csv, the "
        "tables in summary.json.",
        drawn=draw_all(figures),
    )
    return render.page(document)


def section(comparison: Comparison, *, is_first: bool) -> Section:
    """One setting: what it is, what came out, the plot (the first stands at the top), a table per budget."""
    setting = comparison.setting
    others = [matched for matched in reversed(comparison.matched) if matched is not comparison.middle]
    said = (
        verdict(comparison.middle), equal_error_sentence(comparison), *(verdict(matched) for matched in others),
        default_sentence(comparison),
    )  # fmt: skip
    return Section(
        setting.key,
        setting.title,
        (setting.about,),
        points=tuple(text for text in said if text),
        figures=() if is_first else (comparison_figure(comparison),),
        tables=tuple(table(matched, comparison) for matched in (comparison.middle, *others)),
    )


def default_sentence(comparison: Comparison) -> str:
    """Votes and errors of quorate with default settings, without anybody choosing a budget."""
    point = comparison.default
    if point is None:
        return ""
    saved, _ = comparison.saved(point.votes_per_item)
    return (
        f"With default settings ({point.knob}), quorate asks {point.votes_per_item:.2f} votes per item, "
        f"{percent(saved, 0)} fewer than asking everyone, and is wrong on {percent(point.error_rate)}; asking until "
        f"settled takes {comparison.until_settled:.2f} votes and leaves {percent(comparison.tie_floor)} to ties."
    )


def table(matched: Matched, comparison: Comparison) -> Table:
    """All methods at one budget, then the references."""
    rows = tuple(_row(reading, comparison) for reading in (*matched.readings, *comparison.references))
    share = percent(matched.budget / comparison.until_settled, 0)
    title = f"At {matched.budget:.2f} votes per item ({share} of until-settled)"
    return Table("", title, HEADS, rows, highlight=(OURS,), quiet=REFERENCES)


def _row(reading: CurveReading, comparison: Comparison) -> tuple[str, ...]:
    saved = (percent(share, 0) for share in comparison.saved(reading.votes_per_item))
    numbers = f"{100 * reading.error_rate:.2f}", f"{reading.votes_per_item:.2f}"
    return (reading.name, *numbers, reading.knob, *saved)
