"""`quorate experts`: votes that name their voters -> how good and how careful each person is."""

from __future__ import annotations

from typing import Annotated

from quorate.cli.options import Json, Overwrite, PredictionTables, TruthTable, VotesTable, option, reads_tables
from quorate.cli.output import print_json, print_lines, print_table, print_understood, progress_bar
from quorate.files import check_free
from quorate.tables.options import TableKeywords, TableOptions
from quorate.workflows.experts import ExpertsResult, rate_experts
from quorate.workflows.experts.report import (
    MOST_SHOWN,
    NO_ORDER,
    PEOPLE_HEADS,
    agreement_rows,
    difference_text,
    person_row,
    write_experts,
)

FEW = 10  # people in the terminal

ExcludeBelow = Annotated[
    float | None,
    option(
        "Exclude people whose estimated accuracy is lower, such as 0.6, and compute everything again.",
        "--exclude-below",
    ),
]
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
    exclude_below: ExcludeBelow = None,
    seed: Annotated[int, option("Draws the order of the items and the bootstrap.")] = 0,
    reading: TableOptions,
    out: Out = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """How good and how careful is each person, and how far do they agree? From votes that name their voters.

    Estimated accuracy and confusion of each person, careless voting with the evidence, pairs that look copied, kappa
    and alpha, and how many independent people an item's votes are worth. Nobody is excluded by default.

    Example: quorate experts --votes votes.csv --predictions probs.parquet --out experts
    """
    if out is not None:
        check_free(out, overwrite=overwrite)
    with progress_bar(quiet=json) as report:
        found = rate_experts(
            votes, predictions or None, truth=truth, exclude_below=exclude_below, seed=seed, progress=report,
            **reading.keywords(TableKeywords),
        )  # fmt: skip
    files = () if out is None else write_experts(found, out, overwrite=overwrite)
    if json:
        print_json(found.summary() | {"files": [str(file) for file in files]})
        return
    _print(found)
    print_understood(found.report)
    print_lines(*(f"Written: {file}" for file in files))


def _print(found: ExpertsResult) -> None:
    print_lines(found.answer, found.consensus, "")
    shown = found.ranked(2 * FEW)
    title = "People by estimated accuracy" + ("" if len(shown) == len(found.people) else f", {FEW} highest and lowest")
    print_table(title, PEOPLE_HEADS, [tuple(map(str, person_row(each))) for each in shown])
    print_table("Agreement", ("measure", "value", "95 % interval"), [tuple(map(str, r)) for r in agreement_rows(found)])
    print_lines(*(f"{person} {difference_text(each)}" for person, each in found.differing[:FEW]))
    for each in found.careless[:FEW]:
        print_lines(f"{each.quality.person}: {each.quality.evidence}")
    if len(found.careless) > FEW:
        print_lines(f"... and {len(found.careless) - FEW:,} more; with --out everybody is in people.csv")
    if found.copied:
        names = ", ".join(f"{each.first} and {each.second}" for each in found.copied[:FEW])
        print_lines(f"Pairs that look copied: {names}")
    if found.one_order:
        print_lines(NO_ORDER)
    if found.exclude_below is not None:
        left = ", ".join(each.quality.person for each in found.excluded[:MOST_SHOWN]) or "nobody"
        print_lines(f"Excluded, estimated accuracy below {found.exclude_below:g}: {left}")
