"""`quorate.run`: recorded votes and predictions -> decisions, as if they had been asked for one by one.

Reads the tables, replays the stream under a method, asking only as far as it would, and gives a `RunResult`; with
`out` writes its files. What `quorate run` does.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Unpack

from quorate.decision.policy import QueryPolicy
from quorate.methods import Method
from quorate.tables import Joined
from quorate.tables.sources import Progress
from quorate.validate import bounded
from quorate.workflows.control import Speed
from quorate.workflows.error_costs import read_error_costs
from quorate.workflows.pools import Order, PartlyVoted, PoolSize, build_pools
from quorate.workflows.run_files import check_free, write_run
from quorate.workflows.run_inputs import Columns, TableOptions, read_as, read_inputs
from quorate.workflows.run_replay import Aim, Plan, build_plan, replayed, until_settled
from quorate.workflows.run_result import RunResult


def run(
    votes: Any,  # noqa: ANN401
    predictions: Any = None,  # noqa: ANN401
    *,
    method: str | Method | QueryPolicy = "quorate",
    threshold: float | None = None,
    target_error: float | None = None,
    budget: float | None = None,
    order: Order = "time",
    seed: int = 0,
    pool_size: PoolSize = None,
    partly_voted: PartlyVoted = "exclude",
    min_votes: int = 0,
    max_votes: int | None = None,
    error_costs: Any = None,  # noqa: ANN401
    price: float | None = None,
    strict: bool = False,
    window: int | None = 500,
    refit_every: int = 20,
    audit_rate: float | None = None,
    audit_focus: float | None = None,
    control_speed: Speed = "normal",
    out: str | Path | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
    **tables: Unpack[TableOptions],
) -> RunResult:
    """Replay recorded votes as a stream, asking only as far as `method` would, and decide every item.

    `votes`, `predictions`: paths, or pandas, polars or PyArrow tables, or arrays; several classifiers are a list or a
    mapping of names to sources; none: all classes alike. `order` "time" (of the votes, rows where there are no
    times), "given" (rows) or "shuffled" by `seed`. `pool_size` None or "recorded": an item's pool is the votes
    recorded for it; N: every pool has N members, and items with fewer votes are `partly_voted`: "exclude" them from
    the error unless their votes settle the pool, take their "own-pool" for the truth, or count them wrong
    ("worst-case"). One of `threshold`, `budget` (votes per item) and `target_error` (held by audits, drawn with
    probability `audit_rate` + `audit_focus` (1 - confidence)) says how far to ask; none: the method's own knobs.
    `error_costs`: what errors cost by truth and answer (see `read_error_costs`). `price` of a vote. `out`: a folder
    for the files; one that is there is refused unless `overwrite`. `tables`: names of columns, classes and the like,
    see `run_inputs.Columns`. docs/run.md has every rule.

    >>> import numpy as np
    >>> said = np.array([[0, 0, 0], [1, 1, 0], [0, 0, 1], [1, 1, 1]])
    >>> probs = np.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3], [0.1, 0.9]])
    >>> result = run(said, probs, classes=["cat", "dog"])
    >>> result.decisions.column("consensus_label").to_pylist()
    ['cat', 'dog', 'cat', 'dog']
    """
    aim = Aim(threshold, target_error, budget, audit_rate, audit_focus, control_speed)
    plan = build_plan(
        method, aim, seed=seed, min_votes=min_votes, max_votes=max_votes, window=window, refit_every=refit_every
    )
    paid = None if price is None else bounded(price, where="price", least=0.0)
    folder = None if out is None else check_free(out, overwrite=overwrite)
    columns = Columns(**tables)
    joined, has_order = read_inputs(
        votes, predictions, columns, by_time=order == "time", strict=strict, progress=progress
    )
    costs = None if error_costs is None else read_error_costs(error_costs, joined.classes)
    pools = build_pools(
        joined, pool_size=pool_size, order=order, seed=plan.seed, partly_voted=partly_voted,
        draws_quotas=plan.draws_quotas, shuffles_votes=not has_order,
    )  # fmt: skip
    names = tuple(joined.items[t] for t in pools.stream.items)
    result = RunResult(
        outcome=replayed(pools, plan, costs, classes=joined.classes, ids=names, progress=progress),
        pools=pools,
        items=names,
        classes=joined.classes,
        models=joined.models,
        method=plan.method,
        settings=_settings(joined, plan, order=order, has_order=has_order, strict=strict) | read_as(columns),
        until_settled=until_settled(pools),
        report=joined.report,
        backend=joined.backend,
        own=joined.own,
        price=paid,
        error_costs=costs,
    )
    if folder is not None:
        write_run(result, folder)
    return result


def _settings(joined: Joined, plan: Plan, *, order: Order, has_order: bool, strict: bool) -> dict[str, Any]:
    """The arguments in force, for summary.json."""
    return {
        "order": order,
        "times_known": joined.time is not None,
        "votes_shuffled": order == "shuffled" or not has_order,
        **plan.describe(),
        "strict": strict,
        "models": list(joined.models),
        "classes": list(joined.classes),
    }
