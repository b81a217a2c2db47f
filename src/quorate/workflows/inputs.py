"""Votes and predictions as users give them (files, tables, arrays, a `VoteDataset`) -> one joined table.

Called by the workflows `run`, `plan` and `experts`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from quorate.errors import source_is
from quorate.tables import Joined, Predictions, join, read_predictions, read_votes
from quorate.tables.options import TableOptions
from quorate.tables.readers import TEXT, pa
from quorate.tables.readers.sources import Progress
from quorate.types import IntArray, PredictionLike, TableLike, VoteDataset
from quorate.validate import invalid

VoteSource = TableLike | np.ndarray | VoteDataset
PredictionSources = PredictionLike | Sequence[PredictionLike] | Mapping[str, PredictionLike] | None


def read_inputs(
    votes: VoteSource,
    predictions: PredictionSources,
    columns: TableOptions,
    *,
    by_time: bool,
    progress: Progress | None,
) -> tuple[Joined, bool]:
    """Votes and predictions joined, and whether the votes of an item have an order: counts have none.

    `by_time`: order votes by time, else by row.
    """
    voters, num_rows = None, None
    if isinstance(votes, VoteDataset):
        columns = replace(columns, classes=columns.classes or votes.classes)
        given = dict(zip(votes.models, np.asarray(votes.predictions), strict=True))
        predictions = given if predictions is None else predictions
        voters, votes = votes.voters, votes.votes
    table: TableLike
    if isinstance(votes, np.ndarray):
        table, num_rows = _long_table(votes, columns, voters), len(votes)
    else:
        table = votes
    with source_is("votes"):
        read = read_votes(table, progress=progress, **columns.keywords(read_votes))
    if not by_time and read.raw.time is not None:
        read = replace(read, raw=replace(read.raw, time=None))
    predicted = None
    if predictions is not None:
        with source_is("predictions"):
            predicted = read_predictions(predictions, **columns.keywords(read_predictions))
            if num_rows is not None:  # the rows of the predictions are the rows of the votes
                predicted = _by_row(predicted, num_rows)
    has_order = read.raw.classes is None  # only counts know their classes from the format
    return join(read, predicted, **columns.keywords(join)), has_order


def _by_row(predicted: Predictions, num_rows: int) -> Predictions:
    """Predictions whose rows are the rows of an array of votes, so that they may be joined."""
    for table in predicted.tables:
        if table.is_unnamed and len(table.ids) != num_rows:
            rule = f"a row for each of the {num_rows} rows of `votes`"
            raise invalid("predictions", f"{len(table.ids)} rows", rule, "pass arrays of the same items.")
    return replace(predicted, tables=tuple(replace(table, is_unnamed=False) for table in predicted.tables))


def truth_of(votes: VoteSource, truth: TableLike | None, columns: TableOptions) -> TableLike | None:
    """The table of true classes: `truth`, or else that of a `VoteDataset`; None if there is none."""
    if truth is not None or not isinstance(votes, VoteDataset) or votes.truth is None:
        return truth
    at = np.flatnonzero(votes.truth >= 0).tolist()
    names = votes.classes if columns.classes is None else columns.classes
    table = {"task": [str(t) for t in at], "truth": [str(names[int(votes.truth[t])]) for t in at]}
    found: TableLike | None = pa.table(table) if at else None
    return found


def _long_table(votes: np.ndarray, columns: TableOptions, voters: IntArray | None = None) -> pa.Table:
    """An array (items, votes) of class numbers, -1 for none, as a long table; items are named "0", "1", ...

    `voters` (items, votes): who cast each vote, -1 where unknown; people are named by their numbers.
    """
    if votes.ndim != 2 or votes.dtype.kind not in "iu":
        rule = "whole numbers (items, votes per item), -1 for none"
        raise invalid("votes", f"{votes.dtype} {votes.shape}", rule, "pass such an array, or a table.")
    rows, places = np.nonzero(votes >= 0)
    numbers = votes[rows, places]
    most = int(numbers.max(initial=0))
    names = [str(number) for number in range(most + 1)] if columns.classes is None else list(columns.classes)
    if len(names) <= most:
        raise invalid("classes", len(names), f"{most + 1} names for these `votes`", "name them all.")
    table = {
        "task": pa.array(rows).cast(TEXT),
        "label": pa.array(names, type=TEXT).take(pa.array(numbers)),
    }
    if voters is not None:
        who = voters[rows, places]
        table["worker"] = pa.array([None if number < 0 else str(number) for number in who.tolist()], type=TEXT)
    return pa.table(table)
