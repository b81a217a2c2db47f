"""Measures what the classifier saves: votes per item at equal error, with the classifier and without it; finds columns
of the predictions that seem to be named after the wrong class.

Runs the method over a sample of the items at several parameter values, with the predictions and with uniform ones. At
the run's votes per item, the curve with the classifier has a certain error; the curve without it gives the votes needed
for that error. Called by `run` and `plan`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate import compiled
from quorate.decision.rules import rule_of
from quorate.methods import Method
from quorate.rng import stream as random_stream
from quorate.session.tuning import tuned
from quorate.streams.prepare import Stream
from quorate.streams.simulate import simulate_stream
from quorate.streams.sweep import lower_hull
from quorate.types import FloatArray, IntArray

KNOBS: dict[str, tuple[float, ...]] = {
    "error_cost": (1.0, 5.0, 10.0, 20.0, 50.0, 100.0, 250.0, 1e9),
    "threshold": (0.0, 0.6, 0.75, 0.87, 0.94, 0.98, 0.995, 1.0),
}
MOST_ITEMS, FEWEST_ITEMS = 1000, 50  # size of the sample; fewest scored items for a claim
MOST_CELLS = 20_000  # limit on items times classes of the sample
DRAWS, LEVEL = 200, 0.9
LEAST = 0.01  # votes per item: a smaller saving counts as none


@dataclass(frozen=True, slots=True)
class Saving:
    """At `votes` per item the error is `error`; without the classifier the same error takes `without` votes per item.

    `saves` is the difference; `low` and `high` its interval at `LEVEL`, from resampled items
    """

    votes: float
    error: float
    without: float
    saves: float
    low: float
    high: float

    @property
    def is_clear(self) -> bool:
        """Whether the whole interval is above `LEAST`."""
        return self.low > LEAST


@dataclass(frozen=True, slots=True)
class ClassifierReport:
    """What the classifiers save: `here` at the votes of the run, `early` at half the votes of asking until settled.

    Both are None if not measured: no classifier, a method without a suitable parameter, too few items, or `too_soon`:
    kernels are not compiled yet, and the replays would take a minute.
    """

    models: tuple[str, ...]
    method: str
    num_items: int
    here: Saving | None
    early: Saving | None
    swaps: tuple[Swap, ...]
    too_soon: bool = False

    def describe(self) -> dict[str, Any]:
        """JSON values, for summary.json and plan.json."""
        found: dict[str, Any] = {"models": list(self.models), "items": self.num_items, "level": LEVEL}
        for name, saving in (("here", self.here), ("early", self.early)):
            found[name] = None if saving is None else _plain(saving)
        found["swapped_columns"] = [
            {"model": each.model, "column": each.column, "looks_like": each.looks_like} for each in self.swaps
        ]
        return found | {"warns": self.warns, "sentence": self.sentence()}

    @property
    def warns(self) -> bool:
        """Whether nothing seems to be saved, or columns look swapped."""
        return bool(self.swaps) or (self.here is not None and not self.here.is_clear and self.here.saves <= LEAST)

    def sentence(self) -> str:
        """One line: what the classifier saves, or a warning if it saves nothing measurable."""
        return " ".join(filter(None, [_saved(self), swap_warning(self.swaps)]))


def _plain(saving: Saving) -> dict[str, Any]:
    names = ("votes", "error", "without", "saves", "low", "high", "is_clear")
    return {name: getattr(saving, name) for name in names}


def _saved(report: ClassifierReport) -> str:
    if not report.models:
        return "No classifier was given: all figures are based on votes alone."
    several = len(report.models) > 1
    noun, it, verb = ("The classifiers", "them", "save") if several else ("The classifier", "it", "saves")
    bring = "bring" if several else "brings"
    s = report.here
    if s is None:
        if report.too_soon:
            return (
                f"What {noun.lower()} {verb} was not measured, because quorate was still compiling (a minute or two, "
                "once): run this again after that."
            )
        if report.num_items >= FEWEST_ITEMS:
            return f"The saving is not measured for method {report.method}."
        return f"What {noun.lower()} {verb} is not known: {report.num_items} scored items are too few to measure it."
    numbers = (
        f"in a separate replay of {report.num_items:,} items at several settings, the same error takes {s.votes:.2f} "
        f"votes per item with {it} and {s.without:.2f} without ({100 * LEVEL:.0f} % interval of the saving: "
        f"{s.low:+.2f} to {s.high:+.2f})"
    )
    if s.is_clear:
        return f"{noun} {verb} {s.saves:.2f} votes per item: {numbers}."
    e = report.early
    if e is not None and e.is_clear and not report.swaps:
        return (
            f"Warning: at this setting {noun.lower()} {bring} no measurable saving: {numbers}. At {e.votes:.2f} votes "
            f"per item the saving would be {e.saves:.2f} ({e.low:+.2f} to {e.high:+.2f}): a cheaper setting uses {it}."
        )
    if s.saves > LEAST and not report.swaps:
        return f"Whether {noun.lower()} {verb} votes is not clear on so few items: {numbers}."
    return (
        f"Warning: {noun.lower()} {bring} no measurable saving: {numbers}. Check that the predictions belong to these "
        "items and classes, or leave them out."
    )


def classifier_report(
    given: Stream,
    method: Method,
    *,
    models: Sequence[str],
    classes: Sequence[str],
    votes: float,
    truth: FloatArray,
    is_scored: NDArray[np.bool_],
    seed: int = 0,
) -> ClassifierReport:
    """What the classifiers of a stream save for a method that asks `votes` per item.

    `models` their names, empty without a classifier   `truth` (T, K), `is_scored` (T,) as in `Pools`
    """
    if not models:
        return ClassifierReport((), method.name, 0, None, None, ())
    swaps = tuple(
        swap
        for m, model in enumerate(models)
        for swap in swapped_columns(given.predictions[:, m], given.counts, classes, model=model)
    )
    parameter = next((name for name in KNOBS if name in method.parameters), None)
    rows = _sample(len(given.items), len(classes))
    scored = is_scored[rows]
    if parameter is None or rule_of(method.policy) is None or scored.sum() < FEWEST_ITEMS:
        return ClassifierReport(tuple(models), method.name, int(scored.sum()), None, None, swaps)
    if compiled.will_be_compiled():  # interpreted, these runs would take many times as long as the one asked for
        return ClassifierReport(tuple(models), method.name, int(scored.sum()), None, None, swaps, too_soon=True)
    part = _rows_of(given, rows)
    curves = [_curve(each, method, parameter, truth[rows], seed) for each in (part, _without_classifier(part))]
    weights = _draws(len(rows), scored, seed)
    most = float(curves[1][0].mean(axis=1).max())
    return ClassifierReport(
        tuple(models), method.name, int(scored.sum()),
        _saving(curves, weights, scored, votes), _saving(curves, weights, scored, most / 2), swaps,
    )  # fmt: skip


def _sample(num_items: int, num_classes: int) -> IntArray:
    """Items spread evenly over the stream, in its order."""
    most = int(np.clip(MOST_CELLS // num_classes, MOST_ITEMS // 5, MOST_ITEMS))
    return np.unique(np.linspace(0, num_items - 1, min(most, num_items)).astype(np.int64))


def _rows_of(given: Stream, rows: IntArray) -> Stream:
    known = [name for name in Stream.__slots__ if getattr(given, name) is not None]
    return Stream(**{name: np.ascontiguousarray(getattr(given, name)[rows]) for name in known})


def _without_classifier(given: Stream) -> Stream:
    """The same items and votes with one uniform prediction: the stream of a run without predictions."""
    num_items, _, num_classes = given.predictions.shape
    alike = np.full((num_items, 1, num_classes), 1.0 / num_classes)
    mean = np.ascontiguousarray(alike[:, 0])
    return replace(given, predictions=alike, log_predictions=np.log(alike), mean_predictions=mean)


def _curve(
    part: Stream,
    method: Method,
    parameter: str,
    truth: FloatArray,
    seed: int,
) -> FloatArray:
    """(2, S, n) votes and errors of each item at every value of the parameter."""
    found = []
    for value in KNOBS[parameter]:
        done = simulate_stream(part, tuned(method, {parameter: value}), seed=seed)
        costs = 1.0 - np.eye(truth.shape[1]) if method.costs is None else method.costs.votes
        wrong = (truth * costs[:, done.predictions].T).sum(axis=1)
        unknown = truth.sum(axis=1) == 0
        found.append((done.costs.astype(float), np.where(unknown, costs.max(axis=0)[done.predictions], wrong)))
    return np.array(found).transpose(1, 0, 2)


def _draws(num_items: int, scored: NDArray[np.bool_], seed: int) -> FloatArray:
    """(1 + B, n) weights of the items: all 1, then their counts in each resampled set."""
    drawn = random_stream(seed, "classifier-saving").multinomial(num_items, np.full(num_items, 1 / num_items), DRAWS)
    drawn = drawn[drawn[:, scored].sum(axis=1) > 0]
    return np.concatenate([np.ones((1, num_items)), drawn])


def _saving(curves: Sequence[FloatArray], weights: FloatArray, scored: NDArray[np.bool_], votes: float) -> Saving:
    means = []
    for curve in curves:
        asked = weights @ curve[0].T / weights.sum(axis=1, keepdims=True)  # (1 + B, S)
        wrong = weights[:, scored] @ curve[1][:, scored].T / weights[:, scored].sum(axis=1, keepdims=True)
        means.append((asked, wrong))
    read = np.array([_equal_error(*(row for pair in means for row in (pair[0][b], pair[1][b])), votes=votes)
                     for b in range(len(weights))])  # fmt: skip
    saves = read[:, 2] - read[:, 0]
    low, high = np.quantile(saves[1:], [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    here, error, without = (float(value) for value in read[0])
    return Saving(here, error, without, float(saves[0]), float(low), float(high))


def _equal_error(
    with_votes: FloatArray, with_errors: FloatArray, votes_alone: FloatArray, errors_alone: FloatArray, *, votes: float
) -> tuple[float, float, float]:
    """Votes per item, the error with the classifier there, and the votes for the same error without it."""
    x, y = _hull(with_votes, with_errors)
    here = float(np.clip(votes, x[0], x[-1]))
    error = float(np.interp(here, x, y))
    x, y = _hull(votes_alone, errors_alone)
    return here, error, float(np.interp(error, y[::-1], x[::-1]))


def _hull(votes: FloatArray, errors: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The curve of mixtures of settings: decreasing and convex."""
    order = np.lexsort((errors, votes))
    points: list[tuple[float, float]] = []
    for k in order:
        if not points or (votes[k] > points[-1][0] + 1e-9 and errors[k] < points[-1][1]):
            points.append((float(votes[k]), float(errors[k])))
    hull = np.array(lower_hull(points, at=lambda point: point))
    return hull[:, 0], hull[:, 1]


