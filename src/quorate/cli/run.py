"""`quorate run`: recorded votes and predictions replayed under a method, into a folder of decisions and a report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, cast, get_args

import typer

from quorate.cli.options import (
    ErrorCostsFile,
    Json,
    MethodSpec,
    Overwrite,
    PredictionTables,
    VotesTable,
    one_of,
    reads_tables,
    values_of,
)
from quorate.cli.output import print_json, print_lines, print_table, print_understood, progress_bar
from quorate.methods import REFIT_EVERY, WINDOW
from quorate.streams.control import Speed
from quorate.tables.options import TableKeywords, TableOptions
from quorate.validate import broken
from quorate.version import __version__

if TYPE_CHECKING:
    from quorate.streams.pools import PoolSize
    from quorate.workflows.run.result import RunResult

REPLAY = "How to replay them"
CONTROL = "How far to ask (one of these)"
AUDITS = "How a budget or a target error is steered"


@reads_tables()
def run(
    *,
    votes: VotesTable,
    out: Annotated[str, typer.Option("--out", "-o", help="Folder for the decisions, the summary and the report.")],
    predictions: PredictionTables = None,
    method: MethodSpec = "quorate",
    threshold: Annotated[
        float | None,
        typer.Option(help="Stop when the answer is surer than this, 0 to 1.", rich_help_panel=CONTROL),
    ] = None,
    target_error: Annotated[
        float | None,
        typer.Option(
            help="Aim for at most this share of wrong answers; audits say if it is held.", rich_help_panel=CONTROL
        ),
    ] = None,
    class_target: Annotated[
        list[str] | None,
        typer.Option(
            help="With --target-error: class=share, the share of the items of a class that may end with another "
            "answer, e.g. abnormal=0.05; repeat it for more classes.",
            rich_help_panel=AUDITS,
        ),
    ] = None,
    sureness: Annotated[
        float | None,
        typer.Option(
            help="With --target-error: probability of staying within the target, 0.5 to 0.999; 0.9 by default.",
            rich_help_panel=AUDITS,
        ),
    ] = None,
    budget: Annotated[
        float | None, typer.Option(help="Spend this many votes per item on average.", rich_help_panel=CONTROL)
    ] = None,
    audit_rate: Annotated[
        float | None,
        typer.Option(
            help="Chance that a closed, unsettled item goes to the whole panel; 0.05 with --target-error.",
            rich_help_panel=AUDITS,
        ),
    ] = None,
    audit_focus: Annotated[
        float | None,
        typer.Option(
            help="With --target-error: this many times 1 - confidence is added to that chance; 1 by default.",
            rich_help_panel=AUDITS,
        ),
    ] = None,
    control_speed: Annotated[
        str,
        typer.Option(
            help="With --budget: normal, or slow: held over thousands of items, fewer errors through a shift.",
            rich_help_panel=AUDITS,
            autocompletion=one_of(*get_args(Speed)),
        ),
    ] = "normal",
    order: Annotated[
        str,
        typer.Option(
            help="time (rows where there are no times), given (rows) or shuffled (by seed).",
            rich_help_panel=REPLAY,
            autocompletion=values_of("quorate.streams.pools", "Order"),
        ),
    ] = "time",
    pool_size: Annotated[
        str,
        typer.Option(
            "--pool-size",
            "-n",
            rich_help_panel=REPLAY,
            help="N, or recorded: the pool of an item is the votes recorded for it.",
        ),
    ] = "recorded",
    partly_voted: Annotated[
        str,
        typer.Option(
            rich_help_panel=REPLAY,
            help="Items with fewer than N votes that these do not settle: exclude from the error, own-pool or "
            "worst-case.",
            autocompletion=values_of("quorate.streams.pools", "PartlyVoted"),
        ),
    ] = "exclude",
    min_votes: Annotated[int, typer.Option(help="Fewest votes asked of an item.", rich_help_panel=REPLAY)] = 0,
    max_votes: Annotated[
        int | None, typer.Option(help="Most votes asked of an item; none: its pool.", rich_help_panel=REPLAY)
    ] = None,
    error_costs: ErrorCostsFile = None,
    price: Annotated[float | None, typer.Option(help="Price of a vote, in your money.", rich_help_panel=REPLAY)] = None,
    window: Annotated[
        int, typer.Option(help="Items with votes that are learned from; 0: all.", rich_help_panel=REPLAY)
    ] = WINDOW,
    refit_every: Annotated[int, typer.Option(help="Learn every N items.", rich_help_panel=REPLAY)] = REFIT_EVERY,
    seed: Annotated[int, typer.Option(help="Seed; the same seed gives the same files.")] = 0,
    reading: TableOptions,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Decisions from your own tables: how many votes would have been enough, and how often would that be wrong?

    Replays the recorded votes as a stream, asking only as far as the method would. Writes decisions.csv and .parquet,
    summary.json, params.json, rejects.csv and report.html (docs/run.md). Exit codes: 0 done, 1 a mistake in what was
    asked or in the data, 2 usage, 130 Ctrl-C.

    Example: quorate run --votes votes.csv --predictions probs.parquet --price 0.08 --out results
    """
    from quorate.workflows.run import run as run_workflow  # the help needs no extra

    choices: dict[str, Any] = {"order": order, "partly_voted": partly_voted, "control_speed": control_speed}
    with progress_bar(quiet=json) as report:
        result = run_workflow(
            votes, predictions or None, method=method, threshold=threshold, target_error=target_error,
            class_targets=_class_targets(class_target), sureness=sureness, budget=budget, audit_rate=audit_rate,
            audit_focus=audit_focus, seed=seed, pool_size=_pool(pool_size), min_votes=min_votes,
            max_votes=max_votes, error_costs=error_costs, price=price, window=window or None, refit_every=refit_every,
            out=out, overwrite=overwrite, progress=report, **choices, **reading.keywords(TableKeywords),
        )  # fmt: skip
    if json:
        print_json(result.summary())
        return
    _print(result, out)


def _pool(text: str) -> PoolSize:
    """A number if it is one; the library refuses other words than "recorded"."""
    return int(text) if text.isdecimal() else cast("PoolSize", text)


def _class_targets(given: list[str] | None) -> dict[str, float] | None:
    """`class=share`, each class once; the library checks the names and the shares."""
    found: dict[str, float] = {}
    for text in given or ():
        name, equals, share = text.rpartition("=")
        try:
            number = float(share) if equals and name else None
        except ValueError:
            number = None
        if number is None or name in found:
            rule = "class=share, each class once"
            raise broken("class_target", text, rule, "write e.g. --class-target abnormal=0.05.")
        found[name] = number
    return found or None


def _print(result: RunResult, out: str) -> None:
    from quorate.workflows.run.result import FILES
    from quorate.workflows.run.summary import class_table_rows, table_rows

    print_lines(result.headline(), "")
    name = result.method.name
    title = f"{len(result.items)} items, {len(result.classes)} classes (quorate {__version__}, {name})"
    heads, rows = table_rows(result.summary())
    print_table(title, heads, rows, strong="this run")
    heads, rows = class_table_rows(result.summary())
    if rows:
        ties = " (a tie is shared equally between its classes)" if result.summary()["error"]["tied_items"] else ""
        print_table(f"Errors by class{ties}", heads, rows)
    print_lines(*result.notes(), "")
    print_understood(result.report, f"{out}/rejects.csv")
    print_lines(*(f"Written: {out}/{each}" for each in FILES))
