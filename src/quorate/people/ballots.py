"""`Ballots`: votes with the item, the person and the label of each, the input of the functions in `quorate.people`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from quorate.types import IntArray
from quorate.validate import as_floats, class_names, invalid

NO_VOTE = -1


@dataclass(frozen=True, slots=True, eq=False)
class Ballots:
    """V votes: `item`, `person` and `label` (V,) are positions in `items`, `people` and `classes`.

    Nobody votes twice on one item.
    """

    item: IntArray
    person: IntArray
    label: IntArray
    items: tuple[str, ...]
    people: tuple[str, ...]
    classes: tuple[str, ...]

    @property
    def num_votes(self) -> int:
        """V."""
        return len(self.item)

    @property
    def counts(self) -> IntArray:
        """(num_items, K) votes of each item by class."""
        K = len(self.classes)
        flat = np.bincount(self.item * K + self.label, minlength=len(self.items) * K)
        return flat.reshape(-1, K).astype(np.int64)

    def only(self, keep: np.ndarray) -> Ballots:
        """The votes where `keep` (V,) is True, over the same items, people and classes."""
        return Ballots(self.item[keep], self.person[keep], self.label[keep], self.items, self.people, self.classes)


def from_matrix(
    votes: ArrayLike, *, classes: Sequence[str] | None = None, people: Sequence[str] | None = None
) -> Ballots:
    """Ballots of a matrix (num_items, num_people) of class numbers; -1 where somebody did not vote.

    >>> from_matrix([[0, 1], [1, -1]]).num_votes
    3
    """
    numbers = as_floats(votes, where="votes")
    if numbers.ndim != 2:
        raise invalid("votes", f"shape {numbers.shape}", "a row per item, a column per person", "pass a matrix.")
    if not np.all((numbers == np.floor(numbers)) & (numbers >= NO_VOTE)):
        rule = "class numbers from 0; -1 where somebody did not vote"
        raise invalid("votes", votes, rule, "number the classes, and write -1 for missing votes.")
    matrix = numbers.astype(np.int64)
    largest = max(int(matrix.max(initial=1)), 1)
    names = class_names(classes) if classes is not None else tuple(str(k) for k in range(largest + 1))
    if largest >= len(names):
        raise invalid("votes", largest, f"class numbers below {len(names)}", "name every class in `classes`.")
    who = tuple(people) if people is not None else tuple(str(e) for e in range(matrix.shape[1]))
    if len(who) != matrix.shape[1]:
        raise invalid("people", len(who), f"{matrix.shape[1]} names, one per column of `votes`", "name every column.")
    item, person = np.nonzero(matrix != NO_VOTE)
    ids = tuple(str(number) for number in range(len(matrix)))
    return Ballots(item, person, matrix[item, person], ids, who, names)
