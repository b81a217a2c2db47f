"""The streams of `peers.py`: items, their votes in asking order, the voters, and when each item is settled.

Pools, orders and ties are those of `quorate.streams.prepare`, so all methods see the same votes. The voters come from
preparing the annotator ids as if they were votes. A cut is a fixed random part of a set, in its order.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from quorate import simulate
from quorate.datasets import synthetic
from quorate.model.posterior.settled import plurality_shares
from quorate.rng import stream as random_stream
from quorate.streams import prepare
from quorate_paper.datasets import chaosnli, cifar10h, imagenet16h, imagenet16h_shift

CUT_SEED = 0


@dataclass(frozen=True)
class Source:
    """A data set (`load` None: a synthetic one), its pool size and cut, and whether it names its annotators."""

    title: str
    load: object
    pool_size: int | None
    most_items: int
    models: tuple[str, ...]
    file: str | None = None  # the npz with `annotator_ids`, if any


SOURCES = {
    "imagenet16h": Source(
        "ImageNet-16H, N = 5 to 7", imagenet16h.load, None, 800,
        ("vgg19_epoch10", "alexnet_epoch00"), "imagenet16h.npz",
    ),
    "imagenet16h_shift": Source(
        "ImageNet-16H shift, N = 6", imagenet16h_shift.load, None, 800, ("vgg", "alexnet")
    ),
    "cifar10h": Source(
        "CIFAR-10H, N = 10", cifar10h.load, 10, 800, ("patches-68", "resnet110-94"), "cifar10h.npz"
    ),
    "chaosnli": Source(
        "ChaosNLI, N = 20", chaosnli.load, 20, 800, ("roberta-base_seed2", "bert-base-uncased_seed0")
    ),
}  # fmt: skip
QUICK = Source("synthetic, N = 5", None, None, 150, ("model-0",))


class Case:
    """One classifier and seed on one set: the input of every method, and the error of every answer."""

    def __init__(self, source, model, seed):
        self.source, self.seed = source, seed
        dataset, voters = _load(source, model)
        rows = _cut(dataset, source.most_items)
        self.dataset, twin = _take(dataset, rows), None if voters is None else _take(voters, rows)
        self.model = self.dataset.models.index(model)
        self.stream = prepare(self.dataset, source.pool_size, self.model, seed)
        self.voters = None if twin is None else prepare(twin, source.pool_size, self.model, seed).votes
        self.losses = 1.0 - plurality_shares(self.stream.counts)  # (T, K) error of each answer, ties shared
        self.pool_size = int(self.stream.pool_sizes.max())

    @property
    def num_items(self):
        return len(self.losses)

    @property
    def num_classes(self):
        return self.losses.shape[1]

    @property
    def votes(self):
        return self.stream.votes

    @property
    def predictions(self):
        return self.stream.mean_predictions  # one classifier: its own

    @cached_property
    def settled(self):
        """The run of `until-settled`: `costs` are the votes until each item is settled, `predictions` its plurality."""
        return self.run("until-settled")

    def run(self, chosen):
        """One of quorate's own methods on this stream."""
        return simulate(self.dataset, chosen, pool_size=self.source.pool_size, model=self.model, seed=self.seed)

    def error_of(self, labels):
        """(T,) expected error of an answer for each item; -1: a random class."""
        known = self.losses[np.arange(self.num_items), np.maximum(labels, 0)]
        return np.where(labels >= 0, known, self.losses.mean(axis=1))


def _load(source, model):
    """The set and, if it names its annotators, a copy with their ids in place of the votes."""
    if source.load is None:
        return synthetic(num_items=source.most_items, num_classes=3, pool_size=5, accuracy=0.7, seed=1), None
    folder = os.environ["QUORATE_DATA"]
    dataset, twin = source.load(folder), None
    if source.file is not None:
        with np.load(Path(folder) / source.file, allow_pickle=False) as arrays:
            twin = replace(dataset, votes=np.where(dataset.votes >= 0, arrays["annotator_ids"], -1).astype(np.int16))
    if source.load is imagenet16h.load:
        dataset, twin = imagenet16h.covered(dataset, model), imagenet16h.covered(twin, model)
    return dataset, twin


def _cut(dataset, most):
    kept = random_stream(CUT_SEED, "peers-cut").permutation(dataset.num_items)[:most]
    return np.sort(kept)


def _take(dataset, rows):
    return dataset.rows(rows)
