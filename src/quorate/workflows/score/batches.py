"""Predictions of M classifiers and votes -> batches of items with both; all tables must name the same items."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from quorate.errors import shown
from quorate.types import FloatArray, IntArray
from quorate.validate import broken
from quorate.workflows.score.parts import ReadOptions, Rows
from quorate.workflows.score.predictions import Model


@dataclass(frozen=True, slots=True, eq=False)
class ItemBatch:
    """Some items: `ids`, `predictions` (n, M, K), `votes` (n, K); `done` of `total` of the first source is read."""

    ids: list[str]
    predictions: FloatArray
    votes: IntArray
    done: int
    total: int


class Follower(Protocol):
    """Gives the rows of another table for the items of the first."""

    def take(self, ids: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Values (n, K), zero where there are none; and which ids were found (n,)."""

    def finish(self) -> int:
        """How many items were never asked for; raises if the order was broken."""


class InOrder:
    """A table whose items come in the order of the first table; an item may be missing here, never there."""

    def __init__(self, rows: Iterator[Rows], *, what: str, num_classes: int) -> None:
        self._rows, self._what, self._num_classes = rows, what, num_classes
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
        """Raise if a row is left: it stands elsewhere in the first table, or not at all."""
        if self._has_next():
            rule = f"the items of {self._what} in the order of the first table of predictions"
            fix = "sort both alike, or pass `match='id'`, which holds this table in memory."
            raise broken("match", self._ids[self._next], rule, fix)
        return 0

    def _has_next(self) -> bool:
        while self._next >= len(self._ids):
            rows = next(self._rows, None)
            if rows is None:
                return False
            self._ids, self._values, self._next = rows.ids, rows.values, 0
        return True


class ById:
    """A table held in memory; of an item that stands there twice the last row counts."""

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


class NoVotes:
    """No votes at all."""

    def __init__(self, num_classes: int) -> None:
        self._num_classes = num_classes

    def take(self, ids: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Zeros."""
        return np.zeros((len(ids), self._num_classes)), np.zeros(len(ids), dtype=bool)

    def finish(self) -> int:
        """None is left."""
        return 0


def item_batches(first: Model, others: Sequence[Follower], votes: Follower, pool_size: int) -> Iterator[ItemBatch]:
    """The items of the first classifier with what the others and the voters say.

    All classes are alike where another classifier has no prediction.
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
        raise broken("pool_size", pool_size, rule, "raise `pool_size`, or drop votes.")


FEWEST = 10  # items with votes from which on a share says something
FIX = "name the items of the rows in order: pass `ids=[...]`, an .npz with an array ids, or a table with an id column."


def refuse_unnamed(models: Sequence[Model], *, with_votes: bool) -> None:
    """Rows of an array without ids go with those of arrays as long, and with nothing else: places are no names."""
    unnamed = [model for model in models if model.num_unnamed is not None]
    if not unnamed:
        return
    one = unnamed[0]
    if with_votes or len(unnamed) < len(models):
        other = "the votes" if with_votes else next(each.source for each in models if each.num_unnamed is None)
        rule = f"ids for the {one.num_unnamed} rows of {one.source}: without them {other} would be matched by place"
        raise broken("ids", None, rule, FIX)
    odd = next((each for each in unnamed if each.num_unnamed != one.num_unnamed), None)
    if odd is not None:
        rows = f"{one.source} has {one.num_unnamed} rows and {odd.source} {odd.num_unnamed}"
        raise broken("ids", None, f"ids where tables differ in length: {rows}", FIX)


def refuse_poor_match(num_items: int, num_voted: int, left_over: int, source: str, reading: ReadOptions) -> None:
    """Nothing to score, and votes of which no item, or less than half of them, is in the predictions."""
    if num_items == 0:
        raise broken("predictions", source, "rows with an id; there is no item to score", "export it again.")
    if reading.as_read or left_over == 0:
        return
    if num_voted == 0 or (left_over >= FEWEST and left_over > num_voted):
        rule = f"predictions of most items with votes; {num_voted} of {num_voted + left_over} are there"
        fix = "check that the ids mean the same in both (`task`, `id_column`), or pass `as_read=True` if they do."
        raise broken("predictions", source, rule, fix)


def refuse_lost_votes(source: str, num_votes: int, num_set_aside: int, reading: ReadOptions) -> None:
    """More rows of the votes set aside than counted; streams are judged at their end, before the file is there."""
    if not reading.as_read and num_set_aside >= FEWEST and num_set_aside > num_votes:
        rule = f"most rows to count; {num_set_aside} rows are set aside and {num_votes} votes are counted"
        fix = (
            "check the columns (`task`, `label`, `format`) and that the labels are the classes of `params`, or pass "
            "`as_read=True` if they are."
        )
        raise broken("votes", source, rule, fix)
