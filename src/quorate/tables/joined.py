"""`Joined`: votes and predictions of the same items over the same classes, compact, ready for any command.

Made by `join`. The votes are in one array each, sorted by item and then in recorded order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from quorate.tables.own_types import TEXTS, OwnTypes, in_own_type
from quorate.tables.readers.arrow import pa
from quorate.tables.readers.frames import give_back
from quorate.tables.report import Report
from quorate.types import FloatArray, IntArray, VoteDataset, frozen_array
from quorate.validate import MOST_VOTES, broken

MOST_CELLS = 2_000_000_000  # of the padded table of votes, two bytes each


@dataclass(frozen=True, slots=True, eq=False)
class Joined:
    """Votes and predictions by item.

    `items` T ids, in the order of their first vote (by time where there are times)
    `starts` (T + 1,) votes of item t are starts[t] .. starts[t + 1] of the arrays below, in recorded order
    `item` (V,) index into `items`   `label` (V,) index into `classes`   `worker` (V,) index into `workers`, -1 nobody
    `order` (V,) place in the recorded sequence of all votes   `time` (V,) seconds since 1970, NaN unknown; or None
    `predictions` (M, T, K) probabilities, floored, each row summing to 1   `models` M names
    `unvoted` ids with a prediction but no vote, and `unvoted_predictions` (M, U, K)
    `report` every rule that fired   `backend` the kind of table `vote_table` gives back, `own` the types in it
    """

    items: tuple[str, ...]
    starts: IntArray
    item: NDArray[np.int32]
    label: NDArray[np.int16]
    worker: NDArray[np.int32]
    order: IntArray
    time: FloatArray | None
    classes: tuple[str, ...]
    workers: tuple[str, ...]
    predictions: FloatArray
    models: tuple[str, ...]
    unvoted: tuple[str, ...]
    unvoted_predictions: FloatArray
    report: Report
    name: str = "votes"
    backend: str = "pyarrow"
    own: OwnTypes = TEXTS

    @property
    def num_items(self) -> int:
        """T."""
        return len(self.items)

    @property
    def num_votes(self) -> int:
        """V."""
        return len(self.label)

    def votes_of(self, item: int) -> NDArray[np.int16]:
        """The class numbers of the votes on item number `item`, in recorded order."""
        return self.label[self.starts[item] : self.starts[item + 1]]

    def to_dataset(self, *, pool: Literal["own"] = "own") -> VoteDataset:
        """A `VoteDataset` whose pools are the items' own votes: (T, N) in recorded order, -1 after the last."""
        if pool != "own":
            raise broken("pool", pool, "'own': each item's pool is everyone who voted on it", "leave it out.")
        lengths = np.diff(self.starts)
        longest = int(lengths.max())
        if longest > MOST_VOTES or longest * self.num_items > MOST_CELLS:
            rule = (
                f"at most {MOST_VOTES} votes per item and {MOST_CELLS} cells in all; there are {self.num_items} items "
                f"with up to {longest} votes"
            )
            raise broken("votes", self.name, rule, "split the items.")
        votes = np.full((self.num_items, longest), -1, dtype=np.int16)
        votes[self.item, np.arange(self.num_votes) - self.starts[self.item]] = self.label
        return VoteDataset(
            name=self.name,
            votes=frozen_array(votes, np.int16),
            predictions=frozen_array(self.predictions),
            models=self.models,
            classes=self.classes,
            blocks=frozen_array(np.zeros(self.num_items), np.int64),
            notes=tuple(self.report.lines()),
        )

    def vote_table(self, backend: str | None = None) -> Any:  # noqa: ANN401 - a frame of any library
        """The clean votes as a long table `task, worker, label` (and `timestamp`), in recorded order.

        As the kind of table the votes came in, or `backend`: "pandas", "polars" or "pyarrow". Ids, workers and labels
        have the types they had in a frame.
        """
        at = np.argsort(self.order)
        worker = self.worker[at]
        columns = {
            "task": in_own_type(self.items, self.own.task).take(pa.array(self.item[at])),
            "worker": in_own_type(self.workers, self.own.worker).take(pa.array(worker, mask=worker < 0)),
            "label": in_own_type(self.classes, self.own.label).take(pa.array(self.label[at])),
        }
        if self.time is not None:
            columns["timestamp"] = pa.array(self.time[at], from_pandas=True)
        return give_back(pa.table(columns), self.backend if backend is None else backend)
