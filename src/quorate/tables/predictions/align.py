"""Checked predictions and the final classes -> probabilities (T, K) for the items, matched by id and by class name.

Nothing is matched by position. Numeric columns that are not classes of the votes are left out. A table whose rows are
mostly not probabilities is refused; the error says what they probably are: percentages, logits, ... Called by `join`,
and by `quorate score` on the first batch of a stream.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from quorate.arrow import pa, pc
from quorate.tables.labels import match_labels, meant
from quorate.tables.predictions.checks import CheckedPredictions, narrowed, sums
from quorate.tables.rules import MOST_SAMPLES, NEARLY_ALL, SUM_TOLERANCE, Fired, fired_whole
from quorate.tables.votes.codes import encode, hits
from quorate.types import FloatArray, IntArray
from quorate.validate import PREDICTION_FLOOR, SUM_ROUNDING, floored, invalid

if TYPE_CHECKING:
    from quorate.tables.predictions.read import Predictions
    from quorate.tables.votes.read import Votes

LEAST_USABLE = 0.5  # of a classifier's rows
FEWEST_ROWS = 10  # rows below which one usable is enough


@dataclass(frozen=True, slots=True, eq=False)
class Aligned:
    """One classifier over the final classes: `probs` (n, K), one row per id of its table; `usable` (n,)."""

    table: CheckedPredictions
    probs: FloatArray
    usable: np.ndarray
    entries: tuple[Fired, ...]


def named_classes(tables: Sequence[CheckedPredictions], given: tuple[str, ...] | None) -> tuple[str, ...]:
    """The classes given, or every class of the classifiers in the order of their columns."""
    classes: list[str] = list(given or ())
    if given is None:
        for table in tables:
            classes += [name for name in matched(table, tuple(classes), given=False).values() if name not in classes]
    return tuple(classes)


def aligned(table: CheckedPredictions, classes: tuple[str, ...], *, given: bool) -> Aligned:
    """The classifier's rows with a column for each of `classes`, floored, each summing to 1."""
    column_of = {name: number for number, name in enumerate(classes)}
    names = matched(table, classes, given=given)
    kept = [number for number, name in enumerate(table.classes) if names.get(name) in column_of]
    target = [column_of[names[table.classes[number]]] for number in kept]
    values = np.full((len(table.rows), len(classes)), np.nan)
    values[:, target] = table.values[:, kept]
    entries = _class_entries(table, classes, names, target)
    usable = table.usable
    if len(kept) < len(table.classes):  # probability of the classes left out is lost, so check the sums again
        usable, more = _still_sums(table, values)
        entries += more
    probs = np.full(values.shape, 1.0 / len(classes))
    probs[usable] = _completed(values[usable], shares_rest=table.shares_rest)
    return Aligned(table, probs, usable, tuple(entries))


def matched(table: CheckedPredictions, known: tuple[str, ...], *, given: bool) -> dict[str, str]:
    """Own class name -> final class name. An exact match takes precedence over one that needs a rule."""
    matches = dict(zip(table.classes, match_labels(table.classes, known, given=given), strict=True))
    taken = {match.name for match in matches.values() if match.rule is None}
    final: dict[str, str] = {}
    for name, match in matches.items():
        if match.rule is None or match.name not in taken:
            if match.name is not None:
                final[name] = match.name
                taken.add(match.name)
        elif not given:
            final[name] = name
    return final


def looked_up(source: Aligned, items: pa.Array) -> tuple[FloatArray, np.ndarray, np.ndarray]:
    """Probabilities of the items (T, K), uniform where there are none; which items are present, and which usable."""
    at = pc.fill_null(pc.index_in(items, value_set=source.table.ids), -1).to_numpy(zero_copy_only=False)
    present = at >= 0
    num_classes = source.probs.shape[1]
    probs = np.full((len(at), num_classes), 1.0 / num_classes)
    probs[present] = source.probs[at[present]]
    usable = np.zeros(len(at), dtype=bool)
    usable[present] = source.usable[at[present]]
    return probs, present, usable


