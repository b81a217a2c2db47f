"""Finds columns of the predictions that seem to be named after the wrong class. Called by `run`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from quorate.types import FloatArray, IntArray

MOST_COMPARED, FEWEST_COMPARED = 20_000, 50  # items
CLEAR = 5.0  # standard errors by which other columns must fit better
HALF = 0.5  # a column that fits its own class at least half as well as the other is not reported


@dataclass(frozen=True, slots=True)
class Swap:
    """The column `column` of classifier `model` looks like probabilities of `looks_like`."""

    model: str
    column: str
    looks_like: str


def swapped_columns(
    predictions: FloatArray, counts: IntArray, classes: Sequence[str], *, model: str = ""
) -> list[Swap]:
    """Columns of the predictions (T, K) that fit the votes (T, K) for another class far better than for their own.

    The fit of a column to a class is the covariance of its probabilities with the share of votes. The best class of
    each column is found on every second item and tested on the others; cycles that fit clearly better are reported.

    >>> rng = np.random.default_rng(1)
    >>> counts = rng.multinomial(5, [0.2, 0.3, 0.5], 400) * 3
    >>> said = (counts + 1.0) / (counts + 1.0).sum(axis=1, keepdims=True)
    >>> [(each.column, each.looks_like) for each in swapped_columns(said[:, [1, 0, 2]], counts, ["a", "b", "c"])]
    [('a', 'b'), ('b', 'a')]
    """
    step = max(1, len(counts) * len(classes) // (MOST_COMPARED * 10), len(counts) // MOST_COMPARED)
    totals = counts[::step].sum(axis=1)
    p = predictions[::step][totals > 0]
    shares = counts[::step][totals > 0] / totals[totals > 0, None]
    if len(p) < FEWEST_COMPARED:
        return []
    p, shares = p - p.mean(axis=0), shares - shares.mean(axis=0)
    best = (p[::2].T @ shares[::2]).argmax(axis=1)
    swaps: list[Swap] = []
    for cycle in _cycles(best):
        kept = (p[1::2][:, cycle] * shares[1::2][:, cycle]).sum(axis=1)
        other = (p[1::2][:, cycle] * shares[1::2][:, best[cycle]]).sum(axis=1)
        gain = other - kept
        if gain.mean() > CLEAR * gain.std() / np.sqrt(len(gain)) and kept.mean() < HALF * other.mean():
            swaps += [Swap(model, classes[k], classes[int(best[k])]) for k in cycle]
    return swaps


def _cycles(best: IntArray) -> list[list[int]]:
    """The cycles k -> best[k] that have two members or more, each from its smallest member.

    >>> _cycles(np.array([1, 2, 0, 3, 0]))
    [[0, 1, 2]]
    """
    cycles = []
    for start in range(len(best)):
        cycle = [start]
        while len(cycle) <= len(best) and best[cycle[-1]] not in cycle:
            cycle.append(int(best[cycle[-1]]))
        if len(cycle) > 1 and best[cycle[-1]] == start == min(cycle):
            cycles.append(cycle)
    return cycles
