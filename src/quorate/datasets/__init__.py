"""Votes of whole pools with classifiers' predictions: generators and loaders of `VoteDataset`.

Published sets: `cifar10h`, `imagenet16h`, `imagenet16h_shift`, `chaosnli`, each with `load(path=None)`. Other folders
import from here only; `__all__` is what users call.
"""

from quorate.datasets import chaosnli, cifar10h, imagenet16h, imagenet16h_shift
from quorate.datasets.arrays import load_npz, vote_dataset
from quorate.datasets.catalogue import CATALOGUE as CATALOGUE
from quorate.datasets.catalogue import LOADERS as LOADERS
from quorate.datasets.content import accuracies, checksum
from quorate.datasets.content import has_papers_own as has_papers_own
from quorate.datasets.content import vote_counts as vote_counts
from quorate.datasets.download import describe as describe
from quorate.datasets.download import fetch as fetch
from quorate.datasets.generator import Scenario as Scenario
from quorate.datasets.generator import synthetic
from quorate.datasets.places import data_folder as data_folder
from quorate.datasets.places import find as find

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
