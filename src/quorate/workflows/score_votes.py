"""A table of votes -> counts by item: streamed where the items stand in order, or read whole into memory.

Every piece is cleaned by the functions that read a whole table, so the rules are the same. Called by `score`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from quorate.tables.arrow import pa
from quorate.tables.clean import clean
from quorate.tables.codes import by_first, encode
from quorate.tables.columns import find_column
from quorate.tables.counts import looks_like_counts
from quorate.tables.duplicates import settle
from quorate.tables.formats import choose
from quorate.tables.gather import Raw
from quorate.tables.rules import Entry
from quorate.tables.sources import Batch, Opened, head
from quorate.tables.votes import read_votes
from quorate.workflows.score_parts import Rows, Told, joined, parts, reader, sliced


def vote_format(opened: Opened, classes: tuple[str, ...]) -> str:
    """Long if there are an item and a label column, counts if columns named after classes hold numbers, or wide."""
    item = find_column("task", opened.columns)
    if item and find_column("label", [name for name in opened.columns if name != item]):
        return "long"
    named = [name for name in opened.columns if name in classes]
    return "counts" if looks_like_counts(head(opened), named) else "wide"


def counted_votes(
    opened: Opened, classes: tuple[str, ...], *, layout: str, task: str | None, batch_rows: int, told: Told
) -> Iterator[Rows]:
    """Counts by item, batch by batch, in the order of the table; the votes of an item must stand together."""
    pieces = parts(opened, batch_rows)
    if layout == "long":
        column = find_column("task", opened.columns, named=task, source=opened.name)
        pieces = _whole_items(pieces, opened, str(column))
    for part, batch in pieces:
        how = choose(part, format=layout, task=task, worker=None, label=None, timestamp=None, classes=classes)
        raw = clean(how.read(None), classes)
        yield counted(raw, classes, told, batch.done, batch.total, (*part.entries, *how.entries))


def counted(
    raw: Raw, classes: tuple[str, ...], told: Told, done: int = 0, total: int = 0, more: Sequence[Entry] = ()
) -> Rows:
    """Clean votes -> counts of the votes that count, by item in the order of its first vote."""
    kept, entries = settle(raw)
    told([*more, *raw.entries, *(entry for entry in entries if entry.rule != "item-without-votes")])
    task = raw.task.codes[kept]
    number = {name: k for k, name in enumerate(classes)}
    class_of = np.array([number.get(name, -1) for name in raw.label.names.to_pylist()], dtype=np.int64)
    label = class_of[raw.label.codes[kept]] if len(class_of) else np.empty(0, dtype=np.int64)
    flat = np.bincount(task.astype(np.int64) * len(classes) + label, minlength=len(raw.task.names) * len(classes))
    used = by_first(task, len(raw.task.names))
    counts = flat.reshape(-1, len(classes))[used]
    return Rows(raw.task.names.take(pa.array(used)).to_pylist(), counts.astype(np.int64), done, total)


def all_votes(source: Any, classes: tuple[str, ...], *, task: str | None, told: Told) -> Rows:  # noqa: ANN401
    """Counts by item of a whole table, read into memory, in whatever order its rows stand."""
    votes = read_votes(source, task=task, classes=classes)
    return counted(votes.raw, classes, told)


def _whole_items(pieces: Iterator[tuple[Opened, Batch]], opened: Opened, task: str) -> Iterator[tuple[Opened, Batch]]:
    """The same rows, cut only between items: rows of the last item of a piece wait for the next one."""
    waiting: Batch | None = None
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


def _as_part(opened: Opened, batch: Batch) -> tuple[Opened, Batch]:
    return replace(opened, read=reader(replace(batch, entries=())), entries=batch.entries), batch
