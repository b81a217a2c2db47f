"""A table of votes -> counts by item: streamed where the items stand in order, or read whole into memory.

Every piece is cleaned by the functions that read a whole table, so the rules are the same. Called by `score`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from quorate.errors import source_is
from quorate.tables.misread_checks import refuse_misread_votes
from quorate.tables.readers.arrow import pa
from quorate.tables.readers.frames import TEXTS, OwnTypes, open_frame
from quorate.tables.readers.json_files import is_label_studio
from quorate.tables.readers.open_files import ending_of, existing, open_file
from quorate.tables.readers.sources import Opened, TableBatch, head, without_columns
from quorate.tables.rules import Fired
from quorate.tables.votes.clean import clean, settle
from quorate.tables.votes.codes import Raw, by_first, encode
from quorate.tables.votes.formats import Layout, choose
from quorate.tables.votes.layouts import looks_like_counts
from quorate.tables.votes.names import find_column, name_texts
from quorate.tables.votes.read import read_votes
from quorate.types import TableLike
from quorate.workflows.score.batches import ById, Follower, InOrder, NoVotes
from quorate.workflows.score.parts import ReadOptions, Rows, Told, joined, parts, reader, sliced


@source_is("votes")
def voters(
    votes: TableLike | None,
    classes: tuple[str, ...],
    match: str,
    reading: ReadOptions,
    told: Told,
) -> tuple[Follower, OwnTypes]:
    """Who gives the votes of the items: in the order of the table, batch by batch, or by id from memory.

    And the types of ids and labels, if the votes are a frame.
    """
    if votes is None:
        return NoVotes(len(classes)), TEXTS
    if isinstance(votes, (str, Path)):
        file = existing(votes)
        if ending_of(file) in (".json", ".jsonl", ".ndjson") and is_label_studio(file):
            return _by_id(votes, classes, reading, told), TEXTS
        opened = open_file(file)
    else:
        opened = open_frame(votes, name="votes")
    opened = without_columns(opened, name_texts(reading.ignore_columns))
    known = reading.task is None and reading.id_column in opened.columns
    reading = replace(reading, task=reading.id_column) if known else reading
    layout = vote_layout(opened, classes, reading)
    if match == "id" or layout.kind == "cells" or (match == "auto" and layout.kind != "counts"):
        return _by_id(votes, classes, replace(reading, format=layout.kind), told), layout.own
    told.decide([*opened.decisions, *layout.decisions])
    stream = counted_votes(opened, classes, replace(reading, format=layout.kind), told)
    return InOrder(stream, what=opened.name, num_classes=len(classes)), layout.own


def vote_layout(opened: Opened, classes: tuple[str, ...], reading: ReadOptions) -> Layout:
    """As every table of votes is read; and counts too if columns named after classes hold whole numbers."""
    item = find_column("task", opened.columns, named=reading.task, source=opened.name)
    is_long = item and find_column("label", [name for name in opened.columns if name != item])
    named = [name for name in opened.columns if name in classes]
    free = reading.format == "auto" and reading.label is None and reading.worker is None and not is_long
    if free and looks_like_counts(head(opened), named):
        reading = replace(reading, format="counts")
    return _chosen(opened, classes, reading)


def _chosen(opened: Opened, classes: tuple[str, ...], reading: ReadOptions) -> Layout:
    return choose(
        opened, format=reading.format, task=reading.task, worker=reading.worker, label=reading.label,
        timestamp=reading.timestamp, classes=classes, as_read=reading.as_read,
    )  # fmt: skip


def counted_votes(opened: Opened, classes: tuple[str, ...], reading: ReadOptions, told: Told) -> Iterator[Rows]:
    """Counts by item, batch by batch, in the order of the table; the votes of an item must stand together."""
    pieces = parts(opened, reading.batch_rows)
    if reading.format == "long":
        column = find_column("task", opened.columns, named=reading.task, source=opened.name)
        pieces = _whole_items(pieces, opened, str(column))
    for part, batch in pieces:
        how = _chosen(part, classes, reading)
        raw = clean(how.read(None), classes, reading.abstain)
        yield counted(raw, classes, told, batch.done, batch.total, (*part.entries, *how.entries))


def counted(
    raw: Raw, classes: tuple[str, ...], told: Told, done: int = 0, total: int = 0, more: Sequence[Fired] = ()
) -> Rows:
    """Clean votes -> counts of the votes that count, by item in the order of its first vote."""
    kept, entries = settle(raw)
    told.add([*more, *raw.entries, *(entry for entry in entries if entry.rule != "item-without-votes")])
    task = raw.task.codes[kept]
    number = {name: k for k, name in enumerate(classes)}
    class_of = np.array([number.get(name, -1) for name in raw.label.names.to_pylist()], dtype=np.int64)
    label = class_of[raw.label.codes[kept]] if len(class_of) else np.empty(0, dtype=np.int64)
    flat = np.bincount(task.astype(np.int64) * len(classes) + label, minlength=len(raw.task.names) * len(classes))
    used = by_first(task, len(raw.task.names))
    counts = flat.reshape(-1, len(classes))[used]
    return Rows(raw.task.names.take(pa.array(used)).to_pylist(), counts.astype(np.int64), done, total)


@source_is("votes")
def all_votes(source: TableLike, classes: tuple[str, ...], reading: ReadOptions, told: Told) -> Rows:
    """Counts by item of a whole table, read into memory, in whatever order its rows stand."""
    votes = read_votes(
        source, format=reading.format, task=reading.task, worker=reading.worker, label=reading.label,
        timestamp=reading.timestamp, classes=classes, abstain_labels=reading.abstain or None,
        ignore_columns=reading.ignore_columns, as_read=reading.as_read,
    )  # fmt: skip
    if not reading.as_read:
        refuse_misread_votes(votes, typed_classes=False, in_order=False)
    told.decide(votes.decisions)
    return counted(votes.raw, classes, told)


def _by_id(votes: TableLike, classes: tuple[str, ...], reading: ReadOptions, told: Told) -> Follower:
    def rows() -> Iterator[Rows]:
        yield all_votes(votes, classes, reading, told)

    return ById(rows(), num_classes=len(classes))


def _whole_items(
    pieces: Iterator[tuple[Opened, TableBatch]], opened: Opened, task: str
) -> Iterator[tuple[Opened, TableBatch]]:
    """The same rows, cut only between items: rows of the last item of a piece wait for the next one."""
    waiting: TableBatch | None = None
    for part, batch in pieces:
        whole = replace(batch, entries=part.entries)
        whole = whole if waiting is None else joined(waiting, whole)
        codes = encode(whole.table[task]).codes
        other = np.flatnonzero(codes != codes[-1]) if len(codes) else codes
        cut = int(other[-1]) + 1 if len(other) else 0
        waiting = replace(sliced(whole, cut, None), entries=() if cut else whole.entries)
        if cut:
            yield _as_part(opened, sliced(whole, 0, cut))
    if waiting is not None:
        yield _as_part(opened, waiting)


def _as_part(opened: Opened, batch: TableBatch) -> tuple[Opened, TableBatch]:
    return replace(opened, read=reader(replace(batch, entries=())), entries=batch.entries), batch
