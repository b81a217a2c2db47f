"""Columns of ids and labels -> codes and a list of names; the batches of a source -> `Raw` votes.

Codes keep memory small: ten million ids need forty megabytes and one list of names. `encode` takes a column of any
Arrow type; `merge` joins the batches of a file. Called by every reader of votes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from quorate.arrow import TEXT, pa, pc
from quorate.tables.rules import MOST_SAMPLES, RULES, Fired, fired
from quorate.types import FloatArray, IntArray
from quorate.validate import invalid

Codes = NDArray[np.int32]
FEWEST_NAMES = 4_000_000  # names that may wait before they are merged


@dataclass(frozen=True, slots=True, eq=False)
class Coded:
    """A column: `codes` (n,) number of each cell's name, -1 for none; `names` Arrow text, not always unique."""

    codes: Codes
    names: pa.Array

    def texts(self, at: NDArray[np.integer | np.bool_]) -> pa.Array:
        """The cells at these positions, as Arrow text, null for none."""
        codes = self.codes[at]
        return self.names.take(pa.array(codes, mask=codes < 0))


def encode(column: pa.ChunkedArray | pa.Array) -> Coded:
    """A column as codes; nulls are -1.

    >>> encode(pa.chunked_array([["b", "a", None, "b"]])).codes
    array([ 0,  1, -1,  0], dtype=int32)
    """
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_nested(column.type):
        rule = "one text or number in each cell of a column of ids or labels"
        raise invalid("source", str(column.type), rule, "split the cells, or name another column.")
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    indices = column.indices.cast(pa.int32())
    indices = pc.fill_null(indices, -1) if indices.null_count else indices
    return Coded(indices.to_numpy(zero_copy_only=False), texts(column.dictionary))


def texts(values: pa.Array) -> pa.Array:
    """Values of any plain type as text. A float 7.0 becomes "7": pandas stores integers with gaps as floats.

    >>> texts(pa.array([7.0, 0.5, None])).to_pylist()
    ['7', '0.5', None]
    """
    kind = values.type
    try:
        if pa.types.is_floating(kind):
            return _float_texts(values.cast(pa.float64()))
        return values.cast(TEXT)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as cause:
        rule = f"a column of ids or labels that can be read as text ({cause})"
        raise invalid("source", str(kind), rule, "pass ids and labels as numbers, or as text in UTF-8.") from cause


def _float_texts(values: pa.Array) -> pa.Array:
    numbers = values.to_numpy(zero_copy_only=False)
    whole = np.isfinite(numbers) & (np.abs(numbers) < 2**53)
    whole &= np.where(whole, numbers, 0.5) == np.floor(np.where(whole, numbers, 0.5))
    as_whole = pa.array(np.where(whole, numbers, 0).astype(np.int64)).cast(TEXT)
    chosen = pc.if_else(pa.array(whole), as_whole, values.cast(TEXT))
    return pc.if_else(pa.array(np.isnan(numbers)), pa.scalar(None, TEXT), chosen)


def merge(parts: Sequence[Coded]) -> Coded:
    """Several columns end to end, with one list of unique names in order of first appearance.

    >>> merge([encode(pa.array(["b", "a"])), encode(pa.array(["a", "c"]))]).names.to_pylist()
    ['b', 'a', 'c']
    """
    if not parts:
        return Coded(np.empty(0, dtype=np.int32), pa.array([], type=TEXT))
    encoded = pa.concat_arrays([part.names for part in parts]).dictionary_encode()
    numbers = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False).astype(np.int32)
    codes = np.empty(sum(len(part.codes) for part in parts), dtype=np.int32)
    name_at = row_at = 0
    for part in parts:
        lookup = np.append(numbers[name_at : name_at + len(part.names)], np.int32(-1))  # code -1 indexes the last entry
        codes[row_at : row_at + len(part.codes)] = lookup[part.codes]
        name_at, row_at = name_at + len(part.names), row_at + len(part.codes)
    return Coded(codes, encoded.dictionary)


def renamed(coded: Coded, names: pa.Array) -> Coded:
    """The same cells under new names, which may coincide or be null (then the cell has none)."""
    return merge([Coded(coded.codes, names)])


def constant(text: str | None, length: int) -> Coded:
    """A column with the same cell everywhere."""
    return Coded(np.full(length, -1 if text is None else 0, dtype=np.int32), pa.array([text or ""], type=TEXT))


def by_first(codes: Codes, num_names: int) -> IntArray:
    """The codes that occur, in order of first appearance.

    >>> by_first(np.array([2, 0, 2]), 3)
    array([2, 0])
    """
    first = np.full(num_names, len(codes), dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes))[::-1]  # reversed: the last write wins, so the first vote does
    used = np.flatnonzero(first < len(codes))
    return np.asarray(used[np.argsort(first[used])], dtype=np.int64)


def first_of_each(codes: Codes, among: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(n,) the first cell of each name, of those where `among`.

    >>> first_of_each(np.array([0, 1, 0]), np.array([False, True, True]))
    array([False,  True,  True])
    """
    at = np.flatnonzero(among)
    first = np.zeros(len(codes), dtype=bool)
    first[at[np.unique(codes[at], return_index=True)[1]]] = True
    return first


def hits(
    rule: str,
    source: str,
    rows: IntArray,
    hit: np.ndarray,
    task: Coded,
    *,
    worker: Coded | None = None,
    value: Coded | Callable[[IntArray], Sequence[str]] | None = None,
) -> list[Fired]:
    """An entry for the rows where `hit`, or none; with all rows if the rule sets them aside, else the first few."""
    every = np.flatnonzero(hit)
    if not len(every):
        return []
    at = every if RULES[rule].set_aside else every[:MOST_SAMPLES]
    workers = None if worker is None else worker.texts(at)
    values = value.texts(at) if isinstance(value, Coded) else None if value is None else value(at)
    texts = {"tasks": task.texts(at), "workers": workers, "values": values}
    return [fired(rule, source, rows[at], count=len(every), **texts)]


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Some votes: item, worker, label, time (or None) and row number of each."""

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
    """All votes of a source as read. `has_workers` False: all votes are anonymous; `classes`: known from the format.

    `odd_times`: some of the times that could not be read, as written. `num_unnamed`: the rows of an array, whose items
    have no ids; None if they have.
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
    num_unnamed: int | None = None


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
    timed = [time for time in times if time is not None]
    time = np.concatenate(timed) if timed and len(timed) == len(times) else None
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
    task, worker, label = (Coded(coded.codes[keep], coded.names) for coded in (raw.task, raw.worker, raw.label))
    time = None if raw.time is None else raw.time[keep]
    return replace(raw, task=task, worker=worker, label=label, time=time, rows=raw.rows[keep])
