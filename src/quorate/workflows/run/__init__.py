"""`quorate.run`: recorded votes and predictions -> decisions, as if they had been asked for one by one.

Reads the tables, replays the stream under a method, asking only as far as it would, and gives a `RunResult`; with
`out` writes its files. What `quorate run` does.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Unpack

from quorate.decision.policy import QueryPolicy
from quorate.methods import REFIT_EVERY, WINDOW, Method
from quorate.streams.classifier_saving import classifier_report
from quorate.streams.control import Speed
from quorate.streams.error_costs import ErrorCosts, read_error_costs
from quorate.streams.pools import Order, PartlyVoted, PoolSize, build_pools
from quorate.tables import Joined
from quorate.tables.options import TableKeywords, shows, table_options
from quorate.tables.readers.sources import Progress
from quorate.tables.votes.vote_order import VoteOrder, vote_order
from quorate.validate import bounded
from quorate.workflows.run.files import PredictionSources, VoteSource, check_free, read_as, read_inputs, write_run
from quorate.workflows.run.replay import Aim, RunPlan, build_plan, control_summary, replayed, until_settled
from quorate.workflows.run.result import RunResult


@shows(TableKeywords)
def run(
    votes: VoteSource,
    predictions: PredictionSources = None,
    *,
    method: str | Method | QueryPolicy = "quorate",
    threshold: float | None = None,
    target_error: float | None = None,
    class_targets: Mapping[str, float] | None = None,
    sureness: float | None = None,
    budget: float | None = None,
    order: Order = "time",
    seed: int = 0,
    pool_size: PoolSize = None,
    partly_voted: PartlyVoted = "exclude",
    min_votes: int = 0,
    max_votes: int | None = None,
    error_costs: ErrorCosts | None = None,
    price: float | None = None,
    window: int | None = WINDOW,
    refit_every: int = REFIT_EVERY,
    audit_rate: float | None = None,
    audit_focus: float | None = None,
    control_speed: Speed = "normal",
    out: str | Path | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
    **tables: Unpack[TableKeywords],
) -> RunResult:
    """Replay recorded votes as a stream, asking only as far as `method` would, and decide every item.

    `votes`, `predictions`: paths, or pandas, polars or PyArrow tables, or arrays; several classifiers are a list or a
    mapping of names to sources; none: all classes alike. `order` "time" (of the votes, rows where there are no
    times; votes that are sorted by label are shuffled), "given" (rows) or "shuffled" by `seed`.
    `pool_size` None or "recorded": an item's pool is the votes
    recorded for it; N: every pool has N members, and items with fewer votes are `partly_voted`: "exclude" them from
    the error unless their votes settle the pool, take their "own-pool" for the truth, or count them wrong
    ("worst-case"). One of `threshold`, `budget` (votes per item) and `target_error` (held by audits, drawn with
    probability `audit_rate` + `audit_focus` (1 - confidence)) says how far to ask; none: the method's own parameters.
    `class_targets`, beside a target error: `{"abnormal": 0.05}`, of the items whose pool says so at most 5 % may end
    with another answer. `sureness`: the probability with which targets are to be held, 0.9 unless given.
    `error_costs`: what errors cost by truth and answer (see `read_error_costs`). `price` of a vote. `out`: a folder
    for the files; one that is there is refused unless `overwrite`. `tables`, how to read them: task, worker, label,
    timestamp, format, classes, id_column, ids, accuracy, items, abstain_labels, ignore_columns, as_read, strict.
    docs/run.md has every rule. Needs `pip install 'quorate[tables]'`.

    >>> import numpy as np
    >>> said = np.array([[0, 0, 0], [1, 1, 0], [0, 0, 1], [1, 1, 1]])
    >>> probs = np.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3], [0.1, 0.9]])
    >>> result = run(said, probs, classes=["cat", "dog"])
    >>> result.decisions.column("consensus_label").to_pylist()
    ['cat', 'dog', 'cat', 'dog']
    """
    aim = Aim(threshold, target_error, budget, audit_rate, audit_focus, control_speed, sureness, class_targets)
    plan = build_plan(
        method, aim, seed=seed, min_votes=min_votes, max_votes=max_votes, window=window, refit_every=refit_every
    )
    paid = None if price is None else bounded(price, where="price", least=0.0)
    folder = None if out is None else check_free(out, overwrite=overwrite)
    columns = table_options(tables)
    joined, has_order = read_inputs(votes, predictions, columns, by_time=order == "time", progress=progress)
    costs = None if error_costs is None else read_error_costs(error_costs, joined.classes)
    found = vote_order(joined) if has_order and order != "shuffled" else None
    shuffled = _why_shuffled(order, has_order, found)
    replay_order: Order = "shuffled" if shuffled == "sorted" else order  # the items were probably sorted, too
    pools = build_pools(
        joined, pool_size=pool_size, order=replay_order, seed=plan.seed, partly_voted=partly_voted,
        draws_quotas=plan.draws_quotas, shuffles_votes=shuffled is not None,
    )  # fmt: skip
    names = tuple(joined.items[t] for t in pools.stream.items)
    outcome = replayed(pools, plan, costs, classes=joined.classes, ids=names, progress=progress)
    result = RunResult(
        outcome=outcome,
        pools=pools,
        items=names,
        classes=joined.classes,
        models=joined.models,
        method=plan.method,
        settings=_settings(joined, plan, order=order, shuffled=shuffled, strict=columns.strict) | read_as(columns),
        control=control_summary(outcome, plan, joined.classes),
        until_settled=until_settled(pools),
        report=joined.report,
        backend=joined.backend,
        own=joined.own,
        price=paid,
        error_costs=costs,
        vote_order=found,
        classifier=classifier_report(
            pools.stream, plan.method, models=joined.models if joined.report.usable else (), classes=joined.classes,
            votes=float(outcome.num_votes.mean()), truth=pools.truth, is_scored=pools.is_scored,
            error_costs=costs, seed=plan.seed,
        ),
    )  # fmt: skip
    if folder is not None:
        write_run(result, folder)
    return result


def _why_shuffled(order: Order, has_order: bool, found: VoteOrder | None) -> str | None:
    """Why the votes of items are shuffled; None: they are not."""
    if order == "shuffled":
        return "asked for"
    if not has_order:
        return "counts"
    is_sorted = found is not None and found.sorted_by is not None and not (found.has_times or found.mostly)
    return "sorted" if is_sorted and order == "time" else None


def _settings(joined: Joined, plan: RunPlan, *, order: Order, shuffled: str | None, strict: bool) -> dict[str, Any]:
    """The arguments in force, for summary.json."""
    return {
        "order": order,
        "times_known": joined.time is not None,
        "votes_shuffled": shuffled is not None,
        "shuffled_because": shuffled,
        **plan.describe(),
        "strict": strict,
        "models": list(joined.models),
        "classes": list(joined.classes),
    }
