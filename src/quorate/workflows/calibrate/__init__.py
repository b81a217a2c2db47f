"""`calibrate`: replays recorded votes under a method and measures whether its confidence is honest.

The confidence of each answer, when asking stopped, is compared with the verdict of the item's whole pool. Called by
`quorate calibrate`; the measures are in `calibrate.measure`, the report in `calibrate.report`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from quorate.decision.policy import QueryPolicy
from quorate.methods import REFIT_EVERY, WINDOW, Method, Target, as_method, checked_target, default_for
from quorate.posterior.settled import plurality_shares
from quorate.reasons import CERTAIN
from quorate.reports.figures import canvas
from quorate.session.batch import decide_items
from quorate.streams import Simulation
from quorate.streams.prepare import Stream, prepare
from quorate.streams.runs import StreamOptions
from quorate.streams.simulate import simulate_stream
from quorate.tables.options import TableKeywords, TableOptions, shows, table_options
from quorate.tables.readers.sources import Progress
from quorate.tables.report import Report
from quorate.tables.truth_and_costs import Costs, read_costs, read_truth
from quorate.types import FloatArray, IntArray, TableLike, VoteDataset, frozen_array
from quorate.validate import invalid, whole
from quorate.version import __version__
from quorate.workflows.calibrate.measure import NUM_BINS, Honesty, class_scores, honesty
from quorate.workflows.calibrate.report import reliability_figure
from quorate.workflows.inputs import PredictionSources, VoteSource, read_inputs

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MplFigure

FEWEST = 30  # decisions that a group needs to be shown
QUARTERS = ("first", "second", "third", "last")
EARLY, EVERY, PREFIX = "stopped early", "every decision", "after every vote"


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """How honest a method's confidence is on recorded votes.

    `early` decisions that stopped before the pool was settled, where confidence matters; `every` all decisions
    `by_votes` the early ones by the number of votes seen   `by_stage` by quarter of the stream
    `prefixes` (if requested) every item after 0, 1, 2 ... votes while unsettled, even if the method had stopped
    `brier`, `log_score` over all classes, every decision; None for a custom policy
    `mean_cost` votes per item   `mean_paid` their cost, where people differ in cost
    `report` how the tables were read; None if there were none.
    """

    data: str
    method: Method
    num_items: int
    pool_size: int
    seed: int
    mean_cost: float
    mean_paid: float
    early: Honesty | None
    every: Honesty
    by_votes: tuple[Honesty, ...]
    by_stage: tuple[Honesty, ...]
    prefixes: tuple[Honesty, ...]
    brier: float
    log_score: float
    notes: tuple[str, ...] = ()
    report: Report | None = None

    @property
    def groups(self) -> tuple[Honesty, ...]:
        """All groups, the whole before its parts."""
        first = () if self.early is None else (self.early,)
        return (self.every, *first, *self.by_votes, *self.by_stage, *self.prefixes)

    def summary(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "data": self.data,
            "method": self.method.describe(),
            "num_items": self.num_items,
            "pool_size": self.pool_size,
            "seed": self.seed,
            "votes_per_item": self.mean_cost,
            "cost_per_item": self.mean_paid,
            "every": self.every.summary(),
            "early": None if self.early is None else self.early.summary(),
            "by_votes": [each.summary() for each in self.by_votes],
            "by_stage": [each.summary() for each in self.by_stage],
            "prefixes": [each.summary() for each in self.prefixes],
            "brier": self.brier,
            "log_score": self.log_score,
            "verdict": self.verdict,
            "notes": list(self.notes),
            "tables": None if self.report is None else self.report.as_dict(),
            "version": __version__,
        }

    @property
    def shown(self) -> Honesty:
        """The decisions that the verdict and the diagram show: those that stopped early, if there are any."""
        return self.every if self.early is None else self.early

    @property
    def verdict(self) -> str:
        """In one sentence: how far off, which way, and whether chance explains it."""
        found = self.early
        if found is None:
            return "No item was stopped before its pool was settled, so there is no confidence to check."
        way = "too high" if found.gap > 0 else "too low"
        chance = "no more than" if found.is_honest else "more than"
        return (
            f"On the {found.num:,} items stopped early, the confidence is {100 * abs(found.gap):.1f} points {way} on "
            f"average ({100 * found.confidence:.1f} % sure, {100 * found.right:.1f} % right), and its calibration "
            f"error of {100 * found.ece:.1f} points is {chance} chance alone explains."
        )

    @property
    def details(self) -> tuple[str, ...]:
        """What the verdict leaves out: the error by chance, the error over every decision, scores over all classes."""
        sentences = []
        if self.early is not None:
            sentences.append(
                f"An honest predictor shows a calibration error of {100 * self.early.ece_honest:.1f} points on this "
                f"many items, and more than {100 * self.early.ece_honest_high:.1f} in 5 of 100 cases. Over every "
                f"decision, settled ones included, the error is {100 * self.every.ece:.1f} points."
            )
        scores = f"Brier {self.brier:.4f}, log score {self.log_score:.4f}"
        return (*sentences, f"Over all classes, every decision: {scores}.")

    def plot(self) -> MplFigure:
        """The reliability diagram, a matplotlib figure."""
        return canvas(reliability_figure(self))


@shows(TableKeywords)
def calibrate(
    votes: VoteSource,
    predictions: PredictionSources = None,
    *,
    method: Method | str | QueryPolicy | None = None,
    target: Target | None = None,
    truth: TableLike | None = None,
    costs: Costs | None = None,
    pool_size: int | None = None,
    model: int | str = "all",
    seed: int = 0,
    prefixes: bool = False,
    num_bins: int = NUM_BINS,
    window: int | None = WINDOW,
    refit_every: int = REFIT_EVERY,
    progress: Progress | None = None,
    **tables: Unpack[TableKeywords],
) -> Calibration:
    """Replay the votes under `method` and compare each confidence with the verdict of the whole pool.

    `votes`, `predictions` and how to read them (`tables`): as `quorate.run` takes them; or a `VoteDataset` alone. An
    item's pool is everyone who voted on it, or `pool_size` of them drawn by `seed`; items come in an order drawn by
    `seed`. `prefixes` also checks the belief after every vote, not only where the method stopped. `target`, `truth` and
    `costs` as in `quorate.run`: confidence in the true class is compared with `truth`.

    >>> from quorate.datasets import synthetic
    >>> found = calibrate(synthetic(num_items=400, pool_size=7, seed=1), method="finexp")
    >>> found.every.num, found.every.ece < 0.1
    (400, True)
    """
    bins, draw = whole(num_bins, where="num_bins", most=1000), whole(seed, where="seed", least=0)
    chosen = as_method(default_for(method, target))
    checked_target(target, chosen)
    if prefixes and chosen.needs_people:
        rule = f"a method for anonymous votes; the belief of {chosen.name!r} depends on who voted"
        raise invalid("prefixes", True, rule, "leave it out, or pass `method='value'`.")
    data, report, prices = _dataset(votes, predictions, table_options(tables), progress, truth=truth, costs=costs)
    stream = prepare(data, pool_size, model, draw)
    options = StreamOptions(window, refit_every, voter_costs=prices)
    done = simulate_stream(stream, chosen, options, seed=draw, keep_probs=True)
    judged = np.flatnonzero(~np.isnan(done.expected_errors))  # with target "truth", those whose true class is known
    right, costs_of, confidence = 1.0 - done.expected_errors[judged], done.costs[judged], done.confidence[judged]
    known = np.isin(np.array(done.reasons), CERTAIN)[judged] & (chosen.target == "plurality")
    assert done.probs is not None  # they were kept
    brier, log_score = class_scores(done.probs[judged], _verdicts(stream, chosen)[judged])
    quarter = 4 * judged // len(stream.items)
    early, by_votes, by_stage = _early(confidence, costs_of, quarter, right, known, draw, bins)
    return Calibration(
        data=data.name,
        method=chosen,
        num_items=len(right),
        pool_size=int(stream.pool_sizes.max()),
        seed=draw,
        mean_cost=done.mean_cost,
        mean_paid=float(done.paid.mean()),
        early=early,
        every=honesty(EVERY, confidence, right, known=known, seed=draw, num_bins=bins),
        by_votes=by_votes,
        by_stage=by_stage,
        prefixes=_prefixes(stream, done, draw, bins) if prefixes else (),
        brier=brier,
        log_score=log_score,
        notes=() if report is None else tuple(report.lines()),
        report=report,
    )


def _dataset(
    votes: VoteSource,
    predictions: PredictionSources,
    options: TableOptions,
    progress: Progress | None,
    *,
    truth: TableLike | None,
    costs: Costs | None,
) -> tuple[VoteDataset, Report | None, tuple[float, ...] | None]:
    """The data set with its true classes, how the tables were read, and the costs of its people."""
    if isinstance(votes, VoteDataset):
        if predictions is not None:
            raise invalid("predictions", predictions, "None with a VoteDataset, which has its own", "leave it out.")
        if truth is not None:
            votes = replace(votes, truth=_known(votes, truth, options, progress))
        return votes, None, None if costs is None else read_costs(costs, votes.people)
    joined, _ = read_inputs(votes, predictions, options, by_time=False, progress=progress)
    data = joined.to_dataset()
    if truth is not None:
        data = replace(data, truth=frozen_array(read_truth(truth, joined), np.int64))
    return data, joined.report, None if costs is None else read_costs(costs, joined.workers)


def _known(votes: VoteDataset, truth: TableLike, options: TableOptions, progress: Progress | None) -> IntArray:
    """(T,) the true class of each item of a data set by a table, whose items are numbers."""
    joined, _ = read_inputs(votes, None, options, by_time=False, progress=progress)
    named = dict(zip(joined.items, read_truth(truth, joined).tolist(), strict=True))
    return frozen_array([named.get(str(each), -1) for each in range(votes.num_items)], np.int64)


def _verdicts(stream: Stream, method: Method) -> FloatArray:
    """(T, K) what answers are compared with: shares of the pool's plurality, or the true class; 0 where unknown."""
    if method.target == "plurality" or stream.truth is None:
        return plurality_shares(stream.counts)
    return np.asarray(stream.truth[:, None] == np.arange(stream.counts.shape[1]), dtype=float)


