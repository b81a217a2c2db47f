"""A pilot and methods -> the error-cost curve of every method, with what is needed to say how sure each point is.

Every method meets the pilot in several orderings; kept are each item's votes and error, averaged over the orderings,
and the mean of every ordering. `resampled` draws other pilots from it. Called by `plan`, read by `plan_advice`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from quorate.methods import DEFAULT_MIN_GAIN, METHODS, Method, method
from quorate.rng import stream
from quorate.simulation import Simulation, simulate
from quorate.types import FloatArray, IntArray, VoteDataset, frozen_array
from quorate.workflows.specs import knob_text
from quorate.workflows.sweep import knob_grid, lower_hull

Progress = Callable[[int, int, str], None]

MIN_GAINS = tuple(
    sorted({*(float(f"{g:.2g}") for g in np.geomspace(0.7, 0.0005, 19)), 1.0, 0.0, DEFAULT_MIN_GAIN}, reverse=True)
)
THRESHOLDS = (0.0, 0.3, 0.4, 0.5, 0.6, 0.7, 0.78, 0.84, 0.89, 0.93, 0.96, 0.98, 0.99, 0.995, 0.999, 1.0)
MOST_COUNTS = 14  # values of a whole-numbered knob; in between they are spread evenly in the logarithm
PILOTS, ANCHORS, LONGEST = 16, 6, 2000  # resampled pilots run anew, at how many settings, of how many items at most
RATIOS = (0.6, 20.0)  # inflations outside are noise
BLOCK_CELLS = 4_000_000  # of the weights of resampled pilots, at a time


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """Votes or errors at one setting.

    `items` (n,) of each item, mean over orderings   `runs` (R,) mean of a batch in each ordering   `spread` variance
    between items in one run   `noise` variance of an item between runs
    """

    items: FloatArray
    runs: FloatArray
    spread: float
    noise: float

    @property
    def mean(self) -> float:
        """Expected mean of a batch."""
        return float(self.runs.mean())


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """A method at one knob value, on the pilot."""

    method: Method
    votes: Measured
    errors: Measured

    @property
    def knob(self) -> str:
        """The knob as text."""
        return knob_text(self.method.knobs)


@dataclass(frozen=True, slots=True, eq=False)
class PilotCurve:
    """A method's settings by rising votes per item; of a method with two knobs those no mix of two others beats."""

    name: str
    settings: tuple[Setting, ...]

    @property
    def votes(self) -> FloatArray:
        """(S,) votes per item."""
        return np.array([setting.votes.mean for setting in self.settings])

    @property
    def errors(self) -> FloatArray:
        """(S,) share of wrong answers."""
        return np.array([setting.errors.mean for setting in self.settings])


@dataclass(frozen=True, slots=True, eq=False)
class Resampled:
    """(B, S) votes per item and errors of a curve's settings on B resampled pilots."""

    votes: FloatArray
    errors: FloatArray


