"""Compares the time of the exact posteriors with the paper's Monte Carlo, and that Monte Carlo with its draws alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from accuracy import finite_error, infinite_error
from common import CIFAR, SHIFT, Beliefs, alternate, data_set, median, moments
from quorate import plurality_finite, plurality_infinite
from quorate_paper.as_published import winner_finite, winner_infinite
from report import Row

SAMPLES = 1000
MADE = "{source}: alpha learned by {method}, votes it had seen at a random moment of each item; batch of {batch}"


def infinite_rows(*, batch: int, part: int, rounds: int) -> list[Row]:
    """InfExp, K = 16."""
    dataset, source = data_set(SHIFT)
    beliefs = moments(dataset, "infexp", pool_size=6, count=batch)
    rng = np.random.default_rng(0)
    beta = beliefs.alpha + beliefs.votes

    def monte_carlo(i: int) -> Any:
        return winner_infinite(beliefs.alpha[i], beliefs.votes[i], num_samples=SAMPLES, rng=rng)

    def draws(i: int) -> Any:
        return rng.standard_gamma(beta[i], size=(SAMPLES, beta.shape[1]))

    times = _times(lambda: plurality_infinite(beliefs.alpha, beliefs.votes), monte_carlo, draws, batch, part, rounds)
    error = infinite_error(beliefs, min(500, batch))
    row = Row(
        "plurality_infinite", f"plurality_infinite, K={beta.shape[1]}", f"NumPy Monte Carlo, {SAMPLES} samples each",
        MADE.format(source=source, method="infexp", batch=batch), times[0], times[1],
        note=f"error {error:.1e} (must be below 1e-8) on {min(500, batch)} items against a trapezoidal rule of "
        f"1000 nodes; Monte Carlo timed on {part} items and scaled", extra={"error": error},
    ).at_least(20)  # fmt: skip
    row.met = bool(row.met) and error <= 1e-8
    return [row, _no_straw_man("infinite", "standard_gamma", times, part)]


def finite_rows(*, batch: int, part: int, rounds: int) -> list[Row]:
    """FinExp, K = 16, N = 6, and K = 10, N = 50."""
    small = _finite("6", SHIFT, 6, 100, batch, part, rounds, oracle=20)
    large = _finite("50", CIFAR, 50, 10, batch, part, rounds, oracle=2)
    return [small[0], large[0], small[1], large[1]]


def _finite(
    key: str, name: str, pool_size: int, required: float, batch: int, part: int, rounds: int, *, oracle: int
) -> list[Row]:
    dataset, source = data_set(name)
    beliefs = moments(dataset, "finexp", pool_size=pool_size, count=batch)
    alpha, votes, sizes = beliefs
    rng = np.random.default_rng(0)
    beta, left = alpha + votes, sizes - votes.sum(axis=1)

    def monte_carlo(i: int) -> Any:
        return winner_finite(alpha[i], votes[i], pool_size=int(sizes[i]), num_samples=SAMPLES, rng=rng)

    def draws(i: int) -> Any:
        pi = rng.standard_gamma(beta[i], size=(SAMPLES, beta.shape[1]))
        return rng.multinomial(left[i], pi / pi.sum(axis=1, keepdims=True))

    times = _times(lambda: plurality_finite(alpha, votes, pool_size=sizes), monte_carlo, draws, batch, part, rounds)
    error = finite_error(Beliefs(*beliefs), oracle)
    row = Row(
        f"plurality_finite_{key}", f"plurality_finite, K={beta.shape[1]}, N={pool_size}",
        f"NumPy Monte Carlo, {SAMPLES} samples each", MADE.format(source=source, method="finexp", batch=batch),
        times[0], times[1], note=f"error {error:.1e} on {oracle} items against an oracle in extended precision; "
        f"Monte Carlo timed on {part} items and scaled", extra={"error": error},
    ).at_least(required)  # fmt: skip
    return [row, _no_straw_man(f"finite_{key}", "standard_gamma, multinomial", times, part)]


def _times(
    ours: Callable[[], Any], monte_carlo: Callable[[int], Any], draws: Callable[[int], Any], batch: int, part: int,
    rounds: int,
) -> tuple[float, float, float]:  # fmt: skip
    """Seconds for the whole batch: ours, the Monte Carlo, and only its random draws."""
    tasks = [
        (ours, 1),
        (lambda: [monte_carlo(i) for i in range(part)], 1),
        (lambda: [draws(i) for i in range(part)], 1),
    ]
    exact, sampled, drawn = (median(times) for times in alternate(*tasks, rounds=rounds))
    return exact, sampled * batch / part, drawn * batch / part


def _no_straw_man(key: str, drawn: str, times: tuple[float, float, float], part: int) -> Row:
    return Row(
        f"monte_carlo_{key}", f"the Monte Carlo above ({key.replace('_', ', N=')})",
        f"its random draws alone ({drawn})",
        f"the same {part} items", times[1], times[2], note="near 1x: the comparison is fair",
    ).informative()  # fmt: skip