def _class_entries(
    table: CheckedPredictions, classes: tuple[str, ...], names: dict[str, str], target: Sequence[int]
) -> list[Fired]:
    dropped = [name for name in table.classes if name not in names]
    absent = [name for number, name in enumerate(classes) if number not in set(target)]
    respelled = [name for name, final in names.items() if final != name]
    by_rule = {
        "ignored-column": dropped,
        "missing-class": [] if table.shares_rest else absent,
        "spelling": respelled,
    }
    return [entry for rule, those in by_rule.items() for entry in fired_whole(rule, table.source, those, of="columns")]


def _still_sums(table: CheckedPredictions, values: FloatArray) -> tuple[np.ndarray, list[Fired]]:
    total = sums(values)
    off = np.maximum(total - 1, 0) if table.shares_rest else np.abs(total - 1)
    far = table.usable & (off > SUM_TOLERANCE)
    near = table.usable & ~far & (off > SUM_ROUNDING)
    task = encode(table.ids)

    def sum_texts(at: IntArray) -> list[str]:
        return [f"sum {row_sum:.6g} over the classes given" for row_sum in total[at]]

    entries = hits("bad-number", table.source, table.rows, far, task, value=sum_texts)
    return table.usable & ~far, entries + hits("rounded", table.source, table.rows, near, task)


def _completed(values: FloatArray, *, shares_rest: bool) -> FloatArray:
    """Rows with a number for every class; classes not named share the rest, or get the floor."""
    unsaid = np.isnan(values)
    rest = 0.0 if not shares_rest else np.maximum(1 - sums(values), 0) / np.maximum(unsaid.sum(axis=1), 1)
    full = np.where(unsaid, np.broadcast_to(np.asarray(rest).reshape(-1, 1), values.shape), values)
    return floored(np.maximum(full, PREDICTION_FLOOR))


def probabilities_by_id(predictions: Predictions, classes: tuple[str, ...]) -> dict[str, list[float]]:
    """The usable probabilities of the first classifier over `classes`, by item; refused if most rows have none."""
    table = aligned(predictions.tables[0], classes, given=True)
    refuse_unusable(table)
    rows = zip(table.table.ids.to_pylist(), table.probs.tolist(), table.usable, strict=True)
    return {str(item): probs for item, probs, is_usable in rows if is_usable}


def refuse_unusable(source: Aligned) -> None:
    """Refuse a classifier if none, or less than half, of its rows are probabilities over the classes."""
    table = source.table
    count, usable = len(source.usable), int(source.usable.sum())
    if not count or (usable and (count < FEWEST_ROWS or usable >= LEAST_USABLE * count)):
        return
    rule = f"probabilities that sum to 1 over the classes; {usable} of {count} rows are"
    fix = f"{_diagnosis(source)} {columns_read(table)}"
    raise invalid("predictions", table.source, rule, fix)


