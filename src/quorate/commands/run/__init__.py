"""`quorate.run`: recorded votes and predictions -> decisions, as if the votes had been asked for one by one.

Reads the tables, replays the stream under a method and returns a `RunResult`; with `out` it writes its files. Called by
`quorate run`.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from quorate.commands.inputs import PredictionSources, VoteSource, read_inputs, truth_of
from quorate.commands.run.replay import Aim, RunPlan, build_plan, control_summary, priced, replayed, until_settled
from quorate.commands.run.result import RunResult, pool_agreement, spending, write_run
from quorate.commands.run.tradeoff import measured_tradeoff
from quorate.files import check_free
from quorate.methods import Method, Target
from quorate.model import QueryPolicy
from quorate.streams import Order, PoolSize, StreamOptions, build_pools, by_truth, swapped_columns
from quorate.tables import (
    Costs,
    ErrorCost,
    Joined,
    TableKeywords,
    TableOptions,
    VoteOrder,
    abstain_names,
    read_costs,
    shows,
    table_options,
    vote_order,
)
from quorate.types import Progress, TableLike
from quorate.validate import bounded, invalid


@shows(TableKeywords)
def run(
    votes: VoteSource,
    predictions: PredictionSources = None,
    *,
    method: str | Method | QueryPolicy | None = None,
    target: Target | None = None,
    error_cost: ErrorCost | None = None,
    threshold: float | None = None,
    target_error: float | None = None,
    budget: float | None = None,
    order: Order = "time",
    seed: int = 0,
    pool_size: PoolSize = None,
    min_votes: int = 0,
    max_votes: int | None = None,
    price: float | None = None,
    costs: Costs | None = None,
    truth: TableLike | None = None,
    audit_rate: float | None = None,
    out: str | Path | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
    **tables: Unpack[TableKeywords],
) -> RunResult:
    """Replay recorded votes as a stream, use only the votes that `method` asks for, and decide every item.

    `votes`, `predictions`: paths, or pandas, polars or PyArrow tables, or arrays; several classifiers are a list or a
    mapping of names to sources; without predictions every class is equally likely. Instead of both: a `VoteDataset`,
    whose `voters` are then people named by their numbers. `order` "time" (of the votes, or the
    rows if there are no times; votes that are sorted by label are shuffled), "given" (rows) or "shuffled" by `seed`.
    `pool_size` None or "recorded": an item's pool is the votes recorded for it; N: every pool has N members, and an
    item with fewer votes that do not settle its pool is left out of the error. At most one of `error_cost` (what a
    wrong answer costs, in votes), `threshold`, `budget` (votes per item) and `target_error` (held by audits, drawn with
    probability `audit_rate` + 1 - confidence) says how far to ask; by default the method's own
    parameters do. `error_cost` may also be a table of costs by truth and answer, `{"sick": {"well": 500}}` (a mapping,
    CSV, frame or array; what it does not name costs 200), also with a threshold or a budget. `price` of a vote.
    `out`: a folder for the files; an existing one is refused unless `overwrite`.
    `target` "plurality" (default: what the whole pool would vote) or "truth" (the true class, by the method `crowd`;
    the votes must name their voters). `truth`: a table of known true classes: under "truth" answers are scored by it,
    and with 20 items or more it calibrates the confidence. `costs` of a vote of each person, a table (person, cost) or
    a mapping; 1 for others, times `price`. `tables`, how to read them: task, worker, label, timestamp, format, classes,
    id_column, probs_column, prediction_column, abstain_labels, ignore_columns, encoding, strict.
    docs/run.md has every rule. Needs `pip install 'quorate[tables]'`.

    >>> import numpy as np
    >>> votes = np.array([[0, 0, 0], [1, 1, 0], [0, 0, 1], [1, 1, 1]])
    >>> probs = np.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3], [0.1, 0.9]])
    >>> result = run(votes, probs, classes=["cat", "dog"])
    >>> result.decisions.column("consensus_label").to_pylist()
    ['cat', 'dog', 'cat', 'dog']
    """
    aim = Aim(
        error_cost=error_cost, threshold=threshold, target_error=target_error, budget=budget, audit_rate=audit_rate
    )
    options = StreamOptions(min_votes=min_votes, max_votes=max_votes)
    plan = build_plan(method, aim, seed=seed, options=options, target=target)
    paid = None if price is None else bounded(price, where="price", least=0.0)
    if truth is not None and plan.method.target == "plurality":
        rule = "`target='truth'` too: only then are answers scored by it"
        raise invalid("truth", truth, rule, "pass both, or leave it out.")
    folder = None if out is None else check_free(out, overwrite=overwrite)
    columns = table_options(tables)
    joined, has_order = read_inputs(votes, predictions, columns, by_time=order == "time", progress=progress)
    true_classes = truth_of(votes, truth, joined, columns) if plan.method.target == "truth" else None
    plan = priced(plan, method, joined.classes)
    voter_costs = None if costs is None else read_costs(costs, joined.workers)
    found = vote_order(joined) if has_order and order != "shuffled" else None
    shuffled = _why_shuffled(order, has_order, found)
    replay_order: Order = "shuffled" if shuffled == "sorted" else order  # the items were probably sorted, too
    pools = build_pools(
        joined, pool_size=pool_size, order=replay_order, seed=plan.seed,
        draws_quotas=plan.draws_quotas, shuffles_votes=shuffled is not None,
        keeps_voters=bool(joined.workers),
        true_classes=true_classes,
    )  # fmt: skip
    settled = until_settled(pools)
    names = tuple(joined.items[t] for t in pools.stream.items)
    outcome = replayed(pools, plan, ids=names, voter_costs=voter_costs, progress=progress)
    models = joined.models if joined.report.usable else ()
    swaps = tuple(
        swap
        for m, model in enumerate(models)
        for swap in swapped_columns(pools.stream.predictions[:, m], pools.stream.counts, joined.classes, model=model)
    )
    agreed = None
    if plan.method.target == "truth":
        agreed = pool_agreement(pools, outcome.labels)
        pools = by_truth(pools)
    around = measured_tradeoff(
        pools, plan, outcome, settled, has_classifier=bool(models), voter_costs=voter_costs,
        classes=joined.classes,
    )  # fmt: skip
    result = RunResult(
        outcome=outcome,
        pools=replace(pools, stream=outcome.stream),
        items=names,
        classes=joined.classes,
        models=joined.models,
        method=plan.method,
        settings=_settings(joined, plan, order=order, shuffled=shuffled, strict=columns.strict) | read_as(columns),
        control=control_summary(outcome, plan),
        until_settled=settled,
        report=joined.report,
        tradeoff=around,
        backend=joined.backend,
        own=joined.own,
        price=paid,
        spending=None if voter_costs is None else spending(pools, outcome, settled, voter_costs),
        vote_order=found,
        swaps=swaps,
        people=joined.workers,
        pool_agreement=agreed,
        voter_costs=voter_costs,
    )
    if folder is not None:
        write_run(result, folder)
    return result


def _why_shuffled(order: Order, has_order: bool, found: VoteOrder | None) -> str | None:
    """Why the votes within items are shuffled; None if they are not."""
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


def read_as(columns: TableOptions) -> dict[str, Any]:
    """How labels were read, for summary.json and params.json: `score` must read them in the same way."""
    named = abstain_names(columns.abstain_labels, columns.classes)
    return {"abstain_labels": list(named)}
