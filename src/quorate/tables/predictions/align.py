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

from quorate.tables.predictions.checks import CheckedPredictions, narrowed, sums
from quorate.tables.readers import pa, pc
from quorate.tables.rules import MOST_SAMPLES, NEARLY_ALL, SUM_TOLERANCE, Fired, fired, fired_whole
from quorate.tables.votes.codes import encode, hits
from quorate.tables.votes.names import match_labels, meant
from quorate.types import FloatArray, IntArray
from quorate.validate import PREDICTION_FLOOR, SUM_ROUNDING, floored, invalid

if TYPE_CHECKING:
    from quorate.tables.predictions.read import Predictions
    from quorate.tables.votes.read import Votes


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
    if len(own) < len(table.classes):  # probability of the classes left out is lost, so check the sums again
        usable, more = _still_sums(table, values)
        entries += more
    probs = np.full(values.shape, 1.0 / len(classes))
    probs[usable] = _completed(values[usable], shares_rest=table.shares_rest)
    return Aligned(table, probs, usable, tuple(entries))


def matched(table: CheckedPredictions, known: tuple[str, ...], *, given: bool) -> dict[str, str]:
    """Own class name -> final class name. An exact match takes precedence over one that needs a rule."""
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
    found = {"class-not-asked-for": dropped, "class-without-column": [] if table.shares_rest else absent}
    respelled = [name for name, final in names.items() if final != name]
    for name, match in zip(respelled, match_labels(respelled, classes, given=True), strict=True):
        if match.rule is not None:
            found.setdefault(match.rule, []).append(name)
    return [entry for rule, those in found.items() for entry in fired_whole(rule, table.source, those, of="columns")]


def _still_sums(table: CheckedPredictions, values: FloatArray) -> tuple[np.ndarray, list[Fired]]:
    total = sums(values)
    off = np.maximum(total - 1, 0) if table.shares_rest else np.abs(total - 1)
    far = table.usable & (off > SUM_TOLERANCE)
    near = table.usable & ~far & (off > SUM_ROUNDING)
    task = encode(table.ids)

    def sum_texts(at: IntArray) -> list[str]:
        return [f"sum {each:.6g} over the classes given" for each in total[at]]

    entries = hits("sum-off", table.source, table.rows, far, task, value=sum_texts)
    return table.usable & ~far, entries + hits("sum-near-one", table.source, table.rows, near, task)


def _completed(values: FloatArray, *, shares_rest: bool) -> FloatArray:
    """Rows with a number for every class; classes not named share the rest, or get the floor."""
    unsaid = np.isnan(values)
    rest = 0.0 if not shares_rest else np.maximum(1 - sums(values), 0) / np.maximum(unsaid.sum(axis=1), 1)
    full = np.where(unsaid, np.broadcast_to(np.asarray(rest).reshape(-1, 1), values.shape), values)
    return floored(np.maximum(full, PREDICTION_FLOOR))


LEAST_USABLE = 0.5  # of a classifier's rows
FEWEST_ROWS = 10  # rows below which one usable is enough


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
        left = [entry for entry in source.entries if entry.rule == "class-not-asked-for"]
        names = [name for entry in left if entry.values is not None for name in entry.values.to_pylist()]
        return f"`classes` leaves out {names}, which the predictions have: correct `classes`."
    return likely_form(table)


def likely_form(table: CheckedPredictions) -> str:
    """A sentence that says what the unusable rows look like, and what to do about it.

    >>> import pyarrow as pa
    >>> from quorate.tables import read_predictions
    >>> likely_form(read_predictions(pa.table({"id": ["a"], "cat": [90.0], "dog": [10.0]})).tables[0])
    'They look like percentages (they sum to 100): divide them by 100.'
    """
    rows = table.values[~table.usable]
    such = _few(rows)
    rows = rows[np.isfinite(rows).any(axis=1)]
    if not len(rows):
        return "Their cells are blank or not numbers: check the columns and the decimal sign."
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
            "each class was scored independently (sigmoid), divide each row by its sum."
        )
    if (rows[np.isfinite(rows)] % 1 == 0).all():
        return f"They look like counts of votes ({such}): pass the file as `votes`, or divide each row by its sum."
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


