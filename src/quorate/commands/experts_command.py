"""`quorate experts`: votes that name their voters -> how good and how careful each person is."""

from __future__ import annotations

from typing import Annotated

from quorate.commands.experts import ExpertsResult, rate_experts
from quorate.commands.experts.report import (
    KINDS,
    person_row,
    write_experts,
)
from quorate.commands.options import Json, Overwrite, PredictionTables, TruthTable, VotesTable, option, reads_tables
from quorate.commands.output import print_json, print_lines, print_screen, print_table, progress_bar
from quorate.files import check_free
from quorate.tables import TableKeywords, TableOptions

FEW = 10  # people in the terminal
HEADS = ("person", "votes", "accuracy", "95 % interval", "where known", "with others", "pattern")
MOST_NAMED = 5

Out = Annotated[
    str | None,
    option(
        "Folder for report.html, people.csv, confusion.csv, pairs.csv, consensus.csv and summary.json.", "--out", "-o"
    ),
]


@reads_tables()
def experts(
    *,
    votes: VotesTable,
    predictions: PredictionTables = None,
    truth: TruthTable = None,
    reading: TableOptions,
    out: Out = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """How good and how careful is each person, and how far do they agree? From votes that name their voters.

    Estimated accuracy and confusion of each person, careless voting with the evidence, pairs that look copied, kappa
    and alpha, and how many independent people an item's votes are worth.

    Example: quorate experts --votes votes.csv --predictions probs.parquet --out experts
    """
    if out is not None:
        check_free(out, overwrite=overwrite)
    with progress_bar(quiet=json) as report:
        found = rate_experts(
            votes, predictions or None, truth=truth, progress=report, **reading.keywords(TableKeywords)
        )
    files = () if out is None else write_experts(found, out, overwrite=overwrite)
    if json:
        print_json(found.summary() | {"files": [str(file) for file in files]})
        return
    shown = found.ranked(FEW)
    title = "People by estimated accuracy" + ("" if len(shown) == len(found.people) else ", the highest and the lowest")
    print_lines(found.answer, "")
    print_table(title, HEADS, [tuple(map(str, person_row(each))) for each in shown])
    print_screen([*(f"Warning: {each}" for each in found.report.warnings[:1]), *notes(found)])
    print_lines(next(line for line in found.report.understood() if line.startswith("Read ")))
    print_lines(f"Report: {out}/report.html" if out is not None else "With --out everybody is in people.csv.")


def notes(found: ExpertsResult) -> list[str]:
    """At most three: who looks careless, which pairs look copied, and how the estimates compare."""
    careless = [f"{each.quality.person} ({KINDS[each.quality.kind]})" for each in found.careless]
    copied = [f"{each.first} and {each.second}" for each in found.copied]
    told = {"May vote carelessly": careless, "Pairs that look copied": copied}
    lines = [f"{what}: {', '.join(names[:MOST_NAMED])}" for what, names in told.items() if names]
    return [*filter(None, [found.doubt]), *lines, found.known or found.consensus]
