"""Controls the error on single classes: weights of their errors, adjusted as items close. Pure: frozen states, no I/O.

A class's target is the largest share of its items (by the verdict of their pools) that may get another answer. `costs`
are the current error costs for asking and answering (`decision.error_costs`); `closed(...)` returns the state after one
more item. Called by `streams.replay`, in addition to the control of the overall target error.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from quorate.errors import shown
from quorate.streams.control import MOST_STEP
from quorate.streams.target_error import SURENESS, errors_at_most
from quorate.tables.votes.names import meant
from quorate.types import FloatArray
from quorate.validate import fraction, invalid

MOST_WEIGHT = math.log(1e4)
PULL = 10.0  # classes with a target are rare, so the control must react to a few items
RATE = 0.02
PRIOR = 1.0  # prior number of errors, as in TargetErrorControl


def class_numbers(targets: Mapping[str, float], classes: Sequence[str]) -> dict[int, float]:
    """The targets by number of the class, checked.

    >>> class_numbers({"abnormal": 0.05}, ["normal", "abnormal"])
    {1: 0.05}
    """
    found = {}
    for name, target in targets.items():
        if name not in classes:
            close = meant(name, list(classes))
            fix = f"did you mean {close!r}?" if close else "name a class of the data."
            raise invalid("class_targets", name, f"a class; the classes are {shown(list(classes))}", fix)
        if not 0.0 < fraction(target, where="class_targets") < 1.0:
            fix = f"pass e.g. {name}=0.05: of the items that are {name}, 5 % may end with another answer."
            raise invalid("class_targets", {name: target}, "a share above 0 and below 1", fix)
        found[list(classes).index(name)] = float(target)
    return found


@dataclass(frozen=True, slots=True)
class EventCounts:
    """Counts of an event: `known` on settled and audited items, `unseen` expected on the others.

    `audited`, `expected`: weighted events that audits found, and that the belief expected on the audited items.
    """

    known: float = 0.0
    unseen: float = 0.0
    audited: float = 0.0
    expected: float = 0.0

    @property
    def factor(self) -> float:
        """Events found in audits divided by events expected there."""
        return (self.audited + PRIOR) / (self.expected + PRIOR)

    @property
    def mean(self) -> float:
        """The estimated number of events so far."""
        return self.known + self.factor * self.unseen

    def at_most(self, sureness: float) -> float:
        """An upper bound of the events so far that holds with probability `sureness`."""
        mean = self.factor * self.unseen
        return self.known + errors_at_most(mean, self.unseen / (self.expected + PRIOR), sureness)

    def seen(self, prob: float, share: float | None, *, settled: bool, weight: float) -> EventCounts:
        """The counts after an item with event probability `prob`; `share`: its outcome by the pool, if known."""
        if share is None:
            return replace(self, unseen=self.unseen + prob)
        after = replace(self, known=self.known + share)
        if settled:
            return after
        return replace(after, audited=self.audited + weight * share, expected=self.expected + weight * prob)


@dataclass(frozen=True, slots=True)
class ClassTarget:
    """One class and its target: its items missed and found, and the weight of its errors, w = exp(log weight).

    With M the upper bound of the misses at probability `sureness` and F the items found, after each item
        log w = v + (M - e (M + F)) / (PULL e),   v += eta_t (missed - e) / e  over the items of the class
    """

    number: int
    target: float
    sureness: float = SURENESS
    level: float = 0.0
    missed: EventCounts = EventCounts()
    found: EventCounts = EventCounts()

    @property
    def reached(self) -> float:
        """The estimated share of the class's items that were missed; NaN before there are any."""
        return _share(self.missed.mean, self.found.mean)

    @property
    def upper(self) -> float:
        """The upper bound of that share at probability `sureness`, from the audits."""
        return _share(self.missed.at_most(self.sureness), self.found.mean)

    @property
    def num_items(self) -> float:
        """The estimated number of items of the class so far."""
        return self.missed.mean + self.found.mean

    @property
    def log_weight(self) -> float:
        """log w, at least 0: an error on the class never counts less than other errors."""
        most = self.missed.at_most(self.sureness)
        ahead = most - self.target * (most + self.found.mean)
        return min(max(self.level + ahead / (PULL * self.target), 0.0), MOST_WEIGHT)

    def closed(self, prob: float, *, answered: bool, share: float | None, settled: bool, weight: float) -> ClassTarget:
        """The state after one more item: `prob` that it is of the class, `answered` whether the class is its answer."""
        if answered:
            after = replace(self, found=self.found.seen(prob, share, settled=settled, weight=weight))
        else:
            after = replace(self, missed=self.missed.seen(prob, share, settled=settled, weight=weight))
        event = share if share is not None else prob * (after.found if answered else after.missed).factor
        excess = -event if answered else event * (1.0 - self.target) / self.target
        step = min(max(RATE * excess, -MOST_STEP), MOST_STEP)
        return replace(after, level=min(max(self.level + step, 0.0), MOST_WEIGHT))


@dataclass(frozen=True, slots=True)
class ClassTargetControl:
    """The targets of several classes, each controlled by its own weight.

    >>> control = ClassTargetControl.start({1: 0.05}, num_classes=2)
    >>> missed = control.closed(np.array([0.9, 0.1]), 0, truth=np.array([0.0, 1.0]), settled=False, weight=1.0)
    >>> bool(missed.costs[1, 0] > control.costs[1, 0] > control.costs[0, 1])
    True
    """

    num_classes: int
    classes: tuple[ClassTarget, ...]

    @classmethod
    def start(cls, targets: Mapping[int, float], *, num_classes: int, sureness: float = SURENESS) -> ClassTargetControl:
        """The initial state: an error on the class counts 1 / e, to avoid misses before the first one is seen."""
        first = (ClassTarget(number, e, sureness, level=-math.log(e)) for number, e in targets.items())
        return cls(num_classes, tuple(first))

    @property
    def costs(self) -> FloatArray:
        """The current error costs (K, K), rows the truth."""
        weights = np.ones(self.num_classes)
        for each in self.classes:
            weights[each.number] = math.exp(each.log_weight)
        return np.asarray(weights[:, None] * (1.0 - np.eye(self.num_classes)))

    def doubt(self, probs: FloatArray, label: int) -> float:
        """1 - confidence, or the weighted probability of a miss if that is higher; it sets the audit rate."""
        missed = (math.exp(each.log_weight) * probs[each.number] for each in self.classes if each.number != label)
        return float(min(max(1.0 - probs[label], *missed, 0.0), 1.0))

    def closed(
        self, probs: FloatArray, label: int, *, truth: FloatArray | None, settled: bool, weight: float
    ) -> ClassTargetControl:
        """The state after an item answered `label`; `truth` (K,) its pool's verdict, ties shared, None if unknown.

        `weight` of its audit in the estimates: sqrt(lowest audit rate / its own rate).
        """
        after = (
            each.closed(
                float(probs[each.number]),
                answered=label == each.number,
                share=None if truth is None else float(truth[each.number]),
                settled=settled,
                weight=weight,
            )
            for each in self.classes
        )
        return replace(self, classes=tuple(after))


def _share(missed: float, found: float) -> float:
    return missed / (missed + found) if missed + found else math.nan
