"""Every rule of dirty data in one place: what is met, what is done, whether the row is set aside.

The readers write an `Entry` each time a rule fires; `report.py` sums them up, `rejects.py` writes what was set aside,
and docs/tables.md has one line per rule (a test compares them).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from quorate.tables.readers.arrow import TEXT, pa
from quorate.types import IntArray

MOST_SAMPLES = 5  # rows shown per rule in a summary
SUM_ROUNDING = 1e-3  # sums this close to 1 are rounding, as everywhere in quorate
SUM_TOLERANCE = 0.05  # farther than this a row is not probabilities
NEARLY_ALL = 0.95  # share of the rows that tells which columns are the classes


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: `met` what is found, `done` what happens, `set_aside` whether the row goes to the rejects.

    `strict`: whether strict reading refuses it. It accepts what is only reported, and spellings that have one meaning:
    " cat", "Cat" beside the class "cat", 7.0 for 7.
    """

    name: str
    met: str
    done: str
    set_aside: bool = False
    strict: bool = True


_RULES = [
    Rule("byte-order-mark", "the file begins with a byte-order mark", "the mark is skipped", strict=False),
    Rule("blank-row", "a row without any value", "set aside", True),
    Rule("ragged-row", "a row with more or fewer cells than the header", "set aside", True),
    Rule("bad-line", "a line or record that is not a JSON object", "set aside", True),
    Rule("bad-cell", "a cell that is neither a list of labels nor a mapping of label to count", "set aside", True),
    Rule("missing-task", "a row without an item id", "set aside", True),
    Rule("missing-worker", "a vote without a worker", "kept as an anonymous vote"),
    Rule("blank-label", "a vote without a label", "set aside: an abstention", True),
    Rule("abstained", "a label that was named as an abstention", "set aside: an abstention", True),
    Rule(
        "like-an-abstention",
        "a vote for a label that often means no answer, such as NA or don't know",
        "kept as a class: name it as an abstention if it is one",
    ),
    Rule("unknown-label", "a label that is not one of the classes given", "set aside", True),
    Rule("label-space", "a label with white space around it", "the white space is removed", strict=False),
    Rule("label-number", "a whole number written as 1.0 for a label", "read as 1", strict=False),
    Rule("label-case", "a label that differs from one class by case only", "counted as that class", strict=False),
    Rule("labels-differ-by-case", "two classes that differ by case only", "kept apart"),
    Rule("id-space", "an id with white space around it", "the white space is removed", strict=False),
    Rule("id-number", "a whole number written as 7.0 for an id", "read as 7; leading zeros are kept", strict=False),
    Rule("line-break", "an id or a label with a line break in it: perhaps a quote was not closed", "kept as it is"),
    Rule(
        "bad-timestamp",
        "a timestamp that is missing or cannot be read",
        "the vote keeps its place after the row before",
    ),
    Rule(
        "exact-duplicate", "the same item, worker, label and time again", "the first is kept, this one set aside", True
    ),
    Rule(
        "repeated-vote",
        "the same worker gives an item the same label again",
        "the first is kept, this one set aside",
        True,
    ),
    Rule(
        "changed-vote",
        "the same worker gives an item another label later",
        "the last by time, else by row, is kept; this earlier one is set aside",
        True,
    ),
    Rule(
        "unread-people",
        "a column that was not read and looks like the people who voted",
        "not read: votes are anonymous unless it is named as the worker",
        strict=False,
    ),
    Rule("ignored-column", "a column that is neither one person's votes nor a class", "not read", strict=False),
    Rule("item-without-votes", "an item none of whose votes could be kept", "left out of the items"),
    Rule("bad-count", "a count that is not a whole number from 0 to 100000", "the row is set aside", True),
    Rule("repeated-counts", "an item with a later row of counts", "the last row is kept, this one set aside", True),
    Rule("skipped-annotation", "an annotation that was cancelled", "set aside", True),
    Rule("several-choices", "an annotation with more than one choice", "set aside: one label per vote is read", True),
    Rule("repeated-prediction", "an item with a later prediction of the same classifier", "the last is kept", True),
    Rule(
        "repeated-item",
        "an item that stood before in predictions that are streamed (quorate score)",
        "the first row is scored, this one set aside",
        True,
    ),
    Rule("sum-near-one", "probabilities that sum to 1 within 0.05, but not within 0.001", "renormalised"),
    Rule("sum-off", "probabilities whose sum is farther than 0.05 from 1", "set aside: all classes alike", True),
    Rule("bad-probability", "a probability that is negative or not a number", "set aside: all classes alike", True),
    Rule("blank-prediction", "a prediction whose cells are all blank", "set aside: all classes alike", True),
    Rule("decimal-comma", "a probability written as 0,7", "read as 0.7"),
    Rule("class-without-column", "a class a classifier says nothing of", "given the floor, 1e-9"),
    Rule("unpredicted-label", "a vote for a label that no classifier speaks of", "kept as a class"),
    Rule("class-without-votes", "a class of a classifier that nobody voted for", "kept as a class", strict=False),
    Rule("class-not-asked-for", "a class of the predictions that is not one of the classes given", "not read"),
    Rule("no-prediction", "an item with votes that a classifier has no prediction for", "all classes alike there"),
    Rule("left-out", "a vote on an item without a prediction, where both were asked for", "set aside", True),
    Rule("prediction-without-votes", "an item with a prediction, but without votes", "kept apart, not in the stream"),
    Rule("leading-zeros", "an id that would match but for leading zeros", "not matched: 007 and 7 are two items"),
]
RULES = {rule.name: rule for rule in _RULES}


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """A rule that fired `count` times in `source`.

    `rows` their row numbers: all of them where rows are set aside, else the first few; `tasks`, `workers` and `values`
    are beside them, Arrow text or None.
    """

    rule: str
    source: str
    count: int
    rows: IntArray
    tasks: Any = None
    workers: Any = None
    values: Any = None


def fired(
    rule: str,
    source: str,
    rows: Any = (),  # noqa: ANN401
    *,
    count: int | None = None,
    tasks: Any = None,  # noqa: ANN401
    workers: Any = None,  # noqa: ANN401
    values: Any = None,  # noqa: ANN401
) -> Entry:
    """An entry from row numbers and, beside each, the texts that a reader of the rejects needs."""
    numbers = np.asarray(rows, dtype=np.int64)
    texts = [None if each is None else as_text(each) for each in (tasks, workers, values)]
    return Entry(rule, source, len(numbers) if count is None else count, numbers, *texts)


def as_text(values: Any) -> Any:  # noqa: ANN401
    """Values as one Arrow array of text."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if isinstance(values, pa.Array):
        return values.cast(TEXT)
    return pa.array([None if value is None else str(value) for value in values], type=TEXT)
