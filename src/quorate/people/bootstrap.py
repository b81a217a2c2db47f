"""`Estimate`: a value with its bootstrap interval, from items resampled with replacement."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quorate.types import FloatArray, IntArray

BOOTSTRAPS = 1000
PERCENTILES = (2.5, 97.5)
FEWEST_DEFINED = 10  # bootstrap values that an interval needs


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with a 95 % interval, by bootstrap unless stated otherwise; nan if undefined."""

    value: float
    low: float
    high: float


def estimate(value: float, again: FloatArray) -> Estimate:
    """The value with the interval of its bootstrap values `again` (B,).

    >>> estimate(2.0, np.arange(5.0).repeat(20))
    Estimate(value=2.0, low=0.0, high=4.0)
    """
    finite = again[np.isfinite(again)]
    if len(finite) < FEWEST_DEFINED or not np.isfinite(value):
        return Estimate(float(value), np.nan, np.nan)
    low, high = np.percentile(finite, PERCENTILES)
    return Estimate(float(value), float(low), float(high))


def drawn_again(number: IntArray, bootstraps: int, rng: np.random.Generator) -> IntArray:
    """(B, kinds) how often each kind of item is drawn, with `number` (kinds,) items of each kind.

    Items with the same contribution are one kind: one multinomial draw instead of one draw per item.
    """
    total = int(number.sum())
    return rng.multinomial(total, number / total, size=bootstraps).astype(np.int64)


def mean_of(values: FloatArray, bootstraps: int, rng: np.random.Generator) -> Estimate:
    """The mean of `values` with its interval; fast if there are few distinct values."""
    kinds, number = np.unique(values, return_counts=True)
    again = drawn_again(number, bootstraps, rng) @ kinds / len(values)
    return estimate(float(values.mean()), again)
