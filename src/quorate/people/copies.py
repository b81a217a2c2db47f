"""Pairs of people who agree more often than their skills and the items explain: one may have copied from the other.

For two people a and b on the n items both voted on, with r the belief of the crowd model in the item's class:

    p_i = max( sum_z r_i(z) sum_y q_a[z,y] q_b[z,y],  how often two other voters of item i agree ),   p = mean_i p_i
    P(as many equal votes by chance) <= exp(-n KL(equal / n, p))        (Chernoff's bound, also for unequal p_i)

The null hypothesis accounts for each person's confusion matrix, and for items on which everybody agrees, right or
wrong. A pair is reported only if the bound, times the number of pairs tested, is below `LEVEL`. Pairs who both copy the
classifier agree for that reason, and are not reported.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from quorate.people.ballots import Ballots
from quorate.people.crowd import person
from quorate.people.crowd_stream import CrowdRun
from quorate.people.pairs import Records, SideBySide, votes_side_by_side
from quorate.types import FloatArray, IntArray

LEVEL = 0.01
FEWEST_TO_SUSPECT = 20  # items two people must share before they can be reported


@dataclass(frozen=True, slots=True)
class CopiedPair:
    """Two people with `num_equal` equal votes on `num_items` shared items, of which `expected` are explained.

    `chance` an upper bound on the probability of so much agreement among all pairs tested
    """

    first: str
    second: str
    num_items: int
    num_equal: int
    expected: float
    chance: float


def copied_pairs(
    ballots: Ballots, run: CrowdRun, *, copiers: Collection[str] = (), side_by_side: SideBySide | None = None
) -> tuple[CopiedPair, ...]:
    """Pairs that look copied, the clearest first. `copiers`: people who copy the classifier."""
    records_of_pairs = votes_side_by_side(ballots) if side_by_side is None else side_by_side
    records, people = records_of_pairs
    K = len(ballots.classes)
    rows = {int(e): person(run.state, int(e))[0] for e in np.unique(people)}
    alike = np.array([(rows[int(a)] * rows[int(b)]).sum(axis=1) for a, b in people]).reshape(-1, K)
    by_skill = (run.revised[records.item] * alike[records.pair]).sum(axis=1)
    p = np.clip(np.maximum(by_skill, _others_agree(ballots.counts, records, K)), 0.0, 1.0)
    is_equal = records.cell // K == records.cell % K
    number, equal, expected = (
        np.bincount(records.pair, weights=weights, minlength=len(people)) for weights in (None, is_equal, p)
    )
    looked_at = int((number >= FEWEST_TO_SUSPECT).sum())
    chance = looked_at * np.exp(-number * _divergence(equal / number, expected / number))
    suspected = (number >= FEWEST_TO_SUSPECT) & (equal > expected) & (chance < LEVEL)
    named = []
    for pair in np.flatnonzero(suspected)[np.argsort(chance[suspected], kind="stable")]:
        first, second = (ballots.people[e] for e in people[pair])
        if first not in copiers or second not in copiers:
            figures = int(number[pair]), int(equal[pair]), float(expected[pair]), float(chance[pair])
            named.append(CopiedPair(first, second, *figures))
    return tuple(named)


def _divergence(share: FloatArray, p: FloatArray) -> FloatArray:
    """KL divergence of two Bernoulli distributions; 0 log 0 is 0."""
    inside = np.clip(p, 1e-12, 1 - 1e-12)
    return _relative(share, inside) + _relative(1 - share, 1 - inside)


def _relative(x: FloatArray, y: FloatArray) -> FloatArray:
    return np.asarray(x * np.log(np.where(x > 0, x, y) / y))


def _others_agree(counts: IntArray, records: Records, K: int) -> FloatArray:
    """How often two other voters of the item agree; 0 if there are fewer than two others."""
    others = counts[records.item].astype(float)
    rows = np.arange(len(others))
    others[rows, records.cell // K] -= 1
    others[rows, records.cell % K] -= 1
    total = others.sum(axis=1)
    agreeing = (others * (others - 1)).sum(axis=1)
    return np.where(total >= 2, agreeing / np.maximum(total * (total - 1), 1.0), 0.0)
