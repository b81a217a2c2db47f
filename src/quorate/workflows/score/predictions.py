"""Predictions, in files, frames or arrays -> classifiers whose rows come in batches; repeated ids are found in
eight bytes each. Called by `score`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate.errors import source_is
from quorate.tables.predictions.align import Aligned, aligned, refuse_unusable
from quorate.tables.predictions.checks import Given, checked
from quorate.tables.predictions.forms import from_table
from quorate.tables.predictions.read import from_array, read_predictions
from quorate.tables.readers.frames import TEXTS, OwnTypes, cell_type, header_type, in_own_type, open_frame
from quorate.tables.readers.json_files import is_label_studio
from quorate.tables.readers.open_files import ending_of, existing, open_file
from quorate.tables.readers.sources import Opened
from quorate.tables.rules import Fired, fired
from quorate.tables.votes.clean import tidy_ids
from quorate.tables.votes.codes import Coded, Raw, constant, encode
from quorate.tables.votes.names import find_column
from quorate.types import PredictionLike
from quorate.validate import broken
from quorate.workflows.score.parts import ReadOptions, Rows, Told, parts

Digests = NDArray[np.uint64]


class SeenIds:
    """Digests of the ids so far, in sorted arrays that double in size, so that adding and looking up stay cheap."""

    def __init__(self) -> None:
        self._levels: list[Digests] = []

    def first(self, ids: Sequence[str]) -> np.ndarray:
        """For each id whether it is there for the first time; all are remembered.

        >>> seen = SeenIds()
        >>> seen.first(["a", "b", "a"]).tolist(), seen.first(["c", "b"]).tolist()
        ([True, True, False], [True, False])
        """
        digests = np.frombuffer(b"".join(blake2b(each.encode(), digest_size=8).digest() for each in ids), np.uint64)
        fresh = np.zeros(len(digests), dtype=bool)
        fresh[np.unique(digests, return_index=True)[1]] = True
        for level in self._levels:
            at = np.minimum(np.searchsorted(level, digests), len(level) - 1)
            fresh &= level[at] != digests
        if fresh.any():
            self._levels.append(np.sort(digests[fresh]))
        while len(self._levels) > 1 and len(self._levels[-2]) <= 2 * len(self._levels[-1]):
            self._levels.append(np.sort(np.concatenate([self._levels.pop(), self._levels.pop()])))
        return fresh


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """One classifier's predictions: its name, where they come from, and its rows from the start, batch by batch.

    `num_unnamed`: how many rows an array without ids has, whose items are called 0, 1, ...; None if there are ids.
    `own` the types of ids and labels in a frame.
    """

    name: str
    source: str
    rows: Callable[[], Iterator[Rows]]
    num_unnamed: int | None = None
    own: OwnTypes = TEXTS


@source_is("predictions")
def models(source: PredictionLike, classes: tuple[str, ...], reading: ReadOptions, told: Told) -> list[Model]:
    """The classifiers of one source: a table has one, an array (models, items, classes) or an .npz several."""
    if not isinstance(source, (str, Path, np.ndarray)):
        return [_table_model(open_frame(source), "model-0", classes, reading, told)]
    if isinstance(source, np.ndarray):
        return _array_models(source, "model-0", classes, reading, told)
    file = existing(source)
    ending, stem = ending_of(file), file.name.split(".")[0]
    if ending == ".npy":
        return _array_models(_mapped(file), stem, classes, reading, told)
    if ending == ".npz" or (ending in (".json", ".jsonl", ".ndjson") and is_label_studio(file)):
        return _whole_models(file, classes, reading, told)
    return [_table_model(open_file(file), stem, classes, reading, told)]


class _Cleaner:
    """What turns the rows of one classifier, batch by batch, into probabilities; the first batch is doubted."""

    def __init__(self, classes: tuple[str, ...], reading: ReadOptions, told: Told) -> None:
        self._classes, self._told = classes, told
        self._seen, self._doubts = SeenIds(), not reading.as_read

    def rows(self, given: Given, done: int, total: int) -> Rows:
        """The rows of items that did not stand before, over the classes."""
        fresh, repeated = _first_rows(given, self._seen)
        table = checked(fresh)
        found = aligned(table, self._classes, given=True)
        if self._doubts:
            self._doubts = False
            refuse_unusable(found)
        self._told.decide(given.decisions)
        self._told.add([*table.entries, *repeated, *found.entries])
        return Rows(table.ids.to_pylist(), found.probs, done, total)


def _first_rows(given: Given, seen: SeenIds) -> tuple[Given, list[Fired]]:
    """The rows without an id, and those whose item is there for the first time; an entry for the others."""
    nobody = constant(None, len(given.rows))
    raw = Raw(given.source, given.task, nobody, nobody, None, given.rows, (), len(given.rows), has_workers=False)
    task, _ = tidy_ids(given.task, raw)
    named = np.flatnonzero(task.codes >= 0)
    fresh = np.ones(len(given.rows), dtype=bool)
    fresh[named] = seen.first(task.texts(named).to_pylist())
    if fresh.all():
        return given, []
    again = np.flatnonzero(~fresh)
    entry = fired("repeated-item", given.source, given.rows[again], tasks=task.texts(again))
    keep = np.flatnonzero(fresh)
    kept = replace(
        given,
        task=Coded(given.task.codes[keep], given.task.names),
        values=given.values[keep],
        unsaid=given.unsaid[keep],
        is_blank=given.is_blank[keep],
        rows=given.rows[keep],
    )
    return kept, [entry]


def _table_model(opened: Opened, name: str, classes: tuple[str, ...], reading: ReadOptions, told: Told) -> Model:
    how: dict[str, Any] = {"id_column": reading.id_column, "accuracy": reading.accuracy, "as_read": reading.as_read}
    how["task"] = reading.task

    def rows() -> Iterator[Rows]:
        cleaner = _Cleaner(classes, reading, told)
        for part, batch in parts(opened, reading.batch_rows):
            yield cleaner.rows(from_table(part, name, classes=classes, **how), batch.done, batch.total)

    return Model(name, opened.name, rows, own=_own_types(opened, classes, reading))


def _own_types(opened: Opened, classes: tuple[str, ...], reading: ReadOptions) -> OwnTypes:
    """The types of the ids and of the classes in a frame; text if an id, once written as text, cannot be converted."""
    item = find_column(
        "item", opened.columns, named=reading.id_column, argument="id_column", source=opened.name, tried=reading.task
    )
    if opened.frame is None or item is None:
        return TEXTS
    kind = cell_type(opened, item)
    if kind is not None and in_own_type(encode(opened.frame[item]).names, kind).type != kind:
        kind = None
    return OwnTypes(task=kind, label=header_type(opened, [name for name in opened.columns if name in classes]))


def _array_models(
    array: np.ndarray, name: str, classes: tuple[str, ...], reading: ReadOptions, told: Told
) -> list[Model]:
    """Slices of an array, which may lie on disk; without ids its items are called "0", "1", ..."""
    if array.ndim not in (2, 3) or array.shape[-1] != len(classes):
        rule = f"shape (items, {len(classes)}) or (models, items, {len(classes)}), the classes in the order of `params`"
        raise broken("predictions", array.shape, rule, "name other columns in a table.")
    stack = array if array.ndim == 3 else array[None]
    total = stack.shape[1]
    names: Sequence[Any] = range(total) if reading.ids is None else reading.ids
    if len(names) != total:
        raise broken("ids", len(names), f"{total} names, one for each row of {name}", "name them all.")

    def rows(number: int) -> Iterator[Rows]:
        cleaner = _Cleaner(classes, reading, told)
        for start in range(0, total, reading.batch_rows):
            end = min(start + reading.batch_rows, total)
            piece = from_array(stack[number, start:end], name, classes=classes, ids=names[start:end], source=name)[0]
            yield cleaner.rows(replace(piece, rows=piece.rows + start), end, total)

    labels = [name] if len(stack) == 1 else [f"{name}-{number}" for number in range(len(stack))]
    unnamed = total if reading.ids is None else None
    return [Model(each, name, lambda number=number: rows(number), unnamed) for number, each in enumerate(labels)]  # type: ignore[misc]


def _mapped(file: Path) -> np.ndarray:
    try:
        return np.asanyarray(np.load(file, mmap_mode="r", allow_pickle=False))
    except (ValueError, OSError, EOFError) as cause:
        rule = f"a plain array, without pickles ({cause})"
        raise broken("predictions", str(file), rule, "save it again with numpy.save.") from cause


def _whole_models(file: Path, classes: tuple[str, ...], reading: ReadOptions, told: Told) -> list[Model]:
    """Read whole, given in batches."""
    found = read_predictions(
        file, classes=classes, id_column=reading.id_column, ids=reading.ids, accuracy=reading.accuracy,
        as_read=reading.as_read, task=reading.task,
    )  # fmt: skip

    def rows(number: int) -> Iterator[Rows]:
        source: Aligned = aligned(found.tables[number], classes, given=True)
        if not reading.as_read:
            refuse_unusable(source)
        told.decide(found.report.decisions)
        told.add([*source.table.entries, *source.entries])
        ids = source.table.ids.to_pylist()
        for start in range(0, len(ids), reading.batch_rows):
            part = slice(start, start + reading.batch_rows)
            yield Rows(ids[part], source.probs[part], min(part.stop, len(ids)), len(ids))

    return [
        Model(table.model, file.name, lambda number=number: rows(number), len(table.ids) if table.is_unnamed else None)  # type: ignore[misc]
        for number, table in enumerate(found.tables)
    ]
