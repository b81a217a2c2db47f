"""The window of recent items with votes, when it is time to learn from it, and the fit of the next parameters.

`MapLearner` is the learner of all our methods; a user's own has only `learn` (`Learner`). Called by the session, the
streams, the service and the estimator.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from quorate.model.learning.fit import fit, fit_packed
from quorate.model.learning.problem import numbers_of, pack, unpack
from quorate.model.prior import HYPERPRIORS, Hyperprior, hyperprior
from quorate.types import FitReport, FloatArray, IntArray, Params, PriorParams
from quorate.validate import invalid, whole

WINDOW, REFIT_EVERY = 500, 20  # of the paper: items that learning uses; closed items between two fits
USUAL_ITEMS = 500  # a window of so many items is fitted after `refit_every` closed items, proportionally or not


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


def most_fits(learner: Learner, num_items: int) -> int:
    """At most so many fits of the learner in a stream of `num_items`.

    Proportional: at most m - 1 fits see fewer than m items, as each needs a new item with votes. The others are at
    least refit_every m / 500 closed items apart.

    >>> most_fits(MapLearner(window=1000, proportional=True), 10_000), most_fits(MapLearner(window=1000), 10_000)
    (1001, 501)
    """
    every: int | None = getattr(learner, "refit_every", REFIT_EVERY)
    if every is None:
        return 0
    if not (isinstance(learner, MapLearner) and learner.proportional):
        return num_items // every + 1
    apart = num_items * USUAL_ITEMS / every
    window = num_items if learner.window is None else learner.window
    small = max(1, min(window, math.isqrt(int(apart))))
    return small + int(apart / small) + 1


@runtime_checkable
class Learner(Protocol):
    """Learns from the last `window` items with votes (default 500), after every `refit_every` closed items (20).

    Optional: `start(num_classes, num_classifiers)`, the parameters before the first fit; without it theta = phi = 1 and
    tau = 1 / M. Parameters are a `PriorParams`, or for an own prior any value that JSON can store.
    """

    def learn(self, predictions: FloatArray, votes: IntArray, params: Params) -> Params:
        """The next parameters. predictions (T, K), or (T, M, K) for M classifiers; votes (T, K); `params` the last."""


@dataclass(frozen=True, slots=True)
class MapLearner:
    """The most probable parameters given the votes in the window: `quorate.fit`.

    `window`: the last items with votes (None: all). It fits after every `refit_every` closed items (None: only when
    `Session.learn` is called). `bias`: with the class bias. `proportional`: the fewer items the window has, the more
    often it is fitted (`fit_is_due`). `proves_answers`: answers without votes are the classifier's until what was
    learned has won votes that it has not seen (`learning.answers`).
    """

    hyperprior: Hyperprior = HYPERPRIORS["infexp"]
    window: int | None = WINDOW
    refit_every: int | None = REFIT_EVERY
    bias: bool = False
    proportional: bool = False
    proves_answers: bool = False

    def __post_init__(self) -> None:
        """Check the numbers; a hyperprior may be given by name."""
        object.__setattr__(self, "hyperprior", hyperprior(self.hyperprior))
        for name in ("window", "refit_every"):
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None else whole(value, where=name))

    def start(self, num_classes: int, num_classifiers: int = 1) -> PriorParams:
        """The mode of the hyperprior."""
        return self.hyperprior.mode(num_classes, num_classifiers, with_bias=self.bias)

    def learn(self, predictions: FloatArray, votes: IntArray, params: PriorParams) -> PriorParams:
        """`quorate.fit`, searched from `params`."""
        return fit(predictions, votes, hyperprior=self.hyperprior, start=params, bias=self.bias)[0]


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

    @property
    def num_entered(self) -> int:
        """How many items have entered so far."""
        return self._entered

    def since(self, entered: int) -> tuple[FloatArray, IntArray]:
        """Log predictions and votes of those that came after the first `entered` and are still here, oldest first."""
        slots = np.arange(max(entered, self._entered - len(self)), self._entered) % max(1, len(self))
        return self._log_predictions[slots], self._votes[slots]

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


def is_due(learner: Learner, num_closed: int, fitted_after: int, num_items: int) -> bool:
    """Whether the learner fits now: see `fit_is_due`."""
    every: int | None = getattr(learner, "refit_every", REFIT_EVERY)
    proportional = isinstance(learner, MapLearner) and learner.proportional
    return every is not None and fit_is_due(num_closed, fitted_after, num_items, every, proportional)


def next_params(learner: Learner, params: Params, window: Window) -> tuple[Params, FitReport | None]:
    """The parameters learned from the window; a report if the learner is ours."""
    if isinstance(learner, MapLearner):
        return refit(params, window, learner.hyperprior)
    predictions = np.exp(window.log_predictions)
    if predictions.shape[1] == 1:
        predictions = predictions[:, 0]
    learned = learner.learn(predictions, window.votes.copy(), params)
    return (learned if isinstance(learned, PriorParams) else as_json_value(learned)), None


def as_json_value(params: Params) -> Params:
    """Parameters of an own prior after a round trip through JSON, so that a resumed session has the same ones."""
    try:
        return json.loads(json.dumps(params, allow_nan=False))
    except (TypeError, ValueError) as cause:
        rule = f"a PriorParams, or a value that JSON can store ({cause})"
        raise invalid("learn()", params, rule, "return numbers, text, lists or dicts.") from cause


def refit(params: PriorParams, window: Window, hyperprior: Hyperprior) -> tuple[PriorParams, FitReport]:
    """The most probable parameters given the window, searched from `params`; a bias is learned iff `params` has one."""
    numbers = numbers_of(hyperprior, params.num_classes)
    packed, report = fit_packed(pack(params), window.log_predictions, window.votes, numbers, is_refit=True)
    return unpack(packed, params.tau.shape), report
