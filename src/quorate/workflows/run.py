"""`quorate.run`: recorded votes and predictions -> decisions, as if they had been asked for one by one.

Reads the tables, replays the stream under a method, asking only as far as it would, and gives a `RunResult`; with
`out` writes its files. What `quorate run` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from quorate.decision.model_picker import ModelPicker
from quorate.decision.policy import QueryPolicy
from quorate.decision.quota import QuotaPolicy
from quorate.decision.rules import rule_of
from quorate.errors import InvalidInput
from quorate.methods import Method, as_method
from quorate.methods import method as build_method
from quorate.prior.hyperprior import hyperprior
from quorate.session.decide import NO_LIMIT
from quorate.simulation.simulate import Simulation, run_compiled
from quorate.tables.join import Items
from quorate.tables.sources import Progress
from quorate.tables.votes import Format
from quorate.types import FloatArray, IntArray, PriorParams
from quorate.validate import bounded, vote_limits, whole
from quorate.workflows.error_costs import read_error_costs
from quorate.workflows.pools import Order, PartlyVoted, Pools, PoolSize, build_pools
from quorate.workflows.run_files import check_free, write_run
from quorate.workflows.run_inputs import Columns, read_inputs
from quorate.workflows.run_result import Outcome, RunResult
from quorate.workflows.specs import parse_method


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
    out: str | Path | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
    task: str | None = None,
    worker: str | Sequence[str] | None = None,
    label: str | None = None,
    timestamp: str | None = None,
    format: Format = "auto",  # noqa: A002 - as in quorate.tables
    classes: Sequence[str] | None = None,
    id_column: str | None = None,
    ids: Sequence[Any] | None = None,
    accuracy: float = 0.9,
    items: Items = "votes",
) -> RunResult:
    """Replay recorded votes as a stream, asking only as far as `method` would, and decide every item.

    `votes`, `predictions`: paths, or pandas, polars or PyArrow tables, or arrays; several classifiers are a list or a
    mapping of names to sources; none: all classes alike. `order` "time" (of the votes, rows where there are no
    times), "given" (rows) or "shuffled" by `seed`. `pool_size` None or "recorded": an item's pool is the votes
    recorded for it; N: every pool has N members, and items with fewer votes are `partly_voted`: "exclude" them from
    the error unless their votes settle the pool, take their "own-pool" for the truth, or count them wrong
    ("worst-case"). `error_costs`: what errors cost by truth and answer (see `read_error_costs`). `price` of a vote.
    `out`: a folder for the files; one that is there is refused unless `overwrite`. docs/run.md has every rule.

    >>> import numpy as np
    >>> said = np.array([[0, 0, 0], [1, 1, 0], [0, 0, 1], [1, 1, 1]])
    >>> probs = np.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3], [0.1, 0.9]])
    >>> result = run(said, probs, classes=["cat", "dog"])
    >>> result.decisions.column("consensus_label").to_pylist()
    ['cat', 'dog', 'cat', 'dog']
    """
    chosen = _method(method, threshold)
    vote_limits(
        whole(min_votes, where="min_votes", least=0),
        None if max_votes is None else whole(max_votes, where="max_votes", least=0),
    )
    number = whole(seed, where="seed", least=0)
    folder = None if out is None else check_free(out, overwrite=overwrite)
    columns = Columns(task, worker, label, timestamp, format, classes, id_column, ids, accuracy, items)
    joined = read_inputs(votes, predictions, columns, by_time=order == "time", strict=strict, progress=progress)
    costs = None if error_costs is None else read_error_costs(error_costs, joined.classes)
    pools = build_pools(
        joined, pool_size=pool_size, order=order, seed=number, partly_voted=partly_voted,
        draws_quotas=isinstance(chosen.policy, (QuotaPolicy, ModelPicker)),
    )  # fmt: skip
    if progress is not None:
        progress(0, len(joined.items), "replaying the votes")
    limits = (min_votes, NO_LIMIT if max_votes is None else max_votes)
    learning = (None if window is None else whole(window, where="window"), whole(refit_every, where="refit_every"))
    outcome = _replayed(pools, chosen, learning, limits, costs)
    result = RunResult(
        outcome=outcome,
        pools=pools,
        items=tuple(joined.items[t] for t in pools.stream.items),
        classes=joined.classes,
        models=joined.models,
        method=chosen,
        params=_last_params(chosen, outcome, pools),
        settings={
            "order": order,
            "times_known": joined.time is not None,
            "seed": number,
            "min_votes": min_votes,
            "max_votes": max_votes,
            "window": window,
            "refit_every": refit_every,
            "strict": strict,
            "models": list(joined.models),
            "classes": list(joined.classes),
        },
        until_settled=_until_settled(pools),
        report=joined.report,
        backend=joined.backend,
        price=None if price is None else bounded(price, where="price", least=0.0),
        error_costs=costs,
    )
    if folder is not None:
        write_run(result, folder)
    return result


def _method(given: str | Method | QueryPolicy, threshold: float | None) -> Method:
    if isinstance(given, str):
        return parse_method(given, threshold=threshold)
    if threshold is not None:
        raise InvalidInput(f"threshold={threshold!r} beside a method that has its knobs; pass one of the two.")
    return as_method(given)


def _replayed(
    pools: Pools,
    method: Method,
    learning: tuple[int | None, int],
    limits: tuple[int, int],
    error_costs: FloatArray | None,
) -> Outcome:
    run = _compiled(pools, method, learning, limits, error_costs)
    none = np.zeros(len(run.costs), dtype=np.int64)
    assert run.probs is not None
    return Outcome(run.costs, run.predictions, run.probs, run.reasons, none.astype(bool), none, run.trace)


def _compiled(
    pools: Pools,
    method: Method,
    learning: tuple[int | None, int],
    limits: tuple[int, int],
    error_costs: FloatArray | None,
) -> Simulation:
    rule = rule_of(method.policy)
    if rule is None:
        raise InvalidInput(f"method={method.name!r}")
    return run_compiled(
        pools.stream, method, rule, *learning, limits, len(pools.recorded), recorded=pools.recorded,
        error_costs=error_costs, keep_probs=True,
    )  # fmt: skip


def _until_settled(pools: Pools) -> IntArray:
    """(T,) votes each item takes until no further one can matter, or until there are no more."""
    return _compiled(pools, build_method("until-settled"), (1, 1), (0, NO_LIMIT), None).costs


def _last_params(method: Method, outcome: Outcome, pools: Pools) -> PriorParams:
    """What was learned last; before the first fit, and for a method that learns nothing, where learning starts."""
    if outcome.trace:
        return outcome.trace[-1][1]
    _, num_models, num_classes = pools.stream.predictions.shape
    learner = method.learner
    prior = learner.hyperprior if learner else hyperprior("default")
    return prior.mode(num_classes, num_models, with_bias=bool(learner and learner.bias))
