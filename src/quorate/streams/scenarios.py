"""The four streams of the demo: a typical one, and three that are hard for a method like ours.

Plain values, used by `demo`; the parameters are those of `quorate.datasets.synthetic`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from quorate.datasets import synthetic
from quorate.types import VoteDataset

TYPICAL = {"num_classes": 10, "accuracy": 0.75, "calibration": 1.5, "unevenness": 0.6, "agreement": 0.75}


@dataclass(frozen=True, slots=True)
class Scenario:
    """One stream: a short key for files, a title and a description for readers, and the parameters."""

    key: str
    title: str
    about: str
    num_items: int
    pool_size: int
    dials: Mapping[str, Any] = field(default_factory=dict)

    def dataset(self, seed: int, *, num_items: int | None = None) -> VoteDataset:
        """The stream of that seed."""
        return synthetic(num_items=num_items or self.num_items, pool_size=self.pool_size, seed=seed, **self.dials)


SETTINGS = (
    Scenario(
        "typical",
        "A typical stream",
        "10 classes, 10 experts who agree on about three votes in four, and a classifier that is right on three items "
        "in four, better on some classes than on others, and somewhat overconfident.",
        1600,
        10,
        TYPICAL,
    ),
    Scenario(
        "shift",
        "The classifier breaks half-way",
        "As above, but from the middle of the stream on the classifier is right on only one item in four, and as "
        "confident as before.",
        1000,
        10,
        TYPICAL | {"shift_accuracy": 0.25},
    ),
    Scenario(
        "useless",
        "A useless, overconfident classifier",
        "The classifier is right on 12 % of the items, hardly better than guessing among 10 classes, with a mean "
        "confidence of one half. There is nothing to gain from it; the question is how much harm it does.",
        1000,
        10,
        TYPICAL | {"accuracy": 0.12, "calibration": 15.0, "unevenness": 0.0},
    ),
    Scenario(
        "small-pool",
        "A pool of three",
        "Only three experts: two equal votes settle an item, so there is little to save, and many pools end in a tie.",
        1200,
        3,
        TYPICAL,
    ),
)
