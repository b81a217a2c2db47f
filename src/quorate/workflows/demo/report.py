"""The demo as a report: for each stream the result in sentences, a plot, and all methods at equal cost.

Called by `demo`; the command prints the same sentences.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from quorate.catalogue import SENTENCES
from quorate.files import write_atomic
from quorate.reports import render
from quorate.reports.figures import comparison_figure, draw_all
from quorate.reports.format import percent
from quorate.reports.section import Document, Section, Table
from quorate.streams.curves import CLEAR, OURS, REFERENCES, Comparison, EqualError, Matched, equal_error
from quorate.streams.sweep import CurveReading, paired
from quorate.version import __version__

HEADS = ("method", "setting", "votes per item", "wrong, %")
COUPLED = (
    "Standard errors treat the items as independent, although a method that learns couples them: they are somewhat "
    "optimistic."
)
METHOD = (
    "A classifier predicts each item for free; experts can be asked one at a time; the truth is the plurality of the "
    "whole pool.",
    "Every method had the same items, experts and ties. The parameter of each method was varied over its whole range, "
    "and its error was read at the same number of votes per item (between two settings: a mix of the two).",
    "An answer in a tie of two classes counts as half wrong, in a tie of three as two thirds wrong.",
    COUPLED,
)


def write_report(comparisons: Sequence[Comparison], path: Path, *, headline: str, context: str, seconds: float) -> Path:
    """Write the page."""
    return write_atomic(path, page(comparisons, headline=headline, context=context, seconds=seconds))


def page(comparisons: Sequence[Comparison], *, headline: str, context: str = "", seconds: float) -> str:
    """The page as text."""
    figures = [comparison_figure(comparison) for comparison in comparisons]
    rules = tuple((curve.name, SENTENCES[curve.name]) for curve in comparisons[0].curves)
    methods = Table("", "What each method does", ("method", "rule"), rules, text_columns=2)
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
    """One setting: description, results, plot (the first one is at the top of the page), a table per budget."""
    setting = comparison.setting
    others = [matched for matched in reversed(comparison.matched) if matched is not comparison.middle]
    sentences = (
        verdict(comparison.middle), equal_error_sentence(comparison), *(verdict(matched) for matched in others),
        default_sentence(comparison),
    )  # fmt: skip
    return Section(
        setting.key,
        setting.title,
        (setting.about,),
        points=tuple(text for text in sentences if text),
        figures=() if is_first else (comparison_figure(comparison),),
        tables=tuple(table(matched, comparison) for matched in (comparison.middle, *others)),
    )


def verdict(matched: Matched) -> str:
    """Ours against the best simple rule, with the paired standard error, whoever wins; then any better method."""
    return against_simple(matched) + better_still(matched)


def against_simple(matched: Matched) -> str:
    """One sentence on the best simple rule."""
    ours, simple = matched.ours, matched.best_simple
    difference, error = paired(ours, simple)
    cost = f"At {ours.votes_per_item:.2f} votes per item"
    numbers = (
        f"quorate is wrong on {percent(ours.error_rate)} against {percent(simple.error_rate)} ({gap(ours, simple)})"
    )
    if difference > CLEAR * error:
        how = "clearly" if difference > 0.25 * simple.error_rate else "a little"
        return f"{cost} quorate is {how} better than the best simple rule, {simple.name}: {numbers}."
    if difference < -CLEAR * error:
        return f"{cost} the simple rule {simple.name} is better than quorate: {numbers}."
    return f"{cost} the simple rule {simple.name} does as well as quorate, within the error of this run: {numbers}."


def better_still(matched: Matched) -> str:
    """A sentence if the best of all other methods is clearly better than ours; else ""."""
    ours, rival = matched.ours, matched.best_rival
    difference, error = paired(ours, rival)
    if difference >= -CLEAR * error:
        return ""
    return f" Best of all is {rival.name}: {percent(rival.error_rate)} ({gap(ours, rival)})."


def gap(ours: CurveReading, theirs: CurveReading) -> str:
    """The difference in errors, theirs minus ours, as text."""
    difference, error = paired(ours, theirs)
    return f"difference {percent(difference, sign=True)}, standard error {percent(error)}"


def equal_error_sentence(comparison: Comparison) -> str:
    """Votes needed for the same error, as a sentence, whoever wins."""
    found = equal_error(comparison)
    settled = (
        f"Asking until settled takes {found.until_settled:.2f} and is wrong on {percent(found.settled_error_rate)}."
    )
    start = f"To be wrong on {percent(found.error_rate)} quorate needs {found.ours:.2f} votes per item"
    if found.votes is None:
        return f"{start}; no simple rule reaches that. {settled}"
    spread = f"at least {found.low:.2f}" if found.high is None else f"{found.low:.2f} to {found.high:.2f}"
    return (
        f"{start}, the best simple rule ({found.simple}) {found.votes:.2f} ({spread} within two standard errors): "
        f"{savings(found)} for the same error. {settled}"
    )


def savings(found: EqualError) -> str:
    """What quorate saves for the same error, as a phrase."""
    if found.fewer is None or not found.is_clear:
        return "no clear difference in votes"
    return f"quorate asks {100 * abs(found.fewer):.0f} % {'fewer' if found.fewer > 0 else 'more'}"


def default_sentence(comparison: Comparison) -> str:
    """Votes and errors of quorate with default settings."""
    point = comparison.default
    if point is None:
        return ""
    saved, _ = comparison.saved(point.votes_per_item)
    return (
        f"With default settings ({point.parameter}), quorate asks {point.votes_per_item:.2f} votes per item, "
        f"{percent(saved, 0)} fewer than asking everyone, and is wrong on {percent(point.error_rate)}; asking until "
        f"settled takes {comparison.until_settled:.2f} votes and leaves {percent(comparison.tie_floor)} to ties."
    )


def table(matched: Matched, comparison: Comparison) -> Table:
    """All methods at one budget, then the references."""
    rows = tuple(row(reading) for reading in (*matched.readings, *comparison.references))
    return Table("", budget_text(matched, comparison), HEADS, rows, text_columns=2, highlight=(OURS,), quiet=REFERENCES)


def budget_text(matched: Matched, comparison: Comparison) -> str:
    """The budget and the votes it saves, as a phrase."""
    from_all, from_settled = (percent(share, 0) for share in comparison.saved(matched.budget))
    return (
        f"At {matched.budget:.2f} votes per item, {from_all} fewer than asking everyone and {from_settled} fewer than "
        "asking until settled"
    )


def row(reading: CurveReading) -> tuple[str, ...]:
    """The cells of a method under `HEADS`."""
    return reading.name, reading.parameter, f"{reading.votes_per_item:.2f}", f"{100 * reading.error_rate:.2f}"
