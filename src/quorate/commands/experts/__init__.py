"""`rate_experts` and `agreement`: votes that name their voters -> how good and careful each is, how far they agree.

Called by `quorate experts`; the models are in `quorate.people`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Unpack

import numpy as np

from quorate.commands.experts.report import difference_text
from quorate.commands.inputs import PredictionSources, VoteSource, read_inputs, truth_of
from quorate.people import (
    BOOTSTRAPS,
    FEWEST_KNOWN,
    Agreement,
    Ballots,
    CopiedPair,
    Estimate,
    LabelDifference,
    PersonQuality,
    agreement_of,
    calibrated,
    copied_pairs,
    quality_of,
    run_crowd,
    temperature,
    votes_side_by_side,
)
from quorate.reports.format import interval, number, percent
from quorate.tables import Joined, Report, TableKeywords, TableOptions, shows, table_options
from quorate.types import FloatArray, IntArray, Progress, TableLike, VoteDataset
from quorate.validate import invalid, whole
from quorate.version import __version__

MOST_CELLS = 100_000_000  # people * classes^2; 8 bytes each, twice while learning


@dataclass(frozen=True, slots=True, eq=False)
class Person:
    """One person: the model's estimate, and agreement with the other voters.

    `difference` how the labels differ from those of the others; None if not clearly
    """

    quality: PersonQuality
    with_others: Estimate
    difference: LabelDifference | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ExpertsResult:
    """Estimates for each person, and the estimated true class of each item.

    `labels`, `scores` (num_items,) the most probable class and the model's score for it   `confidence` the score
    calibrated on items with a known class; None if there are too few
    """

    ballots: Ballots
    people: tuple[Person, ...]
    agreement: Agreement
    copied: tuple[CopiedPair, ...]
    labels: IntArray
    scores: FloatArray
    confidence: FloatArray | None
    truth: IntArray | None
    seed: int
    report: Report

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
        accuracies = [each.quality.accuracy.value for each in self.people]
        return (
            f"Of {len(self.people):,} people, who are estimated to be right on {interval(*_range(accuracies))} of the "
            f"items, {len(self.careless):,} may vote carelessly; Krippendorff's alpha is "
            f"{number(self.agreement.krippendorff_alpha.value)}, and the votes of an item are worth "
            f"{number(self.agreement.effective_size.value, 1)} independent people."
        )

    @property
    def consensus(self) -> str:
        """How often the estimated classes differ from the plurality."""
        counts = self.ballots.counts
        top = counts == counts.max(axis=1, keepdims=True)
        differs = ~top[np.arange(len(counts)), self.labels] & (counts.sum(axis=1) > 0)
        return f"The estimated class differs from the plurality on {int(differs.sum()):,} of {len(counts):,} items."

    @property
    def doubt(self) -> str:
        """A sentence where too few true classes are known; "" where there are enough."""
        if self.num_known >= FEWEST_KNOWN:
            return ""
        return (
            f"Truth cannot be told from agreement with {self.num_known} items of known class: people who share their "
            f"errors look right. {FEWEST_KNOWN} or more (`truth`) tell them apart."
        )

    @property
    def known(self) -> str:
        """How often the estimated classes are right where the true class was given; "" if none was."""
        if self.truth is None:
            return ""
        right = float((self.labels == self.truth)[self.truth >= 0].mean())
        return f"The estimated class is right on {percent(right)} of the {self.num_known:,} items of known class."

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
            "consensus": " ".join(text for text in (self.consensus, self.known) if text),
            "num_known": self.num_known,
            "agreement": {name: _figures(getattr(self.agreement, name)) for name in panel},
            "careless": [each.quality.person for each in self.careless],
            "differences": {person: difference_text(each) for person, each in self.differing},
            "copied": [asdict(each) for each in self.copied],
            "is_calibrated": self.confidence is not None,
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
    bootstraps: int = BOOTSTRAPS,
    seed: int = 0,
    progress: Progress | None = None,
    **tables: Unpack[TableKeywords],
) -> ExpertsResult:
    """How good and how careful each person is, from votes that name their voters.

    `truth`: a table of known true classes (gold items): they teach who is good, and 20 or more calibrate the scores.
    With fewer, truth cannot be told from agreement: people who share their errors look right. `seed` draws
    the order of the items and the bootstrap. `tables`: how to read the votes, as in `quorate.run`.

    >>> votes = np.array([[0, 0, 1], [1, 1, 1], [0, 0, 0], [1, 1, 0], [0, 0, 1], [1, 1, 1]])
    >>> [each.quality.person for each in rate_experts(votes, bootstraps=20).people]
    ['0', '1', '2']
    """
    whole(bootstraps, where="bootstraps", least=10, most=100_000)
    columns = table_options(tables)
    joined = _read(votes, predictions, columns, progress)
    return _study(joined, truth_of(votes, truth, joined, columns), bootstraps, seed, progress)


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
    voters = None
    if isinstance(votes, np.ndarray):  # a column per person
        voters = np.broadcast_to(np.arange(votes.shape[-1]), votes.shape)
    joined, _ = read_inputs(votes, predictions, columns, by_time=True, progress=progress, voters=voters)
    num_people, K = len(joined.workers), len(joined.classes)
    if num_people * K**2 > MOST_CELLS:
        rule = f"at most {MOST_CELLS} cells of confusion matrices; {num_people} people and {K} classes need more"
        raise invalid("votes", joined.name, rule, "merge rare classes, or split the people.")
    if not num_people or np.any(joined.worker < 0):
        missing = int((joined.worker < 0).sum())
        fix = "name the column of the voters with `worker`, and leave out votes without a voter."
        raise invalid("worker", f"{missing} votes without a voter", "the voter of every vote", fix)
    return joined


def _ballots(joined: Joined) -> Ballots:
    item, person, label = (np.asarray(each, dtype=np.int64) for each in (joined.item, joined.worker, joined.label))
    return Ballots(item, person, label, joined.items, joined.workers, joined.classes)


def _study(
    joined: Joined, known: IntArray | None, bootstraps: int, seed: int, progress: Progress | None
) -> ExpertsResult:
    ballots = _ballots(joined)
    predictions = joined.predictions.mean(axis=0) if joined.report.usable else None
    say = progress or (lambda done, total, what: None)
    say(0, 3, "estimating each person's accuracy")
    run = run_crowd(ballots, predictions, seed=seed, truth=known)
    say(1, 3, "comparing people")
    side_by_side = votes_side_by_side(ballots)
    panel = agreement_of(ballots, truth=known, side_by_side=side_by_side, bootstraps=bootstraps, seed=seed)
    say(2, 3, "looking for copied votes")
    quality = quality_of(ballots, run, predictions=predictions, truth=known)
    copiers = {each.person for each in quality if each.kind == "copier"}
    compared = {each.person: each for each in panel.people}
    people = tuple(
        Person(
            each,
            found.with_others,
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
        seed=seed,
        report=joined.report,
    )


def _range(accuracies: Sequence[float]) -> tuple[str, str]:
    return percent(min(accuracies), 0), percent(max(accuracies), 0)
