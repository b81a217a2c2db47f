"""The trade-off around a run's setting, and what its classifier is worth: a few more replays of the same items.

A setting is replayed at a quarter and at four times its error cost, and once at its own without the predictions. These
replays use at most `MOST_ITEMS` items, drawn by the seed of the run. Called by `commands.run`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from quorate.commands.lost_class import Found, LostClass, lost_class, shares_found
from quorate.commands.run.replay import RunPlan, replayed
from quorate.methods import Method, policy_parameters
from quorate.model import DEFAULT_ERROR_COST, ErrorCosts, plurality_shares
from quorate.rng import stream as random_stream
from quorate.session import tuned
from quorate.streams import Pools, ReplayResult, Stream
from quorate.types import FloatArray, IntArray

MOST_ITEMS = 20_000
MOST_BY_PERSON = 1000  # methods that know people ask vote by vote
FACTORS = (0.25, 4.0)
NEARLY_SETTLED = 0.9  # of the votes until settled: beyond, no classifier could save much


@dataclass(frozen=True, slots=True)
class Point:
    """Votes per item and the share wrong (None: not known) at one error cost; None: another way to say how far."""

    votes: float
    error: float | None
    error_cost: float | None = None


@dataclass(frozen=True, slots=True)
class Tradeoff:
    """`cheaper`, `dearer`: a quarter of and four times the error cost; None for a run that has no error cost.

    `with_classifier`, `without_classifier`: two replays at the run's own setting; None without a classifier
    `items`: how many items these replays used   `lost`: a class that loses more than a tenth of its items
    """

    this_run: Point
    cheaper: Point | None
    dearer: Point | None
    until_settled: Point
    everyone: Point
    with_classifier: Point | None
    without_classifier: Point | None
    items: int
    lost: LostClass | None

    @property
    def saves_nothing(self) -> bool:
        """Whether the run is neither cheaper nor better with the classifier, though it stops well before settled."""
        a, b = self.with_classifier, self.without_classifier
        if a is None or b is None or b.votes > NEARLY_SETTLED * self.until_settled.votes:
            return False
        return a.votes >= b.votes and (a.error or 0.0) >= (b.error or 0.0)


def measured_tradeoff(
    pools: Pools,
    plan: RunPlan,
    outcome: ReplayResult,
    settled: IntArray,
    *,
    has_classifier: bool,
    voter_costs: tuple[float, ...] | None,
    classes: Sequence[str],
) -> Tradeoff:
    """The trade-off of a finished run; `settled` (T,) votes of each item until its pool is settled."""
    stream, cost = pools.stream, policy_parameters(plan.method).get("error_cost")
    most = MOST_BY_PERSON if plan.method.needs_people else MOST_ITEMS
    rows = _sample(len(stream.items), most, plan.seed)
    part = pools if len(rows) == len(stream.items) else _part(pools, rows)

    def again(method: Method, items: Pools) -> ReplayResult:
        aimed = replace(plan, method=method)
        return replayed(items, aimed, ids=[str(t) for t in items.stream.items], voter_costs=voter_costs, progress=None)

    def at(method: Method, items: Pools) -> Point:
        done = again(method, items)
        return Point(done.mean_cost, _error(items, done.labels))

    def with_table(costs: ErrorCosts) -> Found:
        usual = tuned(plan.method, {"error_cost": DEFAULT_ERROR_COST})
        done = again(replace(usual, costs=costs), part)
        return _found(part, done.labels), done.mean_cost

    table = None if plan.method.costs is None else plan.method.costs.votes
    if cost is not None and table is None and not plan.method.needs_people:
        table = (cost if plan.aim.budget is None else DEFAULT_ERROR_COST) * (1.0 - np.eye(len(classes)))
    lost = lost_class(
        classes,
        pools.truth[pools.is_scored].sum(axis=0),
        _found(pools, outcome.labels),
        shares_found(pools.truth[pools.is_scored], plurality_shares(pools.stream.counts)[pools.is_scored]),
        costs=table if cost is not None and plan.aim.target_error is None else None,
        replayed=with_table,
    )
    if plan.aim.budget is not None or plan.aim.target_error is not None:
        cost = None
    costs = [] if cost is None else [cost * factor for factor in FACTORS]
    around = [replace(at(tuned(plan.method, {"error_cost": each}), part), error_cost=each) for each in costs]
    this = Point(outcome.mean_cost, _error(pools, outcome.labels), cost)
    own = alone = None
    if has_classifier:
        own = this if part is pools else at(plan.method, part)
        alone = at(plan.method, replace(part, stream=_without_classifier(part.stream)))
    top = _plurality_error(pools)
    cheaper, dearer = around or (None, None)
    return Tradeoff(
        this, cheaper, dearer, Point(float(settled.mean()), top), Point(float(stream.recorded.mean()), top),
        own, alone, len(rows), lost,
    )  # fmt: skip


def _found(pools: Pools, labels: IntArray) -> FloatArray:
    """(K,) the share of each class's scored items that these answers find."""
    scored = pools.is_scored
    return shares_found(pools.truth[scored], np.eye(pools.truth.shape[1])[labels[scored]])


def _error(pools: Pools, labels: IntArray) -> float | None:
    """The share wrong of these answers, over the scored items; None if there are none."""
    wrong = 1.0 - pools.truth[np.arange(len(labels)), labels]
    return float(wrong[pools.is_scored].mean()) if pools.is_scored.any() else None


def _plurality_error(pools: Pools) -> float | None:
    """The share wrong of answering with the plurality of all votes, ties at random."""
    if not pools.is_scored.any():
        return None
    right = (plurality_shares(pools.stream.counts) * pools.truth).sum(axis=1)
    return float(1.0 - right[pools.is_scored].mean())


def _sample(num_items: int, most: int, seed: int) -> IntArray:
    """At most `most` items, drawn by seed, in their order."""
    if num_items <= most:
        return np.arange(num_items)
    return np.sort(random_stream(seed, "tradeoff").choice(num_items, most, replace=False))


def _part(pools: Pools, rows: IntArray) -> Pools:
    """The pools of these items."""
    stream = pools.stream
    known = [name for name in Stream.__slots__ if getattr(stream, name) is not None]
    part = replace(stream, **{name: np.ascontiguousarray(getattr(stream, name)[rows]) for name in known})
    return replace(
        pools, stream=part, surplus=pools.surplus[rows], is_incomplete=pools.is_incomplete[rows],
        is_scored=pools.is_scored[rows], truth=pools.truth[rows],
    )  # fmt: skip


def _without_classifier(given: Stream) -> Stream:
    """The same items and votes with one uniform prediction: the stream of a run without predictions."""
    num_items, _, num_classes = given.predictions.shape
    alike: FloatArray = np.full((num_items, 1, num_classes), 1.0 / num_classes)
    return replace(
        given, predictions=alike, log_predictions=np.log(alike), mean_predictions=np.ascontiguousarray(alike[:, 0])
    )
