"""Predictions and votes in files, frames or arrays -> rows in batches, cleaned by the rules of `tables`.

Repeated ids of predictions are detected with eight bytes per id. Votes are streamed if the items are in the same order,
else read into memory. Called by `score`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quorate.errors import source_is
from quorate.tables.predictions.align import Aligned, aligned, refuse_unusable
from quorate.tables.predictions.checks import Given, checked
from quorate.tables.predictions.forms import from_table
from quorate.tables.predictions.read import from_array, read_predictions
from quorate.tables.readers import pa
from quorate.tables.readers.frames import TEXTS, OwnTypes, cell_type, header_type, in_own_type, open_frame
from quorate.tables.readers.json_files import is_label_studio
from quorate.tables.readers.open_files import ending_of, existing, open_file
from quorate.tables.readers.sources import Opened, head, without_columns
from quorate.tables.rules import Fired, fired
from quorate.tables.votes.clean import clean, settle, tidy_ids
from quorate.tables.votes.codes import Coded, Raw, by_first, encode
from quorate.tables.votes.formats import Layout, choose
from quorate.tables.votes.layouts import looks_like_counts
from quorate.tables.votes.names import abstain_names, find_column, name_texts
from quorate.tables.votes.read import read_votes
from quorate.types import PredictionLike, TableLike
from quorate.validate import invalid
from quorate.workflows.score.batches import (
    ById,
    Follower,
    InOrder,
    Model,
    ReadOptions,
    Rows,
    parts,
)
from quorate.workflows.score.output import Findings

Digests = NDArray[np.uint64]


class SeenIds:
    """Digests of the ids so far, in sorted arrays that double in size, which keeps inserts and lookups cheap."""

    def __init__(self) -> None:
        self._levels: list[Digests] = []

    def first(self, ids: Sequence[str]) -> np.ndarray:
        """For each id, whether it occurs for the first time; remembers all of them.

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


@source_is("predictions")
def models(source: PredictionLike, classes: tuple[str, ...], reading: ReadOptions, findings: Findings) -> list[Model]:
    """The classifiers of one source: a table has one, an array (models, items, classes) or an .npz several."""
    if not isinstance(source, (str, Path, np.ndarray)):
        return [_table_model(open_frame(source), "model-0", classes, reading, findings)]
    if isinstance(source, np.ndarray):
        return _array_models(source, "model-0", classes, reading, findings)
    file = existing(source)
    ending, stem = ending_of(file), file.name.split(".")[0]
    if ending == ".npy":
        return _array_models(_mapped(file), stem, classes, reading, findings)
    if ending == ".npz" or (ending in (".json", ".jsonl", ".ndjson") and is_label_studio(file)):
        return _whole_models(file, classes, reading, findings)
    return [_table_model(open_file(file, reading.encoding), stem, classes, reading, findings)]


class _Cleaner:
    """Turns the rows of one classifier, batch by batch, into probabilities; checks the first batch for a misreading."""

    def __init__(self, classes: tuple[str, ...], reading: ReadOptions, findings: Findings) -> None:
        self._classes, self._findings = classes, findings
        self._seen, self._doubts = SeenIds(), True

    def rows(self, given: Given, done: int, total: int) -> Rows:
        """The rows of new items, with a column per class."""
        fresh, repeated = _first_rows(given, self._seen)
        table = checked(fresh)
        found = aligned(table, self._classes, given=True)
        if self._doubts:
            self._doubts = False
            refuse_unusable(found)
        self._findings.decide(given.decisions)
        self._findings.add([*table.entries, *repeated, *found.entries])
        return Rows(table.ids.to_pylist(), found.probs, done, total)


def _first_rows(given: Given, seen: SeenIds) -> tuple[Given, list[Fired]]:
    """The rows without an id or with a new item; and an entry for the others."""
    task, _ = tidy_ids(given.task, given.source, given.rows)
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


def _table_model(
    opened: Opened, name: str, classes: tuple[str, ...], reading: ReadOptions, findings: Findings
) -> Model:
    how = reading.keywords(from_table)

    def rows() -> Iterator[Rows]:
        cleaner = _Cleaner(classes, reading, findings)
        for part, batch in parts(opened, reading.batch_rows):
            yield cleaner.rows(from_table(part, name, **how), batch.done, batch.total)

    return Model(name, opened.name, rows, own=_own_types(opened, classes, reading))


def _own_types(opened: Opened, classes: tuple[str, ...], reading: ReadOptions) -> OwnTypes:
    """The types of the ids and of the classes in a frame; text if some id cannot be converted back."""
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
    array: np.ndarray, name: str, classes: tuple[str, ...], reading: ReadOptions, findings: Findings
) -> list[Model]:
    """Slices of an array, which may be memory-mapped; without ids its items are named "0", "1", ..."""
    if array.ndim not in (2, 3) or array.shape[-1] != len(classes):
        rule = f"shape (items, {len(classes)}) or (models, items, {len(classes)}), the classes in the order of `params`"
        raise invalid("predictions", array.shape, rule, "for other classes use a table with named columns.")
    stack = array if array.ndim == 3 else array[None]
    total = stack.shape[1]

    def rows(number: int) -> Iterator[Rows]:
        cleaner = _Cleaner(classes, reading, findings)
        for start in range(0, total, reading.batch_rows):
            end = min(start + reading.batch_rows, total)
            piece = from_array(stack[number, start:end], name, classes=classes, ids=range(start, end), source=name)[0]
            yield cleaner.rows(replace(piece, rows=piece.rows + start), end, total)

    labels = [name] if len(stack) == 1 else [f"{name}-{number}" for number in range(len(stack))]
    return [Model(each, name, lambda number=number: rows(number), total) for number, each in enumerate(labels)]  # type: ignore[misc]


