"""An `ExpertsResult` -> report.html, people.csv, pairs.csv, confusion.csv, consensus.csv and summary.json."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from quorate.files import check_free, write_folder
from quorate.model import plurality_shares
from quorate.people import TYPES, Estimate, LabelDifference
from quorate.reports import render
from quorate.reports.figures import BLUE, GRID, ORANGE, QUIET, draw_all
from quorate.reports.format import Cell, interval, json_page, number, percent
from quorate.reports.section import Document, Figure, Section, Table, data_section
from quorate.version import __version__

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MplFigure

    from quorate.commands.experts import ExpertsResult, Person

MOST_SHOWN = 20  # rows of a table on the page; the files have all
FEW_PEOPLE = 20  # drawn by name
KINDS = {
    "careful": "none found",
    "uniform": "guesses",
    "habit": "votes by habit",
    "copier": "copies the classifier",
}
PEOPLE_HEADS = (
    "person", "votes", "estimated accuracy", "95 % interval", "right where known", "agrees with others",
    "careless pattern",
)  # fmt: skip
FIGURES = {
    "pairwise": "two votes on an item are equal",
    "krippendorff_alpha": "Krippendorff's alpha",
    "fleiss_kappa": "Fleiss' kappa",
    "cohen_kappa": "Cohen's kappa, mean over pairs",
    "effective_size": "independent people an item's votes are worth",
}
ABOUT = (
    "Estimated accuracy: the share of items on which the person gives the true class. The true class is not observed; "
    "it is estimated from everybody's votes, weighted by how good each person is (a Dawid-Skene model that is learned "
    "online, from known items first, and shrunk towards the crowd). Its interval is approximate, and too narrow if "
    "people err on the same items. Right where known: counted on items whose true class was given; reliable if there "
    "are many.",
    "Agrees with others: the share of votes that equal the plurality of the other voters of the item; ties count in "
    "part.",
    "Careless pattern: a person is called careless only if guessing, voting by habit or copying the classifier is "
    "more probable than careful voting. Copying can be detected only with predictions. It is a reason to check, "
    "not a verdict.",
    "Differs: the class that a person gives more or less often than the other voters of the same items, "
    "if chance hardly explains it: a sign test, at 1 % over all people and classes. It does not say who is right.",
    "Pairs look copied if they agree more often than both people's accuracies explain, given the number of pairs.",
    "Alpha and kappa: 1 is full agreement, 0 is agreement by chance. Their intervals are bootstrap intervals over "
    "items.",
    "Independent people: people who err on the same items count for fewer. Without known true classes the plurality "
    "is used instead, which hides errors that most people share: the figure is then an overestimate. It is never above "
    "the number of votes per item: errors that overlap less than by chance are nearly always noise.",
)
SCORE = (
    "The score of an answer is not the probability that it is right: on real crowds such scores are overconfident. "
    "With true classes for at least 20 items, a calibrated confidence is computed."
)


def person_row(each: Person) -> tuple[Cell, ...]:
    """A person as cells under PEOPLE_HEADS."""
    found = each.quality
    return (
        found.person, found.num_votes, percent(found.accuracy.value),
        interval(percent(found.accuracy.low), percent(found.accuracy.high)), percent(found.with_truth),
        _share(each.with_others),
        KINDS[found.kind],
    )  # fmt: skip


def difference_text(found: LabelDifference | None) -> str:
    """A difference in words; "" if there is none."""
    if found is None:
        return ""
    more = "more" if found.share > found.share_of_others else "less"
    shares = f"{100 * found.share:.0f} % against {100 * found.share_of_others:.0f} %"
    return f"says {found.label!r} {more} often than the others about the same items: {shares}"


def agreement_rows(result: ExpertsResult) -> list[tuple[Cell, ...]]:
    """The panel's figures with their intervals."""
    rows: list[tuple[Cell, ...]] = []
    for name, words in FIGURES.items():
        found: Estimate | None = getattr(result.agreement, name)
        if found is not None and np.isfinite(found.value):
            rows.append((words, number(found.value, 3), interval(number(found.low, 3), number(found.high, 3))))
    return rows


def write_experts(result: ExpertsResult, folder: str | Path, *, overwrite: bool = False) -> tuple[Path, ...]:
    """Write all files, each atomically, summary.json last; a folder with files is refused unless `overwrite`."""
    place = check_free(folder, overwrite=overwrite)
    files = {
        "report.html": page(result),
        "people.csv": _csv(*_people_table(result)),
        "confusion.csv": _csv(*_confusion_table(result)),
        "pairs.csv": _csv(*_pairs_table(result)),
        "consensus.csv": _csv(*_consensus_table(result)),
        "summary.json": json_page(result.summary()),
    }
    return write_folder(place, files)


