"""What a pilot shows -> what other pilots and the next batch would show: variances, expectations, intervals.

`inflations` runs methods anew on resampled pilots, `resampled` reweighs the items already run. Of a `Forecast` votes
go by Student's distribution, errors by a score interval. Called by `plan`; read by `plan.advice` and by the bands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from quorate.methods import Method
from quorate.numerics import find_root, student_cdf, student_quantile
from quorate.rng import stream
from quorate.types import FloatArray, IntArray
from quorate.workflows.plan.curves import Measured, Meter, PilotCurve, in_threads, run_on, work
from quorate.workflows.plan.pools import Pilot

PILOTS, RIVAL_PILOTS = 24, 8  # resampled pilots run anew: for the method advised, and for each of the others
ANCHORS, LONGEST = 5, 2000  # at how many settings, and of how many items at most
PEOPLE_ANCHORS, PEOPLE_LONGEST = 2, 150  # the same for methods that know people, whose runs take a session
RATIOS = (1.0, 20.0)  # outside is the noise of a few runs: learning does not make a mean vary less
BLOCK_CELLS = 4_000_000  # of the weights of resampled pilots, at a time


@dataclass(frozen=True, slots=True, eq=False)
class Resampled:
    """(B, S) votes per item and errors of a curve's settings on B resampled pilots."""

    votes: FloatArray
    errors: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Inflation:
    """What learning does to a curve of S settings, measured on J pilots.

    `votes`, `errors` (S, 2) variance of a batch's mean, in units of spread / m: all of it, and what another order of
    it changes   `paths` (J, 2S) votes, then errors, of J pilots beyond what their items say: what was learned on the
    way, and the order; none if nothing is learned   `seen` q, share of the pools' votes that were cast and not drawn
    """

    votes: FloatArray
    errors: FloatArray
    paths: FloatArray
    seen: float = 1.0

    def between(self, known: FloatArray, wanted: FloatArray) -> Inflation:
        """The same for settings at `wanted` votes per item, read between those at `known`."""

        def read(table: FloatArray) -> FloatArray:
            return np.stack([np.interp(wanted, known, column) for column in table.T], axis=1)

        halves = np.split(self.paths, 2, axis=1)
        none = np.zeros((0, len(wanted)))  # nothing learned: no path, at any number of settings
        paths = np.concatenate([read(half.T).T if len(half) else none for half in halves], axis=1)
        return Inflation(read(self.votes), read(self.errors), paths, self.seen)


def inflations(
    pilot: Pilot, curves: Sequence[PilotCurve], *, seed: int, meter: Meter | None = None
) -> tuple[Inflation, ...]:
    """What learning does to the variance: hard items teach a method to ask more of all others too.

    Runs `ANCHORS` settings of each curve on J pilots resampled from this one (`PILOTS` for the first curve, the one to
    be advised, `RIVAL_PILOTS` for the others), of h = min(n, `LONGEST`) items, each learning anew (also what completes
    the pools), and sets them beside the R orderings of the pilot itself:

        all = Var_j(mean of run j) / (spread / h)          by order = Var_r(mean of ordering r) / (spread / n)

    averaged over neighbours and interpolated over the settings between. 1 + by order (the items and the order) is a
    second estimate of "all"; the mean of both, weighted by their degrees of freedom, J - 1 and R - 1, is used. For a
    method that learns nothing, on pools that are whole, the ratios are 1 and noise / spread; also at a setting that
    asks while any vote can matter.
    """
    is_free = [_is_free_of_learning(curve, pilot) for curve in curves]
    sizes = [_size(pilot, curve.settings[0].method) for curve in curves]
    places = [
        _anchors(curve.votes, np.flatnonzero(~free), anchors)
        for curve, free, (anchors, _) in zip(curves, is_free, sizes, strict=True)
    ]
    counts = [PILOTS if c == 0 else RIVAL_PILOTS for c in range(len(curves))]
    jobs = [(j, c, k) for j in range(PILOTS) for c, chosen in enumerate(places) for k in chosen if j < counts[c]]
    drawn = {
        (j, length): pilot.another(length, seed, j) for j, length in sorted({(j, sizes[c][1]) for j, c, _ in jobs})
    }

    def run(job: tuple[int, int, int]) -> FloatArray:
        chosen = curves[job[1]].settings[job[2]].method
        resampled_pilot = drawn[job[0], sizes[job[1]][1]]
        return np.asarray(run_on(pilot, resampled_pilot, chosen, seed=seed + 1000 + job[0])[1].mean(axis=1))

    means: dict[tuple[int, int, int], FloatArray] = {}
    for job, mean in zip(jobs, in_threads(run, jobs) if jobs else (), strict=True):
        means[job] = mean
        if meter is not None:
            curve = curves[job[1]]
            meter.add(work(curve.settings[job[2]].method, sizes[job[1]][1]), f"{curve.name} on resampled pilots")
    found = []
    for c, (curve, chosen, free) in enumerate(zip(curves, places, is_free, strict=True)):
        rows = [pilot.rows_of_another(sizes[c][1], seed, j) for j in range(counts[c] if chosen else 0)]
        table = np.array([[means[j, c, k] for k in chosen] for j in range(len(rows))])
        found.append(replace(_inflation(curve, chosen, free, table, rows), seen=pilot.seen))
    return tuple(found)


