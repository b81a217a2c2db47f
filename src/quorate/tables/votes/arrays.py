"""An array (items, votes) of class numbers -> votes: no column is looked for, and nothing becomes a table of text.

Called by `read_votes`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from quorate.arrow import TEXT, pa
from quorate.tables.votes.codes import Coded, Raw, constant
from quorate.types import IntArray
from quorate.validate import invalid


def raw_of_array(votes: np.ndarray, voters: IntArray | None, classes: Sequence[str] | None) -> Raw:
    """The votes of an array, -1 for none; items are named "0", "1", ..., and so are classes without names.

    `voters` (items, votes): who cast each vote, -1 where unknown; people are named by their numbers.

    >>> raw = raw_of_array(np.array([[0, 1], [-1, 1]]), None, ["cat", "dog"])
    >>> raw.label.texts(np.arange(3)).to_pylist(), raw.rows
    (['cat', 'dog', 'dog'], array([1, 1, 2]))
    """
    if votes.ndim != 2 or votes.dtype.kind not in "iu":
        rule = "whole numbers (items, votes per item), -1 for none"
        raise invalid("votes", f"{votes.dtype} {votes.shape}", rule, "pass such an array, or a table.")
    rows, columns = np.nonzero(votes >= 0)
    labels = votes[rows, columns]
    num_classes = int(labels.max(initial=0)) + 1
    names = [str(number) for number in range(num_classes)] if classes is None else list(classes)
    if len(names) < num_classes:
        raise invalid("classes", len(names), f"{num_classes} names for these `votes`", "name them all.")
    people = None if voters is None else np.asarray(voters)[rows, columns]
    return Raw(
        source="votes",
        task=_numbered(rows),
        worker=constant(None, len(rows)) if people is None else _numbered(people),
        label=Coded(labels.astype(np.int32), pa.array(names, type=TEXT)),
        time=None,
        rows=rows + 1,
        entries=(),
        num_rows=len(votes),
        has_workers=people is not None,
        num_unnamed=len(votes),
    )


def _numbered(numbers: IntArray) -> Coded:
    """Cells named by their numbers; a number below 0 is no cell."""
    names, codes = np.unique(numbers, return_inverse=True)
    texts = pa.array(names).cast(TEXT)
    return Coded(np.where(numbers < 0, -1, codes).astype(np.int32), texts)
