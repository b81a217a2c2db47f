"""What a user hands to `run` -> votes and predictions joined, in the order asked for; arrays become tables on the way.

Called by `workflows.run`; the reading itself is `quorate.tables`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from quorate.errors import source_is
from quorate.tables import Joined, join, read_predictions, read_votes
from quorate.tables.options import TableOptions
from quorate.tables.readers.arrow import TEXT, pa
from quorate.tables.readers.sources import Progress
from quorate.tables.votes.names import abstain_names
from quorate.types import PredictionLike, TableLike, VoteDataset
from quorate.validate import broken

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
    """Votes and predictions joined, and whether the votes of an item have an order: those of counts have none.

    `by_time`: votes in the order of their times, else of their rows.
    """
    if isinstance(votes, VoteDataset):
        columns = replace(columns, classes=columns.classes or votes.classes)
        given = dict(zip(votes.models, np.asarray(votes.predictions), strict=True))
        predictions = given if predictions is None else predictions
        votes = votes.votes
    as_read = columns.as_read or isinstance(votes, np.ndarray)  # an array says what it is
    if isinstance(votes, np.ndarray):
        places = votes.shape[:1]
        table: TableLike = _long_table(votes, columns)
        if columns.ids is None:  # rows of the predictions are those of the votes, voted on or not
            columns = replace(columns, ids=list(range(*places)))
    else:
        table = votes
    with source_is("votes"):
        read = read_votes(
            table, format=columns.format, task=columns.task, worker=columns.worker, label=columns.label,
            timestamp=columns.timestamp, classes=columns.classes, abstain_labels=columns.abstain_labels,
            ignore_columns=columns.ignore_columns, strict=columns.strict, as_read=as_read, progress=progress,
        )  # fmt: skip
    if not by_time and read.raw.time is not None:
        read = replace(read, raw=replace(read.raw, time=None))
    has_order = read.raw.classes is None  # only counts come with classes of their own
    how: dict[str, Any] = {"classes": columns.classes, "strict": columns.strict, "as_read": as_read}
    if predictions is None:
        return join(read, items=columns.items, **how), has_order
    with source_is("predictions"):
        said = read_predictions(
            predictions, id_column=columns.id_column, ids=columns.ids, accuracy=columns.accuracy, task=columns.task,
            **how,
        )  # fmt: skip
    return join(read, said, items=columns.items, **how), has_order


def read_as(columns: TableOptions) -> dict[str, Any]:
    """How labels were read, for summary.json and params.json: whoever decides on must read them alike."""
    named = abstain_names(columns.abstain_labels, columns.classes)
    return {"accuracy": columns.accuracy, "abstain_labels": list(named)}


def _long_table(votes: np.ndarray, columns: TableOptions) -> pa.Table:
    """An array (items, votes) of class numbers, -1 for none, as a long table; `classes` and `ids` name them."""
    if votes.ndim != 2 or votes.dtype.kind not in "iu":
        rule = "whole numbers (items, votes per item), -1 for none"
        raise broken("votes", f"{votes.dtype} {votes.shape}", rule, "pass such an array, or a table.")
    rows, places = np.nonzero(votes >= 0)
    numbers = votes[rows, places]
    most = int(numbers.max(initial=0))
    names = [str(number) for number in range(most + 1)] if columns.classes is None else list(columns.classes)
    ids = [str(number) for number in range(len(votes))] if columns.ids is None else [str(each) for each in columns.ids]
    for what, found, needed in (("classes", names, most + 1), ("ids", ids, len(votes))):
        if len(found) < needed:
            raise broken(what, len(found), f"{needed} names for these `votes`", "name them all.")
    return pa.table(
        {
            "task": pa.array(ids, type=TEXT).take(pa.array(rows)),
            "label": pa.array(names, type=TEXT).take(pa.array(numbers)),
        }
    )
