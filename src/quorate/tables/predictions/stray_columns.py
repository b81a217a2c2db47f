"""Classifiers' columns and the labels that were voted for -> the classifiers without columns that are no class.

Called by `join`, since only the votes tell a class from a column of numbers such as `epoch` or `loss`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from quorate.tables.predictions.align import matched
from quorate.tables.predictions.checks import CheckedPredictions, narrowed
from quorate.tables.predictions.read import Predictions
from quorate.tables.rules import MOST_SAMPLES, NEARLY_ALL, SUM_ROUNDING, SUM_TOLERANCE, Fired, fired
from quorate.tables.votes.labels import match_labels, meant
from quorate.tables.votes.read import Votes
from quorate.types import FloatArray


def without_strays(predictions: Predictions, voted: Sequence[str]) -> Predictions:
    """The predictions without columns that are no class by `voted`, the labels of the votes; each is counted."""
    report = predictions.report
    tables = []
    for table in predictions.tables:
        keep = class_places(table, voted)
        if len(keep) == len(table.classes):
            tables.append(table)
            continue
        fewer = narrowed(table, keep, entries=(_ignored(table, keep),))
        tables.append(fewer)
        before, after = (f"classes {list(each.classes[:30])}" for each in (table, fewer))
        told = [
            line.replace(before, after) if line.startswith(f"{table.source}: ") else line for line in report.decisions
        ]
        report = replace(report, decisions=tuple(told))
    entries = tuple(entry for table in tables for entry in table.entries)
    return Predictions(tuple(tables), replace(report, entries=entries))


def class_places(table: CheckedPredictions, voted: Sequence[str]) -> list[int]:
    """Places of the columns that are classes: only those voted for, if these alone sum to 1 in nearly every row.

    They do so if more rows sum to 1 without the others than with them, or if the others hold nothing but zeros beside
    true probabilities; else every column is a class, also one that nobody voted for.

    >>> import pyarrow as pa
    >>> from quorate.tables import read_predictions
    >>> frame = pa.table({"id": ["a", "b"], "cat": [0.9, 0.5], "dog": [0.1, 0.5], "epoch": [12, 12]})
    >>> class_places(read_predictions(frame).tables[0], ["dog", "cat"])
    [0, 1]
    """
    every = list(range(len(table.classes)))
    matches = match_labels(table.classes, tuple(voted), given=True)
    mine = [place for place in every if matches[place].name is not None]
    others = [place for place in every if matches[place].name is None]
    if table.shares_rest or len(mine) < 2 or not others or not len(table.rows):
        return every
    for tolerance in (SUM_ROUNDING, SUM_TOLERANCE):
        alone, together = (_share_summing(table.values[:, places], tolerance) for places in (mine, every))
        if alone >= NEARLY_ALL and alone > together and (tolerance == SUM_ROUNDING or together < 0.5):
            return mine
    zeros = [place for place in others if not np.nan_to_num(table.values[:, place]).any()]
    if zeros and _share_summing(table.values[:, mine], SUM_ROUNDING) >= NEARLY_ALL and _has_fractions(table, mine):
        return [place for place in every if place not in zeros]
    return every


def unvoted_classes(
    tables: Sequence[CheckedPredictions], classes: tuple[str, ...], voted: Sequence[str]
) -> list[Fired]:
    """An entry for each classifier with classes that nobody voted for, which names the first few."""
    entries = []
    for table in tables:
        names = [name for name in matched(table, classes, given=False).values() if name not in voted]
        if names:
            few = names[:5]
            entries.append(fired("class-without-votes", table.source, [0] * len(few), count=len(names), values=few))
    return entries


def unpredicted_labels(tables: Sequence[CheckedPredictions], predicted: Sequence[str], votes: Votes) -> list[Fired]:
    """Votes for labels that no classifier speaks of, with the class that was perhaps meant: an entry, or none.

    Classifiers that name one class, or the top one, leave classes unsaid: there only a near spelling is told.
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
    told = [_with_meant(*pair, len(hit)) for pair, hit in zip(near.items(), at, strict=True)][:MOST_SAMPLES]
    rows = [votes.raw.rows[hit[0]] for hit in at[:MOST_SAMPLES]]
    return [fired("unpredicted-label", votes.raw.source, rows, count=sum(map(len, at)), values=told)]


def _with_meant(name: str, close: str | None, count: int) -> str:
    many = f"{count} {'vote' if count == 1 else 'votes'}"
    return f"{name} ({many})" if close is None else f"{name} ({many}; perhaps {close})"


def _share_summing(values: FloatArray, tolerance: float) -> float:
    return float((np.abs(values.sum(axis=1) - 1) <= tolerance).mean())


def _has_fractions(table: CheckedPredictions, places: Sequence[int]) -> bool:
    """Whether they are true probabilities; labels written as 0 and 1 leave classes at 0 that are only rare."""
    values = table.values[:, places]
    return bool((values[np.isfinite(values)] % 1 != 0).any())


def _ignored(table: CheckedPredictions, keep: Sequence[int]) -> Fired:
    left = [name for place, name in enumerate(table.classes) if place not in keep]
    return fired("ignored-column", table.source, [0] * min(len(left), 5), count=len(left), values=left[:5])
