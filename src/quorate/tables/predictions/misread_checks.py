"""A classifier's rows that are no probabilities -> an error that says what they probably are: percentages, logits, ...

Called by `tables.misread_checks` when tables are joined and by `quorate score` on the first batch of a stream.
"""

from __future__ import annotations

import numpy as np

from quorate.tables.predictions.align import Aligned
from quorate.tables.predictions.checks import Checked, sums
from quorate.tables.votes.columns import GO_ON
from quorate.types import FloatArray
from quorate.validate import broken

LEAST_USABLE = 0.5  # of a classifier's rows
FEWEST_ROWS = 10  # rows below which one usable is enough


def refuse_unusable(source: Aligned) -> None:
    """Refuse a classifier of whose rows none, or less than half, are probabilities over the classes."""
    table = source.table
    count, usable = len(source.usable), int(source.usable.sum())
    if not count or (usable and (count < FEWEST_ROWS or usable >= LEAST_USABLE * count)):
        return
    rule = f"probabilities that sum to 1 over the classes; {usable} of {count} rows are"
    raise broken("predictions", table.source, rule, f"{_diagnosis(source)} {columns_read(table)} Otherwise, {GO_ON}")


def columns_read(table: Checked) -> str:
    """The columns taken for classes, in a sentence that says how to name others.

    >>> import pyarrow as pa
    >>> from quorate.tables import read_predictions
    >>> columns_read(read_predictions(pa.table({"id": ["a"], "cat": [0.9], "epoch": [12]})).tables[0])
    "Read as classes: 'cat', 'epoch'; if one is not a class, or one is missing, name them: `classes=[...]`."
    """
    names = ", ".join(repr(name) for name in table.classes[:10])
    more = f" and {len(table.classes) - 10} more" if len(table.classes) > 10 else ""
    return f"Read as classes: {names}{more}; if one is not a class, or one is missing, name them: `classes=[...]`."


def _diagnosis(source: Aligned) -> str:
    table = source.table
    if table.usable.sum() > source.usable.sum():
        left = [entry for entry in source.entries if entry.rule == "class-not-asked-for"]
        names = [name for entry in left if entry.values is not None for name in entry.values.to_pylist()]
        return f"The classes asked for leave out {names}, which the predictions have: correct `classes`."
    return likely_form(table)


def likely_form(table: Checked) -> str:
    """What the rows that are not usable look like, and what to do about it, in a sentence.

    >>> import pyarrow as pa
    >>> from quorate.tables import read_predictions
    >>> likely_form(read_predictions(pa.table({"id": ["a"], "cat": [90.0], "dog": [10.0]})).tables[0])
    'They look like percentages (they sum to 100): divide them by 100.'
    """
    rows = table.values[~table.usable]
    such = _few(rows)
    rows = rows[np.isfinite(rows).any(axis=1)]
    if not len(rows):
        return "Their cells are blank or no numbers: check the columns and the decimal sign."
    total, low = sums(rows), np.nanmin(rows)
    if low < 0:
        return _of_logarithms(rows, such)
    if np.median(np.abs(total - 100)) <= 5:
        return "They look like percentages (they sum to 100): divide them by 100."
    if table.shares_rest and np.nanmax(rows) <= 100:
        return f"They look like percentages ({such}): divide them by 100."
    if np.nanmax(rows) <= 1:
        return (
            f"They are between 0 and 1 but do not sum to 1 ({such}): if a column of a class is missing, add it; if "
            "each class was scored by itself (sigmoid), divide each row by its sum."
        )
    if (rows[np.isfinite(rows)] % 1 == 0).all():
        return f"They look like counts of votes ({such}): give the file as `votes`, or divide each row by its sum."
    return f"They look like scores before the softmax ({such}): apply a softmax to each row."


def _of_logarithms(rows: FloatArray, such: str) -> str:
    """Logits, or logarithms of probabilities."""
    with np.errstate(over="ignore"):
        back = sums(np.exp(rows))
    if np.median(np.abs(back - 1)) <= 0.05:
        return f"They look like logarithms of probabilities ({such}): take their exponentials."
    return f"They look like logits, not probabilities ({such}): apply a softmax to each row."


def _few(rows: FloatArray) -> str:
    if not len(rows):
        return ""
    return " ".join(f"{value:.4g}" for value in rows[0][:5]) + (" ..." if rows.shape[1] > 5 else "")
