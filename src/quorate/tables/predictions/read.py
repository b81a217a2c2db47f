"""`read_predictions`: files, frames or arrays of classifiers' predictions -> `Predictions`, checked row by row.

Several classifiers are several sources. Class names stand with the numbers, so that `join` matches them by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from quorate.tables.options import HARD_LABEL_ACCURACY
from quorate.tables.own_types import class_texts, name_texts
from quorate.tables.predictions.align import columns_read
from quorate.tables.predictions.arrays import from_array, from_file
from quorate.tables.predictions.checks import CheckedPredictions, Given, checked
from quorate.tables.predictions.forms import from_table
from quorate.tables.readers.frames import open_frame
from quorate.tables.readers.label_studio import from_studio, is_label_studio
from quorate.tables.readers.open_files import ending_of, existing, open_file
from quorate.tables.report import Report, refuse_dirt
from quorate.types import FloatArray, PredictionLike
from quorate.validate import broken, fraction

PredictionSources = PredictionLike | Sequence[PredictionLike] | Mapping[str, PredictionLike]


@dataclass(frozen=True, slots=True, eq=False)
class Predictions:
    """What M classifiers say, each over its own items and classes; `join` brings them together."""

    tables: tuple[CheckedPredictions, ...]
    report: Report

    @property
    def models(self) -> tuple[str, ...]:
        """The names of the classifiers."""
        return tuple(table.model for table in self.tables)

    @property
    def classes(self) -> tuple[str, ...]:
        """Every class a classifier speaks of, in the order of the columns."""
        return tuple(dict.fromkeys(name for table in self.tables for name in table.classes))


def read_predictions(
    sources: PredictionSources,
    *,
    classes: Sequence[Any] | None = None,
    id_column: str | None = None,
    ids: Sequence[Any] | None = None,
    accuracy: float = HARD_LABEL_ACCURACY,
    field: str | None = None,
    strict: bool = False,
    as_read: bool = False,
    task: str | None = None,
) -> Predictions:
    """Predictions of one classifier, or of several: a source, a list of sources, or a mapping of names to sources.

    A source is a path (CSV, TSV, JSONL, Parquet, Excel: an id column and a column per class; .npy; .npz with `probs`
    and, if it has them, `ids`, `classes`, `models`; a Label Studio export), a frame, or an array (items, classes).
    `classes` names the classes: needed for the columns of a bare array, else they are called "0", "1", ...
    `ids` names the items of a bare array, else they are "0", "1", ..., and `join` refuses votes on any other items.
    Instead of a vector: a hard label (`accuracy` is how sure it is taken to be), a label with its score (the rest is
    shared by the other classes), or one score, which is that of the second of two `classes`.
    `field`: where a Label Studio task keeps a mapping of class to probability in its `data`. `as_read` takes a table
    also where it looks like votes. `task`: the item column of the votes, tried for the ids if no `id_column` is named.

    >>> import pyarrow as pa
    >>> found = read_predictions(pa.table({"id": ["a", "b"], "cat": [0.9, 0.5], "dog": [0.1, 0.48]}))
    >>> found.classes, found.report.count("sum-near-one")
    (('cat', 'dog'), 1)
    """
    known, id_column, task = class_texts(classes), name_texts(id_column), name_texts(task)
    sure = fraction(accuracy, where="accuracy")
    given = [
        table
        for name, source in named_sources(sources)
        for table in _open(
            source, name, known, id_column=id_column, ids=ids, accuracy=sure, field=field, as_read=as_read, task=task
        )
    ]
    tables = tuple(checked(table) for table in _with_unique_names(given))
    entries = tuple(entry for table in tables for entry in table.entries)
    if strict:
        refuse_dirt(entries, _read_as_classes(tables))
    decisions = tuple(line for table in given for line in table.decisions)
    totals = {"predictions": sum(len(table.ids) for table in tables), "models": len(tables)}
    return Predictions(tables, Report(tuple(dict.fromkeys(decisions)), totals, entries))


def _read_as_classes(tables: Sequence[CheckedPredictions]) -> str:
    """Which columns were taken for classes, where rows do not sum to 1: one of them may be none."""
    off = [table for table in tables if {"sum-off", "sum-near-one"} & {entry.rule for entry in table.entries}]
    return columns_read(off[0]) if off and not off[0].shares_rest else ""


def named_sources(sources: PredictionSources) -> list[tuple[str | None, PredictionLike]]:
    """Each source with the name its caller gave it, or None."""
    pairs: list[tuple[str | None, Any]]
    if isinstance(sources, Mapping):
        pairs = [(str(name), source) for name, source in sources.items()]
    elif isinstance(sources, (list, tuple)):
        pairs = [(None, source) for source in sources]
    else:
        pairs = [(None, sources)]
    if not pairs:
        raise broken("source", sources, "at least one source", "without a classifier pass no predictions.")
    return pairs


def _open(
    source: PredictionLike,
    name: str | None,
    classes: tuple[str, ...] | None,
    *,
    id_column: str | None,
    ids: Sequence[Any] | None,
    accuracy: float,
    field: str | None,
    as_read: bool,
    task: str | None,
) -> list[Given]:
    """Every classifier of one source, as given."""
    how: dict[str, Any] = {
        "classes": classes,
        "id_column": id_column,
        "accuracy": accuracy,
        "as_read": as_read,
        "task": task,
    }
    if isinstance(source, np.ndarray):
        return from_array(source, name or "model-0", classes=classes, ids=ids)
    if not isinstance(source, (str, Path)):
        if isinstance(source, (int, float)) or source is None:
            raise broken("source", source, "a path, a frame or an array (items, classes)", "pass one of these.")
        table = open_frame(source, name=name or "frame")
        return [from_table(table, name or "model-0", **how)]
    file = existing(source)
    model = name or file.name.removesuffix("".join(file.suffixes[-2:])).removesuffix(file.suffix)
    ending = ending_of(file)
    if ending in (".npy", ".npz"):
        return from_file(file, model, classes=classes, ids=ids)
    if ending in (".json", ".jsonl", ".ndjson") and is_label_studio(file):
        return from_studio(file, model, task=id_column, field=field, accuracy=accuracy)
    return [from_table(open_file(file), model, **how)]


def _with_unique_names(tables: Sequence[Given]) -> list[Given]:
    """The tables with a number after each name that was there before."""
    seen: dict[str, int] = {}
    named = []
    for table in tables:
        seen[table.model] = seen.get(table.model, 0) + 1
        again = seen[table.model]
        named.append(table if again == 1 else replace(table, model=f"{table.model}-{again}"))
    return named


def uniform(num_items: int, num_classes: int) -> FloatArray:
    """No classifier: every class alike, (1, T, K)."""
    return np.full((1, num_items, num_classes), 1.0 / num_classes)
