"""Votes of whole pools with classifiers' predictions: built-in streams, and arrays as a `VoteDataset`."""

from quorate.datasets.arrays import expand_counts, load_npz, tidied, vote_dataset
from quorate.datasets.generator import Scenario, synthetic

__all__ = ["Scenario", "expand_counts", "load_npz", "synthetic", "tidied", "vote_dataset"]