def page(result: ExpertsResult) -> str:
    """The report as one HTML page."""
    return render.page(document(result))


def document(result: ExpertsResult) -> Document:
    """The report."""
    picture = people_figure(result)
    return Document(
        title="The people behind the votes",
        question="How good is each person, and how far do they agree?",
        answer=result.answer,
        picture=picture,
        notes=_notes(result),
        sections=_sections(result),
        folded=(
            Section("method", "How this is measured", points=ABOUT),
            data_section(result.report.as_dict()),
        ),
        footer=f"quorate {__version__}; {result.ballots.num_votes:,} votes of {len(result.people):,} people on "
        f"{len(result.ballots.items):,} items, seed {result.seed}. Everybody is in people.csv.",
        drawn=draw_all([picture]),
    )


def _notes(result: ExpertsResult) -> tuple[str, ...]:
    sentences = (result.doubt, result.consensus, result.known, SCORE if result.confidence is None else "")
    return tuple(text for text in sentences if text)


def _sections(result: ExpertsResult) -> tuple[Section, ...]:
    shown, num = result.ranked(MOST_SHOWN), len(result.people)
    note = "" if num <= MOST_SHOWN else f"The {MOST_SHOWN // 2} highest and lowest of {num:,}."
    people = Table("", "People by estimated accuracy", PEOPLE_HEADS, tuple(map(person_row, shown)), note=note)
    panel = Table("", "The panel", ("measure", "value", "95 % interval"), tuple(agreement_rows(result)))
    sections = [Section("people", "People", tables=(people,)), Section("panel", "Agreement", tables=(panel,))]
    differ = tuple((person, difference_text(each)) for person, each in result.differing[:MOST_SHOWN])
    if differ:
        table = Table("", "Labels against those of the others", ("person", "differs"), differ, text_columns=2)
        sections.append(Section("differ", "Who votes differently", tables=(table,)))
    if result.careless:
        rows = tuple(
            (each.quality.person, KINDS[each.quality.kind], percent(1 - each.quality.kinds[0]), each.quality.evidence)
            for each in result.careless[:MOST_SHOWN]
        )
        heads = ("person", "pattern", "probability of careless voting", "evidence")
        sections.append(Section("careless", "Who looks careless", tables=(Table("", "Careless voting", heads, rows),)))
    if result.copied:
        pairs = tuple(
            (each.first, each.second, each.num_items, each.num_equal, f"{each.expected:.1f}")
            for each in result.copied[:MOST_SHOWN]
        )
        columns = ("person", "and", "items both voted on", "equal votes", "expected")
        table = Table("", "Equal votes beyond what both accuracies explain", columns, pairs, text_columns=2)
        sections.append(Section("copied", "Pairs that look copied", tables=(table,)))
    return tuple(sections)


def people_figure(result: ExpertsResult) -> Figure:
    """Estimated accuracies: by name with their intervals if there are few people, else against the number of votes."""
    if len(result.people) <= FEW_PEOPLE:
        height = 1.2 + 0.28 * len(result.people)
        caption = "Bars are 95 % intervals."
        return Figure("people", "People", caption, "Accuracy by person", partial(_by_name, result), (7.6, height))
    caption = "One point per person. Estimates from few votes lie close to the crowd's mean."
    title = "Estimated accuracy against number of votes"
    return Figure("people", "People", caption, title, partial(_by_votes, result), (7.6, 4.4))


def _groups(result: ExpertsResult) -> list[tuple[list[Person], str, str]]:
    careful = [each for each in result.people if each.quality.kind == "careful"]
    groups = ((careful, BLUE, "no careless pattern"), (list(result.careless), ORANGE, "looks careless"))
    return [(group, colour, f"{name} ({len(group):,})") for group, colour, name in groups if group]


def _by_name(result: ExpertsResult, figure: MplFigure) -> None:
    axes = figure.subplots()
    names = [each.quality.person for each in sorted(result.people, key=lambda each: each.quality.accuracy.value)]
    for group, colour, label in _groups(result):
        places = [names.index(each.quality.person) for each in group]
        values, low, high = (
            100
            * np.array(
                [(each.quality.accuracy.value, each.quality.accuracy.low, each.quality.accuracy.high) for each in group]
            ).T
        )
        axes.errorbar(values, places, xerr=(values - low, high - values), fmt="o", color=colour, capsize=3, label=label)
    axes.axvline(_chance(result), color=QUIET, linewidth=1, linestyle=(0, (4, 3)), label="guessing")
    axes.set(xlabel="estimated accuracy, %", xlim=(0, 101), ylim=(-0.6, len(names) - 0.4))
    axes.set_yticks(range(len(names)), names)
    axes.grid(axis="x", color=GRID)
    axes.legend(frameon=False, loc="upper left", fontsize=8)


