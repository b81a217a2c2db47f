"""`quorate run`: recorded votes and predictions replayed under a method, into a folder of decisions and a report."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, cast

from quorate.commands.options import (
    CostsTable,
    ErrorCost,
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
    values_of,
)
from quorate.commands.output import print_json, print_lines, print_screen, progress_bar
from quorate.tables import TableKeywords, TableOptions

if TYPE_CHECKING:
    from quorate.methods import Target
    from quorate.streams import Order, PoolSize

replaying = partial(option, panel="How to replay them")
control = partial(option, panel="How far to ask (one of these)")
steering = partial(option, panel="How a budget or a target error is steered")


@reads_tables()
def run(
    *,
    votes: VotesTable,
    out: Annotated[str, option("Folder for the decisions, the summary and the report.", "--out", "-o")],
    predictions: PredictionTables = None,
    method: MethodSpec = None,
    target: TargetName = None,
    truth: TruthTable = None,
    costs: CostsTable = None,
    error_cost: ErrorCost = None,
    threshold: Annotated[float | None, control("Stop when the confidence exceeds this, 0 to 1.")] = None,
    target_error: Annotated[
        float | None, control("Aim for at most this share of wrong answers; audits say if it is held.")
    ] = None,
    budget: Annotated[
        float | None, control("Votes per item to spend on average; short streams can exceed it by a few per cent.")
    ] = None,
    audit_rate: Annotated[
        float | None,
        steering("Probability that a closed, unsettled item is audited by the whole panel; 0.05 with --target-error."),
    ] = None,
    order: Annotated[
        str,
        replaying(
            "time (or rows, if there are no times), given (rows) or shuffled (by seed).",
            complete=values_of("quorate.streams.pools", "Order"),
        ),
    ] = "time",
    pool_size: Annotated[
        str, replaying("N, or recorded: the pool of an item is the votes recorded for it.", "--pool-size", "-n")
    ] = "recorded",
    min_votes: Annotated[int, replaying("Fewest votes asked of an item.")] = 0,
    max_votes: Annotated[int | None, replaying("Most votes asked of an item; default: its pool.")] = None,
    price: Annotated[float | None, replaying("Price of a vote, in your currency.")] = None,
    seed: Annotated[int, option("Seed; the same seed gives the same files.")] = 0,
    reading: TableOptions,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Decisions from your own tables: how many votes would have been enough, and how often would that be wrong?

    Replays the recorded votes as a stream and uses only the votes that the method asks for. Writes decisions.csv and
    .parquet, summary.json, params.json, rejects.csv and report.html (docs/run.md). Exit codes: 0 success, 1 invalid
    options or data, 2 wrong usage, 130 Ctrl-C.

    Example: quorate run --votes votes.csv --predictions probs.parquet --price 0.08 --out results
    """
    from quorate.commands.run import run as run_workflow  # here, so that the help needs no extra
    from quorate.commands.run.screen import screen

    with progress_bar(quiet=json) as report:
        result = run_workflow(
            votes, predictions or None, method=method, target=cast("Target | None", target), truth=truth,
            costs=costs, error_cost=error_cost_of(error_cost), threshold=threshold,
            target_error=target_error, budget=budget, audit_rate=audit_rate,
            order=cast("Order", order), pool_size=_pool(pool_size), min_votes=min_votes, max_votes=max_votes,
            price=price, seed=seed, out=out, overwrite=overwrite, progress=report,
            **reading.keywords(TableKeywords),
        )  # fmt: skip
    if json:
        print_json(result.summary())
        return
    if method is None and threshold is not None:
        print_lines("A threshold belongs to the paper's methods: this run used finexp.")
    print_screen(screen(result.summary(), out))


def _pool(text: str) -> PoolSize:
    """A number if it is one, else the text; the library refuses any text but "recorded"."""
    return int(text) if text.isdecimal() else cast("PoolSize", text)