def _size(pilot: Pilot, chosen: Method) -> tuple[int, int]:
    """How many settings of a method are run on resampled pilots, and how many items these have."""
    anchors, longest = (PEOPLE_ANCHORS, PEOPLE_LONGEST) if chosen.needs_people else (ANCHORS, LONGEST)
    return anchors, min(pilot.num_items, longest)


def inflation_work(pilot: Pilot, families: Sequence[Sequence[Method]]) -> int:
    """How much `work` `inflations` does at most, if every family becomes a curve."""
    total = 0
    for c, (first, *_) in enumerate(families):
        anchors, length = _size(pilot, first)
        if pilot.model is not None or first.learner is not None or first.needs_people:
            total += anchors * (PILOTS if c == 0 else RIVAL_PILOTS) * work(first, length)
    return total


def _is_free_of_learning(curve: PilotCurve, pilot: Pilot) -> NDArray[np.bool_]:
    """(S,) settings whose votes and errors are the same whatever is learned."""
    if pilot.model is not None:  # what completes the pools is learned, too
        return np.zeros(len(curve.settings), dtype=bool)
    return np.array([_asks_all_that_matter(setting.method) for setting in curve.settings], dtype=bool)


def _asks_all_that_matter(chosen: Method) -> bool:
    """Whether what is learned has no part in how far it asks; by then the answer is known."""
    if chosen.needs_people:
        return False
    return chosen.learner is None or chosen.parameters.get("threshold") == 1.0


def _inflation(
    curve: PilotCurve, places: Sequence[int], free: NDArray[np.bool_], means: FloatArray, rows: Sequence[IntArray]
) -> Inflation:
    """`means` (J, places, 2) of the runs on resampled pilots, `rows` their items; `free` (S,) of learning."""
    votes, errors = [s.votes for s in curve.settings], [s.errors for s in curve.settings]
    if not places:
        return Inflation(_plain(votes), _plain(errors), np.zeros((0, 2 * len(votes))))
    variance, length = means.var(axis=0, ddof=1), len(rows[0])
    ratios = [_ratios(m, places, variance[:, kind], length, len(rows)) for kind, m in enumerate((votes, errors))]
    ratios = [np.where(free[:, None], _plain(m), r) for m, r in zip((votes, errors), ratios, strict=True)]
    paths = []
    for kind, measured in enumerate((votes, errors)):
        items = np.array([[measured[k].items[row].mean() for k in places] for row in rows])  # (J, places)
        beyond = means[:, :, kind] - items
        beyond = (beyond - beyond.mean(axis=0)) * np.sqrt(length / len(measured[0].items))
        every = np.array([np.interp(curve.votes, curve.votes[places], each) for each in beyond])  # (J, S)
        paths.append(every * ~free * np.sqrt(_kept(ratios[kind], len(measured[0].runs))))
    return Inflation(ratios[0], ratios[1], np.concatenate(paths, axis=1))


def _kept(ratios: FloatArray, orderings: int) -> FloatArray:
    """(S,) share of a path's variance that is left in the mean of the pilot's orderings."""
    learned = np.maximum(ratios[:, 0] - 1, 0.05)
    return np.clip((learned - ratios[:, 1] * (1 - 1 / orderings)) / learned, 1 / orderings, 1.0)


