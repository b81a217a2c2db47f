"""Votes of whole pools with classifiers' predictions: built-in streams, and arrays as a `VoteDataset`.

Other folders import from here only; `__all__` is what users call.
"""

from quorate.datasets.arrays import expand_counts as expand_counts
from quorate.datasets.arrays import load_npz, vote_dataset
from quorate.datasets.arrays import tidied as tidied
from quorate.datasets.generator import Scenario as Scenario
from quorate.datasets.generator import synthetic

__all__ = ["load_npz", "synthetic", "vote_dataset"]
