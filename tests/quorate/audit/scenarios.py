"""Streams of closed items for testing the bounds: errors, their expected values by the model, rates and draws.

Used by the coverage tests.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quorate.audit import running_totals


@dataclass(frozen=True)
class Streams:
    """Arrays (streams, items); `loss` is the true one of every item, audited or not."""

    expected_loss: NDArray[np.float64]
    rate: NDArray[np.float64]
    audited: NDArray[np.bool_]
    loss: NDArray[np.float64]
    settled: NDArray[np.bool_]
    min_rate: float


def _streams(rng, shape, chance, expected, *, rate=0.1, settled_share=0.0):
    settled = rng.random(shape) < settled_share
    loss = np.where(settled, 0.0, rng.random(shape) < chance)
    rates = np.broadcast_to(np.asarray(rate, dtype=float), shape)
    audited = (rng.random(shape) < rates) & ~settled
    expected = np.broadcast_to(np.asarray(expected, dtype=float), shape)
    return Streams(expected, rates, audited, loss, settled, float(rates.min()))


def calibrated(rng, shape):
    chance = rng.beta(0.3, 5, shape)
    return _streams(rng, shape, chance, chance, settled_share=0.4)


def overconfident(rng, shape):
    chance = rng.beta(1, 9, shape)
    return _streams(rng, shape, chance, chance / 10)


def underconfident(rng, shape):
    chance = rng.beta(0.3, 20, shape)
    return _streams(rng, shape, chance, np.minimum(4 * chance + 0.05, 1))


def sure_and_wrong(rng, shape):
    return _streams(rng, shape, 0.3, 0.0)


def drifting(rng, shape):
    chance = np.linspace(0.0, 0.25, shape[-1])
    return _streams(rng, shape, chance, 0.02, settled_share=0.2)


def sudden_shift(rng, shape):
    chance = np.where(np.arange(shape[-1]) < shape[-1] // 2, 0.005, 0.3)
    return _streams(rng, shape, chance, 0.01)


def rates_by_doubt(rng, shape):
    chance = rng.beta(0.3, 5, shape)
    return _streams(rng, shape, chance, chance, rate=np.clip(2 * chance, 0.05, 0.8))


def rates_where_it_is_safe(rng, shape):
    """The worst use of audits: rarely where errors are."""
    chance = rng.beta(0.3, 5, shape)
    return _streams(rng, shape, chance, 0.02, rate=np.where(chance > 0.05, 0.05, 0.5))


def tied(rng, shape):
    base = _streams(rng, shape, 0.3, 0.05)
    return Streams(base.expected_loss, base.rate, base.audited, base.loss / 2, base.settled, base.min_rate)


def wrong_until_caught(rng, shape):
    """Losses that depend on past draws: every answer is wrong until an audit finds one, and none afterwards."""
    base = _streams(rng, shape, 1.0, 0.0)
    caught_before = np.cumsum(base.audited, axis=-1) - base.audited > 0
    return Streams(base.expected_loss, base.rate, base.audited, 1.0 * ~caught_before, base.settled, base.min_rate)


def rates_after_luck(rng, shape):
    """Rates that depend on past draws: halved for good once twenty audits in a row were clean."""
    draws, errors = rng.random(shape), 1.0 * (rng.random(shape) < 0.1)
    rates, audited = np.empty(shape), np.zeros(shape, dtype=bool)
    clean, lazy = np.zeros(shape[:-1]), np.zeros(shape[:-1], dtype=bool)
    for t in range(shape[-1]):
        rates[..., t] = np.where(lazy, 0.1, 0.2)
        audited[..., t] = draws[..., t] < rates[..., t]
        clean = np.where(audited[..., t], np.where(errors[..., t] > 0, 0, clean + 1), clean)
        lazy |= clean >= 20
    return Streams(np.full(shape, 0.02), rates, audited, errors, np.zeros(shape, dtype=bool), 0.1)


SCENARIOS: dict[str, Callable[[np.random.Generator, tuple[int, int]], Streams]] = {
    "calibrated, 40 % settled": calibrated,
    "overconfident ten times": overconfident,
    "underconfident": underconfident,
    "sure and often wrong": sure_and_wrong,
    "drifting from 0 to 25 % wrong": drifting,
    "sudden shift from 0.5 to 30 % wrong": sudden_shift,
    "rates by doubt, 5 to 80 %": rates_by_doubt,
    "audits where it is safe": rates_where_it_is_safe,
    "halves of errors (ties)": tied,
    "wrong until caught (adversary)": wrong_until_caught,
    "rate halved after luck": rates_after_luck,
}


def totals(streams, alpha):
    """The running bounds of the streams at every time."""
    return running_totals(
        streams.expected_loss,
        streams.rate,
        streams.audited,
        np.where(streams.audited | streams.settled, streams.loss, np.nan),
        settled=streams.settled,
        min_rate=streams.min_rate,
        alpha=alpha,
    )
