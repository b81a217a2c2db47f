"""Predictions, in files, frames or arrays -> classifiers whose rows come in batches, cleaned as `quorate.tables` does.

Tables and .npy files are streamed; .npz and Label Studio files are read whole. Called by `score_batches`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from quorate.errors import InvalidInput
from quorate.tables.align import aligned
from quorate.tables.frames import open_frame
from quorate.tables.label_studio import is_label_studio
from quorate.tables.open_files import ending_of, existing, open_file
from quorate.tables.prediction_arrays import from_array
from quorate.tables.prediction_checks import Given, checked
from quorate.tables.prediction_forms import from_table
from quorate.tables.predictions import HARD_LABEL_ACCURACY, read_predictions
from quorate.tables.sources import Opened
from quorate.workflows.score_parts import Rows, Told, parts


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """One classifier's predictions: its name, where they come from, and its rows from the start, batch by batch."""

    name: str
    source: str
    rows: Callable[[], Iterator[Rows]]


def models(
    source: Any,  # noqa: ANN401
    classes: tuple[str, ...],
    *,
    id_column: str | None,
    batch_rows: int,
    told: Told,
) -> list[Model]:
    """The classifiers of one source: a table has one, an array (models, items, classes) or an .npz several."""
    if not isinstance(source, (str, Path, np.ndarray)):
        return [_table_model(open_frame(source), "model-0", classes, id_column, batch_rows, told)]
    if isinstance(source, np.ndarray):
        return _array_models(source, "model-0", classes, batch_rows, told)
    file = existing(source)
    ending, stem = ending_of(file), file.name.split(".")[0]
    if ending == ".npy":
        return _array_models(_mapped(file), stem, classes, batch_rows, told)
    if ending == ".npz" or (ending in (".json", ".jsonl", ".ndjson") and is_label_studio(file)):
        return _whole_models(file, classes, id_column, batch_rows, told)
    return [_table_model(open_file(file), stem, classes, id_column, batch_rows, told)]


def _table_model(
    opened: Opened, name: str, classes: tuple[str, ...], id_column: str | None, batch_rows: int, told: Told
) -> Model:
    def rows() -> Iterator[Rows]:
        for part, batch in parts(opened, batch_rows):
            given = from_table(part, name, classes=classes, id_column=id_column, accuracy=HARD_LABEL_ACCURACY)
            yield _rows(given, classes, told, batch.done, batch.total)

    return Model(name, opened.name, rows)


def _rows(given: Given, classes: tuple[str, ...], told: Told, done: int, total: int) -> Rows:
    table = checked(given)
    found = aligned(table, classes, given=True)
    told([*table.entries, *found.entries])
    return Rows(table.ids.to_pylist(), found.probs, done, total)


def _array_models(array: np.ndarray, name: str, classes: tuple[str, ...], batch_rows: int, told: Told) -> list[Model]:
    """Slices of an array, which may lie on disk; its items are called "0", "1", ..."""
    if array.ndim not in (2, 3) or array.shape[-1] != len(classes):
        raise InvalidInput(
            f"{name} has shape {array.shape}; expected (items, {len(classes)}) or (models, items, {len(classes)}), the "
            "classes in the order of the params; name other columns in a table."
        )
    stack = array if array.ndim == 3 else array[None]

    def rows(number: int) -> Iterator[Rows]:
        total = stack.shape[1]
        for start in range(0, total, batch_rows):
            end = min(start + batch_rows, total)
            one = from_array(stack[number, start:end], name, classes=classes, ids=range(start, end), source=name)[0]
            yield _rows(replace(one, rows=one.rows + start), classes, told, end, total)

    names = [name] if len(stack) == 1 else [f"{name}-{number}" for number in range(len(stack))]
    return [Model(each, name, lambda number=number: rows(number)) for number, each in enumerate(names)]  # type: ignore[misc]


def _mapped(file: Path) -> np.ndarray:
    try:
        return np.asanyarray(np.load(file, mmap_mode="r", allow_pickle=False))
    except (ValueError, OSError, EOFError) as cause:
        raise InvalidInput(f"source={str(file)!r} is not a plain array: {cause}. Pickles are not read.") from cause


def _whole_models(
    file: Path, classes: tuple[str, ...], id_column: str | None, batch_rows: int, told: Told
) -> list[Model]:
    """Read whole, given in batches."""
    found = read_predictions(file, classes=classes, id_column=id_column)

    def rows(number: int) -> Iterator[Rows]:
        table = aligned(found.tables[number], classes, given=True)
        told([*found.tables[number].entries, *table.entries])
        ids = found.tables[number].ids.to_pylist()
        for start in range(0, len(ids), batch_rows):
            part = slice(start, start + batch_rows)
            yield Rows(ids[part], table.probs[part], min(start + batch_rows, len(ids)), len(ids))

    return [
        Model(table.model, file.name, lambda number=number: rows(number))  # type: ignore[misc]
        for number, table in enumerate(found.tables)
    ]
