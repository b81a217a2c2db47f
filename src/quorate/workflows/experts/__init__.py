"""`rate_experts` and `agreement`: votes that name their voters -> how good and careful each is, how far they agree.

Called by `quorate experts`; the models are in `quorate.experts`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Unpack

import numpy as np

from quorate.experts.agreement import Agreement, LabelDifference, agreement_of
from quorate.experts.ballots import Ballots, from_matrix
from quorate.experts.bootstrap import BOOTSTRAPS, Estimate
from quorate.experts.calibration import calibrated, temperature
from quorate.experts.copies import CopiedPair, copied_pairs
from quorate.experts.crowd_stream import run_crowd
from quorate.experts.pairs import votes_side_by_side
from quorate.experts.quality import FEWEST_NAMED, PersonQuality, quality_of
from quorate.tables import Joined
from quorate.tables.options import TableKeywords, TableOptions, shows, table_options
from quorate.tables.readers import pa
from quorate.tables.readers.sources import Progress
from quorate.tables.report import Report
from quorate.tables.truth_and_costs import read_truth
from quorate.tables.votes.vote_order import vote_order
from quorate.types import FloatArray, IntArray, TableLike, VoteDataset
from quorate.validate import fraction, invalid, whole
from quorate.version import __version__
from quorate.workflows.experts.report import difference_text
from quorate.workflows.inputs import PredictionSources, VoteSource, read_inputs, truth_of

ONE_SITTING = 1800.0  # seconds: a longer pause is not time spent on a vote
MOST_CELLS = 100_000_000  # people * classes^2; 8 bytes each, twice while learning
FEWEST_KNOWN = 20  # items with a known truth before the scores are calibrated
MOST_NAMED = 10  # people of whom the headline names the best and the worst


@dataclass(frozen=True, slots=True, eq=False)
class Person:
    """One person: the model's estimate, agreement with the other voters, and the time between two votes.

    `seconds_per_vote` median time from one vote of the person to the next, in one sitting; None without times
    `difference` how the labels differ from those of the others; None if not clearly
    """

    quality: PersonQuality
    with_others: Estimate
    seconds_per_vote: float | None
    difference: LabelDifference | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ExpertsResult:
    """Estimates for each person, and the estimated true class of each item.

    `labels`, `scores` (num_items,) the most probable class and the model's score for it   `confidence` the score
    calibrated on items with a known class; None if there are too few   `excluded` by `exclude_below`
    `one_order` every item has its people in the same order
    """

    ballots: Ballots
    people: tuple[Person, ...]
    agreement: Agreement
    copied: tuple[CopiedPair, ...]
    labels: IntArray
    scores: FloatArray
    confidence: FloatArray | None
    truth: IntArray | None
    excluded: tuple[Person, ...]
    exclude_below: float | None
    seed: int
    report: Report
    one_order: bool = False

    def __repr__(self) -> str:
        return f"ExpertsResult({self.answer!r})"

    @property
    def num_known(self) -> int:
        """Items whose true class was given."""
        return 0 if self.truth is None else int((self.truth >= 0).sum())

    @property
    def careless(self) -> tuple[Person, ...]:
        """People who are more probably careless than careful, the least careful first."""
        found = [each for each in self.people if each.quality.kind != "careful"]
        return tuple(sorted(found, key=lambda each: each.quality.kinds[0]))

    @property
    def differing(self) -> tuple[tuple[str, LabelDifference], ...]:
        """People who give a class clearly more or less often than the others, the largest difference first."""
        found = [(each.quality.person, each.difference) for each in self.people if each.difference is not None]
        return tuple(sorted(found, key=lambda one: -abs(one[1].share - one[1].share_of_others)))

    @property
    def answer(self) -> str:
        """The result in one sentence."""
        careless = self._who([each.quality.person for each in self.careless], "looks careless", "look careless")
        differing = self._who([name for name, _ in self.differing], "gives", "give")
        differ_too = f", {differing} a class clearly more or less often than the others" if self.differing else ""
        alpha, size = self.agreement.krippendorff_alpha, self.agreement.effective_size
        most = "" if self.num_known == len(self.ballots.items) else "at most about "
        worth = f"; the votes of an item are worth {most}{size.value:.1f} independent people"
        worth = "" if np.isnan(size.value) else worth
        agreeing = "all votes are equal" if np.isnan(alpha.value) else f"their agreement is {alpha.value:.2f}"
        return (
            f"Of {len(self.people):,} people, {careless}{differ_too}; {self._accuracies()}; {agreeing} "
            f"(Krippendorff's alpha){worth}."
        )

    def _who(self, names: list[str], one: str, several: str) -> str:
        """The only one of a small panel by name, else how many, with the verb."""
        if len(names) == 1:
            return f"{names[0] if len(self.people) <= MOST_NAMED else '1'} {one}"
        return f"{len(names):,} {several}" if names else f"none {one}"

    def _accuracies(self) -> str:
        """The best and the worst of a small panel by name; where most of a crowd lie."""
        if len(self.people) <= MOST_NAMED:
            ranked = self.ranked(MOST_NAMED)
            best, worst = ((each.quality.person, 100 * each.quality.accuracy.value) for each in (ranked[0], ranked[-1]))
            return (
                f"{best[0]} is estimated to be right most often ({best[1]:.0f} %), {worst[0]} least ({worst[1]:.0f} %)"
            )
        low, high = np.percentile([each.quality.accuracy.value for each in self.people], [10, 90])
        return f"most are estimated to be right on {100 * low:.0f} to {100 * high:.0f} % of the items"

    @property
    def consensus(self) -> str:
        """How the estimated classes compare with the plurality and with known classes, in one or two sentences."""
        counts = self.ballots.counts
        top = counts == counts.max(axis=1, keepdims=True)
        is_tied, rows = top.sum(axis=1) > 1, np.arange(len(counts))
        differs = int((~top[rows, self.labels] & (counts.sum(axis=1) > 0)).sum())
        text = (
            f"The estimated class differs from the plurality on {differs:,} of {len(counts):,} items, and settles "
            f"{int(is_tied.sum()):,} ties; every item is in consensus.csv."
        )
        if self.truth is None:
            return text
        known = self.truth >= 0
        right = float((self.labels == self.truth)[known].mean())
        used = "confidence is calibrated by them" if self.confidence is not None else f"{FEWEST_KNOWN} would calibrate"
        return f"{text} It is right on {100 * right:.1f} % of the {self.num_known:,} items of known class ({used})."

    def ranked(self, few: int) -> tuple[Person, ...]:
        """People by falling accuracy; if there are more than `few`, only the first and the last ones."""
        people = sorted(self.people, key=lambda each: -each.quality.accuracy.value)
        return tuple(people if len(people) <= few else [*people[: few // 2], *people[-(few // 2) :]])

    def summary(self) -> dict[str, Any]:
        """For JSON."""
        panel = ("pairwise", "fleiss_kappa", "krippendorff_alpha", "cohen_kappa", "effective_size")
        return {
            "num_people": len(self.people),
            "num_items": len(self.ballots.items),
            "num_votes": self.ballots.num_votes,
            "classes": list(self.ballots.classes),
            "answer": self.answer,
            "consensus": self.consensus,
            "num_known": self.num_known,
            "agreement": {name: _figures(getattr(self.agreement, name)) for name in panel},
            "careless": [each.quality.person for each in self.careless],
            "differences": {person: difference_text(each) for person, each in self.differing},
            "copied": [asdict(each) for each in self.copied],
            "is_calibrated": self.confidence is not None,
            "exclude_below": self.exclude_below,
            "excluded": [each.quality.person for each in self.excluded],
            "one_order": self.one_order,
            "seed": self.seed,
            "tables": self.report.as_dict(),
            "version": __version__,
        }


def _figures(found: Estimate | None) -> dict[str, float] | None:
    return None if found is None else asdict(found)


@shows(TableKeywords)
def rate_experts(
    votes: VoteSource,
    predictions: PredictionSources = None,
    *,
    truth: TableLike | None = None,
    exclude_below: float | None = None,
    bootstraps: int = BOOTSTRAPS,
    seed: int = 0,
    progress: Progress | None = None,
    **tables: Unpack[TableKeywords],
) -> ExpertsResult:
    """How good and how careful each person is, from votes that name their voters.

    `truth`: a table of known true classes (gold items): people are compared with it, and with 20 items or more it
    calibrates the scores. `exclude_below`: people with at least 5 votes and a lower estimated accuracy are excluded,
    and everything is computed again; by default nobody is excluded. `seed` draws the order of the items and the
    bootstrap. `tables`: how to read the votes, as in `quorate.run`.

    >>> votes = np.array([[0, 0, 1], [1, 1, 1], [0, 0, 0], [1, 1, 0], [0, 0, 1], [1, 1, 1]])
    >>> [each.quality.person for each in rate_experts(votes, bootstraps=20).people]
    ['0', '1', '2']
    """
    least = None if exclude_below is None else fraction(exclude_below, where="exclude_below")
    whole(bootstraps, where="bootstraps", least=10, most=100_000)
    columns = table_options(tables)
    joined = _read(votes, predictions, columns, progress)
    table = truth_of(votes, truth, columns)
    known = None if table is None else read_truth(table, joined)
    found = _study(joined, known, np.ones(joined.num_votes, dtype=bool), bootstraps, seed, progress)
    if least is None:
        return found
    excluded = tuple(
        each for each in found.people if each.quality.accuracy.value < least and each.quality.num_votes >= FEWEST_NAMED
    )
    names = {each.quality.person for each in excluded}
    keep = np.array([name not in names for name in joined.workers])[joined.worker]
    if len(np.unique(joined.worker[keep])) < 2:
        raise invalid("exclude_below", least, "an accuracy that at least two people reach", "lower it.")
    return replace(_study(joined, known, keep, bootstraps, seed, progress), excluded=excluded, exclude_below=least)


@shows(TableKeywords)
def agreement(
    votes: VoteSource, *, bootstraps: int = BOOTSTRAPS, seed: int = 0, **tables: Unpack[TableKeywords]
) -> Agreement:
    """How far the people of a panel agree: kappa, alpha, pairs, confusion by person, effective size; with intervals.

    `votes` a table that names the voters, or a matrix (items, people) of class numbers, -1 for no vote.

    >>> round(agreement(np.array([[0, 0], [1, 1], [0, 1], [1, 1]])).krippendorff_alpha.value, 3)
    0.533
    """
    return agreement_of(_ballots(_read(votes, None, table_options(tables), None)), bootstraps=bootstraps, seed=seed)


def _read(
    votes: VoteSource, predictions: PredictionSources, columns: TableOptions, progress: Progress | None
) -> Joined:
    if isinstance(votes, VoteDataset) and votes.voters is None:
        rule = "a `VoteDataset` with `voters`, or a table or matrix whose columns are people"
        raise invalid("votes", votes.name, rule, "pass the table with the voters' names.")
    if isinstance(votes, np.ndarray):
        votes = _named(from_matrix(votes, classes=columns.classes))
    joined, _ = read_inputs(votes, predictions, columns, by_time=True, progress=progress)
    num_people, K = len(joined.workers), len(joined.classes)
    if num_people * K**2 > MOST_CELLS:
        rule = f"at most {MOST_CELLS} cells of confusion matrices; {num_people} people and {K} classes need more"
        raise invalid("votes", joined.name, rule, "merge rare classes, or split the people.")
    if not num_people or np.any(joined.worker < 0):
        missing = int((joined.worker < 0).sum())
        fix = "name the column of the voters with `worker`, and leave out votes without a voter."
        raise invalid("worker", f"{missing} votes without a voter", "the voter of every vote", fix)
    return joined


def _named(ballots: Ballots) -> pa.Table:
    """Ballots as a long table."""
    return pa.table(
        {
            "task": np.array(ballots.items)[ballots.item],
            "worker": np.array(ballots.people)[ballots.person],
            "label": np.array(ballots.classes)[ballots.label],
        }
    )


def _ballots(joined: Joined) -> Ballots:
    item, person, label = (np.asarray(each, dtype=np.int64) for each in (joined.item, joined.worker, joined.label))
    return Ballots(item, person, label, joined.items, joined.workers, joined.classes)


def _study(
    joined: Joined, known: IntArray | None, keep: np.ndarray, bootstraps: int, seed: int, progress: Progress | None
) -> ExpertsResult:
    """Everything, from the votes where `keep` (V,) is True."""
    ballots = _ballots(joined).only(keep)
    predictions = joined.predictions.mean(axis=0) if joined.report.usable else None
    say = progress or (lambda done, total, what: None)
    say(0, 3, "estimating each person's accuracy")
    run = run_crowd(ballots, predictions, seed=seed)
    say(1, 3, "comparing people")
    side_by_side = votes_side_by_side(ballots)
    panel = agreement_of(ballots, truth=known, side_by_side=side_by_side, bootstraps=bootstraps, seed=seed)
    say(2, 3, "looking for copied votes")
    quality = quality_of(ballots, run, predictions=predictions, truth=known)
    copiers = {each.person for each in quality if each.kind == "copier"}
    paces = _paces(ballots, None if joined.time is None else joined.time[keep])
    compared = {each.person: each for each in panel.people}
    people = tuple(
        Person(
            each,
            found.with_others,
            paces.get(each.person),
            found.difference(ballots.classes, num_people=len(panel.people)),
        )
        for each in quality
        for found in (compared[each.person],)
    )
    is_known = np.zeros(len(ballots.items), dtype=bool) if known is None else known >= 0
    confidence = None
    if known is not None and is_known.sum() >= FEWEST_KNOWN:
        t = temperature(run.revised[is_known], known[is_known])
        confidence = calibrated(run.revised, t).max(axis=1)
    return ExpertsResult(
        ballots=ballots,
        people=people,
        agreement=panel,
        copied=copied_pairs(ballots, run, copiers=copiers, side_by_side=side_by_side),
        labels=run.revised.argmax(axis=1),
        scores=run.revised.max(axis=1),
        confidence=confidence,
        truth=known,
        excluded=(),
        exclude_below=None,
        seed=seed,
        report=joined.report,
        one_order=vote_order(joined).by_people,
    )


def _paces(ballots: Ballots, time: FloatArray | None) -> dict[str, float]:
    """Median seconds between a person's votes, without pauses longer than `ONE_SITTING`; empty without times."""
    if time is None:
        return {}
    order = np.lexsort((time, ballots.person))
    ends = np.cumsum(np.bincount(ballots.person, minlength=len(ballots.people)))
    found = {}
    for name, times in zip(ballots.people, np.split(time[order], ends[:-1]), strict=True):
        gaps = np.diff(times)
        in_one_sitting = gaps[gaps <= ONE_SITTING]  # drops unknown times (NaN)
        if len(in_one_sitting):
            found[name] = float(np.median(in_one_sitting))
    return found
