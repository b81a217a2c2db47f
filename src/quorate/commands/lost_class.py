"""A class that loses a tenth of its items more than by asking everyone, and what missing one must cost to keep it.

Called by `run` and `plan`, which replay recorded votes; at most five replays are made.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from quorate.model import DEFAULT_ERROR_COST, ErrorCosts
from quorate.types import FloatArray

LOST = 0.1
FEWEST = 5  # items of a class
TIMES = (2, 5, 10, 20, 50)  # the default error cost

Found = tuple[FloatArray, float]  # (K,) share of each class's items that is found, and votes per item


@dataclass(frozen=True, slots=True)
class LostClass:
    """Of the `items` of a class the share `found` gets its name; the share `kept` if missing one costs `error_cost`.

    `table`: these costs, for `quorate.run`   `votes` per item with them   None where no cost was found
    """

    name: str
    items: float
    found: float
    error_cost: float | None = None
    kept: float | None = None
    votes: float | None = None
    table: str | None = None

    def __str__(self) -> str:
        text = f"{self.name!r} loses {100 * (1 - self.found):.0f} % of its {self.items:.3g} items"
        if self.error_cost is None or self.kept is None:
            return f"{text}."
        return (
            f"{text}. If missing one costs {self.error_cost:,.0f} votes, it loses {100 * (1 - self.kept):.0f} %, with "
            f"{self.votes:.2f} votes per item (`error_cost`, a table: class-costs.csv)."
        )


def lost_class(
    classes: Sequence[str],
    items: FloatArray,
    found: FloatArray,
    possible: FloatArray,
    *,
    costs: FloatArray | None,
    replayed: Callable[[ErrorCosts], Found],
) -> LostClass | None:
    """The class that loses most of its items; None if none loses a tenth more than by asking everyone.

    `items`, `found`, `possible` (K,) the items of each class, and the shares found here and by asking everybody
    `costs` (K, K) of errors in force, None where the method has none   `replayed` with other costs
    """
    lost = np.where(items >= FEWEST, possible - found, 0.0)
    k = int(lost.argmax())
    if lost[k] <= LOST:
        return None
    worst = LostClass(classes[k], float(items[k]), float(found[k]))
    if costs is None:
        return worst
    tried = [cost for cost in (times * DEFAULT_ERROR_COST for times in TIMES) if cost > costs[k].max()]
    for cost in tried:
        table = costs.copy()
        table[k, np.arange(len(classes)) != k] = cost
        shares, votes = replayed(ErrorCosts.of(table))
        if possible[k] - shares[k] <= LOST:
            return LostClass(
                worst.name, worst.items, worst.found, cost, float(shares[k]), votes, costs_csv(classes, table)
            )
    return worst


def shares_found(truth: FloatArray, answers: FloatArray) -> FloatArray:
    """(K,) the share of each class's items that is found. `truth`, `answers` (n, K) shares of the classes."""
    return np.asarray((truth * answers).sum(axis=0) / np.maximum(truth.sum(axis=0), 1e-9))


def costs_csv(classes: Sequence[str], costs: FloatArray) -> str:
    """A table of error costs as a CSV: a row per truth, a column per answer."""
    text = io.StringIO()
    rows = ([name, *row] for name, row in zip(classes, costs.tolist(), strict=True))
    csv.writer(text, lineterminator="\n").writerows([["truth", *classes], *rows])
    return text.getvalue()
