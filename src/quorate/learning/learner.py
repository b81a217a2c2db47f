"""The window of recent items with votes, when it is time to learn from it, and the fit of the next parameters.

Called by the session, the streams, the service and the estimator.
"""

from __future__ import annotations

import math

import numpy as np

from quorate.compiled import kernel
from quorate.learning.fit import INFO_SIZE, fit_kernel, report_of
from quorate.learning.problem import numbers_of, pack, unpack
from quorate.prior import Hyperprior
from quorate.types import FitReport, FloatArray, IntArray, PriorParams

USUAL_ITEMS = 500  # a window of so many items is fitted after `refit_every` closed items, proportionally or not


@kernel
def fit_is_due(num_closed: int, fitted_after: int, num_items: int, refit_every: int, proportional: bool) -> bool:
    """Whether to fit a window of `num_items` after `num_closed` closed items, the last fit after `fitted_after`.

    After every `refit_every` closed items, as in the paper; a fit that is skipped moves no later one. Proportional: a
    window of 500 items after `refit_every` further items, one of 250 after half as many, one of 1000 after twice as
    many. So the first votes are learned from at once, and the time of fits per closed item does not grow with the
    window.

    >>> fit_is_due(40, 19, 500, 20, False), fit_is_due(41, 19, 500, 20, False)
    (True, False)
    >>> fit_is_due(120, 100, 500, 20, True), fit_is_due(120, 100, 1000, 20, True), fit_is_due(1, 0, 25, 20, True)
    (True, False, True)
    """
    if proportional:
        return num_items > 0 and (num_closed - fitted_after) * USUAL_ITEMS >= refit_every * num_items
    return num_closed % refit_every == 0


def most_fits(num_items: int, window: int, refit_every: int, *, proportional: bool) -> int:
    """At most so many fits in a stream of `num_items`.

    Proportional: at most m - 1 fits see fewer than m items, as each needs a new item with votes. The others are at
    least refit_every m / 500 closed items apart.

    >>> most_fits(10_000, 1000, 20, proportional=True), most_fits(10_000, 1000, 20, proportional=False)
    (1001, 501)
    """
    if not proportional:
        return num_items // refit_every + 1
    apart = num_items * USUAL_ITEMS / refit_every
    small = max(1, min(window, math.isqrt(int(apart))))
    return small + int(apart / small) + 1


class Window:
    """Predictions and vote counts of the last `size` items with votes, by item id; a ring buffer."""

    def __init__(self, size: int | None, num_classifiers: int, num_classes: int) -> None:
        self.size = size
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
        self._ids[slot] = item_id
        self._slots[item_id] = slot
        self._log_predictions[slot] = log_predictions
        self._votes[slot] = 0
        self._entered += 1

    def add(self, item_id: str, label: int, change: int) -> bool:
        """Add (1) or retract (-1) a vote of an item in the window; False if the item is not in it."""
        slot = self._slots.get(item_id)
        if slot is None:
            return False
        self._votes[slot, label] += change
        return True

    def _double(self) -> None:
        more = len(self._ids) if self.size is None else min(len(self._ids), self.size - len(self._ids))
        self._log_predictions = np.concatenate([self._log_predictions, np.zeros_like(self._log_predictions[:more])])
        self._votes = np.concatenate([self._votes, np.zeros_like(self._votes[:more])])
        self._ids += [None] * more


def refit(params: PriorParams, window: Window, hyperprior: Hyperprior) -> tuple[PriorParams, FitReport]:
    """The most probable parameters given the window, searched from `params`; a bias is learned iff `params` has one."""
    packed, info = pack(params), np.empty(INFO_SIZE)
    fit_kernel(
        packed,
        window.log_predictions,
        window.votes,
        len(window),
        numbers_of(hyperprior, params.num_classes),
        True,  # a refit
        packed,
        info,
    )
    return unpack(packed, params.tau.shape), report_of(info)