def _plain(measured: Sequence[Measured]) -> FloatArray:
    return np.array([(1.0, min(m.noise / m.spread, 1.0) if m.spread > 0 else 0.0) for m in measured])


def _anchors(votes: FloatArray, among: IntArray, number: int) -> list[int]:
    """Up to `number` of the places `among`, spread evenly in votes per item; who asks nobody has no variance."""
    if not len(among):
        return []
    wanted = np.linspace(votes[among[-1]] * 0.1, votes[among[-1]], number)
    return sorted({int(among[np.abs(votes[among] - each).argmin()]) for each in wanted})


def _ratios(
    measured: Sequence[Measured], places: Sequence[int], variance: FloatArray, length: int, pilots: int
) -> FloatArray:
    """(S, 2) all, and by order; the second at most three quarters of the first."""
    spreads = np.array([m.spread for m in measured])
    units = np.where(spreads > 0, spreads, 1.0)
    seen = _smooth(np.where(spreads[places] > 0, variance * length / units[places], 1.0))
    every = np.interp(np.arange(len(measured)), places, seen)
    by_order = _smooth(np.array([m.runs.var(ddof=1) * len(m.items) for m in measured]) / units)
    freedom, few = pilots - 1, len(measured[0].runs) - 1
    both = np.clip((freedom * every + few * (1 + by_order)) / (freedom + few), *RATIOS)
    return np.stack([both, np.minimum(by_order, 0.75 * both)], axis=1)


def _smooth(values: FloatArray) -> FloatArray:
    padded = np.pad(values, 1, mode="edge")
    return np.asarray((padded[:-2] + padded[1:-1] + padded[2:]) / 3)