def without_other_columns(predictions: Predictions, voted: Sequence[str]) -> Predictions:
    """The predictions without the columns that are not classes, given `voted`, the labels of the votes."""
    report = predictions.report
    tables = []
    for table in predictions.tables:
        keep = class_places(table, voted)
        if len(keep) == len(table.classes):
            tables.append(table)
            continue
        left = [name for place, name in enumerate(table.classes) if place not in keep]
        fewer = narrowed(table, keep, entries=fired_whole("ignored-column", table.source, left, of="columns"))
        tables.append(fewer)
        before, after = (f"classes {list(each.classes[:30])}" for each in (table, fewer))
        decisions = [
            line.replace(before, after) if line.startswith(f"{table.source}: ") else line for line in report.decisions
        ]
        report = replace(report, decisions=tuple(decisions))
    entries = tuple(entry for table in tables for entry in table.entries)
    return replace(predictions, tables=tuple(tables), report=replace(report, entries=entries))


def class_places(table: CheckedPredictions, voted: Sequence[str]) -> list[int]:
    """Positions of the columns that are classes: only those voted for, if these alone sum to 1 in nearly every row.

    That is the case if more rows sum to 1 without the other columns than with them, or if the others hold only zeros
    and these hold fractions. Otherwise every column is a class, even one that nobody voted for.

    >>> import pyarrow as pa
    >>> from quorate.tables import read_predictions
    >>> frame = pa.table({"id": ["a", "b"], "cat": [0.9, 0.5], "dog": [0.1, 0.5], "epoch": [12, 12]})
    >>> class_places(read_predictions(frame).tables[0], ["dog", "cat"])
    [0, 1]
    """
    every = list(range(len(table.classes)))
    matches = match_labels(table.classes, tuple(voted), given=True)
    named = [place for place in every if matches[place].name is not None]
    others = [place for place in every if matches[place].name is None]
    if table.shares_rest or len(named) < 2 or not others or not len(table.rows):
        return every
    for tolerance in (SUM_ROUNDING, SUM_TOLERANCE):
        alone, together = (_share_summing(table.values[:, places], tolerance) for places in (named, every))
        if alone >= NEARLY_ALL and alone > together and (tolerance == SUM_ROUNDING or together < 0.5):
            return named
    zeros = [place for place in others if not np.nan_to_num(table.values[:, place]).any()]
    if zeros and _share_summing(table.values[:, named], SUM_ROUNDING) >= NEARLY_ALL and _has_fractions(table, named):
        return [place for place in every if place not in zeros]
    return every


def unvoted_classes(
    tables: Sequence[CheckedPredictions], classes: tuple[str, ...], voted: Sequence[str]
) -> list[Fired]:
    """An entry for each classifier that has classes nobody voted for; it names the first few."""
    entries: list[Fired] = []
    for table in tables:
        names = [name for name in matched(table, classes, given=False).values() if name not in voted]
        entries += fired_whole("class-without-votes", table.source, names, of="columns")
    return entries


def unpredicted_labels(tables: Sequence[CheckedPredictions], predicted: Sequence[str], votes: Votes) -> list[Fired]:
    """An entry for the votes for labels that no classifier predicts, with the class that was perhaps meant.

    If every classifier names only some classes per item, a missing class means little: then only near spellings count.
    """
    if not tables:
        return []
    near = {name: meant(name, predicted) for name in votes.labels if name not in predicted}
    if all(table.shares_rest for table in tables):
        near = {name: close for name, close in near.items() if close is not None}
    if not near:
        return []
    codes = {name: code for code, name in enumerate(votes.raw.label.names.to_pylist())}
    at = [np.flatnonzero((votes.raw.label.codes == codes[name]) & votes.counts_vote) for name in near]
    values = [_with_meant(*pair, len(hit)) for pair, hit in zip(near.items(), at, strict=True)][:MOST_SAMPLES]
    rows = [votes.raw.rows[hit[0]] for hit in at[:MOST_SAMPLES]]
    return [fired("unpredicted-label", votes.raw.source, rows, count=sum(map(len, at)), values=values)]


def _with_meant(name: str, close: str | None, count: int) -> str:
    many = f"{count} {'vote' if count == 1 else 'votes'}"
    return f"{name} ({many})" if close is None else f"{name} ({many}; perhaps {close})"


def _share_summing(values: FloatArray, tolerance: float) -> float:
    return float((np.abs(values.sum(axis=1) - 1) <= tolerance).mean())


def _has_fractions(table: CheckedPredictions, places: Sequence[int]) -> bool:
    """Whether some are neither 0 nor 1; in one-hot labels, a column of zeros may be a rare class."""
    values = table.values[:, places]
    return bool((values[np.isfinite(values)] % 1 != 0).any())
