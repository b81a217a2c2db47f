"""Checked predictions and the final classes -> probabilities (T, K) for the items, matched by id and by class name.

Nothing is matched by position. Rows that are mostly no probabilities are refused with what they probably are:
percentages, logits, ... Called by `join`, and by `quorate score` on the first batch of a stream.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from quorate.tables.predictions.checks import CheckedPredictions, sums
from quorate.tables.readers.arrow import pa, pc
from quorate.tables.rules import SUM_ROUNDING, SUM_TOLERANCE, Fired, fired
from quorate.tables.votes.columns import GO_ON
from quorate.tables.votes.labels import match_labels
from quorate.types import FloatArray
from quorate.validate import PREDICTION_FLOOR, broken, floored


@dataclass(frozen=True, slots=True, eq=False)
class Aligned:
    """One classifier over the final classes: `probs` (n, K), one row per id of its table; `usable` (n,)."""

    table: CheckedPredictions
    probs: FloatArray
    usable: np.ndarray
    entries: tuple[Fired, ...]


def named_classes(tables: Sequence[CheckedPredictions], given: tuple[str, ...] | None) -> tuple[str, ...]:
    """The classes given, or every class of the classifiers in the order of their columns."""
    known: list[str] = list(given or ())
    if given is None:
        for table in tables:
            known += [name for name in matched(table, tuple(known), given=False).values() if name not in known]
    return tuple(known)


def aligned(table: CheckedPredictions, classes: tuple[str, ...], *, given: bool) -> Aligned:
    """The classifier's rows with a column for each of `classes`, floored, each summing to 1."""
    column_of = {name: number for number, name in enumerate(classes)}
    names = matched(table, classes, given=given)
    own = [number for number, name in enumerate(table.classes) if names.get(name) in column_of]
    target = [column_of[names[table.classes[number]]] for number in own]
    values = np.full((len(table.rows), len(classes)), np.nan)
    values[:, target] = table.values[:, own]
    entries = _class_entries(table, classes, names, target)
    usable = table.usable
    if len(own) < len(table.classes):  # mass on a class not asked for is gone: the rule of sums again
        usable, more = _still_sums(table, values)
        entries += more
    probs = np.full(values.shape, 1.0 / len(classes))
    probs[usable] = _completed(values[usable], shares_rest=table.shares_rest)
    return Aligned(table, probs, usable, tuple(entries))


def matched(table: CheckedPredictions, known: tuple[str, ...], *, given: bool) -> dict[str, str]:
    """Own class name -> final class name. A name written exactly so goes before one that needs a rule."""
    matches = dict(zip(table.classes, match_labels(table.classes, known, given=given), strict=True))
    taken = {match.name for match in matches.values() if match.rule is None}
    found: dict[str, str] = {}
    for name, match in matches.items():
        if match.rule is None or match.name not in taken:
            if match.name is not None:
                found[name] = match.name
                taken.add(match.name)
        elif not given:
            found[name] = name
    return found


def looked_up(source: Aligned, items: pa.Array) -> tuple[FloatArray, np.ndarray, np.ndarray]:
    """Probabilities of the items (T, K), all alike where there are none; which are in the table, and are usable."""
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
    entries = []
    if dropped:
        entries.append(_about("class-not-asked-for", table.source, dropped))
    if absent and not table.shares_rest:
        entries.append(_about("class-without-column", table.source, absent))
    respelled = [name for name, final in names.items() if final != name]
    rules = [match.rule for match in match_labels(respelled, classes, given=True)]
    for rule in dict.fromkeys(each for each in rules if each is not None):
        with_it = [name for name, each in zip(respelled, rules, strict=True) if each == rule]
        entries.append(_about(rule, table.source, with_it))
    return entries


def _about(rule: str, source: str, names: Sequence[str]) -> Fired:
    few = list(names[:5])
    return fired(rule, source, np.zeros(len(few)), count=len(names), values=few)


def _still_sums(table: CheckedPredictions, values: FloatArray) -> tuple[np.ndarray, list[Fired]]:
    total = sums(values)
    off = np.maximum(total - 1, 0) if table.shares_rest else np.abs(total - 1)
    far = table.usable & (off > SUM_TOLERANCE)
    near = np.flatnonzero(table.usable & ~far & (off > SUM_ROUNDING))
    entries = []
    if far.any():
        told = [f"sum {each:.6g} over the classes asked for" for each in total[far]]
        tasks = table.ids.filter(far)
        entries.append(fired("sum-off", table.source, table.rows[far], tasks=tasks, values=told))
    if len(near):
        few = near[:5]
        entries.append(fired("sum-near-one", table.source, table.rows[few], count=len(near), tasks=table.ids.take(few)))
    return table.usable & ~far, entries


def _completed(values: FloatArray, *, shares_rest: bool) -> FloatArray:
    """Rows with a number for every class: the rest shared by those not named, or the floor for them."""
    unsaid = np.isnan(values)
    rest = 0.0 if not shares_rest else np.maximum(1 - sums(values), 0) / np.maximum(unsaid.sum(axis=1), 1)
    full = np.where(unsaid, np.broadcast_to(np.asarray(rest).reshape(-1, 1), values.shape), values)
    return floored(np.maximum(full, PREDICTION_FLOOR))


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


def columns_read(table: CheckedPredictions) -> str:
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


def likely_form(table: CheckedPredictions) -> str:
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