def _mapped(file: Path) -> np.ndarray:
    try:
        return np.asanyarray(np.load(file, mmap_mode="r", allow_pickle=False))
    except (ValueError, OSError, EOFError) as cause:
        rule = f"a plain array, without pickles ({cause})"
        raise invalid("predictions", str(file), rule, "save it again with numpy.save.") from cause


def _whole_models(file: Path, classes: tuple[str, ...], reading: ReadOptions, findings: Findings) -> list[Model]:
    """Models of a file that is read into memory; their rows come in batches."""
    found = read_predictions(file, **reading.keywords(read_predictions))

    def rows(number: int) -> Iterator[Rows]:
        source: Aligned = aligned(found.tables[number], classes, given=True)
        refuse_unusable(source)
        findings.decide(found.report.decisions)
        findings.add([*source.table.entries, *source.entries])
        ids = source.table.ids.to_pylist()
        for start in range(0, len(ids), reading.batch_rows):
            part = slice(start, start + reading.batch_rows)
            yield Rows(ids[part], source.probs[part], min(part.stop, len(ids)), len(ids))

    return [
        Model(table.model, file.name, lambda number=number: rows(number), len(table.ids) if table.is_unnamed else None)  # type: ignore[misc]
        for number, table in enumerate(found.tables)
    ]


@source_is("votes")
def voters(
    votes: TableLike | None,
    classes: tuple[str, ...],
    reading: ReadOptions,
    findings: Findings,
) -> tuple[Follower, OwnTypes]:
    """The source of the items' votes: streamed in the order of the table, or by id from memory.

    Also returns the types of ids and labels, if the votes are a frame.
    """
    if votes is None:
        return ById(iter(()), num_classes=len(classes)), TEXTS
    if isinstance(votes, (str, Path)):
        file = existing(votes)
        if ending_of(file) in (".json", ".jsonl", ".ndjson") and is_label_studio(file):
            return _by_id(votes, classes, reading, findings), TEXTS
        opened = open_file(file, reading.encoding)
    else:
        opened = open_frame(votes, name="votes")
    opened = without_columns(opened, name_texts(reading.ignore_columns))
    known = reading.task is None and reading.id_column in opened.columns
    reading = replace(reading, task=reading.id_column) if known else reading
    layout = vote_layout(opened, classes, reading)
    if layout.kind != "counts":
        return _by_id(votes, classes, replace(reading, format=layout.kind), findings), layout.own
    findings.decide([*opened.decisions, *layout.decisions])
    stream = counted_votes(opened, classes, replace(reading, format=layout.kind), findings)
    return InOrder(stream, what=opened.name, num_classes=len(classes), argument="votes"), layout.own


def vote_layout(opened: Opened, classes: tuple[str, ...], reading: ReadOptions) -> Layout:
    """The layout as for any table of votes; also counts if columns named after classes hold whole numbers."""
    item = find_column("task", opened.columns, named=reading.task, source=opened.name)
    is_long = item and find_column("label", [name for name in opened.columns if name != item])
    named = [name for name in opened.columns if name in classes]
    free = reading.format == "auto" and reading.label is None and reading.worker is None and not is_long
    if free and looks_like_counts(head(opened), named):
        reading = replace(reading, format="counts")
    return choose(opened, **reading.keywords(choose))


def counted_votes(opened: Opened, classes: tuple[str, ...], reading: ReadOptions, findings: Findings) -> Iterator[Rows]:
    """Counts by item, batch by batch, in the order of the table."""
    for part, batch in parts(opened, reading.batch_rows):
        how = choose(part, **reading.keywords(choose))
        raw = clean(how.read(None), classes, abstain_names(reading.abstain_labels, classes))
        yield counted(raw, classes, findings, batch.done, batch.total, (*part.entries, *how.entries))


def counted(
    raw: Raw, classes: tuple[str, ...], findings: Findings, done: int = 0, total: int = 0, more: Sequence[Fired] = ()
) -> Rows:
    """Clean votes -> counts of valid votes by item, in the order of first votes."""
    kept, entries = settle(raw)
    findings.add([*more, *raw.entries, *(entry for entry in entries if entry.rule != "item-without-votes")])
    task = raw.task.codes[kept]
    number = {name: k for k, name in enumerate(classes)}
    class_of = np.array([number.get(name, -1) for name in raw.label.names.to_pylist()], dtype=np.int64)
    label = class_of[raw.label.codes[kept]] if len(class_of) else np.empty(0, dtype=np.int64)
    flat = np.bincount(task.astype(np.int64) * len(classes) + label, minlength=len(raw.task.names) * len(classes))
    used = by_first(task, len(raw.task.names))
    counts = flat.reshape(-1, len(classes))[used]
    return Rows(raw.task.names.take(pa.array(used)).to_pylist(), counts.astype(np.int64), done, total)


def _by_id(votes: TableLike, classes: tuple[str, ...], reading: ReadOptions, findings: Findings) -> Follower:
    """The counts by item of a whole table, read into memory; its rows may be in any order."""
    read = read_votes(votes, **reading.keywords(read_votes))
    findings.decide(read.decisions)
    return ById(iter([counted(read.raw, classes, findings)]), num_classes=len(classes))
