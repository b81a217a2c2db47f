"""Predictions and votes in pieces of a fixed number of rows, in bounded memory, for tables of any length.

Results do not depend on how a file was written. Votes that are counts come in pieces, too; other votes, arrays and
Label Studio exports are held in memory. Repeated ids are found with eight bytes per id. Called by `quorate score`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quorate.arrow import pa
from quorate.errors import source_is
from quorate.frames import TEXTS, OwnTypes, in_own_type
from quorate.tables.columns import find_column
from quorate.tables.label_studio import is_label_studio
from quorate.tables.options import TableOptions
from quorate.tables.predictions.align import aligned, refuse_unusable
from quorate.tables.predictions.checks import CheckedPredictions, checked
from quorate.tables.predictions.forms import from_table
from quorate.tables.predictions.read import predictions_by
from quorate.tables.readers.frames import cell_type, header_type, open_frame
from quorate.tables.readers.open_files import ending_of, existing, open_file
from quorate.tables.readers.sources import Opened, TableBatch
from quorate.tables.report import Report
from quorate.tables.rules import Fired, fired
from quorate.tables.texts import whole_number
from quorate.tables.votes.codes import by_first, encode
from quorate.tables.votes.formats import choose
from quorate.tables.votes.read import Votes, cleaned, is_studio, open_votes, opened_votes, votes_by
from quorate.types import FloatArray, PredictionLike, TableLike

Digests = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Findings:
    """What was found in the pieces: decisions on how to read, warnings, and the rules that fired."""

    decisions: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    entries: list[Fired] = field(default_factory=list)

    def add(self, entries: Sequence[Fired], decisions: Sequence[str] = ()) -> None:
        """Add what was found in a piece; what is about a whole column or file counts once."""
        of_files = {(entry.rule, entry.source) for entry in self.entries if entry.is_of_file}
        self.entries.extend(entry for entry in entries if (entry.rule, entry.source) not in of_files)
        self.decisions.extend(line for line in decisions if line not in self.decisions)

    def report(self, totals: dict[str, int]) -> Report:
        """The findings as a report."""
        return Report(tuple(self.decisions), totals, tuple(self.entries), warnings=tuple(self.warnings))


@dataclass(frozen=True, slots=True, eq=False)
class PieceOptions:
    """How to read the tables: `options`, which name the classes, rows per batch, where rules go."""

    options: TableOptions
    classes: tuple[str, ...]
    batch_rows: int
    findings: Findings


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Some items: `ids`, `values` (n, K), which are probabilities or counts, and the progress (`done` of `total`)."""

    ids: list[str]
    values: np.ndarray
    done: int = 0
    total: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class ModelRows:
    """One classifier's predictions: its name, its source, and its rows from the start, batch by batch.

    `num_unnamed`: the number of rows of an array without ids, whose items are named 0, 1, ...; None if there are ids.
    `own` the types of ids and labels in a frame.
    """

    name: str
    source: str
    rows: Callable[[], Iterator[Rows]]
    num_unnamed: int | None = None
    own: OwnTypes = TEXTS


@dataclass(frozen=True, slots=True, eq=False)
class VoteRows:
    """Counts of votes by item: `pieces` in the order of the source if they are `streamed`, else one piece with all."""

    pieces: Iterator[Rows]
    streamed: bool
    own: OwnTypes = TEXTS


def _pieces(opened: Opened, size: int) -> Iterator[tuple[Opened, TableBatch]]:
    """The table in pieces of `size` rows, each as an `Opened` table that keeps its row numbers."""
    entries, waiting = opened.entries, None
    for batch in opened.read(None):
        entries = (*entries, *batch.entries)
        waiting = replace(batch, entries=()) if waiting is None else _concatenated(waiting, batch)
        while waiting.table.num_rows >= size:
            part, waiting = _sliced(waiting, 0, size), _sliced(waiting, size, None)
            yield _as_opened(opened, part, entries), part
            entries = ()
    if waiting is not None and (waiting.table.num_rows or entries):
        yield _as_opened(opened, waiting, entries), waiting


def _as_opened(opened: Opened, batch: TableBatch, entries: tuple[Fired, ...]) -> Opened:
    def read(columns: Sequence[str] | None) -> Iterator[TableBatch]:
        yield batch if columns is None else replace(batch, table=batch.table.select(list(columns)))

    return replace(opened, read=read, entries=entries)


def _concatenated(one: TableBatch, two: TableBatch) -> TableBatch:
    table = pa.concat_tables([one.table, two.table])
    return TableBatch(table, np.concatenate([one.rows, two.rows]), two.done, two.total)


def _sliced(batch: TableBatch, start: int, end: int | None) -> TableBatch:
    length = None if end is None else end - start
    return replace(batch, table=batch.table.slice(start, length), rows=batch.rows[start:end])


class SeenIds:
    """Digests of the ids so far, in sorted arrays that double in size, which keeps inserts and lookups cheap."""

    def __init__(self) -> None:
        self._levels: list[Digests] = []

    def first(self, ids: Sequence[str]) -> NDArray[np.bool_]:
        """For each id, whether it occurs for the first time; remembers all of them.

        >>> seen = SeenIds()
        >>> seen.first(["a", "b", "a"]).tolist(), seen.first(["c", "b"]).tolist()
        ([True, True, False], [True, False])
        """
        digests = np.frombuffer(b"".join(blake2b(item.encode(), digest_size=8).digest() for item in ids), np.uint64)
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
def predictions_in_pieces(source: PredictionLike, reading: PieceOptions) -> list[ModelRows]:
    """The classifiers of one source: a table has one, an array (models, items, classes) or an .npz several."""
    if isinstance(source, np.ndarray):
        return _whole_models(source, reading)
    if not isinstance(source, (str, Path)):
        return [_table_model(open_frame(source), "model-0", reading)]
    file = existing(source)
    ending = ending_of(file)
    if ending in (".npy", ".npz") or (ending in (".json", ".jsonl", ".ndjson") and is_label_studio(file)):
        return _whole_models(file, reading)
    return [_table_model(open_file(file, reading.options.encoding), file.name.split(".")[0], reading)]