def plan_grid(name: str, *, pool_size: int, num_classes: int) -> tuple[dict[str, Any], ...]:
    """Knob values of a method, denser than `sweep.knob_grid`, and not more than a pool of 100 can bear.

    >>> [knobs["votes"] for knobs in plan_grid("quorum", pool_size=100, num_classes=2)]
    [0, 1, 2, 3, 4, 6, 8, 12, 17, 24, 35, 49, 70, 100]
    """
    if name == "quorate":
        return tuple({"min_gain": gain} for gain in MIN_GAINS)
    if name == "quorum":
        return tuple({"votes": votes} for votes in _counts(pool_size, MOST_COUNTS))
    if name == "unanimous-then-cap":
        caps = _counts(pool_size, MOST_COUNTS // 2)
        return tuple({"first": first, "cap": cap} for cap in caps for first in _counts(cap, 5))
    if name in METHODS and name != "beta" and "threshold" in method(name).knobs:
        return tuple({"threshold": threshold} for threshold in THRESHOLDS)
    return knob_grid(name, pool_size=pool_size, num_classes=num_classes)


def _counts(most: int, number: int) -> list[int]:
    """0 to `most`: all, or `number` of them, spread in the logarithm."""
    if most < number:
        return list(range(most + 1))
    wanted: set[int] = {0}
    points = number - 1
    while len(wanted) < number:  # low values fall together; ask for more until enough differ
        wanted = {0, *(round(value) for value in np.geomspace(1, most, points))}
        points += 1
    return sorted(wanted)


def measure(
    dataset: VoteDataset,
    families: Sequence[Sequence[Method]],
    *,
    pool_size: int | None,
    orderings: int,
    batch_size: int,
    seed: int,
    progress: Progress | None = None,
) -> tuple[PilotCurve, ...]:
    """A curve for every family (one method at several knob values), over `orderings` (at least 2) of the pilot.

    All methods meet the same orderings. A batch shorter than the pilot is its first items; in a longer one the items
    beyond the pilot are taken to go as the last half of the pilot did: by then most is learned.
    """
    settings = [chosen for family in families for chosen in family]
    jobs = [(number, place) for number in range(orderings) for place in range(len(settings))]
    share = _position_weights(dataset.num_items, batch_size)
    sums = [_Sums(dataset.num_items) for _ in settings]

    def run(job: tuple[int, int]) -> Simulation:
        number, place = job
        return simulate(dataset, settings[place], pool_size=pool_size, model="all", seed=seed + number)

    for done, (job, result) in enumerate(zip(jobs, _in_threads(run, jobs), strict=True), 1):
        sums[job[1]].add(result, share)
        if progress is not None:
            progress(done, len(jobs), f"{result.method.name}, ordering {job[0] + 1} of {orderings}")
    measured = iter(Setting(chosen, *each.measured()) for chosen, each in zip(settings, sums, strict=True))
    return tuple(_curve([next(measured) for _ in family]) for family in families)


def _in_threads(work: Callable[[Any], Any], jobs: Sequence[Any]) -> Iterator[Any]:
    """Results in order; the first job runs alone: it compiles. The kernels release the GIL."""
    yield work(jobs[0])
    threads = ThreadPoolExecutor(os.cpu_count())
    try:
        yield from threads.map(work, jobs[1:])
    finally:  # also on Ctrl-C, which must not wait for the whole queue
        threads.shutdown(wait=False, cancel_futures=True)


def _position_weights(num_items: int, batch_size: int) -> FloatArray:
    """(n,) what each place in the stream counts in the mean of a batch; the sum is 1."""
    weights = np.zeros(num_items)
    weights[:batch_size] = 1.0
    if batch_size > num_items:
        late = num_items // 2
        weights[late:] += (batch_size - num_items) / (num_items - late)
    return np.asarray(weights / weights.sum())


class _Sums:
    """Sums over the orderings of one setting: single values of 10,000 items by 150 settings need not be kept."""

    def __init__(self, num_items: int) -> None:
        self.total = np.zeros((2, num_items))
        self.squares = np.zeros((2, num_items))
        self.spread = np.zeros(2)
        self.runs: list[FloatArray] = []

    def add(self, run: Simulation, share: FloatArray) -> None:
        values = np.stack([run.costs.astype(float), run.expected_errors])  # (2, n) in stream order
        self.total[:, run.items] += values
        self.squares[:, run.items] += values**2
        self.spread += values.var(axis=1, ddof=1)
        self.runs.append(values @ share)

    def measured(self) -> list[Measured]:
        number = len(self.runs)
        noise = np.maximum(self.squares - self.total**2 / number, 0.0).mean(axis=1) / (number - 1)
        runs = np.array(self.runs)  # (R, 2)
        return [
            Measured(
                (self.total[k] / number).astype(np.float32), runs[:, k], float(self.spread[k] / number), float(noise[k])
            )
            for k in range(2)
        ]


def _curve(settings: Iterable[Setting]) -> PilotCurve:
    """By rising cost, the best of equal costs."""
    kept: list[Setting] = []
    for setting in sorted(settings, key=lambda each: (each.votes.mean, each.errors.mean)):
        if not kept or setting.votes.mean - kept[-1].votes.mean > 1e-9:
            kept.append(setting)
    name = kept[0].method.name
    return PilotCurve(name, tuple(lower_hull(kept, at=_means) if name == "unanimous-then-cap" else kept))


def _means(setting: Setting) -> tuple[float, float]:
    return setting.votes.mean, setting.errors.mean


@dataclass(frozen=True, slots=True, eq=False)
class Inflation:
    """(S, 2) variance of a batch's mean, in units of spread / m: all of it, and what another order of it changes."""

    votes: FloatArray
    errors: FloatArray


def inflation(
    dataset: VoteDataset,
    curve: PilotCurve,
    *,
    pool_size: int | None,
    seed: int,
    progress: Progress | None = None,
) -> Inflation:
    """What learning does to the variance: hard items teach a method to ask more of all others too.

    Runs `ANCHORS` settings on J = `PILOTS` pilots resampled from this one, of h = min(n, `LONGEST`) items, each
    learning anew, and sets them beside the R orderings of the pilot itself:

        all = Var_j(mean of run j) / (spread / h)          by order = Var_r(mean of ordering r) / (spread / n)

    averaged over neighbours, interpolated over the settings between, and drawn together: the J - 1 degrees of freedom
    of the first and the R - 1 of the second (and 1, the items') both speak of "all". For a method that learns nothing
    they are 1 and noise / spread.
    """
    if curve.settings[0].method.learner is None:
        return Inflation(_plain([s.votes for s in curve.settings]), _plain([s.errors for s in curve.settings]))
    places = _anchors(curve.votes)
    length = min(dataset.num_items, LONGEST)
    jobs = [(number, place) for number in range(PILOTS) for place in places]
    pilots = [_another(dataset, length, seed, number) for number in range(PILOTS)]

    def run(job: tuple[int, int]) -> tuple[float, float]:
        chosen = curve.settings[job[1]].method
        done = simulate(pilots[job[0]], chosen, pool_size=pool_size, model="all", seed=seed + 1000 + job[0])
        return done.mean_cost, done.error_rate

    means = []
    for done, mean in enumerate(_in_threads(run, jobs), 1):
        means.append(mean)
        if progress is not None:
            progress(done, len(jobs), f"{curve.name} on resampled pilots")
    variance = np.array(means).reshape(PILOTS, len(places), 2).var(axis=0, ddof=1)  # (places, 2)
    return Inflation(
        _ratios([s.votes for s in curve.settings], places, variance[:, 0], length),
        _ratios([s.errors for s in curve.settings], places, variance[:, 1], length),
    )


def _plain(measured: Sequence[Measured]) -> FloatArray:
    return np.array([(1.0, min(m.noise / m.spread, 1.0) if m.spread > 0 else 0.0) for m in measured])


def _anchors(votes: FloatArray) -> list[int]:
    """Places of up to `ANCHORS` settings, spread evenly in votes per item; those that ask nobody have no variance."""
    wanted = np.linspace(votes[-1] * 0.1, votes[-1], ANCHORS)
    return sorted({int(np.abs(votes - each).argmin()) for each in wanted})


def _another(dataset: VoteDataset, length: int, seed: int, number: int) -> VoteDataset:
    """`length` items drawn with replacement; one drawn twice meets its voters in another order each time."""
    return rows_of(dataset, stream(seed, "plan-pilots", number).integers(dataset.num_items, size=length))


def rows_of(dataset: VoteDataset, rows: IntArray) -> VoteDataset:
    """The data set of these items."""
    return replace(
        dataset,
        votes=frozen_array(dataset.votes[rows], np.int16),
        predictions=frozen_array(dataset.predictions[:, rows]),
        blocks=frozen_array(dataset.blocks[rows], np.int64),
    )


def _ratios(measured: Sequence[Measured], places: Sequence[int], variance: FloatArray, length: int) -> FloatArray:
    """(S, 2) all, and by order; the second at most three quarters of the first."""
    spreads = np.array([m.spread for m in measured])
    units = np.where(spreads > 0, spreads, 1.0)
    seen = _smooth(np.where(spreads[places] > 0, variance * length / units[places], 1.0))
    every = np.interp(np.arange(len(measured)), places, seen)
    by_order = _smooth(np.array([m.runs.var(ddof=1) * len(m.items) for m in measured]) / units)
    freedom, few = PILOTS - 1, len(measured[0].runs) - 1
    both = np.clip((freedom * every + few * (1 + by_order)) / (freedom + few), *RATIOS)
    return np.stack([both, np.minimum(by_order, 0.75 * both)], axis=1)


def _smooth(values: FloatArray) -> FloatArray:
    padded = np.pad(values, 1, mode="edge")
    return np.asarray((padded[:-2] + padded[1:-1] + padded[2:]) / 3)


def resampled(curves: Sequence[PilotCurve], *, draws: int, seed: int, orderings: bool = True) -> tuple[Resampled, ...]:
    """`draws` pilots resampled from this one: items with replacement, and (unless not) orderings with replacement.

    Mean over resampled items of their mean over orderings, plus the mean deviation of the resampled orderings (by
    sqrt(R / (R - 1)), for R of them show too little of their variance). All curves meet the same resampled pilots.
    """
    first = curves[0].settings[0].votes
    num_items, number = len(first.items), len(first.runs)
    rng = stream(seed, "plan-resampling")
    runs = rng.integers(number, size=(draws, number)) if orderings else np.tile(np.arange(number), (draws, 1))
    items = [np.stack([m.items for s in c.settings for m in (s.votes, s.errors)], axis=1) for c in curves]
    means = [np.empty((draws, table.shape[1])) for table in items]
    block = max(BLOCK_CELLS // num_items, 1)
    for start in range(0, draws, block):
        weights = _item_weights(num_items, min(block, draws - start), rng)  # (b, n)
        for mean, table in zip(means, items, strict=True):
            mean[start : start + len(weights)] = weights @ table
    return tuple(
        _with_orderings(curve, mean - table.mean(axis=0), runs)
        for curve, mean, table in zip(curves, means, items, strict=True)
    )


def _item_weights(num_items: int, draws: int, rng: np.random.Generator) -> FloatArray:
    """(draws, n) how often each item was drawn, as shares."""
    picked = rng.integers(num_items, size=(draws, num_items)) + np.arange(draws)[:, None] * num_items
    counts = np.bincount(picked.ravel(), minlength=draws * num_items).reshape(draws, num_items)
    return np.asarray(counts / num_items, dtype=np.float32)


def _with_orderings(curve: PilotCurve, deviation: FloatArray, runs: IntArray) -> Resampled:
    more = math.sqrt(runs.shape[1] / (runs.shape[1] - 1))
    parts = []
    for place, measured in enumerate((s.votes, s.errors) for s in curve.settings):
        for kind, each in enumerate(measured):
            path = more * (each.runs - each.mean)[runs].mean(axis=1)  # (B,)
            parts.append(each.mean + deviation[:, 2 * place + kind] + path)
    table = np.stack(parts, axis=1)  # (B, 2S): votes and errors in turn
    return Resampled(table[:, ::2], np.clip(table[:, 1::2], 0.0, 1.0))
