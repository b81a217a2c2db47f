"""Slow, obvious versions of FinExp: who wins a pool with missing votes.

`by_enumeration` enumerates every possible histogram in exact fractions. `by_counting_ties` is for larger pools:
extended precision, positive terms only, one polynomial for each number of tied classes; without the shortcuts of the
package (no quadrature, no tilt by class, no merged classes, no skipped levels, no leave-one-out by halves).
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import factorial

import numpy as np


def histograms(total: int, num_classes: int) -> Iterator[tuple[int, ...]]:
    """Every way to spread `total` votes over the classes."""
    if num_classes == 1:
        yield (total,)
        return
    for count in range(total + 1):
        for rest in histograms(total - count, num_classes - 1):
            yield (count, *rest)


def rising(value: Fraction, count: int) -> Fraction:
    """Gamma(value + count) / Gamma(value)."""
    product = Fraction(1)
    for step in range(count):
        product *= value + step
    return product


def by_enumeration(alpha, votes, pool_size: int) -> list[float]:
    """P(class wins) in exact arithmetic, rounded once at the end."""
    beta = [Fraction(float(a)) + int(v) for a, v in zip(alpha, votes, strict=True)]
    remaining = pool_size - int(sum(votes))
    wins = [Fraction(0)] * len(beta)
    total = Fraction(0)
    for unseen in histograms(remaining, len(beta)):
        weight = Fraction(1)
        for concentration, count in zip(beta, unseen, strict=True):
            weight *= rising(concentration, count) / factorial(count)
        pool = [int(v) + x for v, x in zip(votes, unseen, strict=True)]
        winners = [k for k, count in enumerate(pool) if count == max(pool)]
        for k in winners:
            wins[k] += weight / len(winners)
        total += weight
    return [float(win / total) for win in wins]


def by_counting_ties(alpha, votes, pool_size: int, classes) -> list[float]:
    """P(class wins) for some `classes`: for each level m, all others stay below m or tie, counted in a polynomial."""
    beta = np.asarray(alpha, dtype=np.longdouble) + np.asarray(votes)
    votes = [int(v) for v in votes]
    remaining = pool_size - sum(votes)
    tilt = np.longdouble(remaining) / (remaining + beta.sum())  # for range only: the sum of powers is always the same
    weights = np.ones((beta.size, remaining + 1), dtype=np.longdouble)
    for x in range(remaining):
        weights[:, x + 1] = weights[:, x] * (beta + x) / (x + 1) * tilt
    whole = np.zeros((1, remaining + 1), dtype=np.longdouble)
    whole[0, 0] = 1
    for row in weights:
        whole = _times(whole, row, remaining + 1)
    return [_wins(k, weights, votes, remaining) / whole[0, remaining] for k in classes]


def _wins(k: int, weights, votes: list[int], remaining: int):
    wins = np.longdouble(0)
    for level in range(max(votes), votes[k] + remaining + 1):
        left = remaining - (level - votes[k])
        most_ties = min(len(votes), (sum(votes) + remaining) // max(level, 1))
        product = np.zeros((most_ties + 1, left + 1), dtype=np.longdouble)  # [number tied with k, votes used]
        product[0, 0] = 1
        for j, row in enumerate(weights):
            if j == k:
                continue
            needed = level - votes[j]
            below = _times(product, row[: left + 1], needed)
            if needed <= left:
                below[1:, needed:] += row[needed] * product[:-1, : left + 1 - needed]
            product = below
        shares = 1 / np.arange(1, most_ties + 2, dtype=np.longdouble)
        wins += weights[k, level - votes[k]] * (shares @ product[:, left])
    return wins


def _times(product, row, num_terms: int):
    """Each polynomial of `product` times the first `num_terms` terms of `row`, cut at the same degree."""
    size = product.shape[1]
    row = row[: min(num_terms, size)]
    if row.size > 0 and product.shape[0] < row.size:  # the same sums; the fewer calls, the sooner
        return np.array([np.convolve(line, row)[:size] for line in product])
    result = np.zeros_like(product)
    for x, factor in enumerate(row):
        result[:, x:] += factor * product[:, : size - x]
    return result
