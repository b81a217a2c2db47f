"""Every rule for dirty data in one place: what is found, what is done, whether the row is set aside.

The readers create a `Fired` when a rule fires; `report.py` summarises them and writes the rows set aside.
docs/tables.md has one line per rule (a test compares them).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from quorate.tables.readers import TEXT, pa
from quorate.types import IntArray

Texts = Iterable[object]  # Arrow arrays too
MOST_SAMPLES = 5  # rows shown per rule in a summary
SUM_TOLERANCE = 0.05  # a row whose sum is farther from 1 is not probabilities
NEARLY_ALL = 0.95  # share of rows that must sum to 1 over the columns taken as classes


@dataclass(frozen=True, slots=True)
class ReadingRule:
    """One rule: `met` what is found, `many` the same in the plural, `done` what happens with it.

    `set_aside`: whether the row goes to the rejects.

    `strict`: whether strict reading refuses it. Strict reading accepts what is only reported, and spellings with one
    meaning: " cat" and "Cat" for the class "cat", 7.0 for 7.
    """

    name: str
    met: str
    many: str
    done: str
    set_aside: bool = False
    strict: bool = True

    def told(self, count: int) -> str:
        """What was found and how often.

        >>> RULES["ignored-column"].told(17)
        "17 columns that are neither one person's votes nor a class"
        """
        return f"{count} {self.many}" if count != 1 else self.met


_RULES = [
    ReadingRule("byte-order-mark", "a byte-order mark at the start of the file",
                "byte-order marks", "skipped", strict=False),
    ReadingRule("blank-row", "a row without any value", "rows without any value", "set aside", True),
    ReadingRule("ragged-row", "a row with more or fewer cells than the header",
                "rows with more or fewer cells than the header", "set aside", True),
    ReadingRule("bad-line", "a line or record that is not a JSON object",
                "lines or records that are not JSON objects", "set aside", True),
    ReadingRule("bad-cell", "a cell that is neither a list of labels nor a mapping of label to count",
                "cells that are neither lists of labels nor mappings of label to count", "set aside", True),
    ReadingRule("missing-task", "a row without an item id", "rows without an item id", "set aside", True),
    ReadingRule("missing-worker", "a vote without a worker", "votes without a worker", "kept as anonymous votes"),
    ReadingRule("blank-label", "a vote without a label", "votes without a label", "set aside as an abstention", True),
    ReadingRule("abstained", "a vote for a label that was named as an abstention",
                "votes for labels that were named as abstentions", "set aside as an abstention", True),
    ReadingRule("like-an-abstention", "a vote for a label that often means no answer, such as NA or don't know",
                "votes for labels that often mean no answer, such as NA or don't know",
                "kept as a class: name it as an abstention if it is one"),
    ReadingRule("unknown-label", "a label that is not one of the classes given",
                "labels that are not among the classes given", "set aside", True),
    ReadingRule("label-space", "a label with white space around it",
                "labels with white space around them", "the white space is removed", strict=False),
    ReadingRule("label-number", "a whole number written as 1.0 for a label",
                "whole numbers written as 1.0 for a label", "read as 1", strict=False),
    ReadingRule("label-case", "a label that differs from one class by case only",
                "labels that differ from one class by case only", "counted as that class", strict=False),
    ReadingRule("labels-differ-by-case", "a class that differs from another by case only",
                "classes that differ by case only", "kept apart"),
    ReadingRule("id-space", "an id with white space around it",
                "ids with white space around them", "the white space is removed", strict=False),
    ReadingRule("id-number", "a whole number written as 7.0 for an id",
                "whole numbers written as 7.0 for an id", "read as 7; leading zeros are kept", strict=False),
    ReadingRule("line-break", "an id or a label with a line break in it: perhaps a quote was not closed",
                "ids or labels with a line break in them: perhaps a quote was not closed", "kept"),
    ReadingRule("bad-timestamp", "a timestamp that is missing or cannot be read",
                "timestamps that are missing or cannot be read", "the vote keeps its place after the row before"),
    ReadingRule("exact-duplicate", "a vote with the same item, worker, label and time as another",
                "votes with the same item, worker, label and time as another",
                "the first is kept, later ones are set aside", True),
    ReadingRule("repeated-vote", "a second vote of a worker on an item, with the same label",
                "further votes of a worker on an item, with the same label",
                "the first is kept, later ones are set aside", True),
    ReadingRule("changed-vote", "a vote that its worker changed later",
                "votes that their workers changed later",
                "the last by time, else by row, is kept; earlier ones are set aside", True),
    ReadingRule("unread-people", "an unused column that looks like the people who voted",
                "unused columns that look like the people who voted",
                "not used: votes are anonymous unless it is named as the worker", strict=False),
    ReadingRule("ignored-column", "a column that is neither one person's votes nor a class",
                "columns that are neither one person's votes nor a class", "not used", strict=False),
    ReadingRule("item-without-votes", "an item without any vote that could be kept",
                "items without any vote that could be kept", "left out of the items"),
    ReadingRule("bad-count", "a count that is not a whole number from 0 to 100000",
                "counts that are not whole numbers from 0 to 100000", "the row is set aside", True),
    ReadingRule("repeated-counts", "a row of counts of an item that has a later one",
                "rows of counts of items that have a later one",
                "the last row is kept, earlier ones are set aside", True),
    ReadingRule("skipped-annotation", "an annotation that was cancelled",
                "annotations that were cancelled", "set aside", True),
    ReadingRule("several-choices", "an annotation with more than one choice",
                "annotations with more than one choice", "set aside: one label per vote is read", True),
    ReadingRule("repeated-prediction", "a prediction of an item that has a later one of the same classifier",
                "predictions of items that have a later one of the same classifier", "the last is kept", True),
    ReadingRule("repeated-item", "a repeated item in predictions that are streamed (quorate score)",
                "repeated items in predictions that are streamed (quorate score)",
                "the first row is scored, later ones are set aside", True),
    ReadingRule("sum-near-one", "a row of probabilities that sums to 1 within 0.05, but not within 0.001",
                "rows of probabilities that sum to 1 within 0.05, but not within 0.001", "renormalised"),
    ReadingRule("sum-off", "a row of probabilities whose sum is farther than 0.05 from 1",
                "rows of probabilities whose sum is farther than 0.05 from 1",
                "set aside: all classes equally likely", True),
    ReadingRule("bad-probability", "a row with a probability that is negative or not a number",
                "rows with a probability that is negative or not a number",
                "set aside: all classes equally likely", True),
    ReadingRule("blank-prediction", "a prediction whose cells are all blank",
                "predictions whose cells are all blank", "set aside: all classes equally likely", True),
    ReadingRule("decimal-comma", "a probability written as 0,7", "probabilities written as 0,7", "read as 0.7"),
    ReadingRule("class-without-column", "a class that a classifier does not predict",
                "classes that a classifier does not predict", "given the floor, 1e-9"),
    ReadingRule("unpredicted-label", "a vote for a label that no classifier predicts",
                "votes for labels that no classifier predicts", "kept as a class"),
    ReadingRule("class-without-votes", "a class of a classifier that nobody voted for",
                "classes of a classifier that nobody voted for", "kept as a class", strict=False),
    ReadingRule("class-not-asked-for", "a class of the predictions that is not one of the classes given",
                "classes of the predictions that are not among the classes given", "not used"),
    ReadingRule("no-prediction", "an item with votes that a classifier has no prediction for",
                "items with votes that a classifier has no prediction for", "all classes equally likely there"),
    ReadingRule("prediction-without-votes", "an item with a prediction, but without votes",
                "items with a prediction, but without votes", "kept apart, not in the stream"),
    ReadingRule("leading-zeros", "an id that would match but for leading zeros",
                "ids that would match but for leading zeros", "not matched: 007 and 7 are two items"),
]  # fmt: skip
RULES = {rule.name: rule for rule in _RULES}


@dataclass(frozen=True, slots=True, eq=False)
class Fired:
    """A rule that fired `count` times in `source`.

    `rows` row numbers: all of them if the rule sets rows aside, else the first few; `tasks`, `workers` and `values`
    belong to these rows, Arrow text or None.
    """

    rule: str
    source: str
    count: int
    rows: IntArray
    tasks: pa.Array | None = None
    workers: pa.Array | None = None
    values: pa.Array | None = None


def fired(
    rule: str,
    source: str,
    rows: ArrayLike = (),
    *,
    count: int | None = None,
    tasks: Texts | None = None,
    workers: Texts | None = None,
    values: Texts | None = None,
) -> Fired:
    """An entry from row numbers and the texts of these rows, which the file of rejects shows."""
    numbers = np.asarray(rows, dtype=np.int64)
    texts = [None if each is None else as_text(each) for each in (tasks, workers, values)]
    return Fired(rule, source, len(numbers) if count is None else count, numbers, *texts)


def fired_whole(
    rule: str, source: str, names: Sequence[str] | pa.Array, *, of: Literal["items", "columns"]
) -> list[Fired]:
    """An entry about whole items or columns that names the first few; none if `names` is empty."""
    few = names[:MOST_SAMPLES]
    texts = {"tasks" if of == "items" else "values": few}
    return [fired(rule, source, np.zeros(len(few)), count=len(names), **texts)] if len(names) else []


def as_text(values: Texts) -> pa.Array:
    """Values as one Arrow array of text."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if isinstance(values, pa.Array):
        return values.cast(TEXT)
    return pa.array([None if value is None else str(value) for value in values], type=TEXT)