def _by_votes(result: ExpertsResult, figure: MplFigure) -> None:
    axes = figure.subplots()
    for group, colour, label in _groups(result):
        votes = [each.quality.num_votes for each in group]
        values = [100 * each.quality.accuracy.value for each in group]
        axes.plot(votes, values, "o", color=colour, markersize=4, alpha=0.7, label=label)
    axes.axhline(_chance(result), color=QUIET, linewidth=1, linestyle=(0, (4, 3)), label="guessing")
    axes.set(xlabel="votes", ylabel="estimated accuracy, %", xscale="log", ylim=(0, 101))
    axes.grid(color=GRID)
    axes.legend(frameon=False, loc="lower right", fontsize=8)


def _chance(result: ExpertsResult) -> float:
    return 100 / len(result.ballots.classes)


def _share(found: Estimate) -> str:
    return percent(None if np.isnan(found.value) else found.value)


def _csv(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(heads)
    writer.writerows([_cell(each) for each in row] for row in rows)
    return text.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, float):
        return "" if np.isnan(value) else f"{value:.6g}"
    return "" if value is None else value


def _people_table(result: ExpertsResult) -> tuple[Sequence[str], Iterable[Sequence[object]]]:
    heads = (
        "person", "votes", "accuracy", "accuracy_low", "accuracy_high", "agreement", "agreement_low", "agreement_high",
        "known_items", "accuracy_known", "pattern", *(f"probability_{name}" for name in TYPES), "evidence",
        "difference", "difference_label", "difference_share", "difference_share_of_others",
    )  # fmt: skip
    rows = (
        (
            each.quality.person, each.quality.num_votes, *_three(each.quality.accuracy), *_three(each.with_others),
            each.quality.num_known, each.quality.with_truth, KINDS[each.quality.kind], *each.quality.kinds,
            each.quality.evidence, difference_text(each.difference),
            *(astuple(each.difference) if each.difference else (None, None, None)),
        )
        for each in result.people
    )  # fmt: skip
    return heads, rows


def _three(found: Estimate) -> tuple[float, float, float]:
    return found.value, found.low, found.high


def _confusion_table(result: ExpertsResult) -> tuple[Sequence[str], Iterable[Sequence[object]]]:
    classes = result.ballots.classes

    def rows() -> Iterator[Sequence[object]]:
        for each in result.agreement.people:
            shares = each.confusion / np.maximum(each.confusion.sum(axis=1, keepdims=True), 1e-12)
            for at in zip(*np.nonzero(each.confusion), strict=True):
                figures = (float(table[at]) for table in (each.confusion, shares))
                yield (each.person, classes[at[0]], classes[at[1]], *figures)

    return ("person", "others_say", "label", "votes", "share"), rows()


def _pairs_table(result: ExpertsResult) -> tuple[Sequence[str], Iterable[Sequence[object]]]:
    copied = {(each.first, each.second): each for each in result.copied}
    heads = (
        "first", "second", "items", "agreement", "agreement_low", "agreement_high", "kappa", "kappa_low", "kappa_high",
        "looks_copied",
    )  # fmt: skip
    rows = (
        (
            each.first, each.second, each.num_items, *_three(each.agreement), *_three(each.kappa),
            "yes" if (each.first, each.second) in copied else "no",
        )
        for each in result.agreement.pairs
    )  # fmt: skip
    return heads, rows


def _consensus_table(result: ExpertsResult) -> tuple[Sequence[str], Iterable[Sequence[object]]]:
    counts, classes = result.ballots.counts, result.ballots.classes
    shares = plurality_shares(counts)
    plurality = [classes[int(row.argmax())] if row.max() == 1.0 else "" for row in shares]
    labels = [classes[k] if voted else "" for k, voted in zip(result.labels, counts.sum(axis=1) > 0, strict=True)]
    confidence = [None] * len(counts) if result.confidence is None else result.confidence.tolist()
    rows = zip(
        result.ballots.items, labels, result.scores.tolist(), confidence,
        counts.sum(axis=1).tolist(), plurality, strict=True,
    )  # fmt: skip
    return ("item", "label", "score", "confidence", "votes", "plurality"), rows
