"""`quorate score`: learned parameters and predictions -> confidence, and ask or stop, for every item of a table."""

from __future__ import annotations

from typing import Annotated

from quorate.commands.options import ErrorCost, Json, error_cost_of, option, reads_tables
from quorate.commands.output import print_json, print_lines, print_screen, print_table, progress_bar
from quorate.commands.score import Scores
from quorate.commands.score import score as score_items
from quorate.tables import ScoreKeywords, TableOptions

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
MOST_READ = 6  # lines on how the tables were read
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
    stop = found.num_items - found.num_ask
    print_lines(
        f"{found.num_ask:,} of {found.num_items:,} items are worth another vote; of the {stop:,} others "
        f"{found.expected_errors:.1f} are expected to be wrong.",
        "",
    )
    rows = [(reason, f"{count}", f"{100 * count / found.num_items:.1f} %") for reason, count in found.reasons.items()]
    print_table("Items by reason", ("reason", "items", "share"), rows, strong="ask")
    if found.pool_rule == "largest-recorded":
        print_lines(f"The pool is {found.pool_size}, the largest of the run; --pool-size N if others can be asked.")
    if found.left_over:
        print_lines(f"{found.left_over:,} items of the other tables are not in the first predictions: not used.")
    print_screen(found.report.understood(found.rejects)[:MOST_READ])
    print_lines(f"Written to {found.out} in {found.seconds:.1f} s.")