MOST_COMPARED, FEWEST_COMPARED = 20_000, 50  # items
CLEAR = 5.0  # standard errors by which other columns must fit better
HALF = 0.5  # a column that fits its own class at least half as well as the other is not reported


@dataclass(frozen=True, slots=True)
class Swap:
    """The column `column` of classifier `model` looks like probabilities of `looks_like`."""

    model: str
    column: str
    looks_like: str


def swapped_columns(
    predictions: FloatArray, counts: IntArray, classes: Sequence[str], *, model: str = ""
) -> list[Swap]:
    """Columns of the predictions (T, K) that fit the votes (T, K) for another class far better than for their own.

    The fit of a column to a class is the covariance of its probabilities with the share of votes. The best class of
    each column is found on every second item and tested on the others; columns that take each other's place and fit
    clearly better there are reported.

    >>> rng = np.random.default_rng(1)
    >>> counts = rng.multinomial(5, [0.2, 0.3, 0.5], 400) * 3
    >>> said = (counts + 1.0) / (counts + 1.0).sum(axis=1, keepdims=True)
    >>> [(each.column, each.looks_like) for each in swapped_columns(said[:, [1, 0, 2]], counts, ["a", "b", "c"])]
    [('a', 'b'), ('b', 'a')]
    """
    step = max(1, len(counts) * len(classes) // (MOST_COMPARED * 10), len(counts) // MOST_COMPARED)
    totals = counts[::step].sum(axis=1)
    p = predictions[::step][totals > 0]
    shares = counts[::step][totals > 0] / totals[totals > 0, None]
    if len(p) < FEWEST_COMPARED:
        return []
    p, shares = p - p.mean(axis=0), shares - shares.mean(axis=0)
    best = (p[::2].T @ shares[::2]).argmax(axis=1)  # the class that each column fits best
    cyclic = np.arange(len(best))
    for _ in range(len(best)):
        cyclic = np.unique(best[cyclic])  # what remains are columns that are mistaken for each other
    found: list[Swap] = []
    for k in cyclic[best[cyclic] != cyclic]:
        own, other = p[1::2, k] * shares[1::2, k], p[1::2, k] * shares[1::2, best[k]]
        gain = other - own
        if gain.mean() > CLEAR * gain.std() / np.sqrt(len(gain)) and own.mean() < HALF * other.mean():
            found.append(Swap(model, classes[k], classes[best[k]]))
    return found


def swap_warning(swaps: Sequence[Swap]) -> str:
    """A warning that names the columns; empty if there are none."""
    if not swaps:
        return ""
    pairs = ", ".join(f"{each.column!r} looks like {each.looks_like!r}" for each in swaps[:8])
    more = f" and {len(swaps) - 8} more" if len(swaps) > 8 else ""
    models = " and ".join(dict.fromkeys(each.model for each in swaps))
    return (
        f"Warning: columns of {models} seem to be named after the wrong classes: {pairs}{more}. They agree far better "
        "with the votes for those classes; check the order of the classes."
    )
