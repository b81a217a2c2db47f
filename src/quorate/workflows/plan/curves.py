"""A pilot and methods -> the error-cost curve of every method: each item's votes and errors over several orderings.

Every method meets the pilot in the same orderings; kept are each item's votes and error, averaged over the orderings,
and the mean of every ordering. Called by `plan`; `plan.variance` says how sure the points are, `plan.advice` chooses.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from quorate.catalogue import parameter_text
from quorate.decision.error_costs import DEFAULT_ERROR_COST, ErrorCosts
from quorate.methods import METHODS, Method, method
from quorate.posterior.settled import plurality_shares
from quorate.rng import stream
from quorate.streams.prepare import prepare
from quorate.streams.runs import StreamOptions
from quorate.streams.simulate import expected_errors, simulate_stream
from quorate.streams.sweep import UNTIL_SETTLED, lower_hull, parameter_grid
from quorate.types import FloatArray, IntArray, VoteDataset
from quorate.workflows.plan.pools import Pilot

Progress = Callable[[int, int, str], None]

ERROR_COSTS = tuple(
    sorted({*(float(f"{cost:.2g}") for cost in np.geomspace(1.4, 2000, 19)), 1.0, DEFAULT_ERROR_COST, UNTIL_SETTLED})
)
THRESHOLDS = (0.0, 0.3, 0.4, 0.5, 0.6, 0.7, 0.78, 0.84, 0.89, 0.93, 0.96, 0.98, 0.99, 0.995, 0.999, 1.0)
CROWD_THRESHOLDS = (0.5, 0.8, 0.9, 0.95, 0.98, 0.995, 1.0)  # few, because each runs a session
PEOPLE_COSTS = (3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, UNTIL_SETTLED)
SESSION_COSTS = 1000  # a run through a session takes about this many times as long as one that does not learn
LEARNING_COSTS = 8  # a run that learns takes about this many times as long as one that does not
MOST_COUNTS = 14  # values of a whole-numbered parameter; in between they are spread evenly in the logarithm


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
class PilotSetting:
    """A method at one value of its parameter, on the pilot. `paid`: what the votes cost, one each or by person."""

    method: Method
    votes: Measured
    errors: Measured
    paid: Measured

    @property
    def parameter(self) -> str:
        """The parameter as text."""
        return parameter_text(self.method.parameters)


@dataclass(frozen=True, slots=True, eq=False)
class PilotCurve:
    """A method's settings by rising votes per item; with two parameters, those that no mix of two others beats."""

    name: str
    settings: tuple[PilotSetting, ...]

    @property
    def votes(self) -> FloatArray:
        """(S,) votes per item."""
        return np.array([setting.votes.mean for setting in self.settings])

    @property
    def errors(self) -> FloatArray:
        """(S,) share of wrong answers."""
        return np.array([setting.errors.mean for setting in self.settings])


