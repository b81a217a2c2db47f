"""Votes of whole pools with classifiers' predictions: built-in generators (and loaders) of `VoteDataset`."""

from quorate.datasets.arrays import load_npz, vote_dataset
from quorate.datasets.synthetic import synthetic

__all__ = ["load_npz", "synthetic", "vote_dataset"]
