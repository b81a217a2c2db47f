"""Votes of many items in the order they would be asked, with predictions: what a replay goes through.

Made from a padded table (`recorded`), from a data set's stream (`from_stream`) or from joined tables (their arrays are
already in this form). Called by `workflows.replay`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate.errors import InvalidInput
from quorate.streams.prepare import Stream
from quorate.types import FloatArray, IntArray
from quorate.validate import as_floats, class_names


@dataclass(frozen=True, slots=True, eq=False)
class Recorded:
    """T items. `labels` (V,) class numbers; those of item t are labels[starts[t] : starts[t + 1]], in asking order.

    `predictions` (T, M, K) probabilities, floored, each row summing to 1   `classes` K names   `ids` T names
    """

    labels: NDArray[np.int16]
    starts: IntArray
    predictions: FloatArray
    classes: tuple[str, ...]
    ids: tuple[str, ...]

    def __post_init__(self) -> None:
        """The parts belong together."""
        items, classes = len(self.starts) - 1, len(self.classes)
        if self.predictions.ndim != 3 or self.predictions.shape[::2] != (items, classes):
            raise InvalidInput(
                f"predictions has shape {self.predictions.shape}; expected ({items}, M, {classes}), M classifiers."
            )
        if len(self.ids) != items or len(set(self.ids)) != items:
            raise InvalidInput(f"ids has {len(set(self.ids))} different names; expected {items}, one per item.")
        if self.labels.size and not (self.labels.min() >= 0 and self.labels.max() < classes):
            raise InvalidInput(
                f"labels lie outside 0 .. {classes - 1}; expected class numbers; leave out missing votes."
            )

    @property
    def num_items(self) -> int:
        """T."""
        return len(self.starts) - 1

    @property
    def num_votes(self) -> IntArray:
        """(T,) votes recorded for each item."""
        return np.diff(self.starts)

    def head(self, count: int) -> Recorded:
        """The first `count` items."""
        count = min(count, self.num_items)
        kept = slice(0, int(self.starts[count]))
        return Recorded(
            self.labels[kept], self.starts[: count + 1], self.predictions[:count], self.classes, self.ids[:count]
        )

    def counts(self) -> IntArray:
        """(T, K) all recorded votes."""
        counts = np.zeros((self.num_items, len(self.classes)), dtype=np.int64)
        np.add.at(counts, (np.repeat(np.arange(self.num_items), self.num_votes), self.labels), 1)
        return counts


def recorded(
    votes: Any,  # noqa: ANN401
    predictions: Any,  # noqa: ANN401
    *,
    classes: Sequence[str],
    ids: Sequence[str] | None = None,
) -> Recorded:
    """A padded table of votes (T, N), class numbers and -1 for none, with predictions (T, K) or (T, M, K).

    >>> items = recorded([[0, 1, -1], [1, 1, 1]], [[0.5, 0.5], [0.2, 0.8]], classes=["a", "b"])
    >>> items.num_votes, items.counts().tolist(), items.predictions.shape
    (array([2, 3]), [[1, 1], [0, 3]], (2, 1, 2))
    """
    table = np.asarray(votes)
    probs = as_floats(predictions, where="predictions")
    if table.ndim != 2 or table.dtype.kind not in "iu":
        raise InvalidInput(f"votes has shape {table.shape} of {table.dtype}; expected class numbers (items, votes).")
    present = table >= 0
    starts = np.concatenate([[0], present.sum(axis=1).cumsum()]).astype(np.int64)
    names = tuple(str(t) for t in range(len(table))) if ids is None else tuple(ids)
    stacked = probs[:, None, :] if probs.ndim == 2 else probs
    return Recorded(table[present].astype(np.int16), starts, np.ascontiguousarray(stacked), class_names(classes), names)


def from_stream(stream: Stream, classes: Sequence[str]) -> Recorded:
    """A prepared stream of a data set, items named by their place in it: what `simulate` runs, to replay."""
    return recorded(stream.votes, stream.predictions, classes=classes)
