"""`quorate plan`: a pilot's votes and predictions -> which setting to use for the next batch, and how sure that is."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from quorate.commands.options import (
    ERROR_COST_HELP,
    CostsTable,
    Json,
    MethodSpec,
    Overwrite,
    PredictionTables,
    TargetName,
    TruthTable,
    VotesTable,
    error_cost_of,
    option,
    reads_tables,
)
from quorate.commands.output import print_json, print_screen, progress_bar
from quorate.commands.plan import plan as make_plan
from quorate.commands.plan.report import screen
from quorate.tables import TableKeywords, TableOptions
from quorate.validate import invalid

goal = partial(option, panel="What to plan for")


@reads_tables()
def plan(
    *,
    votes: VotesTable,
    predictions: PredictionTables = None,
    target: TargetName = None,
    truth: TruthTable = None,
    target_error: Annotated[
        float | None, goal("Highest share of wrong answers; with a table of error costs, highest cost per item.")
    ] = None,
    budget: Annotated[float | None, goal("Most votes per item, on average.")] = None,
    recall: Annotated[
        list[str] | None, goal("class=share: the least share of a class's items to be named so; repeatable.")
    ] = None,
    error_cost: Annotated[
        str | None,
        goal(f"{ERROR_COST_HELP} The plan says what it will do. Or a CSV of costs: with a goal, settings multiply it."),
    ] = None,
    confidence_level: Annotated[
        float, goal("Probability with which the goal must be kept; also the level of the intervals.")
    ] = 0.9,
    price: Annotated[float | None, option("Price of a vote, in your currency.")] = None,
    costs: CostsTable = None,
    batch_size: Annotated[int | None, option("Items of the next batch; default: as many as the pilot has.")] = None,
    method: MethodSpec = None,
    pool_size: Annotated[
        int | None, option("N: the pool of every item. Default: the votes recorded for it.", "--pool-size", "-n")
    ] = None,
    seed: Annotated[int, option("Seed; the same seed gives the same plan.")] = 0,
    reading: TableOptions,
    out: Annotated[str | None, option("Folder for report.html, plan.json and rejects.csv.", "--out", "-o")] = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Which setting for the next batch? For a target error, a budget or a recall, and how sure that is.

    Replays the pilot's recorded votes in several orders and forecasts votes, errors and money of the next batch
    (docs/plan.md). Exit codes: 0 success, 1 invalid options or data, 2 wrong usage, 130 Ctrl-C.

    Example: quorate plan --votes pilot.csv --predictions probs.parquet --target-error 0.03 --price 0.08 --out plan
    """
    sought: dict[str, Any] = {"target": target}
    with progress_bar(quiet=json) as report:
        made = make_plan(
            votes, predictions or None, target_error=target_error, budget=budget, recall=_shares(recall),
            error_cost=error_cost_of(error_cost), confidence_level=confidence_level, price=price, costs=costs,
            batch_size=batch_size, method=method, pool_size=pool_size, seed=seed, truth=truth, out=out,
            overwrite=overwrite, progress=report, **sought, **reading.keywords(TableKeywords),
        )  # fmt: skip
    if json:
        print_json(made.summary())
        return
    print_screen(screen(made, out))


def _shares(given: list[str] | None) -> dict[str, float]:
    """Parse `class=share`, each class once; the library checks the names and the shares."""
    found: dict[str, float] = {}
    for text in given or ():
        name, _, share = text.rpartition("=")
        if not name or name in found or not isinstance(number := error_cost_of(share), float):
            raise invalid("recall", text, "class=share, each class once", "write e.g. --recall abnormal=0.9.")
        found[name] = number
    return found
