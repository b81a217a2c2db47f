"""Pairs of people who agree more often than their skills explain: one may have copied from the other.

For two people a and b on the items both voted on, with r the belief of the crowd model in the item's class:

    expected = sum_i p_i,   p_i = sum_z r_i(z) sum_y q_a[z,y] q_b[z,y]
    deviation = (equal - expected) / sqrt(sum_i p_i (1 - p_i))

The null allows for what each person is like: two very good people agree nearly always and are not suspected. Pairs are
named only where the one-sided normal tail, times the number of pairs looked at, is below `LEVEL`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from quorate.experts.ballots import Ballots
from quorate.experts.crowd import careful_likelihood
from quorate.experts.crowd_stream import CrowdRun
from quorate.experts.pairs import votes_side_by_side
from quorate.types import FloatArray

LEVEL = 0.01
FEWEST_SHARED = 20  # items two people share before they are compared


@dataclass(frozen=True, slots=True)
class CopiedPair:
    """Two people with `num_equal` equal votes on `num_items` shared items, where `expected` would be usual.

    `chance` an upper bound on the probability of so much agreement among all pairs that were looked at
    """

    first: str
    second: str
    num_items: int
    num_equal: int
    expected: float
    chance: float


def copied_pairs(ballots: Ballots, run: CrowdRun) -> tuple[CopiedPair, ...]:
    """Pairs that look copied, the clearest first."""
    records, people = votes_side_by_side(ballots, fewest=FEWEST_SHARED)
    K = len(ballots.classes)
    rows = {int(e): _rows(run, int(e), K) for e in np.unique(people)}
    alike = np.array([(rows[int(a)] * rows[int(b)]).sum(axis=1) for a, b in people]).reshape(-1, K)
    p = np.clip((run.revised[records.item] * alike[records.pair]).sum(axis=1), 0.0, 1.0)
    is_equal = records.cell // K == records.cell % K
    number, equal, expected, variance = (
        np.bincount(records.pair, weights=each, minlength=len(people)) for each in (None, is_equal, p, p * (1 - p))
    )
    deviation = (equal - 0.5 - expected) / np.sqrt(np.maximum(variance, 1e-12))
    found = []
    for pair in np.argsort(-deviation, kind="stable"):
        chance = len(people) * 0.5 * math.erfc(deviation[pair] / math.sqrt(2))
        if chance >= LEVEL:
            break
        first, second = (ballots.people[e] for e in people[pair])
        found.append(CopiedPair(first, second, int(number[pair]), int(equal[pair]), float(expected[pair]), chance))
    return tuple(found)


def _rows(run: CrowdRun, e: int, K: int) -> FloatArray:
    """(K, K) q_e."""
    rows, column = np.empty((K, K)), np.empty(K)
    for y in range(K):
        careful_likelihood(run.state, e, y, column)
        rows[:, y] = column
    return rows
