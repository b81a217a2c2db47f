"""Votes of whole pools with classifiers' predictions: generators and loaders of `VoteDataset`.

Published sets: `cifar10h`, `imagenet16h`, `imagenet16h_shift`, `chaosnli`, each with `load(path=None)`.
"""

from quorate.datasets import chaosnli, cifar10h, imagenet16h, imagenet16h_shift
from quorate.datasets.arrays import load_npz, vote_dataset
from quorate.datasets.content import accuracies, checksum
from quorate.datasets.synthetic import synthetic

__all__ = [
    "accuracies",
    "chaosnli",
    "checksum",
    "cifar10h",
    "imagenet16h",
    "imagenet16h_shift",
    "load_npz",
    "synthetic",
    "vote_dataset",
]