def _early(
    confidence: FloatArray,
    costs: IntArray,
    quarters: IntArray,
    right: FloatArray,
    known: np.ndarray,
    seed: int,
    num_bins: int,
) -> tuple[Honesty | None, tuple[Honesty, ...], tuple[Honesty, ...]]:
    """The decisions that stopped early: all, by the number of votes seen, and by quarter of the stream."""
    at = np.flatnonzero(~known)
    if not len(at):
        return None, (), ()

    def measured(name: str, rows: IntArray) -> Honesty:
        return honesty(name, confidence[rows], right[rows], known=known[rows], seed=seed, num_bins=num_bins)

    num_votes, quarter = costs[at], quarters[at]
    votes = [(f"after {count} votes", at[num_votes == count]) for count in np.unique(num_votes)]
    stages = [(f"{name} quarter", at[quarter == number]) for number, name in enumerate(QUARTERS)]
    by_votes, by_stage = (
        tuple(measured(name, rows) for name, rows in parts if len(rows) >= FEWEST) for parts in (votes, stages)
    )
    return measured(EARLY, at), by_votes, by_stage


def _prefixes(stream: Stream, done: Simulation, seed: int, num_bins: int) -> tuple[Honesty, ...]:
    """The belief after every vote of every item, with the parameters learned by then."""
    shares = plurality_shares(stream.counts)
    confidence, right, known, votes = (np.concatenate(each) for each in zip(*_walk(stream, done, shares), strict=True))
    open_ = ~known
    parts = [(PREFIX, open_)] + [
        (f"after vote {count}" if count else "before any vote", open_ & (votes == count)) for count in np.unique(votes)
    ]
    return tuple(
        honesty(name, confidence[rows], right[rows], known=known[rows], seed=seed, num_bins=num_bins)
        for name, rows in parts
        if rows.sum() >= FEWEST
    )


def _walk(stream: Stream, done: Simulation, shares: FloatArray) -> list[tuple[np.ndarray, ...]]:
    """For each period between two fits: confidence, right, known and votes seen of every item after every vote."""
    _, num_models, num_classes = stream.log_predictions.shape
    learned = [(-1, done.method.initial_params(num_classes, num_models)), *done.trace]
    ends = [after + 1 for after, _ in learned[1:]] + [len(stream.items)]
    found: list[tuple[np.ndarray, ...]] = []
    for (after, params), end in zip(learned, ends, strict=True):
        rows = np.arange(after + 1, end)
        for size in np.unique(stream.pool_sizes[rows]):
            same = rows[stream.pool_sizes[rows] == size]
            counts = np.zeros((len(same), num_classes), dtype=np.int64)
            for seen in range(int(size)):
                out, reasons = decide_items(done.method, params, stream.predictions[same], counts, pool_size=int(size))
                at = np.arange(len(same))
                known = np.isin(reasons, CERTAIN)
                found.append((out.probs[at, out.labels], shares[same, out.labels], known, np.full(len(same), seen)))
                counts[at, stream.votes[same, seen]] += 1
    return found