def plan_grid(name: str, *, pool_size: int, num_classes: int) -> tuple[dict[str, Any], ...]:
    """Parameter values of a method, denser than `sweep.parameter_grid`, and not more than a pool of 100 can bear.

    >>> [parameters["votes"] for parameters in plan_grid("quorum", pool_size=100, num_classes=2)]
    [0, 1, 2, 3, 4, 6, 8, 12, 17, 24, 35, 49, 70, 100]
    """
    if name == "value":
        return tuple({"error_cost": cost} for cost in ERROR_COSTS)
    if name == "crowd":
        return tuple({"threshold": threshold} for threshold in CROWD_THRESHOLDS)
    if name == "panel":
        return tuple({"error_cost": cost} for cost in PEOPLE_COSTS)
    if name == "quorum":
        return tuple({"votes": votes} for votes in _counts(pool_size, MOST_COUNTS))
    if name == "unanimous-then-cap":
        caps = _counts(pool_size, MOST_COUNTS // 2)
        return tuple({"first": first, "cap": cap} for cap in caps for first in _counts(cap, 5))
    if name in METHODS and name != "beta" and "threshold" in method(name).parameters:
        return tuple({"threshold": threshold} for threshold in THRESHOLDS)
    return parameter_grid(name, pool_size=pool_size, num_classes=num_classes)


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


def work(chosen: Method, num_items: int) -> int:
    """How long a run takes, roughly, in items of a method that does not learn."""
    if chosen.needs_people:
        return num_items * SESSION_COSTS
    return num_items * (LEARNING_COSTS if chosen.learner is not None else 1)


class Meter:
    """Progress over all the runs of a plan together, so that the time left can be estimated from the first run on."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress, self._total, self._done = progress, total, 0
        if progress is not None:
            progress(0, total, "the first run")

    def add(self, done: int, what: str) -> None:
        """So much `work` is done."""
        self._done = min(self._done + done, self._total)
        if self._progress is not None:
            self._progress(self._done, self._total, what)


def measure(
    pilot: Pilot,
    families: Sequence[Sequence[Method]],
    *,
    orderings: int,
    batch_size: int,
    seed: int,
    meter: Meter | None = None,
) -> tuple[PilotCurve, ...]:
    """A curve for every family (one method at several parameter values), over `orderings` (at least 2) of the pilot.

    All methods meet the same orderings, each with its own draw of the votes that are missing. A batch shorter than the
    pilot is its first items; in a longer one the items beyond the pilot are taken to go as the last half of the pilot
    did: by then most is learned.
    """
    settings = [chosen for family in families for chosen in family]
    mixed = stream(seed, "plan-jobs").permutation(len(settings)).tolist()  # any stretch is as slow as the whole
    jobs = [(number, place) for number in range(orderings) for place in mixed]
    share = _position_weights(pilot.num_items, batch_size)
    sums = [_Sums(pilot.num_items) for _ in settings]
    met = [pilot.met(seed + number) for number in range(orderings)]

    def run(job: tuple[int, int]) -> tuple[IntArray, FloatArray]:
        number, place = job
        return run_on(pilot, met[number], settings[place], seed=seed + number)

    for job, (order, values) in zip(jobs, in_threads(run, jobs), strict=True):
        sums[job[1]].add(order, values, share)
        if meter is not None:
            chosen = settings[job[1]]
            meter.add(work(chosen, pilot.num_items), f"{chosen.name}, ordering {job[0] + 1} of {orderings}")
    measured = iter(PilotSetting(chosen, *each.measured()) for chosen, each in zip(settings, sums, strict=True))
    return tuple(curve_of([next(measured) for _ in family]) for family in families)


def run_on(pilot: Pilot, dataset: VoteDataset, chosen: Method, *, seed: int) -> tuple[IntArray, FloatArray]:
    """One run: the items in the order met, and (3, n) votes, errors and what the votes cost, of each.

    An error is the probability of being wrong, ties by expectation; with `error_costs` what the answer costs. Where
    only a share of the items can be scored, each of them stands for 1 / share, and the others are 0.
    """
    costs = pilot.error_costs
    met = prepare(dataset, pilot.pool_size, "all", seed)
    if costs is None and chosen.parameters.get("threshold") == 1.0:
        chosen = method("until-settled")  # nothing is surer than 1: the same votes and errors, without any belief
    unscored = replace(met, truth=None)  # known answers are for counting errors; they change no answer
    options = StreamOptions(voter_costs=pilot.voter_costs)
    if costs is not None:
        chosen = replace(chosen, costs=ErrorCosts(costs, costs))
    done = simulate_stream(unscored, chosen, options, seed=seed, target="plurality")
    if costs is None:
        errors = expected_errors(met, done.predictions, pilot.target)
    elif pilot.target == "truth" and met.truth is not None:
        errors = np.where(met.truth < 0, np.nan, costs[met.truth, done.predictions])
    else:
        errors = (plurality_shares(met.counts) * costs[:, done.predictions].T).sum(axis=1)
    counted = np.where(np.isnan(errors), 0.0, errors) / pilot.scored
    return done.items, np.stack([done.costs.astype(float), counted, done.paid])


def in_threads(work: Callable[[Any], Any], jobs: Sequence[Any]) -> Iterator[Any]:
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
        self.total = np.zeros((3, num_items))
        self.squares = np.zeros((3, num_items))
        self.spread = np.zeros(3)
        self.runs: list[FloatArray] = []

    def add(self, items: IntArray, values: FloatArray, share: FloatArray) -> None:
        self.total[:, items] += values
        self.squares[:, items] += values**2
        self.spread += values.var(axis=1, ddof=1)
        self.runs.append(values @ share)

    def measured(self) -> list[Measured]:
        number = len(self.runs)
        noise = np.maximum(self.squares - self.total**2 / number, 0.0).mean(axis=1) / (number - 1)
        runs = np.array(self.runs)  # (R, 3)
        return [
            Measured(
                (self.total[k] / number).astype(np.float32), runs[:, k], float(self.spread[k] / number), float(noise[k])
            )
            for k in range(3)
        ]


def curve_of(settings: Iterable[PilotSetting]) -> PilotCurve:
    """A method's settings by rising cost, the best of equal costs."""
    kept: list[PilotSetting] = []
    for setting in sorted(settings, key=lambda each: (each.votes.mean, each.errors.mean)):
        if not kept or setting.votes.mean - kept[-1].votes.mean > 1e-9:
            kept.append(setting)
    first = kept[0].method
    name = first.name if first.choose is None else f"{first.name}:choose={first.choose}"
    return PilotCurve(name, tuple(lower_hull(kept, at=_means) if name == "unanimous-then-cap" else kept))


def _means(setting: PilotSetting) -> tuple[float, float]:
    return setting.votes.mean, setting.errors.mean


def halfway(one: Method, other: Method) -> Method | None:
    """The method half-way between two values of its one parameter; None if nothing lies between.

    Rounded to three digits (near 1: those of the distance to it), so that what is run is what is printed.

    >>> halfway(method("value", error_cost=25), method("value", error_cost=100)).parameters["error_cost"]
    50.0
    >>> halfway(method("quorum", votes=2), method("quorum", votes=3)) is None
    True
    """
    differing = [key for key, value in one.parameters.items() if other.parameters.get(key) != value]
    if len(differing) != 1:
        return None
    low, high = sorted((one.parameters[differing[0]], other.parameters[differing[0]]))
    middle = _middle(low, high)
    return None if middle in (low, high) else method(one.name, **{**one.parameters, differing[0]: middle})


def _middle(low: float, high: float) -> float:
    if isinstance(low, int) and isinstance(high, int):
        return (low + high) // 2
    if low >= 0.5 and high <= 1.0:  # thresholds: what counts is how far they are from 1
        return 1.0 - float(f"{_mean(1.0 - high, 1.0 - low):.3g}")
    return float(f"{_mean(low, high):.3g}")


def _mean(low: float, high: float) -> float:
    """The geometric mean if `high` is more than twice `low`, else the arithmetic one; `high` / 4 if `low` is 0."""
    if low == 0:
        return high / 4
    return float(np.sqrt(low * high)) if high > 2 * low else (low + high) / 2
