"""A data set -> one stream: ordered items, each with its pool of votes in asking order.

All random numbers are drawn here, from named streams of the seed, so all methods see the same items, experts and ties.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from quorate.rng import stream, uniforms
from quorate.types import FloatArray, IntArray, VoteDataset
from quorate.validate import PREDICTION_FLOOR, as_floats, invalid, members, probabilities, whole


@dataclass(frozen=True, slots=True, eq=False)
class Stream:
    """Items in asking order. `votes` (T, N) -1 padded; `pool_sizes` (T,); `predictions` (T, M, K).

    `recorded` (T,) number of votes of each item: fewer than its pool if some were not recorded.
    `counts` (T, K) of the whole pool; `consensus` (T,) its plurality, ties broken once; `tie_draws`, `quota_draws` (T,)
    the uniform numbers that break ties of predictions and draw quotas; `items` (T,) rows of the data set.
    `voters` (T, N) number of the person behind each vote, -1 where unknown; None: all votes are anonymous. `truth` (T,)
    the true class, -1 where unknown; None: always unknown.
    """

    items: IntArray
    votes: np.ndarray
    pool_sizes: IntArray
    recorded: IntArray
    predictions: FloatArray
    log_predictions: FloatArray
    mean_predictions: FloatArray
    counts: IntArray
    consensus: IntArray
    tie_draws: FloatArray
    quota_draws: FloatArray
    blocks: IntArray
    voters: np.ndarray | None = None
    truth: IntArray | None = None


@lru_cache(maxsize=8)
def prepare(
    dataset: VoteDataset, pool_size: int | None, model: int | str, seed: int, order: str = "shuffled"
) -> Stream:
    """One stream. `pool_size` votes of each item are drawn by seed (all votes of an item with fewer).

    `model`: number or name of one classifier, or "all". `order`: items (within each block) and votes "shuffled", or
    both as "given".
    """
    items = _order(dataset, seed, order)
    votes, voters = _pools(dataset, pool_size, None if order == "given" else seed, items)
    return assemble(
        items=items,
        votes=votes,
        predictions=dataset.predictions[_models(dataset, model)][:, items].transpose(1, 0, 2),  # (T, M, K)
        seed=seed,
        blocks=dataset.blocks[items],
        voters=voters,
        truth=None if dataset.truth is None else dataset.truth[items],
    )


def assemble(
    *,
    items: IntArray,
    votes: np.ndarray,
    predictions: FloatArray,
    seed: int,
    pool_sizes: IntArray | None = None,
    blocks: IntArray | None = None,
    draws_quotas: bool = True,
    draws_consensus: bool = True,
    voters: np.ndarray | None = None,
    truth: IntArray | None = None,
) -> Stream:
    """A stream from its parts, with the values derived from votes, predictions and seed. Input is trusted.

    `pool_sizes` None: those who voted. `blocks` None: a single block. Without `draws_quotas`, for methods without
    quotas, these draws are 0. Without `draws_consensus` the consensus is the first of the classes that tie.
    """
    num_items, recorded = len(items), (votes >= 0).sum(axis=1)
    counts = _counts(votes, recorded, predictions.shape[-1])
    return Stream(
        items=items,
        votes=np.ascontiguousarray(votes),
        pool_sizes=recorded if pool_sizes is None else pool_sizes,
        recorded=recorded,
        predictions=np.ascontiguousarray(predictions),
        log_predictions=np.ascontiguousarray(np.log(predictions)),
        mean_predictions=np.ascontiguousarray(predictions.mean(axis=1)),
        counts=counts,
        consensus=_consensus(counts, seed) if draws_consensus else counts.argmax(axis=1),
        tie_draws=_draws(seed, "tie", num_items),
        quota_draws=_draws(seed, "quota", num_items) if draws_quotas else np.zeros(num_items),
        blocks=np.zeros(num_items, dtype=np.int64) if blocks is None else blocks,
        voters=None if voters is None else np.ascontiguousarray(voters),
        truth=truth,
    )


def recorded_stream(
    votes: ArrayLike, predictions: ArrayLike, *, pool_sizes: ArrayLike | None = None, seed: int
) -> Stream:
    """A stream of votes (T, N), class numbers and -1 after the last, with predictions (T, K) or (T, M, K), unshuffled.

    `pool_sizes` how many can be asked, one number or (T,); None: those who voted. `seed` of the draws.

    >>> items = recorded_stream([[0, 1, -1], [1, 1, 1]], [[0.5, 0.5], [0.2, 0.8]], pool_sizes=3, seed=1)
    >>> items.recorded, items.pool_sizes, items.counts.tolist(), items.predictions.shape
    (array([2, 3]), array([3, 3]), [[1, 1], [0, 3]], (2, 1, 2))
    """
    table, probs = np.asarray(votes), _as_given(predictions)
    fix = "pass one row per item in both."
    if table.ndim != 2 or table.dtype.kind not in "iu":
        raise invalid("votes", f"{table.dtype} {table.shape}", "class numbers (items, votes)", fix)
    if probs.ndim not in (2, 3) or len(probs) != len(table):
        raise invalid("predictions", probs.shape, "an array (items, K) or (items, M, K)", fix)
    num_classes = probs.shape[-1]
    recorded = (table >= 0).sum(axis=1)
    if table.max(initial=-1) >= num_classes or ((table >= 0) != (np.arange(table.shape[1]) < recorded[:, None])).any():
        rule = f"class numbers 0 .. {num_classes - 1}, and -1 after the last vote of an item"
        raise invalid("votes", table.tolist(), rule, "leave out missing votes.")
    sizes = np.array(np.broadcast_to(recorded if pool_sizes is None else np.asarray(pool_sizes), (len(table),)))
    for size in np.unique(sizes) if pool_sizes is not None else ():
        members(size, where="pool_sizes")
    return assemble(
        items=np.arange(len(table)),
        votes=table.astype(np.int16),
        predictions=probs[:, None, :] if probs.ndim == 2 else probs,
        seed=seed,
        pool_sizes=sizes,
    )


def _as_given(predictions: ArrayLike) -> FloatArray:
    """Checked predictions; vectors that are already on the simplex and floored are not changed in any bit.

    >>> given = [[0.1, 0.2, 0.7], [0.0, 0.5, 0.5]]
    >>> (_as_given(given) == given).tolist()
    [[True, True, True], [False, False, False]]
    """
    probs, checked = as_floats(predictions, where="predictions"), probabilities(predictions, where="predictions")
    is_fine = (probs.min(axis=-1) > 0.999 * PREDICTION_FLOOR) & (np.abs(probs.sum(axis=-1) - 1) < 1e-12)
    return np.where(is_fine[..., None], probs, checked)


@lru_cache(maxsize=32)
def _draws(seed: int, name: str, count: int) -> FloatArray:
    return uniforms(seed, name, count)


def _models(dataset: VoteDataset, model: int | str) -> list[int]:
    if model == "all":
        return list(range(len(dataset.models)))
    if isinstance(model, str):
        if model not in dataset.models:
            names = ", ".join(map(repr, dataset.models))
            raise invalid("model", model, "'all' or a classifier of the data set", f"choose one of {names}.")
        return [dataset.models.index(model)]
    return [whole(model, where="model", least=0, most=len(dataset.models) - 1)]


def _order(dataset: VoteDataset, seed: int, order: str) -> IntArray:
    rows = np.arange(dataset.num_items)
    if order == "given":
        return rows
    if order != "shuffled":
        rule = "'shuffled' (by seed) or 'given'"
        raise invalid("order", order, rule, "pass `order='given'` to keep the order of the data set.")
    keys = stream(seed, "item-order").random(dataset.num_items)
    return np.lexsort((keys, dataset.blocks))


def _pools(
    dataset: VoteDataset, pool_size: int | None, seed: int | None, items: IntArray
) -> tuple[np.ndarray, np.ndarray | None]:
    """The pools and their voters: each item's votes, missing last, up to the pool size; in random order if seeded."""
    width = dataset.votes.shape[1] if pool_size is None else members(pool_size)
    keys = np.zeros(dataset.votes.shape) if seed is None else stream(seed, "experts").random(dataset.votes.shape)
    keys[dataset.votes < 0] = 2.0
    order = np.argsort(keys, axis=1, kind="stable")
    votes = np.take_along_axis(dataset.votes, order, axis=1)[items, :width]
    voters = dataset.voters
    return votes, None if voters is None else np.take_along_axis(voters, order, axis=1)[items, :width]


def _counts(votes: np.ndarray, recorded: IntArray, num_classes: int) -> IntArray:
    """(T, K) recorded votes by class."""
    cells = np.repeat(np.arange(len(votes)), recorded) * num_classes + votes[votes >= 0]
    return np.bincount(cells, minlength=len(votes) * num_classes).reshape(len(votes), num_classes)


def _consensus(counts: IntArray, seed: int) -> IntArray:
    """Plurality of each pool; ties are broken once, by seed."""
    keys = stream(seed, "consensus").random(counts.shape)
    return np.asarray((counts + keys * 0.5).argmax(axis=1))
