"""`read_predictions`: files, frames or arrays of classifiers' predictions -> `Predictions`, checked row by row.

Several sources are several classifiers. Class names are kept with the numbers, so that `join` can match them by name.
An array has no names: `classes` names its columns, by default "0", "1", ...; rows without ids are marked as unnamed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from quorate.arrow import TEXT, pa
from quorate.packed_files import plain_arrays
from quorate.tables.label_studio import from_studio, is_label_studio
from quorate.tables.options import TableOptions
from quorate.tables.predictions.align import columns_read
from quorate.tables.predictions.checks import CheckedPredictions, Given, checked
from quorate.tables.predictions.forms import from_table
from quorate.tables.readers.frames import open_frame
from quorate.tables.readers.open_files import ending_of, existing, open_file
from quorate.tables.report import Report, refuse_dirt
from quorate.tables.texts import cell_text
from quorate.tables.votes.codes import encode
from quorate.types import FloatArray, PredictionLike
from quorate.validate import as_floats, class_names, invalid

PredictionSources = PredictionLike | Sequence[PredictionLike] | Mapping[str, PredictionLike]
_PROBS = ("probs", "predictions", "probabilities")
_IDS = ("ids", "items", "item_ids", "tasks")


@dataclass(frozen=True, slots=True, eq=False)
class Predictions:
    """The predictions of M classifiers, each with its own items and classes; `join` matches them."""

    tables: tuple[CheckedPredictions, ...]
    report: Report

    @property
    def models(self) -> tuple[str, ...]:
        """The names of the classifiers."""
        return tuple(table.model for table in self.tables)

    @property
    def classes(self) -> tuple[str, ...]:
        """Every class a classifier predicts, in the order of the columns."""
        return tuple(dict.fromkeys(name for table in self.tables for name in table.classes))


def read_predictions(
    sources: PredictionSources,
    *,
    classes: Sequence[Any] | None = None,
    id_column: str | None = None,
    probs_column: str | None = None,
    prediction_column: str | None = None,
    encoding: str | None = None,
    field: str | None = None,
    strict: bool = False,
    task: str | None = None,
) -> Predictions:
    """Predictions of one classifier, or of several: a source, a list of sources, or a mapping of names to sources.

    A source is a path (CSV, TSV, JSONL, Parquet, Excel: an id column and a column per class; .npy; .npz with `probs`
    and, if it has them, `ids`, `classes`, `models`; a Label Studio export), a frame, or an array (items, classes).
    `classes` names the classes of the columns of an array, by default "0", "1", ...
    A row may also hold a hard label (which gets the probability 0.9), a label with its score (the other classes share
    the rest), or one score, that of the second of two `classes`. `probs_column`, `prediction_column`: the column with a
    list or mapping of all probabilities, or with a label. `field`: the field of a Label Studio task's `data` that maps
    classes to probabilities. `encoding` of text tables. `task`: the item column of the votes, tried if no `id_column`
    is named.

    >>> import pyarrow as pa
    >>> found = read_predictions(pa.table({"id": ["a", "b"], "cat": [0.9, 0.5], "dog": [0.1, 0.48]}))
    >>> found.classes, found.report.count("rounded")
    (('cat', 'dog'), 1)
    """
    options = TableOptions(
        classes=classes, id_column=id_column, probs_column=probs_column, prediction_column=prediction_column,
        encoding=encoding, strict=strict, task=task,
    )  # fmt: skip
    return predictions_by(options, sources, field=field)


def predictions_by(options: TableOptions, sources: PredictionSources, *, field: str | None = None) -> Predictions:
    """`read_predictions` with its options as one value."""
    unchecked = [table for name, source in named_sources(sources) for table in _open(source, name, options, field)]
    tables = tuple(checked(table) for table in _with_unique_names(unchecked))
    entries = tuple(entry for table in tables for entry in table.entries)
    if options.strict:
        refuse_dirt(entries, _read_as_classes(tables))
    decisions = tuple(line for table in unchecked for line in table.decisions)
    totals = {"predictions": sum(len(table.ids) for table in tables), "models": len(tables)}
    return Predictions(tables, Report(tuple(dict.fromkeys(decisions)), totals, entries))


def _read_as_classes(tables: Sequence[CheckedPredictions]) -> str:
    """Which columns were read as classes, if rows do not sum to 1: one of them may not be a class."""
    off = [table for table in tables if {"bad-number", "rounded"} & {entry.rule for entry in table.entries}]
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
        raise invalid("source", sources, "at least one source", "without a classifier, leave the predictions out.")
    return pairs


def _open(source: PredictionLike, name: str | None, options: TableOptions, field: str | None) -> list[Given]:
    """Every classifier of one source, unchecked."""
    if isinstance(source, np.ndarray):
        return from_array(source, name or "model-0", classes=options.classes)
    if not isinstance(source, (str, Path)):
        if isinstance(source, (int, float)) or source is None:
            raise invalid("source", source, "a path, a frame or an array (items, classes)", "pass one of these.")
        table = open_frame(source, name=name or "frame")
        return [from_table(table, name or "model-0", options)]
    file = existing(source)
    model = name or file.name.removesuffix("".join(file.suffixes[-2:])).removesuffix(file.suffix)
    ending = ending_of(file)
    if ending in (".npy", ".npz"):
        return from_file(file, model, classes=options.classes)
    if ending in (".json", ".jsonl", ".ndjson") and is_label_studio(file):
        return from_studio(file, model, task=options.id_column, field=field)
    return [from_table(open_file(file, options.encoding), model, options)]


def _with_unique_names(tables: Sequence[Given]) -> list[Given]:
    """The tables with a number appended to each repeated model name."""
    seen: dict[str, int] = {}
    named = []
    for table in tables:
        seen[table.model] = seen.get(table.model, 0) + 1
        again = seen[table.model]
        named.append(table if again == 1 else replace(table, model=f"{table.model}-{again}"))
    return named


def uniform(num_items: int, num_classes: int) -> FloatArray:
    """Predictions without a classifier: every class equally likely, (1, T, K)."""
    return np.full((1, num_items, num_classes), 1.0 / num_classes)


def from_array(
    array: ArrayLike,
    model: str,
    *,
    classes: Sequence[str] | None,
    ids: Sequence[Any] | None = None,
    models: Sequence[str] | None = None,
    source: str | None = None,
) -> list[Given]:
    """The classifiers of an array (items, classes) or (models, items, classes)."""
    where = source or model
    stack = as_floats(array, where=where)
    if stack.ndim not in (2, 3) or stack.shape[-1] < 2:
        rule = f"an array (items, classes) or (models, items, classes), not of shape {stack.shape}"
        raise invalid("source", where, rule, "for one score or label per item use a table.")
    stack = stack if stack.ndim == 3 else stack[None]
    num_models, num_items, num_classes = stack.shape
    names = tuple(classes) if classes is not None else tuple(str(number) for number in range(num_classes))
    items = list(ids) if ids is not None else list(range(num_items))
    several = [f"{model}-{number}" for number in range(num_models)] if num_models > 1 else [model]
    labels = list(models) if models is not None else several
    for what, listed, expected in (
        ("classes", names, num_classes),
        ("ids", items, num_items),
        ("models", labels, num_models),
    ):
        if len(listed) != expected:
            rule = f"{expected} names for {where}, which has shape {stack.shape}"
            raise invalid(what, list(listed), rule, f"name all {expected}; there are {len(listed)}.")
    unchecked = [_given(array, label, where, names, items) for array, label in zip(stack, labels, strict=True)]
    return [replace(predictions, is_unnamed=ids is None) for predictions in unchecked]


def from_file(file: Path, model: str, *, classes: Sequence[str] | None) -> list[Given]:
    """The classifiers of an .npy or .npz file; an .npz may name its own ids, classes and models."""
    arrays = _load(file)
    key = next((name for name in _PROBS if name in arrays), None)
    if key is None:
        raise invalid("source", str(file), f"an array called probs, not {sorted(arrays)}", "save it under that name.")
    own_ids = next((arrays[name] for name in _IDS if name in arrays), None)
    own_classes = class_names([str(name) for name in arrays["classes"]]) if "classes" in arrays else None
    models = [str(name) for name in arrays["models"]] if "models" in arrays else None
    return from_array(
        arrays[key],
        model,
        classes=own_classes if own_classes is not None else classes,
        ids=None if own_ids is None else own_ids.tolist(),
        models=models,
        source=file.name,
    )


def _given(array: np.ndarray, model: str, source: str, classes: tuple[str, ...], ids: Sequence[Any]) -> Given:
    texts = pa.array([cell_text(item.item() if isinstance(item, np.generic) else item) for item in ids], type=TEXT)
    return Given(
        model=model,
        source=source,
        classes=classes,
        task=encode(texts),
        values=array,
        unsaid=np.zeros(array.shape, dtype=bool),
        is_blank=np.isnan(array).all(axis=1),
        rows=np.arange(len(array), dtype=np.int64) + 1,
        shares_rest=False,
        decisions=(f"{source}: an array of probabilities of {len(classes)} classes",),
    )


def _load(file: Path) -> dict[str, np.ndarray]:
    loaded = plain_arrays(file)
    if not isinstance(loaded, dict):
        return {"probs": loaded}
    arrays = {name: loaded[name] for name in (*_PROBS, *_IDS, "classes", "models") if name in loaded}
    if arrays or len(loaded) != 1:
        return arrays
    (lone,) = loaded.values()
    return {"probs": lone}  # whatever its name
