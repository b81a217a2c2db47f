"""Votes and predictions as users give them (files, tables, arrays, a `VoteDataset`) -> one joined table.

Called by the commands `run`, `plan` and `experts`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from quorate.errors import source_is
from quorate.tables import Joined, TableOptions, join, predictions_by, read_truth, votes_by
from quorate.types import IntArray, PredictionLike, Progress, TableLike, VoteDataset

VoteSource = TableLike | np.ndarray | VoteDataset
PredictionSources = PredictionLike | Sequence[PredictionLike] | Mapping[str, PredictionLike] | None


def read_inputs(
    votes: VoteSource,
    predictions: PredictionSources,
    columns: TableOptions,
    *,
    by_time: bool,
    progress: Progress | None,
    voters: IntArray | None = None,
) -> tuple[Joined, bool]:
    """Votes and predictions joined, and whether the votes of an item have an order: counts have none.

    `by_time`: order votes by time, else by row. `voters`: who cast each vote of an array.
    """
    if isinstance(votes, VoteDataset):
        columns = replace(columns, classes=columns.classes or votes.classes)
        if predictions is None:
            predictions = dict(zip(votes.models, np.asarray(votes.predictions), strict=True))
        voters, votes = votes.voters, votes.votes
    with source_is("votes"):
        lenient = replace(columns, strict=False)  # `join` is strict, once the classes are known
        read = votes_by(lenient, votes, progress=progress, voters=voters)
    if not by_time and read.raw.time is not None:
        read = replace(read, raw=replace(read.raw, time=None))
    predicted = None
    if predictions is not None:
        with source_is("predictions"):
            predicted = predictions_by(columns, predictions)
    has_order = read.raw.classes is None  # only counts know their classes from the format
    return join(read, predicted, classes=columns.classes, strict=columns.strict), has_order


def truth_of(votes: VoteSource, truth: TableLike | None, joined: Joined, columns: TableOptions) -> IntArray | None:
    """(T,) the true class of each joined item, of `truth` or else of a `VoteDataset`, -1 unknown; None: no truth."""
    if truth is not None:
        return read_truth(truth, joined, columns)
    if not isinstance(votes, VoteDataset) or votes.truth is None or not (votes.truth >= 0).any():
        return None
    true_classes: IntArray = votes.truth[np.array(joined.items, dtype=np.int64)]
    return true_classes