def resampled(
    curves: Sequence[PilotCurve], ratios: Sequence[Inflation], *, draws: int, seed: int, most: float = 1.0
) -> tuple[Resampled, ...]:
    """`draws` pilots resampled from this one, each with its items and with what it would have taught.

    Mean over items drawn with replacement of their mean over orderings, plus a normal draw of the path, whose variances
    and correlations, over settings and between votes and errors, are those of `Inflation.paths`. All curves meet the
    same resampled pilots.
    """
    num_items = len(curves[0].settings[0].votes.items)
    rng = stream(seed, "plan-resampling")
    items = [
        np.stack([s.votes.items for s in c.settings] + [s.errors.items for s in c.settings], axis=1) for c in curves
    ]
    means = [np.empty((draws, table.shape[1])) for table in items]
    block = max(BLOCK_CELLS // num_items, 1)
    for start in range(0, draws, block):
        weights = _item_weights(num_items, min(block, draws - start), rng)  # (b, n)
        for mean, table in zip(means, items, strict=True):
            mean[start : start + len(weights)] = weights @ table
    pilots = min((len(ratio.paths) for ratio in ratios if len(ratio.paths)), default=PILOTS)  # those that all have met
    luck = rng.standard_normal((draws, pilots)) / np.sqrt(pilots - 1)
    return tuple(
        _with_paths(curve, mean - table.mean(axis=0), luck[:, : len(ratio.paths)] @ ratio.paths[:pilots], most)
        for curve, mean, table, ratio in zip(curves, means, items, ratios, strict=True)
    )


def _with_paths(curve: PilotCurve, by_items: FloatArray, by_path: FloatArray, most: float) -> Resampled:
    """(B, 2S) deviations, votes then errors (of one item at most `most`), put on the curve."""
    table = np.concatenate([curve.votes, curve.errors]) + by_items + by_path
    votes, errors = np.split(np.maximum(table, 0.0), 2, axis=1)
    return Resampled(votes, np.minimum(errors, most))


def _item_weights(num_items: int, draws: int, rng: np.random.Generator) -> FloatArray:
    """(draws, n) how often each item was drawn, as shares."""
    picked = rng.integers(num_items, size=(draws, num_items)) + np.arange(draws)[:, None] * num_items
    counts = np.bincount(picked.ravel(), minlength=draws * num_items).reshape(draws, num_items)
    return np.asarray(counts / num_items, dtype=np.float32)


Numbers = float | FloatArray
KNOWN = (0.3, 20.0)  # V_pilot n / s^2: outside is noise of a few errors


@dataclass(frozen=True, slots=True)
class Forecast:
    """What the mean of the next batch will be.

    `centre` expected   `pilot_variance` of that expectation, V_pilot   `spread` between items, s^2   `inflation` r
    `num_items` of the pilot   `batch_size` of the next batch   `most` one item can err: 1, or the highest of the error
    costs; None for votes, which have no such end   `pilots` resampled, on which the variance rests
    """

    centre: float
    pilot_variance: float
    spread: float
    inflation: float
    num_items: int
    batch_size: int
    most: float | None = None
    pilots: int = PILOTS

    def interval(self, level: float = 0.9) -> tuple[float, float]:
        """Where the next batch's mean falls with probability `level`.

        Votes: centre -+ t sqrt(V). Errors: all x with (x - centre)^2 <= t^2 V(p), where V is scaled to the error rate p
        that pilot and batch would have together (a score interval: it has no negative end, and a width where the pilot
        shows no error at all).

        >>> seen = Forecast(0.02, 0.0196 / 500, 0.0196, 1.0, 500, 500, most=1.0)
        >>> [round(end, 4) for end in seen.interval(0.9)]
        [0.0074, 0.0382]
        """
        reach = student_quantile(0.5 + level / 2, _freedom(self.num_items, self.pilots))
        if self.most is None:
            half = reach * self.deviation(self.centre)
            return max(self.centre - half, 0.0), self.centre + half
        return self._end(0.0, -reach), self._end(self.most, reach)

    def _end(self, last: float, reach: float) -> float:
        """Where (x - centre) / sqrt(V) is `reach`, between the centre and `last`."""

        def beyond(x: float) -> float:
            return x - self.centre - reach * self.deviation(x)

        sign = float(np.sign(reach))
        first = self.centre + sign * 1e-12  # at a centre of 0 the width is 0 there, and only there
        if beyond(last) * sign <= 0:
            return last
        return find_root(beyond, first, last) if beyond(first) * sign < 0 else self.centre

    def deviation(self, x: float) -> float:
        """sqrt(V) if the next batch came to `x`."""
        return float(
            deviations(
                self.centre, x, self.pilot_variance, self.spread, self.inflation, self.num_items, self.batch_size,
                self.most,
            )
        )  # fmt: skip

    def at_most(self, x: float) -> float:
        """Probability that the next batch's mean is at most `x`.

        >>> seen = Forecast(0.02, 0.0196 / 500, 0.0196, 1.0, 500, 500, most=1.0)
        >>> round(seen.at_most(seen.interval(0.9)[1]), 3)
        0.95
        """
        return float(probability((x - self.centre), self.deviation(x), self.num_items))


def deviations(
    centre: Numbers,
    x: float,
    pilot_variance: Numbers,
    spread: Numbers,
    inflation: Numbers,
    num_items: int,
    batch_size: int,
    most: float | None,
) -> FloatArray:
    """sqrt(V); for shares, the parts between items scaled from the rate seen to the rate of pilot and batch together.

    The dispersion spread / (centre (1 - centre)) is below 1 where ties are half errors. A single half error is too
    little to say so: it, and V_pilot n / spread, are drawn to 1 by one item.
    """
    if most is None:
        return np.sqrt(pilot_variance + inflation * spread / batch_size)
    centre, x, pilot_variance, spread = centre / most, x / most, pilot_variance / most**2, spread / most**2
    both = (num_items * centre + batch_size * x) / (num_items + batch_size)
    one = both * (1 - both)
    dispersion = (num_items * spread + one) / (num_items * centre * (1 - centre) + one + 1e-300)
    known = (num_items**2 * pilot_variance + one) / (num_items * spread + one + 1e-300)
    return most * np.sqrt(dispersion * one * (np.clip(known, *KNOWN) / num_items + inflation / batch_size))


def _freedom(num_items: int, pilots: int = PILOTS) -> int:
    """Degrees of freedom: r rests on so many runs; settings beside each other hardly add to them."""
    return min(num_items, pilots) - 1


def probability(distance: Numbers, deviation: Numbers, num_items: int) -> FloatArray:
    """P(t <= distance / deviation)."""
    safe = np.where(deviation > 0, deviation, 1.0)
    return np.where(
        deviation > 0, student_cdf(distance / safe, _freedom(num_items)), np.where(np.asarray(distance) >= 0, 1.0, 0.0)
    )