def columns_read(table: CheckedPredictions) -> str:
    """A sentence that names the columns read as classes and says how to change them.

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
        left = [entry for entry in source.entries if entry.rule == "ignored-column"]
        names = [name for entry in left if entry.values is not None for name in entry.values.to_pylist()]
        return f"`classes` leaves out {names}, which the predictions have: correct `classes`."
    return likely_form(table)


def likely_form(table: CheckedPredictions) -> str:
    """A sentence that says what the unusable rows look like, and what to do about it.

    >>> import pyarrow as pa
    >>> from quorate.tables import read_predictions
    >>> likely_form(read_predictions(pa.table({"id": ["a"], "cat": [90.0], "dog": [10.0]})).tables[0])
    'They look like percentages (90 10): divide them by 100.'
    """
    rows = table.values[~table.usable]
    such = " ".join(f"{value:.4g}" for value in rows[0][:5]) if len(rows) else ""
    rows = rows[np.isfinite(rows).any(axis=1)]
    if not len(rows):
        return "Their cells are blank or not numbers: write 92% as 0.92."
    what, cure = _form(rows, one_class=table.shares_rest)
    return f"They look like {what} ({such}): {cure}."


def _form(rows: FloatArray, *, one_class: bool) -> tuple[str, str]:
    """What the numbers look like, and what to do about it."""
    total, low, high = sums(rows), np.nanmin(rows), np.nanmax(rows)
    if low < 0:
        with np.errstate(over="ignore"):
            is_log = np.median(np.abs(sums(np.exp(rows)) - 1)) <= SUM_TOLERANCE
        logs = "logarithms of probabilities", "take their exponentials"
        return logs if is_log else ("logits, not probabilities", "apply a softmax to each row")
    if np.median(np.abs(total - 100)) <= 5 or (one_class and high <= 100):
        return "percentages", "divide them by 100"
    if high <= 1:
        cure = "add the column of a class that is missing, or divide each row by its sum"
        return "numbers between 0 and 1 that do not sum to 1", cure
    if (rows[np.isfinite(rows)] % 1 == 0).all():
        return "counts of votes", "pass the file as `votes`, or divide each row by its sum"
    return "scores before the softmax", "apply a softmax to each row"


def without_other_columns(predictions: Predictions, voted: Sequence[str]) -> Predictions:
    """The predictions without the columns that are not classes, given `voted`, the labels of the votes."""
    tables = tuple(_without_other_columns(table, voted) for table in predictions.tables)
    entries = tuple(entry for table in tables for entry in table.entries)
    return replace(predictions, tables=tables, report=replace(predictions.report, entries=entries))


def _without_other_columns(table: CheckedPredictions, voted: Sequence[str]) -> CheckedPredictions:
    keep = class_places(table, voted)
    left = [name for k, name in enumerate(table.classes) if k not in keep]
    if not left:
        return table
    return narrowed(table, keep, entries=fired_whole("ignored-column", table.source, left, of="columns"))


def class_places(table: CheckedPredictions, voted: Sequence[str]) -> list[int]:
    """Positions of the columns that are classes: only those voted for, if these alone sum to 1, else all.

    They do if they sum to 1 in nearly every row, and in more rows than all columns together.

    >>> import pyarrow as pa
    >>> from quorate.tables import read_predictions
    >>> frame = pa.table({"id": ["a", "b"], "cat": [0.9, 0.5], "dog": [0.1, 0.5], "epoch": [12, 12]})
    >>> class_places(read_predictions(frame).tables[0], ["dog", "cat"])
    [0, 1]
    """
    every = list(range(len(table.classes)))
    matches = match_labels(table.classes, tuple(voted), given=True)
    named = [k for k in every if matches[k].name is not None]
    if table.shares_rest or len(named) < 2 or len(named) == len(every) or not len(table.rows):
        return every
    for tolerance in (SUM_ROUNDING, SUM_TOLERANCE):
        off = [np.abs(table.values[:, places].sum(axis=1) - 1) for places in (named, every)]
        alone, together = (float((distance <= tolerance).mean()) for distance in off)
        if alone >= NEARLY_ALL and alone > together and (tolerance == SUM_ROUNDING or together < 0.5):
            return named
    zeros = [k for k in every if k not in named and not np.nan_to_num(table.values[:, k]).any()]
    are_shares = np.modf(np.nan_to_num(table.values[:, named]))[0].any()  # in one-hot labels, zeros may be a rare class
    return [k for k in every if not are_shares or k not in zeros]


def unpredicted_labels(tables: Sequence[CheckedPredictions], predicted: Sequence[str], votes: Votes) -> list[str]:
    """A warning about labels of votes that no classifier predicts, with the class that was perhaps meant.

    If every classifier names only some classes per item, a missing class means little: then only near spellings count.
    """
    near = {name: meant(name, predicted) for name in votes.labels if name not in predicted}
    if all(table.shares_rest for table in tables):
        near = {name: close for name, close in near.items() if close is not None}
    if not tables or not near:
        return []
    names = [repr(name) + (f" (perhaps {close!r})" if close else "") for name, close in near.items()]
    more = " and others" if len(names) > MOST_SAMPLES else ""
    return [f"No classifier predicts {', '.join(names[:MOST_SAMPLES])}{more}: kept as a class; see `classes`."]
