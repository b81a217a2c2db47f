"""Curves of a panel of known members: three ways to ask on the same streams, and how their curves are read.

The protocol is that of Kelly et al. (ICML 2025): 12 streams of 250 items; the CIFAR set is cut at 12 starting points
without shuffling. Called by `experts` and by benchmarks/panels.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from quorate import compiled
from quorate.experts.panel_plan import MOST_STATES
from quorate.experts.panel_stream import run_panel
from quorate.methods import method
from quorate.paper.readings import area
from quorate.rng import stream as random_stream
from quorate.streams.prepare import prepare
from quorate.streams.simulate import run_by_agreement, simulate_stream
from quorate.types import FloatArray, IntArray, VoteDataset, frozen_array

ITEMS, STREAMS = 250, 12
UNSHUFFLED = "kelly_cifar"
LOW, HIGH = 0.5, 2.0  # votes per item between which errors are averaged
GAINS = (
    0.0, 0.0005, 0.001, 0.002, 0.003, 0.004, 0.005, 0.006, 0.008, 0.01, 0.013, 0.017, 0.022, 0.03, 0.04, 0.06, 0.08,
    0.12, 0.2, 0.4, 1.0,
)  # fmt: skip
QUICK_GAINS = (0.0, 0.004, 0.01, 0.03, 0.1, 1.0)
RANDOM, ORDERED, PANEL = "exchangeable, random order", "exchangeable, by agreement", "panel"


@dataclass(frozen=True, slots=True, eq=False)
class StreamCurves:
    """One way to ask, on S streams at Q values of `min_gain`: votes per item and error, both (S, Q)."""

    costs: FloatArray
    errors: FloatArray

    @property
    def mean_errors(self) -> FloatArray:
        """(S,) error of each stream, averaged over LOW to HIGH votes per item."""
        pairs = zip(self.costs, self.errors, strict=True)
        return np.array([area(cost, error, LOW, HIGH) / (HIGH - LOW) for cost, error in pairs])

    def votes_at(self, error_rate: float) -> float:
        """The fewest votes per item at which the mean over the streams reaches `error_rate`; NaN if it never does.

        Between two values of `min_gain`, a share of the items uses the one and the rest the other.

        >>> StreamCurves(np.array([[0.0, 2.0]]), np.array([[0.4, 0.0]])).votes_at(0.2)
        1.0
        """
        costs, errors = self.costs.mean(axis=0), self.errors.mean(axis=0)
        order = np.argsort(costs, kind="stable")
        for place, at in enumerate(order):
            if errors[at] > error_rate + 1e-12:
                continue
            if place == 0:
                return float(costs[at])
            before = order[place - 1]
            share = (errors[before] - error_rate) / (errors[before] - errors[at])
            return float(costs[before] + share * (costs[at] - costs[before]))
        return float("nan")


def rows_of(dataset: VoteDataset, number: int, *, num_streams: int = STREAMS) -> IntArray:
    """The items of one stream, in order."""
    size = min(ITEMS, dataset.num_items)
    if dataset.name == UNSHUFFLED:
        return np.arange(size) + number * ((dataset.num_items - size) // max(num_streams - 1, 1))
    return random_stream(number, "item-order").permutation(dataset.num_items)[:size]


def part_of(dataset: VoteDataset, rows: IntArray) -> VoteDataset:
    """The data set with these items only, in this order."""
    return replace(dataset.rows(rows), blocks=frozen_array(np.zeros(len(rows)), np.int64))


def curves(
    dataset: VoteDataset, *, num_streams: int = STREAMS, gains: Sequence[float] = GAINS
) -> dict[str, StreamCurves]:
    """Every way to ask on every stream of a panel's data set."""
    compiled.wait_until_compiled()
    found: dict[str, list[list[tuple[float, float]]]] = {name: [] for name in (RANDOM, ORDERED, PANEL)}
    for number in range(num_streams):
        part = part_of(dataset, rows_of(dataset, number, num_streams=num_streams))
        shuffled = prepare(part, None, 0, number, "given")
        plain = [simulate_stream(shuffled, method("quorate", min_gain=gain), seed=number) for gain in gains]
        ordered = [run_by_agreement(shuffled, method("quorate", min_gain=gain), seed=number) for gain in gains]
        found[RANDOM].append([(run.mean_cost, run.error_rate) for run in plain])
        found[ORDERED].append([(float(run.costs.mean()), float(run.expected_errors.mean())) for run in ordered])
        found[PANEL].append(panel_points(part, gains))
    return {name: as_curves(points) for name, points in found.items()}


def panel_points(
    part: VoteDataset, gains: Sequence[float], *, most_states: int = MOST_STATES
) -> list[tuple[float, float]]:
    """Votes per item and share wrong of the panel's plan at every `min_gain`."""
    runs = [run_panel(part.votes, part.predictions[0], min_gain=gain, most_states=most_states) for gain in gains]
    return [(float(run.num_votes.mean()), float(run.expected_errors.mean())) for run in runs]


def as_curves(points: Sequence[Sequence[tuple[float, float]]]) -> StreamCurves:
    """Points (S, Q, 2) as curves."""
    array = np.array(points)
    return StreamCurves(array[:, :, 0], array[:, :, 1])


IDS_GAINS = (1.0, 0.5, 0.25, 0.12, 0.06, 0.02, 0.007, 0.002, 0.0)


def area_ratios(
    dataset: VoteDataset, seed: int, *, pool_size: int | None, model: str, gains: Sequence[float] = IDS_GAINS
) -> tuple[float, float]:
    """Area of asking the most reliable first over that of random order: by asked votes, and with audited pools."""
    compiled.wait_until_compiled()
    stream = prepare(dataset, pool_size, model, seed)
    methods = [method("quorate", min_gain=gain) for gain in gains]
    plain = [(run.mean_cost, run.error_rate) for run in (simulate_stream(stream, each, seed=seed) for each in methods)]
    reference, ratios = np.array(plain), []
    for audited in (False, True):
        runs = [run_by_agreement(stream, each, seed=seed, audited=audited) for each in methods]
        ours = np.array([(run.costs.mean(), run.expected_errors.mean()) for run in runs])
        low, high = max(ours[:, 0].min(), reference[:, 0].min()), min(ours[:, 0].max(), reference[:, 0].max())
        ratios.append(area(ours[:, 0], ours[:, 1], low, high) / area(reference[:, 0], reference[:, 1], low, high))
    return ratios[0], ratios[1]
