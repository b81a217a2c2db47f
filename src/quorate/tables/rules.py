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

from quorate.arrow import TEXT, pa
from quorate.types import IntArray

Texts = Iterable[object]  # Arrow arrays too
MOST_SAMPLES = 5  # rows shown per rule in a summary
SUM_TOLERANCE = 0.05  # a row whose sum is farther from 1 is not probabilities
NEARLY_ALL = 0.95  # share of rows that must sum to 1 over the columns taken as classes


@dataclass(frozen=True, slots=True)
class ReadingRule:
    """One rule: `met` what is found, `done` what happens with it, `set_aside` whether the row goes to the rejects.

    `strict`: whether strict reading refuses it; spellings with one meaning and unused columns it accepts.
    """

    name: str
    met: str
    done: str
    set_aside: bool = False
    strict: bool = True


_RULES = [
    ReadingRule("unreadable", "a row with more or fewer cells than the header, a record that is not a JSON object, a "
                "cell that is not a list or mapping of labels, an annotation with several choices", "set aside", True),
    ReadingRule("no-item", "a row without an item id", "set aside", True),
    ReadingRule("no-answer", "a blank label or prediction, a cancelled annotation, a label named as an abstention",
                "set aside; without a prediction all classes are equally likely", True),
    ReadingRule("unknown-label", "a label that is not one of the classes given", "set aside", True),
    ReadingRule("duplicate", "a further row of a person, a classifier or counts on the same item",
                "one counts: a person's last label by time, else by row; otherwise the first row", True),
    ReadingRule("bad-number", "a count that is not a whole number from 0 to 100000; probabilities that are negative or "
                "not numbers, or whose sum is farther than 0.05 from 1",
                "set aside; without a prediction all classes are equally likely", True),
    ReadingRule("rounded", "probabilities that sum to 1 within 0.05, but not within 0.001", "renormalised"),
    ReadingRule("no-worker", "a vote without a worker", "kept as an anonymous vote"),
    ReadingRule("bad-time", "a time that is missing or cannot be read", "the vote stays behind the row before it"),
    ReadingRule("line-break", "an id or a label with a line break: perhaps a quote was not closed", "kept"),
    ReadingRule("doubtful-label", "a label that differs from another by case only, or that often means no answer",
                "kept as a class; a command refuses case variants until the classes are named"),
    ReadingRule("missing-class", "a class that a classifier does not predict", "given the probability 1e-9"),
    ReadingRule("unmatched", "an item without a vote that counts, or without a prediction of a classifier",
                "without votes it is left out; without a prediction all classes are equally likely"),
    ReadingRule("spelling", "white space around an id or a label, 1.0 for 1, a label in another case than its class, "
                "0,7 for 0.7", "read as meant; ids keep leading zeros", strict=False),
    ReadingRule("ignored-column", "a column that is not read", "not used", strict=False),
]  # fmt: skip
RULES = {rule.name: rule for rule in _RULES}


@dataclass(frozen=True, slots=True, eq=False)
class Fired:
    """A rule that fired `count` times in `source`.

    `is_wanted`: the caller's options ask for it, or it is usual, so strict reading accepts it.
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

    @property
    def is_of_file(self) -> bool:
        """Whether it is about whole items or columns: then row numbers are 0."""
        return len(self.rows) > 0 and not self.rows.any()

    is_wanted: bool = False


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
    task, worker, value = (None if texts is None else as_text(texts) for texts in (tasks, workers, values))
    return Fired(rule, source, len(numbers) if count is None else count, numbers, task, worker, value)


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
