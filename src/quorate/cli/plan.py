"""`quorate plan`: a pilot's votes and predictions -> which setting to use for the next batch, and how sure that is."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, get_args

from quorate.cli.options import (
    CostsTable,
    ErrorCost,
    Json,
    Overwrite,
    PredictionTables,
    TargetName,
    TruthTable,
    VotesTable,
    one_of,
    option,
    reads_tables,
)
from quorate.cli.output import print_json, print_lines, print_table, print_understood, progress_bar
from quorate.methods import METHODS
from quorate.reports.figures import MISSING, can_plot
from quorate.tables.options import TableKeywords, TableOptions
from quorate.version import __version__
from quorate.workflows.plan import Plan
from quorate.workflows.plan import plan as make_plan
from quorate.workflows.plan.notes import order_note
from quorate.workflows.plan.pools import PartlyVoted
from quorate.workflows.plan.report import FILES, expected_rows, table_rows

pilot = partial(option, panel="How to use the pilot")
goal = partial(option, panel="What to plan for (one of these)")


@reads_tables()
def plan(
    *,
    votes: VotesTable,
    predictions: PredictionTables = None,
    target: TargetName = None,
    truth: TruthTable = None,
    target_error: Annotated[
        float | None,
        goal(
            "Highest share of wrong answers, with --error-costs highest cost per item; default: one percentage point "
            "above the pilot's ties."
        ),
    ] = None,
    budget: Annotated[float | None, goal("Most votes per item, on average.")] = None,
    sureness: Annotated[float, goal("Probability with which the next batch must meet the goal.")] = 0.9,
    price: Annotated[float | None, option("Price of a vote, in your currency.")] = None,
    costs: CostsTable = None,
    batch_size: Annotated[int | None, option("Items of the next batch; default: as many as the pilot has.")] = None,
    method: Annotated[
        list[str] | None,
        option(
            "Methods to compare; repeatable; all: every method. The plan advises a setting of the first. Default: "
            "quorate, finexp, infexp, beta, quorum, unanimous-then-cap, random; for the truth crowd, quorate, quorum. "
            "crowd, panel and value:choose=agreement need votes that name their voters.",
            "--method",
            "-m",
            complete=one_of(*METHODS, "all"),
        ),
    ] = None,
    pool_size: Annotated[
        int | None,
        pilot(
            "Plan for pools of N votes. Default: the pool of an item is the votes recorded for it.", "--pool-size", "-n"
        ),
    ] = None,
    partly_voted: Annotated[
        str,
        pilot(
            "Items with fewer than N votes: complete (draw the missing ones given those seen), own-pool or drop.",
            complete=one_of(*get_args(PartlyVoted)),
        ),
    ] = "complete",
    error_costs: ErrorCost = None,
    orderings: Annotated[int, pilot("Number of random orders in which the pilot is replayed.")] = 4,
    draws: Annotated[int, pilot("Number of bootstrap samples of the pilot.")] = 1000,
    most_items: Annotated[
        int | None,
        pilot(
            "Run at most this many items of the pilot, drawn by seed; 0 runs all. The plan says what that changes. "
            "Default: 15000; 300 with a method that knows people."
        ),
    ] = None,
    level: Annotated[float, pilot("Level of the intervals.")] = 0.9,
    seed: Annotated[int, option("Seed; the same seed gives the same plan.")] = 0,
    reading: TableOptions,
    out: Annotated[
        str | None, option("Folder for report.html, plan.json, curves.csv, rejects.csv and the figure.", "--out", "-o")
    ] = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """What should the next batch be asked? A setting for a target error or a budget, and how sure it is.

    Runs the methods on the pilot's recorded votes in several orders, chooses a setting, and forecasts votes, errors and
    money of the next batch with intervals that allow for the choice (docs/plan.md). Exit codes: 0 success, 1 invalid
    options or data, 2 wrong usage, 130 Ctrl-C.

    Example: quorate plan --votes pilot.csv --predictions probs.parquet --target-error 0.03 --price 0.08 --out plan
    """
    choices: dict[str, Any] = {"partly_voted": partly_voted, "target": target, "truth": truth}
    with progress_bar(quiet=json) as report:
        result = make_plan(
            votes, predictions or None, target_error=target_error, budget=budget, sureness=sureness, price=price,
            costs=costs, batch_size=batch_size, methods=method or None, pool_size=pool_size,
            error_costs=error_costs, orderings=orderings, draws=draws, most_items=most_items, level=level,
            seed=seed, out=out, overwrite=overwrite, progress=report, **choices, **reading.keywords(TableKeywords),
        )  # fmt: skip
    if json:
        print_json(result.summary())
        return
    _print(result, out)


def _print(result: Plan, out: str | None) -> None:
    first = order_note(result)
    print_lines(*filter(None, [first]), result.headline(), "")
    heads, rows = expected_rows(result)
    print_table(f"What to expect of the next batch (quorate {__version__})", heads, rows)
    print_lines(*(f"{where}: {what}" for where, what in result.uses().items()), "")
    heads, rows = table_rows(result)
    title = f"On the pilot of {result.pilot.num_items:,} items: each method at its setting nearest to the votes advised"
    print_table(title, heads, rows, text_columns=2, strong=result.curves[0].name)
    print_lines(*(each for each in result.notes() if each != first), "")
    print_understood(result.report, None if out is None else f"{out}/rejects.csv")
    if out is not None:
        print_lines(*(f"Written: {out}/{name}" for name in FILES if can_plot() or not name.endswith(".png")))
        if not can_plot():
            print_lines(MISSING)
