"""`quorate score`: learned parameters and predictions -> confidence, and ask or stop, for every item of a table."""

from __future__ import annotations

from typing import Annotated

from quorate.cli.options import ErrorCost, Json, error_cost_of, option, reads_tables
from quorate.cli.output import print_json, print_lines, print_table, print_understood, progress_bar
from quorate.tables.options import ScoreKeywords, TableOptions
from quorate.version import __version__
from quorate.workflows.score import Scores
from quorate.workflows.score import score as score_items

ParamsFile = Annotated[str, option("The params.json that quorate run wrote.", "--params")]
Predictions = Annotated[
    list[str], option("Probabilities: CSV, Parquet, .npy or .npz; repeatable, a file per model.", "--predictions", "-p")
]
Out = Annotated[str, option("File to write, .parquet or .csv.", "--out", "-o")]
VotesSoFar = Annotated[
    str | None, option("Votes so far: counts by class, or a row per vote; default: no votes yet.", "--votes", "-v")
]
PoolSize = Annotated[
    int | None, option("Experts who could be asked per item; default: as in the params.", "--pool-size", "-n")
]
Cluster = Annotated[str | None, option("Compute on Dask workers: tcp://HOST:PORT of a scheduler, or local:N.")]


@reads_tables(without=("classes", "timestamp", "strict"))
def score(
    *,
    params: ParamsFile,
    predictions: Predictions,
    out: Out,
    votes: VotesSoFar = None,
    pool_size: PoolSize = None,
    error_cost: ErrorCost = None,
    cluster: Cluster = None,
    reading: TableOptions,
    json: Json = False,
) -> None:
    """Posterior, confidence and ask or stop for every item, with parameters learned before; no state is kept.

    Streams in batches, in memory that does not grow with the number of items. Writes item, consensus_label,
    confidence, num_votes, ask, reason and prob_CLASS for every class.

    Example: quorate score --params params.json --predictions probs.parquet --votes counts.parquet --out scores.parquet
    """
    with progress_bar(quiet=json) as report:
        found = score_items(
            params, predictions, votes=votes, out=out, pool_size=pool_size,
            error_cost=error_cost_of(error_cost), cluster=cluster,
            abstain_labels=reading.abstain_labels, progress=report,
            **reading.keywords(ScoreKeywords),
        )  # fmt: skip
    if json:
        print_json(found.summary())
        return
    _print(found)


def _print(found: Scores) -> None:
    print_understood(found.report, found.rejects)
    rows = [(reason, f"{count}", f"{100 * count / found.num_items:.1f} %") for reason, count in found.reasons.items()]
    title = f"{found.num_items} items scored (quorate {__version__}, {found.method['name']}, pool {found.pool_size})"
    print_table(title, ("reason", "items", "share"), rows, strong="ask")
    stop = found.num_items - found.num_ask
    print_lines(
        f"{found.num_ask} items are worth another vote, {stop} are not; of these, {found.expected_errors:.1f} are "
        "expected to be wrong, if the confidence is calibrated.",
        f"Written to {found.out} in {found.seconds:.1f} s ({found.num_items / found.seconds:.0f} items per second).",
    )
    if found.pool_rule == "largest-recorded":
        print_lines(
            f"A pool of {found.pool_size} is the largest pool of the run that learned the params; its pools were the "
            "recorded votes. Pass --pool-size N if another number of experts can be asked now."
        )
    if found.left_over:
        print_lines(f"{found.left_over} items of the other tables are not in the first predictions: not used.")
