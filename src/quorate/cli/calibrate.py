"""`quorate calibrate`: recorded votes and predictions -> is the confidence honest?"""

from __future__ import annotations

from typing import Annotated, Any

from quorate.cli.options import (
    CostsTable,
    Json,
    MethodSpec,
    Overwrite,
    PredictionTables,
    TargetName,
    TruthTable,
    VotesTable,
    option,
    reads_tables,
)
from quorate.cli.output import print_json, print_lines, print_table, print_understood, progress_bar
from quorate.files import check_free
from quorate.methods import default_for
from quorate.methods import method as build_method
from quorate.tables.options import TableKeywords, TableOptions
from quorate.version import __version__
from quorate.workflows.calibrate import Calibration
from quorate.workflows.calibrate import calibrate as measure
from quorate.workflows.calibrate.report import (
    ABOUT,
    BIN_HEADS,
    GROUP_HEADS,
    bin_row,
    group_row,
    write_calibration,
)

PoolSize = Annotated[
    int | None, option("Experts per item, drawn by seed; default: all who voted on it.", "--pool-size", "-n")
]
Prefixes = Annotated[
    bool, option("Also check the belief after every vote, not only where asking stopped.", "--prefixes")
]
Out = Annotated[
    str | None, option("Folder for calibration.json, report.html, rejects.csv and the diagram.", "--out", "-o")
]


@reads_tables()
def calibrate(
    *,
    votes: VotesTable,
    predictions: PredictionTables = None,
    method: MethodSpec = None,
    target: TargetName = None,
    truth: TruthTable = None,
    costs: CostsTable = None,
    pool_size: PoolSize = None,
    seed: Annotated[int, option("Draws the order of items and experts.")] = 0,
    prefixes: Prefixes = False,
    bins: Annotated[int, option("Bins of about equally many decisions.")] = 10,
    reading: TableOptions,
    out: Out = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Is the confidence honest? Replays recorded votes, and compares each confidence with the whole pool's verdict.

    Shows reliability, expected calibration error compared with chance, Brier and log score, by number of votes seen and
    by quarter of the stream.

    Example: quorate calibrate --votes votes.csv --predictions probs.parquet --out calibration
    """
    choices: dict[str, Any] = {"target": target}
    chosen = build_method(default_for(method, choices["target"]))
    if out is not None:
        check_free(out, overwrite=overwrite)
    with progress_bar(quiet=json) as report:
        found = measure(
            votes, predictions or None, method=chosen, pool_size=pool_size, seed=seed, prefixes=prefixes, num_bins=bins,
            truth=truth, costs=costs, progress=report, **choices, **reading.keywords(TableKeywords),
        )  # fmt: skip
    files = () if out is None else write_calibration(found, out, overwrite=overwrite)
    if json:
        print_json(found.summary() | {"files": [str(file) for file in files]})
        return
    _print(found, None if out is None else f"{out}/rejects.csv")
    print_lines(*(f"Written: {file}" for file in files))


def _print(found: Calibration, rejects: str | None) -> None:
    print_lines(found.verdict, "")
    name, size = found.method.name, found.pool_size
    title = f"Is the confidence of {name} honest? (quorate {__version__}, pool {size}, seed {found.seed})"
    print_table(title, GROUP_HEADS, [group_row(each) for each in found.groups])
    shown = found.shown
    print_table(f"Bins: {shown.name}", BIN_HEADS, [bin_row(each) for each in shown.bins], text_columns=0)
    print_lines(*found.details, *ABOUT, "")
    print_understood(found.report, rejects)
