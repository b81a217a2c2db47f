"""Batches of votes -> one compact `Raw` table of votes, before any rule.

The readers of each format yield `Chunk`s; names are merged on the way, so memory grows with the votes kept as numbers
and with the different names, not with the text of the file. Called by `votes`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from quorate.tables.rules import MOST_SAMPLES, Fired
from quorate.tables.votes.codes import Coded, merge
from quorate.types import FloatArray, IntArray

FEWEST_NAMES = 4_000_000  # names that may wait before they are merged


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Some votes: item, worker and label of each, its time (or None) and the row it stood in."""

    task: Coded
    worker: Coded
    label: Coded
    time: FloatArray | None
    rows: IntArray
    entries: tuple[Fired, ...] = ()
    num_rows: int = 0
    odd_times: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Raw:
    """All votes of a source as read. `has_workers` False: nobody is named; `classes`: names known by the format.

    `odd_times`: some of the times that could not be read, as they were written.
    """

    source: str
    task: Coded
    worker: Coded
    label: Coded
    time: FloatArray | None
    rows: IntArray
    entries: tuple[Fired, ...]
    num_rows: int
    has_workers: bool = True
    classes: tuple[str, ...] | None = None
    odd_times: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class _Pile:
    """Columns waiting to be merged; `limit` names may wait."""

    parts: list[Coded]
    limit: int = FEWEST_NAMES


def collect(chunks: Iterable[Chunk], source: str, *, has_workers: bool = True) -> Raw:
    """All chunks end to end."""
    piles = [_Pile([]), _Pile([]), _Pile([])]
    times: list[FloatArray | None] = []
    rows: list[IntArray] = []
    entries: list[Fired] = []
    odd: list[str] = []
    num_rows = 0
    for chunk in chunks:
        columns = (chunk.task, chunk.worker, chunk.label)
        piles = [_added(pile, column) for pile, column in zip(piles, columns, strict=True)]
        times.append(chunk.time)
        rows.append(chunk.rows)
        entries.extend(chunk.entries)
        num_rows += chunk.num_rows
        odd += chunk.odd_times if len(odd) < MOST_SAMPLES else ()
    task, worker, label = (merge(pile.parts) for pile in piles)
    all_rows = np.concatenate(rows) if rows else np.empty(0, dtype=np.int64)
    known = [time for time in times if time is not None]
    time = np.concatenate(known) if known and len(known) == len(times) else None
    return Raw(
        source, task, worker, label, time, all_rows, tuple(entries), num_rows, has_workers, odd_times=tuple(odd)
    )  # fmt: skip


def _added(pile: _Pile, column: Coded) -> _Pile:
    pile.parts.append(column)
    if sum(len(part.names) for part in pile.parts) <= pile.limit:
        return pile
    whole = merge(pile.parts)
    return _Pile([whole], max(FEWEST_NAMES, 2 * len(whole.names)))


def only(raw: Raw, keep: np.ndarray) -> Raw:
    """The votes where `keep` is True."""
    if keep.all():
        return raw
    task, worker, label = (Coded(each.codes[keep], each.names) for each in (raw.task, raw.worker, raw.label))
    time = None if raw.time is None else raw.time[keep]
    return replace(raw, task=task, worker=worker, label=label, time=time, rows=raw.rows[keep])
