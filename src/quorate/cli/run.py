"""`quorate run`: recorded votes and predictions replayed under a method, into a folder of decisions and a report."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args

from quorate.catalogue import parameter_text
from quorate.cli.options import (
    ERROR_COST_HELP,
    CostsTable,
    ErrorCostsFile,
    Json,
    MethodSpec,
    Overwrite,
    PredictionTables,
    TargetName,
    TruthTable,
    VotesTable,
    one_of,
    option,
    reads_tables,
    values_of,
)
from quorate.cli.output import print_json, print_lines, print_table, print_understood, progress_bar
from quorate.methods import REFIT_EVERY, WINDOW
from quorate.streams.control import Speed
from quorate.tables.options import TableKeywords, TableOptions
from quorate.validate import invalid
from quorate.version import __version__

if TYPE_CHECKING:
    from quorate.streams.pools import PoolSize
    from quorate.workflows.run.result import RunResult

replaying = partial(option, panel="How to replay them")
control = partial(option, panel="How far to ask (one of these)")
steering = partial(option, panel="How a budget or a target error is steered")


@reads_tables()
def run(
    *,
    votes: VotesTable,
    out: Annotated[str, option("Folder for the decisions, the summary and the report.", "--out", "-o")],
    predictions: PredictionTables = None,
    findings: Annotated[
        list[str] | None,
        option(
            "A label column; repeatable: several columns of one table, one report. Then --predictions finding=file.",
            "--finding",
        ),
    ] = None,
    method: MethodSpec = None,
    target: TargetName = None,
    truth: TruthTable = None,
    costs: CostsTable = None,
    error_cost: Annotated[float | None, control(ERROR_COST_HELP)] = None,
    threshold: Annotated[float | None, control("Stop when the confidence exceeds this, 0 to 1.")] = None,
    target_error: Annotated[
        float | None, control("Aim for at most this share of wrong answers; audits say if it is held.")
    ] = None,
    class_target: Annotated[
        list[str] | None,
        steering(
            "With --target-error: class=share, the share of a class's items that may get another answer, e.g. "
            "abnormal=0.05; repeatable."
        ),
    ] = None,
    sureness: Annotated[
        float | None,
        steering("With --target-error: probability of staying within the target, 0.5 to 0.999; 0.9 by default."),
    ] = None,
    budget: Annotated[
        float | None, control("Votes per item to spend on average; short streams can exceed it by a few per cent.")
    ] = None,
    audit_rate: Annotated[
        float | None,
        steering("Probability that a closed, unsettled item is audited by the whole panel; 0.05 with --target-error."),
    ] = None,
    audit_focus: Annotated[
        float | None,
        steering("With --target-error: adds this times (1 - confidence) to the audit rate; 1 by default."),
    ] = None,
    control_speed: Annotated[
        str,
        steering(
            "With --budget: normal, or slow: held over thousands of items, with fewer errors during a shift.",
            complete=one_of(*get_args(Speed)),
        ),
    ] = "normal",
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
    partly_voted: Annotated[
        str,
        replaying(
            "How to score unsettled items with fewer than N votes: exclude them, own-pool or worst-case.",
            complete=values_of("quorate.streams.pools", "PartlyVoted"),
        ),
    ] = "exclude",
    min_votes: Annotated[int, replaying("Fewest votes asked of an item.")] = 0,
    max_votes: Annotated[int | None, replaying("Most votes asked of an item; default: its pool.")] = None,
    error_costs: ErrorCostsFile = None,
    price: Annotated[float | None, replaying("Price of a vote, in your currency.")] = None,
    window: Annotated[int, replaying("Learn from the last N items with votes; 0: all.")] = WINDOW,
    refit_every: Annotated[
        int, replaying("Learn after every N closed items (quorate: N for each 500 items in the window).")
    ] = REFIT_EVERY,
    seed: Annotated[int, option("Seed; the same seed gives the same files.")] = 0,
    reading: TableOptions,
    overwrite: Overwrite = False,
    mlflow: Annotated[
        bool,
        option("Log parameters, metrics, report and decisions to MLflow at MLFLOW_TRACKING_URI.", "--mlflow"),
    ] = False,
    json: Json = False,
) -> None:
    """Decisions from your own tables: how many votes would have been enough, and how often would that be wrong?

    Replays the recorded votes as a stream and uses only the votes that the method asks for. Writes decisions.csv and
    .parquet, summary.json, params.json, rejects.csv and report.html (docs/run.md). Exit codes: 0 success, 1 invalid
    options or data, 2 wrong usage, 130 Ctrl-C.

    With --finding, repeated, each label column is a separate run in its own folder, with one report over all.

    Example: quorate run --votes votes.csv --predictions probs.parquet --price 0.08 --out results
    """
    from quorate.workflows.run import run as run_workflow  # here, so that the help needs no extra

    options: dict[str, Any] = {
        "method": method, "target": target, "truth": truth, "costs": costs, "error_cost": error_cost,
        "threshold": threshold, "target_error": target_error, "class_targets": _class_targets(class_target),
        "sureness": sureness, "budget": budget, "audit_rate": audit_rate, "audit_focus": audit_focus,
        "control_speed": control_speed, "order": order, "pool_size": _pool(pool_size), "partly_voted": partly_voted,
        "min_votes": min_votes, "max_votes": max_votes, "error_costs": error_costs, "price": price,
        "window": window or None, "refit_every": refit_every, "seed": seed, "out": out, "overwrite": overwrite,
        **reading.keywords(TableKeywords),
    }  # fmt: skip
    if findings:
        _run_findings(votes, findings, predictions, options, mlflow=mlflow, json=json)
        return
    with progress_bar(quiet=json) as report:
        result = run_workflow(votes, predictions or None, progress=report, **options)
    logged = _logged(result) if mlflow else None
    if json:
        print_json(result.summary())
        return
    if method is None and threshold is not None:
        print_lines("A threshold belongs to the paper's methods: this run used finexp.")
    _print(result, out)
    if logged is not None:
        print_lines(f"Logged: run {logged} of MLflow")


def _run_findings(
    votes: str,
    findings: list[str],
    predictions: list[str] | None,
    options: dict[str, Any],
    *,
    mlflow: bool,
    json: bool,
) -> None:
    """Run several findings: a folder for each, one report over all."""
    from quorate.workflows.run.findings import FINDINGS_FILES, run_findings
    from quorate.workflows.run.findings_report import findings_rows, reads_sentence

    by_finding = _by_finding(predictions, findings)
    with progress_bar(quiet=json) as report:
        result = run_findings(votes, findings, by_finding, progress=report, **options)
    logged = [_logged(each, name) for name, each in result.results.items()] if mlflow else []
    summary = result.summary()
    if json:
        print_json(summary)
        return
    print_lines(result.headline(), "")
    heads, rows = findings_rows(summary)
    print_table(f"Findings (quorate {__version__})", heads, rows)
    out = options["out"]
    print_lines(reads_sentence(summary), "", *(f"Written: {out}/{name}" for name in FINDINGS_FILES))
    print_lines(*(f"Written: {out}/{name}/report.html" for name in result.folders.values()))
    print_lines(*(f"Logged: run {each} of MLflow" for each in logged))


def _by_finding(given: list[str] | None, findings: list[str]) -> dict[str, list[str]]:
    """Parse `finding=file`; several files of one finding are several classifiers."""
    found: dict[str, list[str]] = {}
    for text in given or ():
        name = next((each for each in findings if text.startswith(f"{each}=") and text != f"{each}="), None)
        if name is None:
            rule = f"finding=file, with one of {', '.join(findings)}"
            raise invalid("predictions", text, rule, f"write e.g. --predictions {findings[0]}=probs.csv.")
        found.setdefault(name, []).append(text.removeprefix(f"{name}="))
    return found


def _logged(result: RunResult, name: str | None = None) -> str:
    from quorate.connect.mlflow import log_run

    return log_run(result, name=name)


def _pool(text: str) -> PoolSize:
    """A number if it is one, else the text; the library refuses any text but "recorded"."""
    return int(text) if text.isdecimal() else cast("PoolSize", text)


def _class_targets(given: list[str] | None) -> dict[str, float] | None:
    """Parse `class=share`, each class once; the library checks the names and the shares."""
    found: dict[str, float] = {}
    for text in given or ():
        name, equals, share = text.rpartition("=")
        try:
            number = float(share) if equals and name else None
        except ValueError:
            number = None
        if number is None or name in found:
            rule = "class=share, each class once"
            raise invalid("class_target", text, rule, "write e.g. --class-target abnormal=0.05.")
        found[name] = number
    return found or None


def _print(result: RunResult, out: str) -> None:
    from quorate.workflows.run.notes import doubts
    from quorate.workflows.run.result import files_of
    from quorate.workflows.run.summary import class_table_rows, table_rows

    first = doubts(result.summary())
    print_lines(*first, result.headline(), "")
    method = ", ".join(
        filter(None, [result.method.name, "" if result.control else parameter_text(result.method.parameters)])
    )
    title = f"{len(result.items)} items, {len(result.classes)} classes (quorate {__version__}, {method})"
    heads, rows = table_rows(result.summary())
    print_table(title, heads, rows, strong="this run")
    heads, rows = class_table_rows(result.summary())
    if rows:
        ties = " (a tie is shared equally between its classes)" if result.summary()["error"]["tied_items"] else ""
        print_table(f"Errors by class{ties}", heads, rows)
    print_lines(*(each for each in result.notes() if each not in first), "")
    print_understood(result.report, f"{out}/rejects.csv")
    print_lines(*(f"Written: {out}/{each}" for each in files_of(result)))
