"""Predictions and votes in pieces -> batches of items with both, matched by id. Called by `score`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from quorate.errors import shown
from quorate.tables import ModelRows, Rows, VoteRows, whole_number
from quorate.types import FloatArray, IntArray
from quorate.validate import invalid


@dataclass(frozen=True, slots=True, eq=False)
class ItemBatch:
    """Some items: `ids`, `predictions` (n, M, K), `votes` (n, K), and the progress in the first source."""

    ids: list[str]
    predictions: FloatArray
    votes: IntArray
    done: int
    total: int


def refuse_unnamed(models: Sequence[ModelRows], *, with_votes: bool) -> None:
    """Refuse arrays without ids, except beside other arrays of the same length: rows are not matched by position."""
    rows = {model.num_unnamed for model in models}
    if rows == {None} or (len(rows) == 1 and not with_votes):
        return
    source = next(model.source for model in models if model.num_unnamed is not None)
    fix = "save an .npz with arrays probs, ids and classes; an array without ids joins only arrays of the same length."
    raise invalid("predictions", source, "ids: nothing says which items its rows are", fix)


class Follower(Protocol):
    """Returns the rows of another table for the items of the first."""

    def take(self, ids: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Values (n, K), zero where there are none; and which ids were found (n,)."""

    def finish(self) -> int:
        """How many items were never taken; raises if the order was broken."""


class InOrder:
    """A table whose items are in the order of the first table; items may be missing here, but not there."""

    def __init__(self, rows: Iterator[Rows], *, argument: str, num_classes: int) -> None:
        self._rows, self._argument, self._num_classes = rows, argument, num_classes
        self._ids: list[str] = []
        self._values = np.empty((0, num_classes))
        self._next = 0

    def take(self, ids: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Walk both lists once."""
        values = np.zeros((len(ids), self._num_classes))
        is_there = np.zeros(len(ids), dtype=bool)
        for row, item in enumerate(ids):
            if not self._has_next():
                break
            if whole_number(self._ids[self._next]) == whole_number(item):
                values[row], is_there[row] = self._values[self._next], True
                self._next += 1
        return values, is_there

    def finish(self) -> int:
        """Raise if a row is left: its item is out of order, or missing, in the first table."""
        if self._has_next():
            rule = "the items in the order of the first table of predictions"
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
    """Counts held in memory, by item."""

    def __init__(self, rows: Rows) -> None:
        self._values = rows.values
        self._place = {whole_number(item): row for row, item in enumerate(rows.ids)}
        self._asked = np.zeros(len(rows.ids), dtype=bool)

    def take(self, ids: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Look each up."""
        at = np.array([self._place.get(whole_number(item), -1) for item in ids], dtype=np.int64)
        is_there = at >= 0
        values = np.zeros((len(ids), self._values.shape[1]))
        values[is_there] = self._values[at[is_there]]
        self._asked[at[is_there]] = True
        return values, is_there

    def finish(self) -> int:
        """Items that are not in the first table."""
        return int((~self._asked).sum())


def voters(votes: VoteRows, num_classes: int) -> Follower:
    """The votes of the items: in the order of the predictions if they are streamed, else looked up."""
    if votes.streamed:
        return InOrder(votes.pieces, argument="votes", num_classes=num_classes)
    return ById(next(votes.pieces))


def item_batches(first: ModelRows, others: Sequence[Follower], votes: Follower, pool_size: int) -> Iterator[ItemBatch]:
    """The items of the first classifier with the predictions of the others and the votes.

    All classes are equally likely where another classifier has no prediction.
    """
    for rows in first.rows():
        stack = [rows.values]
        for follower in others:
            values, is_there = follower.take(rows.ids)
            values[~is_there] = 1.0 / values.shape[1]
            stack.append(values)
        counts = votes.take(rows.ids)[0].astype(np.int64)
        over = np.flatnonzero(counts.sum(axis=1) > pool_size)
        if len(over):
            rule = f"a pool as large as the votes: item {shown(rows.ids[over[0]])} has {int(counts[over[0]].sum())}"
            raise invalid("pool_size", pool_size, rule, "raise `pool_size`, or drop votes.")
        if rows.ids:
            yield ItemBatch(rows.ids, np.stack(stack, axis=1), counts, rows.done, rows.total)