def _table_model(opened: Opened, name: str, reading: PieceOptions) -> ModelRows:
    """A classifier in a table, read batch by batch; an id that occurred before is set aside."""

    def rows() -> Iterator[Rows]:
        seen, is_first = SeenIds(), True
        for part, batch in _pieces(opened, reading.batch_rows):
            predictions = from_table(part, name, reading.options)
            table = checked(predictions)
            probs = _probs(table, reading, predictions.decisions, check=is_first)
            ids, is_first = table.ids.to_pylist(), False
            fresh = seen.first([whole_number(item) for item in ids])
            again = np.flatnonzero(~fresh)
            if len(again):
                entry = fired("duplicate", opened.name, table.rows[again], tasks=table.ids.take(pa.array(again)))
                reading.findings.add([entry])
            kept = [item for item, first in zip(ids, fresh, strict=True) if first]
            yield Rows(kept, probs[fresh], batch.done, batch.total)

    return ModelRows(name, opened.name, rows, own=_own_types(opened, reading))


def _probs(table: CheckedPredictions, reading: PieceOptions, decisions: Sequence[str], *, check: bool) -> FloatArray:
    """The probabilities over the classes; rules that fired go to the findings. `check`: refuse unusable numbers."""
    final = aligned(table, reading.classes, given=True)
    if check:
        refuse_unusable(final)
    reading.findings.add([*table.entries, *final.entries], decisions)
    return final.probs


def _own_types(opened: Opened, reading: PieceOptions) -> OwnTypes:
    """The types of the ids and of the classes in a frame; text if some id cannot be converted back."""
    how = reading.options
    item = find_column(
        "item", opened.columns, named=how.id_column, argument="id_column", source=opened.name, tried=how.task
    )
    if opened.frame is None or item is None:
        return TEXTS
    kind = cell_type(opened, item)
    if kind is not None and in_own_type(encode(opened.frame[item]).names, kind).type != kind:
        kind = None
    return OwnTypes(task=kind, label=header_type(opened, [name for name in opened.columns if name in reading.classes]))


def _whole_models(source: PredictionLike, reading: PieceOptions) -> list[ModelRows]:
    """Classifiers of an array or a file that is read into memory; their rows come in batches."""
    predictions = predictions_by(reading.options, source)

    def model(table: CheckedPredictions) -> ModelRows:
        def rows() -> Iterator[Rows]:
            probs = _probs(table, reading, predictions.report.decisions, check=True)
            ids = table.ids.to_pylist()
            for start in range(0, len(ids), reading.batch_rows):
                part = slice(start, start + reading.batch_rows)
                yield Rows(ids[part], probs[part], min(part.stop, len(ids)), len(ids))

        return ModelRows(table.model, table.source, rows, len(table.ids) if table.is_unnamed else None)

    return [model(table) for table in predictions.tables]


@source_is("votes")
def counts_in_pieces(votes: TableLike | None, reading: PieceOptions) -> VoteRows:
    """The votes of the items, and the types of their ids and labels in a frame: counts are streamed, others held."""
    options = reading.options
    if votes is None:
        return VoteRows(iter([Rows([], np.zeros((0, len(reading.classes))))]), streamed=False)
    if not is_studio(votes, options.format):
        opened = open_votes(votes, options)
        if options.task is None and options.id_column in opened.columns:
            options = replace(options, task=options.id_column)
        layout = choose(opened, options)
        if layout.kind == "counts":
            return VoteRows(_streamed(opened, options, reading), streamed=True, own=layout.own)
    read = votes_by(options, votes)
    reading.findings.warnings.extend(read.warnings)
    return VoteRows(iter([_counted(read, reading)]), streamed=False, own=read.own)


def _streamed(opened: Opened, options: TableOptions, reading: PieceOptions) -> Iterator[Rows]:
    for part, batch in _pieces(opened, reading.batch_rows):
        votes = cleaned(opened_votes(part, choose(part, options), reading.classes), options)
        yield replace(_counted(votes, reading), done=batch.done, total=batch.total)


def _counted(votes: Votes, reading: PieceOptions) -> Rows:
    """Counts of votes by item, in the order of first votes; rules that fired go to the findings."""
    raw, kept, num_classes = votes.raw, votes.counts_vote, len(reading.classes)
    settled = [entry for entry in votes.settled if entry.rule != "unmatched"]
    reading.findings.add([*raw.entries, *settled], votes.decisions)
    number = {name: k for k, name in enumerate(reading.classes)}
    class_of = np.array([number.get(name, -1) for name in raw.label.names.to_pylist()], dtype=np.int64)
    task = raw.task.codes[kept]
    label = class_of[raw.label.codes[kept]] if len(class_of) else np.empty(0, dtype=np.int64)
    flat = np.bincount(task.astype(np.int64) * num_classes + label, minlength=len(raw.task.names) * num_classes)
    used = by_first(task, len(raw.task.names))
    counts = flat.reshape(-1, num_classes)[used]
    return Rows(raw.task.names.take(pa.array(used)).to_pylist(), counts.astype(np.int64))
