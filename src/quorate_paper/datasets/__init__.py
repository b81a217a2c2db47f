"""The published data sets, each with `load(path=None)`: where they come from, and how their files are read."""

from quorate_paper.datasets import chaosnli, cifar10h, imagenet16h, imagenet16h_shift
from quorate_paper.datasets.catalogue import CATALOGUE, LOADERS
from quorate_paper.datasets.content import accuracies, checksum, has_papers_own, vote_counts
from quorate_paper.datasets.download import describe, fetch
from quorate_paper.datasets.places import data_folder, find

__all__ = [
    "CATALOGUE",
    "LOADERS",
    "accuracies",
    "chaosnli",
    "checksum",
    "cifar10h",
    "data_folder",
    "describe",
    "fetch",
    "find",
    "has_papers_own",
    "imagenet16h",
    "imagenet16h_shift",
    "vote_counts",
]
