"""Predictions of M classifiers and votes -> batches of items with both, scored here or by Dask workers.

Tables are split into pieces of a fixed number of rows, so results do not depend on how a file was written, and memory
is bounded by one piece. All tables must name the same items. On a cluster this process reads and writes; workers only
compute, with the same compiled functions, so the output is the same. Called by `score`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any, Protocol

import numpy as np

from quorate.compiled import sources_digest
from quorate.errors import shown
from quorate.session.batch import BatchDecisions, Decider
from quorate.tables.options import TableOptions
from quorate.tables.readers import pa
from quorate.tables.readers.frames import TEXTS, OwnTypes
from quorate.tables.readers.sources import Opened, TableBatch
from quorate.types import FloatArray, IntArray
from quorate.validate import invalid
from quorate.workflows.dask_cluster import Cluster, connected


@dataclass(frozen=True, slots=True)
class ReadOptions(TableOptions):
    """How to read the tables of a score: `classes` of the parameters, `batch_rows` rows at a time."""

    batch_rows: int = 50_000


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Some items: `ids`, `values` (n, K), which are probabilities or counts, and the progress (`done` of `total`)."""

    ids: list[str]
    values: np.ndarray
    done: int = 0
    total: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """One classifier's predictions: its name, its source, and its rows from the start, batch by batch.

    `num_unnamed`: the number of rows of an array without ids, whose items are named 0, 1, ...; None if there are ids.
    `own` the types of ids and labels in a frame.
    """

    name: str
    source: str
    rows: Callable[[], Iterator[Rows]]
    num_unnamed: int | None = None
    own: OwnTypes = TEXTS


def parts(opened: Opened, batch_rows: int) -> Iterator[tuple[Opened, TableBatch]]:
    """The table in pieces of `batch_rows` rows, each as an `Opened` table that keeps its row numbers."""
    first = True
    for batch in _even(opened.read(None), batch_rows):
        entries = (*(opened.entries if first else ()), *batch.entries)
        plain = replace(batch, entries=())
        yield replace(opened, read=reader(plain), entries=entries), batch
        first = False


def reader(batch: TableBatch) -> Callable[[Sequence[str] | None], Iterator[TableBatch]]:
    """A `read` function for a source with this batch only."""

    def read(columns: Sequence[str] | None) -> Iterator[TableBatch]:
        yield batch if columns is None else replace(batch, table=batch.table.select(list(columns)))

    return read


def _even(batches: Iterator[TableBatch], size: int) -> Iterator[TableBatch]:
    """The same rows, `size` at a time, so that results do not depend on how the file was written."""
    waiting: TableBatch | None = None
    for batch in batches:
        waiting = batch if waiting is None else joined(waiting, batch)
        while waiting.table.num_rows >= size:
            yield sliced(waiting, 0, size)
            waiting = replace(sliced(waiting, size, None), entries=())
    if waiting is not None and (waiting.table.num_rows or waiting.entries):
        yield waiting


def joined(one: TableBatch, two: TableBatch) -> TableBatch:
    """Both, end to end."""
    table = pa.concat_tables([one.table, two.table])
    rows: IntArray = np.concatenate([one.rows, two.rows])
    return TableBatch(table, rows, two.done, two.total, (*one.entries, *two.entries))


def sliced(batch: TableBatch, start: int, end: int | None) -> TableBatch:
    """Some of the rows."""
    length = None if end is None else end - start
    return replace(batch, table=batch.table.slice(start, length), rows=batch.rows[start:end])


@dataclass(frozen=True, slots=True, eq=False)
class ItemBatch:
    """Some items: `ids`, `predictions` (n, M, K), `votes` (n, K), and the progress in the first source."""

    ids: list[str]
    predictions: FloatArray
    votes: IntArray
    done: int
    total: int


