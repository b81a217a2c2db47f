"""The window of recent items with votes, older ones that count less, and the fit of the next parameters from them.

Called by the session, the service and the estimator.
"""

from __future__ import annotations

import numpy as np

from quorate.learning.fit import INFO_SIZE, WARM, fit_kernel, report_of
from quorate.learning.problem import pack, unpack
from quorate.prior import Hyperprior
from quorate.types import FitReport, FloatArray, IntArray, PriorParams


class Window:
    """Predictions and vote counts of the last `size` items with votes, by item id; a ring buffer.

    Items that leave it go to `older`, a window of the `older` * `size` items before; None if there is none. Late votes
    reach them there.
    """

    def __init__(self, size: int | None, num_classifiers: int, num_classes: int, *, older: int = 0) -> None:
        self.size = size
        self.older: Window | None = None
        if size is not None and older > 0:
            self.older = Window(older * size, num_classifiers, num_classes)
        rows = 64 if size is None else min(64, size)
        self._log_predictions = np.zeros((rows, num_classifiers, num_classes))
        self._votes = np.zeros((rows, num_classes), dtype=np.int64)
        self._ids: list[str | None] = [None] * rows
        self._slots: dict[str, int] = {}
        self._entered = 0

    def __contains__(self, item_id: str) -> bool:
        return item_id in self._slots

    def __len__(self) -> int:
        return self._entered if self.size is None else min(self._entered, self.size)

    @property
    def log_predictions(self) -> FloatArray:
        """(len, M, K), in slot order."""
        return self._log_predictions[: len(self)]

    @property
    def votes(self) -> IntArray:
        """(len, K) counts, in slot order."""
        return self._votes[: len(self)]

    def enter(self, item_id: str, log_predictions: FloatArray) -> None:
        """Give the item a slot without votes; if the ring is full, the oldest item is dropped."""
        slot = self._entered if self.size is None else self._entered % self.size
        if slot == len(self._ids):
            self._double()
        oldest = self._ids[slot]
        if oldest is not None:
            del self._slots[oldest]
            if self.older is not None:
                self.older.enter(oldest, self._log_predictions[slot])
                self.older._votes[self.older._slots[oldest]] = self._votes[slot]
        self._ids[slot] = item_id
        self._slots[item_id] = slot
        self._log_predictions[slot] = log_predictions
        self._votes[slot] = 0
        self._entered += 1

    def add(self, item_id: str, label: int, change: int) -> bool:
        """Add (1) or retract (-1) a vote of an item in the window or among the older; False if it is in neither."""
        slot = self._slots.get(item_id)
        if slot is None:
            return self.older is not None and self.older.add(item_id, label, change)
        self._votes[slot, label] += change
        return True

    def _double(self) -> None:
        more = len(self._ids) if self.size is None else min(len(self._ids), self.size - len(self._ids))
        self._log_predictions = np.concatenate([self._log_predictions, np.zeros_like(self._log_predictions[:more])])
        self._votes = np.concatenate([self._votes, np.zeros_like(self._votes[:more])])
        self._ids += [None] * more


def refit(params: PriorParams, window: Window, hyperprior: Hyperprior) -> tuple[PriorParams, FitReport]:
    """The most probable parameters given the window, searched from `params`; a bias is learned iff `params` has one.

    Older items count less: see `fit_kernel`.
    """
    packed, info = pack(params), np.empty(INFO_SIZE)
    older, logs, votes = window.older, window.log_predictions, window.votes
    num_older = 0 if older is None else len(older)
    if older is not None and num_older > 0:
        logs, votes = np.concatenate([older.log_predictions, logs]), np.concatenate([older.votes, votes])
    fit_kernel(packed, logs, votes, len(votes), num_older, *hyperprior.numbers, WARM, packed, info)
    return unpack(packed, params.tau.shape), report_of(info)
