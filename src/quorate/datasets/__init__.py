"""Votes of whole pools with classifiers' predictions: built-in generators (and loaders) of `VoteDataset`."""
