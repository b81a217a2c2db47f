"""A data set -> one stream: items in an order, each with its pool of votes in the order they would be asked.

Everything random is drawn here, by named streams of the seed, so all methods meet the same items, experts and ties.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from quorate.errors import InvalidInput
from quorate.rng import stream, uniforms
from quorate.types import FloatArray, IntArray, VoteDataset
from quorate.validate import members, whole


@dataclass(frozen=True, slots=True, eq=False)
class Stream:
    """Items in asking order. `votes` (T, N) -1 padded; `pool_sizes` (T,); `predictions` (T, M, K).

    `counts` (T, K) of the whole pool; `consensus` (T,) its plurality, ties broken once; `tie_draws`, `quota_draws` (T,)
    the uniform numbers that break ties of predictions and draw quotas; `items` (T,) rows of the data set.
    """

    items: IntArray
    votes: np.ndarray
    pool_sizes: IntArray
    predictions: FloatArray
    log_predictions: FloatArray
    mean_predictions: FloatArray
    counts: IntArray
    consensus: IntArray
    tie_draws: FloatArray
    quota_draws: FloatArray
    blocks: IntArray


@lru_cache(maxsize=8)
def prepare(
    dataset: VoteDataset, pool_size: int | None, model: int | str, seed: int, order: str = "shuffled"
) -> Stream:
    """One stream. `pool_size` votes of each item are drawn by seed (an item with fewer keeps what it has).

    `model`: number or name of one classifier, or "all". `order`: "shuffled" within each block, or "given".
    """
    items = _order(dataset, seed, order)
    votes, pool_sizes = _pools(dataset, pool_size, seed, items)
    predictions = dataset.predictions[_models(dataset, model)][:, items].transpose(1, 0, 2)  # (T, M, K)
    counts = (votes[:, :, None] == np.arange(dataset.num_classes)).sum(axis=1)  # (T, K)
    return Stream(
        items=items,
        votes=votes,
        pool_sizes=pool_sizes,
        predictions=np.ascontiguousarray(predictions),
        log_predictions=np.ascontiguousarray(np.log(predictions)),
        mean_predictions=np.ascontiguousarray(predictions.mean(axis=1)),
        counts=counts,
        consensus=_consensus(counts, seed),
        tie_draws=_draws(seed, "tie", len(items)),
        quota_draws=_draws(seed, "quota", len(items)),
        blocks=dataset.blocks[items],
    )


@lru_cache(maxsize=32)
def _draws(seed: int, name: str, count: int) -> FloatArray:
    return uniforms(seed, name, count)


def _models(dataset: VoteDataset, model: int | str) -> list[int]:
    if model == "all":
        return list(range(len(dataset.models)))
    if isinstance(model, str):
        if model not in dataset.models:
            raise InvalidInput(
                f"model={model!r} is not in the data set; choose 'all' or one of {list(dataset.models)!r}."
            )
        return [dataset.models.index(model)]
    return [whole(model, where="model", least=0, most=len(dataset.models) - 1)]


def _order(dataset: VoteDataset, seed: int, order: str) -> IntArray:
    rows = np.arange(dataset.num_items)
    if order == "given":
        return rows
    if order != "shuffled":
        raise InvalidInput(f"order={order!r}; expected 'shuffled' (within each block, by seed) or 'given'.")
    keys = stream(seed, "item-order").random(dataset.num_items)
    return np.lexsort((keys, dataset.blocks))


def _pools(dataset: VoteDataset, pool_size: int | None, seed: int, items: IntArray) -> tuple[np.ndarray, IntArray]:
    """The drawn pools: each item's votes in random order (blanks last), cut at the pool size."""
    width = dataset.votes.shape[1] if pool_size is None else members(pool_size)
    keys = stream(seed, "experts").random(dataset.votes.shape)
    keys[dataset.votes < 0] = 2.0
    shuffled = np.take_along_axis(dataset.votes, np.argsort(keys, axis=1), axis=1)[items, :width]
    return np.ascontiguousarray(shuffled), (shuffled >= 0).sum(axis=1)


def _consensus(counts: IntArray, seed: int) -> IntArray:
    """Plurality of each pool; a tie goes to one of the tied classes, once, by seed."""
    keys = stream(seed, "consensus").random(counts.shape)
    return np.asarray((counts + keys * 0.5).argmax(axis=1))
