"""Agreement of each pair of people on the items both voted on: share of equal votes, and Cohen's kappa.

kappa = (p_o - p_e) / (1 - p_e),   p_o share of equal votes,   p_e = sum_k a_k b_k of the two people's label shares
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quorate.people.ballots import Ballots
from quorate.people.bootstrap import Estimate, drawn_again, estimate
from quorate.rng import stream
from quorate.types import FloatArray, IntArray

FEWEST_SHARED = 10  # items two people share before their agreement is shown
MOST_RECORDS = 200_000  # limit on pairs of votes that are kept, from the pairs with most items
MOST_CELLS = 5_000_000  # limit on the cells of the tables of all pairs, K^2 each
MOST_SIDE_BY_SIDE = 20_000_000  # limit on pairs of votes; beyond it a random part of the items is used
MOST_VOTERS = 1000  # of one item; items with more are skipped


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """Two people on the `num_items` both voted on."""

    first: str
    second: str
    num_items: int
    agreement: Estimate
    kappa: Estimate


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """Pairs of votes on one item: `pair` of people, `item`, and the two labels as one number `cell`."""

    pair: IntArray
    item: IntArray
    cell: IntArray


def cohen_kappas(tables: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Agreement and kappa of tables (..., K, K) of two people's labels; nan where undefined.

    >>> [float(x.round(3)) for x in cohen_kappas(np.array([[20.0, 5.0], [10.0, 15.0]]))]
    [0.7, 0.4]
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = tables / tables.sum(axis=(-2, -1), keepdims=True)
        observed = np.trace(shares, axis1=-2, axis2=-1)
        by_chance = (shares.sum(axis=-1) * shares.sum(axis=-2)).sum(axis=-1)
        kappa = (observed - by_chance) / (1.0 - by_chance)
    return observed, np.where(by_chance >= 1.0 - 1e-12, np.nan, kappa)


def pair_agreements(
    ballots: Ballots, side_by_side: SideBySide, bootstraps: int, rng: np.random.Generator
) -> tuple[tuple[PairAgreement, ...], Estimate | None]:
    """The pairs who share most items, and the mean of their kappas, weighted by the items they share."""
    records, people = side_by_side
    if not len(people):
        return (), None
    K = len(ballots.classes)
    size = len(people) * K * K
    code = records.pair * K * K + records.cell
    tables = np.bincount(code, minlength=size).reshape(-1, K, K).astype(float)
    pairs = tuple(
        _pair(ballots.people[first], ballots.people[second], table, bootstraps, rng)
        for (first, second), table in zip(people, tables, strict=True)
    )
    items, at = np.unique(records.item, return_inverse=True)
    again = np.empty(bootstraps)
    for b in range(bootstraps):
        weights = np.bincount(rng.integers(len(items), size=len(items)), minlength=len(items))
        drawn = np.bincount(code, weights=weights[at], minlength=size).reshape(-1, K, K).astype(float)
        again[b] = _weighted_kappa(drawn)
    return pairs, estimate(_weighted_kappa(tables), again)


def _weighted_kappa(tables: FloatArray) -> float:
    _, kappas = cohen_kappas(tables)
    defined = np.isfinite(kappas)
    weights = tables.sum(axis=(1, 2))[defined]
    return float(np.average(kappas[defined], weights=weights)) if weights.sum() > 0 else np.nan


def _pair(first: str, second: str, table: FloatArray, bootstraps: int, rng: np.random.Generator) -> PairAgreement:
    used = np.unique(np.nonzero(table))  # classes that either of the two used
    table = table[np.ix_(used, used)]
    drawn = drawn_again(table.ravel().astype(np.int64), bootstraps, rng).reshape(bootstraps, *table.shape)
    observed, kappa = cohen_kappas(table)
    agreement, kappas = cohen_kappas(drawn.astype(float))
    return PairAgreement(
        first, second, int(table.sum()), estimate(float(observed), agreement), estimate(float(kappa), kappas)
    )


SideBySide = tuple[Records, IntArray]


def votes_side_by_side(ballots: Ballots) -> SideBySide:
    """Pairs of votes of the people who share most items, and the two people (P, 2) of each pair."""
    item, first, second = _side_by_side(ballots)
    num_people = len(ballots.people)
    code = ballots.person[first] * num_people + ballots.person[second]
    pairs, at, shared = np.unique(code, return_inverse=True, return_counts=True)
    most_first = np.argsort(-shared, kind="stable")
    within = (shared[most_first] >= FEWEST_SHARED) & (np.cumsum(shared[most_first]) <= MOST_RECORDS)
    within[max(MOST_CELLS // len(ballots.classes) ** 2, 1) :] = False
    within[:1] = shared[most_first][:1] >= FEWEST_SHARED
    kept = most_first[within]
    number = np.full(len(pairs), -1)
    number[kept] = np.arange(len(kept))
    mine = number[at] >= 0
    cell = ballots.label[first[mine]] * len(ballots.classes) + ballots.label[second[mine]]
    people = np.column_stack(np.divmod(pairs[kept], num_people))
    return Records(number[at][mine], item[mine], cell), people


def _side_by_side(ballots: Ballots) -> tuple[IntArray, IntArray, IntArray]:
    """Every two votes on one item: the item and the positions of both votes, the smaller person first."""
    order = np.lexsort((ballots.person, ballots.item))
    number = np.bincount(ballots.item, minlength=len(ballots.items))
    starts = np.cumsum(number) - number
    pairs_of = number * (number - 1) // 2
    in_order = stream(0, "side-by-side").permutation(len(number))
    looked_at = np.zeros(len(number), dtype=bool)
    looked_at[in_order] = np.cumsum(pairs_of[in_order]) <= MOST_SIDE_BY_SIDE
    looked_at &= number <= MOST_VOTERS
    parts = []
    for m in np.unique(number[number >= 2]):
        items = np.flatnonzero((number == m) & looked_at)
        one, other = np.triu_indices(m, 1)
        parts.append(
            (
                np.repeat(items, len(one)),
                order[(starts[items, None] + one).ravel()],
                order[(starts[items, None] + other).ravel()],
            )
        )
    empty = np.empty(0, dtype=np.int64)
    item, first, second = (np.concatenate([empty, *columns]) for columns in zip(*parts, strict=True))
    return item, first, second
