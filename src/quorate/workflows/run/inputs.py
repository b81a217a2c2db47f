"""What a user hands to `run` -> votes and predictions joined, in the order asked for; arrays become tables on the way.

Called by `workflows.run`; the reading itself is `quorate.tables`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, TypedDict

import numpy as np

from quorate.errors import source_is
from quorate.tables import Joined, join, read_predictions, read_votes
from quorate.tables.join import Items
from quorate.tables.own_types import class_texts
from quorate.tables.readers.arrow import TEXT, pa
from quorate.tables.readers.sources import Progress
from quorate.tables.votes.labels import abstain_names
from quorate.tables.votes.read import Format
from quorate.types import PredictionLike, TableLike, VoteDataset
from quorate.validate import broken

PredictionSources = PredictionLike | Sequence[PredictionLike] | Mapping[str, PredictionLike] | None


@dataclass(frozen=True, slots=True)
class Columns:
    """How to read the tables; None: found out by the usual names. See `quorate.tables`."""

    task: str | None = None
    worker: str | Sequence[str] | None = None
    label: str | None = None
    timestamp: str | None = None
    format: Format = "auto"
    classes: Sequence[Any] | None = None
    id_column: str | None = None
    ids: Sequence[Any] | None = None
    accuracy: float = 0.9
    items: Items = "votes"
    abstain_labels: str | Sequence[str] | None = None
    ignore_columns: str | Sequence[str] | None = None
    as_read: bool = False

    def __post_init__(self) -> None:
        """Classes may be numbers, as a classifier's `classes_` are."""
        object.__setattr__(self, "classes", class_texts(self.classes))


class TableOptions(TypedDict, total=False):
    """The same as arguments, each of which may be left out: `run(votes, predictions, task="photo")`."""

    task: str | None
    worker: str | Sequence[str] | None
    label: str | None
    timestamp: str | None
    format: Format
    classes: Sequence[Any] | None
    id_column: str | None
    ids: Sequence[Any] | None
    accuracy: float
    items: Items
    abstain_labels: str | Sequence[str] | None
    ignore_columns: str | Sequence[str] | None
    as_read: bool


def columns_of(options: Mapping[str, Any]) -> Columns:
    """The options of tables, or an error that names the one there is not and those there are.

    >>> columns_of({"label": "Read"}).label
    'Read'
    """
    known = TableOptions.__annotations__
    for name, value in options.items():
        if name not in known:
            near = [name.removesuffix("_column")] if name.removesuffix("_column") in known else []
            near = near or get_close_matches(name, known, n=1)
            fix = f"pass {near[0]} instead." if near else "leave it out."
            raise broken(name, value, f"one of {', '.join(map(repr, known))}", fix)
    return Columns(**options)


def read_inputs(
    votes: TableLike | np.ndarray | VoteDataset,
    predictions: PredictionSources,
    columns: Columns,
    *,
    by_time: bool,
    strict: bool,
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
        votes = _long_table(votes, columns)
        if columns.ids is None:  # rows of the predictions are those of the votes, voted on or not
            columns = replace(columns, ids=list(range(*places)))
    with source_is("votes"):
        read = read_votes(
            votes, format=columns.format, task=columns.task, worker=columns.worker, label=columns.label,
            timestamp=columns.timestamp, classes=columns.classes, abstain_labels=columns.abstain_labels,
            ignore_columns=columns.ignore_columns, strict=strict, as_read=as_read, progress=progress,
        )  # fmt: skip
    if not by_time and read.raw.time is not None:
        read = replace(read, raw=replace(read.raw, time=None))
    has_order = read.raw.classes is None  # only counts come with classes of their own
    if predictions is None:
        return join(read, classes=columns.classes, items=columns.items, strict=strict, as_read=as_read), has_order
    with source_is("predictions"):
        said = read_predictions(
            predictions, classes=columns.classes, id_column=columns.id_column, ids=columns.ids,
            accuracy=columns.accuracy, strict=strict, as_read=as_read,
        )  # fmt: skip
    return join(read, said, classes=columns.classes, items=columns.items, strict=strict, as_read=as_read), has_order


def read_as(columns: Columns) -> dict[str, Any]:
    """How labels were read, for summary.json and params.json: whoever decides on must read them alike."""
    named = abstain_names(columns.abstain_labels, columns.classes)
    return {"accuracy": columns.accuracy, "abstain_labels": list(named)}


def _long_table(votes: np.ndarray, columns: Columns) -> pa.Table:
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