class Follower(Protocol):
    """Returns the rows of another table for the items of the first."""

    def take(self, ids: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Values (n, K), zero where there are none; and which ids were found (n,)."""

    def finish(self) -> int:
        """How many items were never taken; raises if the order was broken."""


class InOrder:
    """A table whose items are in the order of the first table; items may be missing here, but not there."""

    def __init__(self, rows: Iterator[Rows], *, what: str, num_classes: int, argument: str = "predictions") -> None:
        self._rows, self._what, self._num_classes, self._argument = rows, what, num_classes, argument
        self._ids: list[str] = []
        self._values = np.empty((0, num_classes))
        self._next = 0

    def take(self, ids: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Walk both lists once."""
        values = np.zeros((len(ids), self._num_classes))
        found = np.zeros(len(ids), dtype=bool)
        for row, item in enumerate(ids):
            if not self._has_next():
                break
            if self._ids[self._next] == item:
                values[row] = self._values[self._next]
                found[row] = True
                self._next += 1
        return values, found

    def finish(self) -> int:
        """Raise if a row is left: its item is out of order, or missing, in the first table."""
        if self._has_next():
            rule = f"the items of {self._what} in the order of the first table of predictions"
            raise invalid(self._argument, self._ids[self._next], rule, "sort both tables in the same way.")
        return 0

    def _has_next(self) -> bool:
        while self._next >= len(self._ids):
            rows = next(self._rows, None)
            if rows is None:
                return False
            self._ids, self._values, self._next = rows.ids, rows.values, 0
        return True


class ById:
    """A table held in memory; if an item occurs twice, the last row counts."""

    def __init__(self, rows: Iterator[Rows], *, num_classes: int) -> None:
        every = list(rows)
        blank = [np.empty((0, num_classes))]
        self._values = np.concatenate([*(each.values for each in every), *(blank if not every else [])])
        self._place = {item: row for row, item in enumerate(item for each in every for item in each.ids)}
        self._asked = np.zeros(len(self._values), dtype=bool)

    def take(self, ids: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Look each up."""
        at = np.array([self._place.get(item, -1) for item in ids], dtype=np.int64)
        found = at >= 0
        values = np.zeros((len(ids), self._values.shape[1]))
        values[found] = self._values[at[found]]
        self._asked[at[found]] = True
        return values, found

    def finish(self) -> int:
        """Items that are not in the first table."""
        return len(self._place) - int(self._asked[list(self._place.values())].sum())


def item_batches(first: Model, others: Sequence[Follower], votes: Follower, pool_size: int) -> Iterator[ItemBatch]:
    """The items of the first classifier with the predictions of the others and the votes.

    All classes are equally likely where another classifier has no prediction.
    """
    for rows in first.rows():
        stack = [rows.values]
        for each in others:
            values, found = each.take(rows.ids)
            values[~found] = 1.0 / values.shape[1]
            stack.append(values)
        counts = votes.take(rows.ids)[0].astype(np.int64)
        _check_pool(rows.ids, counts, pool_size)
        if rows.ids:
            yield ItemBatch(rows.ids, np.stack(stack, axis=1), counts, rows.done, rows.total)


def _check_pool(ids: Sequence[str], counts: IntArray, pool_size: int) -> None:
    over = np.flatnonzero(counts.sum(axis=1) > pool_size)
    if len(over):
        rule = f"a pool as large as the votes: item {shown(ids[over[0]])} has {int(counts[over[0]].sum())}"
        raise invalid("pool_size", pool_size, rule, "raise `pool_size`, or drop votes.")


FEWEST = 10  # with fewer items with votes, a share is not reliable
FIX = "save an .npz with arrays probs, ids and classes; an array without ids joins only arrays."


def refuse_unnamed(models: Sequence[Model], *, with_votes: bool) -> None:
    """Refuse arrays without ids, except beside other arrays of the same length: rows are not matched by position."""
    unnamed = [model for model in models if model.num_unnamed is not None]
    if not unnamed:
        return
    one = unnamed[0]
    if with_votes or len(unnamed) < len(models):
        other = "the votes" if with_votes else next(each.source for each in models if each.num_unnamed is None)
        rule = f"ids for the {one.num_unnamed} rows of {one.source}: without ids {other} would be matched by position"
        raise invalid("predictions", one.source, rule, FIX)
    odd = next((each for each in unnamed if each.num_unnamed != one.num_unnamed), None)
    if odd is not None:
        rows = f"{one.source} has {one.num_unnamed} rows and {odd.source} {odd.num_unnamed}"
        raise invalid("predictions", odd.source, f"ids where tables differ in length: {rows}", FIX)


def doubtful_match(num_items: int, num_voted: int, left_over: int, source: str) -> str | None:
    """A warning about votes most of whose items are not in the predictions; refuses if none is."""
    if num_items == 0:
        raise invalid("predictions", source, "rows with an id; there is no item to score", "export it again.")
    if left_over and num_voted == 0:
        rule = f"predictions of the items with votes; none of {left_over} has one"
        raise invalid("predictions", source, rule, "check that the ids mean the same in both: `task`, `id_column`.")
    if left_over < FEWEST or left_over <= num_voted:
        return None
    return f"{source} predicts {num_voted} of {num_voted + left_over} items with votes: check the ids in both tables."


def doubtful_rows(source: str, num_votes: int, num_set_aside: int) -> str | None:
    """A warning about votes with more rows set aside than counted."""
    if num_set_aside < FEWEST or num_set_aside <= num_votes:
        return None
    return (
        f"{num_set_aside} rows of {source} are set aside and {num_votes} votes are counted: check the columns, `task`, "
        "`label`, and `format`, and that the labels are the classes of `params`."
    )


IN_FLIGHT = 3  # batches in flight per worker


Scored = Callable[[Iterable[ItemBatch]], Iterator[tuple[ItemBatch, BatchDecisions]]]


@contextmanager
def scored_by(decider: Decider, cluster: str | None) -> Iterator[Scored]:
    """A function that scores batches in their order, here (`cluster` None) or on the workers of a cluster."""
    if cluster is None:
        yield lambda batches: ((batch, decider.decide(batch.predictions, batch.votes)) for batch in batches)
        return
    with connected(cluster, kind=_kind) as workers:
        yield lambda batches: _on_dask(workers, decider, batches)


def _kind() -> dict[str, str]:
    """What must be equal on two machines for equal results."""
    return {"code": sources_digest()} | {name: version(name) for name in ("numpy", "numba")}


def _on_dask(
    cluster: Cluster, decider: Decider, batches: Iterable[ItemBatch]
) -> Iterator[tuple[ItemBatch, BatchDecisions]]:
    """The batches in their order; some are on their way while the next are read."""
    waiting: deque[tuple[ItemBatch, Any]] = deque()
    most = IN_FLIGHT * max(1, cluster.num_workers)
    with cluster.failures():
        for batch in batches:
            waiting.append((batch, cluster.submit(decider.decide, batch.predictions, batch.votes)))
            if len(waiting) >= most:
                yield _first(waiting)
        while waiting:
            yield _first(waiting)


def _first(waiting: deque[tuple[ItemBatch, Any]]) -> tuple[ItemBatch, BatchDecisions]:
    batch, job = waiting.popleft()
    return batch, job.result()
