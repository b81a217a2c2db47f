"""Joined votes -> is the order within items the one in which people voted, or are the votes sorted by label?

Sorted votes bias a replay: the first vote reveals more than one random vote would. Called by `commands.run`.

The measure is Kendall's tau. A pair of votes on an item with different keys is an inversion if it is not in the order
of the keys. For an item with n votes, m_g of them with key g, in random order (exact):

    pairs D = (n^2 - sum m_g^2) / 2      E[inversions] = D / 2
    Var[inversions] = (n (n - 1) (2 n + 5) - sum m_g (m_g - 1) (2 m_g + 5)) / 72
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from quorate.tables.joined import Joined
from quorate.types import FloatArray, IntArray

SortedBy = Literal["label", "majority"]
MOST_LOOKED_AT = 200_000  # votes examined, of items spread evenly over the table
MOST_PLACES = 40  # votes examined per item, spread evenly: a subset of a random order is in random order
FEWEST_VOTES = 3  # per item: two votes that differ are a tie in any order
CLEAR, VERY_CLEAR = 4.0, 10.0  # standard deviations from a random order
SORTED = 0.9  # tau of votes called sorted; below 1 because labels may have been merged after the sorting
SORTED_PEOPLE = 0.999  # the same if people may come in a fixed order: strict before lenient people is not sorting
FIXED = 0.98  # tau of people in a fixed order
FEWEST_PER_PERSON = 10  # votes examined per person, on average, to detect a fixed order


@dataclass(frozen=True, slots=True)
class VoteOrder:
    """What the order of the votes within items looks like.

    `sorted_by` "label", "majority" (an item's most or least frequent label first) or None: no sign of sorting
    `tau` 1 sorted, 0 random, -1 sorted backwards   `z` standard deviations from random   `num_items` with two keys or
    more   `has_times` the votes are ordered by time   `by_people` every item has its people in the same order
    `mostly` nearly sorted, and votes are anonymous: it may be a fixed order of people, so it is only a warning
    """

    sorted_by: SortedBy | None
    tau: float
    z: float
    num_items: int
    has_times: bool
    by_people: bool
    mostly: bool = False

    def describe(self) -> Mapping[str, object]:
        """As plain values, for summary.json."""
        measures = {"sorted_by": self.sorted_by, "mostly": self.mostly, "tau": self.tau, "z": self.z}
        return measures | {"items": self.num_items, "by_people": self.by_people}


@dataclass(frozen=True, slots=True)
class Inversions:
    """Inversions of all items together, with their moments in random order; `num_items` with two keys or more."""

    seen: int
    pairs: int
    expected: float
    variance: float
    num_items: int

    @property
    def tau(self) -> float:
        """1 if no pair is inverted, -1 if all are."""
        return 1.0 - 2.0 * self.seen / self.pairs if self.pairs else 0.0

    @property
    def z(self) -> float:
        """How many standard deviations fewer inversions there are than in random order."""
        return float((self.expected - self.seen) / np.sqrt(self.variance)) if self.variance else 0.0


def inversions(keys: IntArray, starts: IntArray) -> Inversions:
    """Count the inversions of `keys` (V,); those of item t are keys[starts[t] : starts[t + 1]].

    >>> found = inversions(np.array([0, 0, 1, 2, 1, 0]), np.array([0, 3, 6]))
    >>> found.seen, found.pairs, found.expected, round(found.variance, 3)
    (3, 5, 2.5, 1.583)
    """
    lengths = np.diff(starts)
    item = np.repeat(np.arange(len(lengths)), lengths)
    seen = 0
    for lag in range(1, int(lengths.max(initial=1))):
        same = item[lag:] == item[:-lag]
        seen += int((same & (keys[:-lag] > keys[lag:])).sum())
    _, which = np.unique(keys, return_inverse=True)
    cells, group = np.unique(item * (which.max(initial=0) + 1) + which, return_counts=True)
    of = cells // (which.max(initial=0) + 1)
    n, m = lengths.astype(float), group.astype(float)
    squares = np.bincount(of, m**2, len(n))
    third = np.bincount(of, m * (m - 1) * (2 * m + 5), len(n))
    variance = (n * (n - 1) * (2 * n + 5) - third) / 72
    pairs = (n**2 - squares) / 2
    return Inversions(seen, int(pairs.sum()), float(pairs.sum() / 2), float(variance.sum()), int((pairs > 0).sum()))


def vote_order(joined: Joined) -> VoteOrder:
    """Whether the votes within items are sorted by their labels."""
    at, starts = _looked_at(joined.starts)
    label, worker = joined.label[at].astype(np.int64), joined.worker[at].astype(np.int64)
    named = bool((worker >= 0).all())
    fixed = named and _has_fixed_order(worker, starts)
    least = SORTED if named and not fixed else SORTED_PEOPLE
    measured: list[tuple[SortedBy, Inversions]] = [
        ("label", inversions(_natural(joined.classes)[label], starts)),
        ("label", _crossed(label, starts)),
    ]
    if not fixed:  # people who err more and come last would look sorted
        measured.append(("majority", inversions(-_times_in_item(label, starts), starts)))
    name, best = max(
        measured, key=lambda measure: (abs(measure[1].tau) >= least, abs(measure[1].tau) >= SORTED, abs(measure[1].z))
    )
    is_sorted = abs(best.tau) >= least and abs(best.z) >= CLEAR
    mostly = not is_sorted and not named and abs(best.tau) >= SORTED and abs(best.z) >= VERY_CLEAR
    sorted_by = name if is_sorted or mostly else None
    return VoteOrder(sorted_by, best.tau, best.z, best.num_items, _tells_time(joined), fixed, mostly)


def _has_fixed_order(worker: IntArray, starts: IntArray) -> bool:
    """Whether every item has its people in the same order, as in a table with a column per person."""
    if len(worker) < FEWEST_PER_PERSON * len(np.unique(worker)):
        return False
    return inversions(_by_place(worker, starts)[worker], starts).tau >= FIXED


def _looked_at(starts: IntArray) -> tuple[IntArray, IntArray]:
    """Positions of the votes to examine, and where those of each item start."""
    lengths = np.diff(starts)
    rows = np.flatnonzero(lengths >= FEWEST_VOTES)
    kept = np.minimum(lengths[rows], MOST_PLACES)
    step = max(1, int(np.ceil(kept.sum() / MOST_LOOKED_AT)))
    rows, kept = rows[::step], kept[::step]
    new = np.append(0, np.cumsum(kept))
    position = np.arange(new[-1]) - np.repeat(new[:-1], kept)
    spread = position * np.repeat(lengths[rows], kept) // np.repeat(kept, kept)
    return np.repeat(starts[rows], kept) + spread, new


def _natural(classes: Sequence[str]) -> IntArray:
    """(K,) the rank of each class when names are sorted, as numbers if all are numbers."""
    try:
        ranked = sorted(range(len(classes)), key=lambda k: float(classes[k]))
    except ValueError:
        ranked = sorted(range(len(classes)), key=lambda k: classes[k])
    return np.argsort(ranked)


def _by_place(codes: IntArray, starts: IntArray) -> IntArray:
    """Ranks of the codes by their average position within items."""
    lengths = np.repeat(np.diff(starts), np.diff(starts))
    position = (np.arange(len(codes)) - np.repeat(starts[:-1], np.diff(starts))) / np.maximum(lengths - 1, 1)
    number = np.maximum(np.bincount(codes), 1)
    mean: FloatArray = np.bincount(codes, position) / number
    return np.argsort(np.argsort(mean, kind="stable"), kind="stable")


def _crossed(label: IntArray, starts: IntArray) -> Inversions:
    """Inversions in an order of the classes estimated on every other item and counted on the rest."""
    lengths = np.diff(starts)
    odd: NDArray[np.bool_] = np.arange(len(lengths)) % 2 == 1
    votes = np.repeat(odd, lengths)
    if not odd.any():
        return Inversions(0, 0, 0.0, 0.0, 0)
    padded = np.append(label[votes], label.max())  # so that every class has a rank
    ranks = _by_place(padded, np.append(0, np.cumsum(np.append(lengths[odd], 1))))
    return inversions(ranks[label[~votes]], np.append(0, np.cumsum(lengths[~odd])))


def _times_in_item(label: IntArray, starts: IntArray) -> IntArray:
    """(V,) how many votes of its item each vote agrees with, itself included."""
    item = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    _, cell, count = np.unique(item * (label.max(initial=0) + 1) + label, return_inverse=True, return_counts=True)
    return np.asarray(count[cell])


def _tells_time(joined: Joined) -> bool:
    """Whether there are times, and most votes of an item have different ones."""
    if joined.time is None:
        return False
    same = joined.item[1:] == joined.item[:-1]
    with np.errstate(invalid="ignore"):
        later = joined.time[1:] > joined.time[:-1]
    return bool(not same.any() or (later & same).sum() > same.sum() / 2)
