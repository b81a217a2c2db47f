"""Recorded votes -> the stream for a replay: items and votes in order, each item with its pool and verdict.

Determines the pool size if items have different numbers of votes, and which items can be scored. Takes a `Joined`;
called by `commands/run`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from quorate.model import are_settled, plurality_shares
from quorate.rng import stream
from quorate.streams.prepared_stream import Stream, assemble
from quorate.types import FloatArray, IntArray
from quorate.validate import MOST_VOTES, invalid, members

if TYPE_CHECKING:
    from quorate.tables import Joined  # needs PyArrow

Order = Literal["time", "given", "shuffled"]
Number = TypeVar("Number", np.int16, np.int32)
PoolSize = int | Literal["recorded"] | None
MOST_CELLS = 2_000_000_000  # of the padded table of votes, two bytes each


@dataclass(frozen=True, slots=True, eq=False)
class Pools:
    """A stream, and what is known about each item's pool, in stream order.

    `surplus` (T,) votes recorded beyond the pool, never asked
    `is_incomplete` (T,) fewer votes recorded than the pool has   `is_scored` (T,) the item counts in the error: its
    votes decide the pool   `truth` (T, K) share of the verdict by class: 1, or 1/t each in a tie of t; all 0 if the
    item is not scored
    """

    stream: Stream
    surplus: IntArray
    is_incomplete: NDArray[np.bool_]
    is_scored: NDArray[np.bool_]
    truth: FloatArray
    pool_size: int | None
    order: Order

    @property
    def params_pool_size(self) -> int:
        """The pool size for later decisions with the learned parameters: the one given, or the largest recorded."""
        return self.pool_size or int(self.stream.pool_sizes.max())


def uneven_pools(smallest: int, largest: int) -> str:
    """The warning on pools of different size: if a pool is small because its votes agreed, its size tells the answer.

    >>> uneven_pools(2, 6)[:30]
    'Items have 2 to 6 votes. If as'
    """
    return (
        f"Items have {smallest} to {largest} votes. If asking stopped early where people agreed, savings are "
        f"overstated and errors understated: pass `pool_size={largest}`."
    )


def build_pools(
    joined: Joined,
    *,
    pool_size: PoolSize = None,
    order: Order = "time",
    seed: int,
    draws_quotas: bool = False,
    shuffles_votes: bool = False,
    keeps_voters: bool = False,
    true_classes: IntArray | None = None,
) -> Pools:
    """The stream of the recorded votes.

    `pool_size` None or "recorded": the pool of an item is the votes recorded for it. A number N: every pool has N
    members; the pool of an item with more votes is the first N in order, the pool of an item with fewer is
    incomplete.
    `draws_quotas`: draw the numbers that methods with quotas need. `shuffles_votes`: shuffle the votes of each item by
    seed, even if the items keep their order. `keeps_voters`: for methods with named people. `true_classes` (T,): the
    class of each item, -1 where unknown, for `by_truth`.
    """
    size = _checked_size(pool_size)
    _one_of(order, get_args(Order), "order")
    items = np.arange(joined.num_items)
    if order == "shuffled":
        items = stream(seed, "item-order").permutation(joined.num_items)
    lengths = np.diff(joined.starts)
    recorded = lengths if size is None else np.minimum(lengths, size)
    order_of = _asking_order(joined, seed if shuffles_votes or order == "shuffled" else None)
    votes = _table(joined, recorded, joined.label[order_of])[items]
    voters = _table(joined, recorded, joined.worker[order_of])[items] if keeps_voters else None
    pools = assemble(
        items=items,
        votes=votes,
        predictions=joined.predictions[:, items].transpose(1, 0, 2),  # (T, M, K)
        seed=seed,
        pool_sizes=None if size is None else np.full(len(items), size, dtype=np.int64),
        draws_quotas=draws_quotas,
        draws_consensus=False,
        voters=voters,
        truth=None if true_classes is None else true_classes[items],
    )
    missing = pools.pool_sizes - pools.recorded
    settled = are_settled(pools.counts, missing)
    truth = plurality_shares(pools.counts)
    truth[~settled] = 0.0
    return Pools(
        stream=pools,
        surplus=lengths[items] - pools.recorded,
        is_incomplete=missing > 0,
        is_scored=settled,
        truth=truth,
        pool_size=size,
        order=order,
    )


def by_truth(pools: Pools) -> Pools:
    """The same pools, scored by the true classes where known, instead of by the verdict of the pool."""
    classes = pools.stream.truth
    has_truth = np.zeros(len(pools.is_scored), dtype=bool) if classes is None else classes >= 0
    shares = np.zeros_like(pools.truth)
    if classes is not None:
        shares[has_truth, classes[has_truth]] = 1.0
    return replace(pools, is_scored=has_truth, truth=shares)


def _checked_size(pool_size: PoolSize) -> int | None:
    if pool_size is None or (isinstance(pool_size, str) and pool_size == "recorded"):
        return None
    if isinstance(pool_size, str):
        raise invalid("pool_size", pool_size, "a whole number, or 'recorded'", "pass `pool_size=6`, or leave it out.")
    return members(pool_size)


def _one_of(value: str, allowed: tuple[str, ...], where: str) -> None:
    if where == "order" and value == "agreement":
        rule = f"one of {', '.join(allowed)}: the order in which votes are replayed"
        raise invalid(where, value, rule, "pass `method='value:choose=agreement'` to ask first whoever agreed most.")
    if not isinstance(value, str) or value not in allowed:
        raise invalid(where, value, f"one of {', '.join(allowed)}", f"pass `{where}={allowed[0]!r}`.")


def _asking_order(joined: Joined, seed: int | None) -> IntArray | slice:
    """Positions of the votes, item by item, in asking order: shuffled by `seed`, or (None) as recorded."""
    if seed is None:
        return slice(None)
    return np.lexsort((stream(seed, "experts").random(joined.num_votes), joined.item))


def _table(joined: Joined, recorded: IntArray, values: NDArray[Number]) -> NDArray[Number]:
    """(T, most) a value for each vote, item by item, truncated at the pool size, -1 after the last."""
    most = int(recorded.max())
    if most > MOST_VOTES or most * joined.num_items > MOST_CELLS:
        rule = f"at most {MOST_VOTES} votes per item and {MOST_CELLS} cells (items times the most votes) in one run"
        size = f"{joined.num_items} items with up to {most} votes"
        raise invalid("votes", size, rule, "split the items, or pass `pool_size`.")
    column = np.arange(joined.num_votes) - joined.starts[joined.item]
    kept = column < most
    table = np.full((joined.num_items, most), -1, dtype=values.dtype)
    table[joined.item[kept], column[kept]] = values[kept]
    return table
