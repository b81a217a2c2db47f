"""What a crowd's votes say about each person: accuracy with an interval, the kind of voter, and the evidence for it.

    accuracy_e = sum_k pi_k q_e[k,k],   variance = sum_k pi_k^2 q (1 - q) / (4 + n_e[k] + 1),   pi the share of class k

The rows q_e are those of `crowd`; the variance is that of independent Dirichlet rows and treats the items' classes as
known. The interval is therefore approximate, and too narrow if classes are uncertain. Careless voting is reported only
if it is more probable than careful voting.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from quorate.model import plurality_shares
from quorate.people.agreement import others_plurality
from quorate.people.ballots import Ballots
from quorate.people.bootstrap import Estimate
from quorate.people.crowd import OWN_VOTES, TYPES, CrowdState, person
from quorate.people.crowd_stream import CrowdRun
from quorate.types import FloatArray, IntArray

Kind = Literal["careful", "uniform", "habit", "copier"]
LIKELY = 0.5
COPIER = TYPES.index("copier")
FEWEST_NAMED = 5  # votes before a person can be reported as careless
HALF_WIDTH = 1.96  # of a 95 % interval, in standard deviations


@dataclass(frozen=True, slots=True)
class PersonQuality:
    """One person. `accuracy` the model's estimate of the share of items on which the vote is the true class.

    `kinds` probability of each kind of voter, in the order of `crowd.TYPES`   `evidence` one sentence on careless
    voting, empty for careful people   `with_truth` share right where the truth is known, on `num_known` items
    """

    person: str
    num_votes: int
    accuracy: Estimate
    kinds: tuple[float, ...]
    evidence: str
    num_known: int
    with_truth: float | None

    @property
    def kind(self) -> Kind:
        """The kind of voter: careless only after a few votes, and only if that is more probable than not."""
        careless = np.array(self.kinds[1:])
        if self.num_votes < FEWEST_NAMED or careless.sum() <= LIKELY:
            return "careful"
        kinds: tuple[Kind, ...] = ("uniform", "habit", "copier")
        return kinds[int(careless.argmax())]


def quality_of(
    ballots: Ballots, run: CrowdRun, *, predictions: FloatArray | None = None, truth: IntArray | None = None
) -> tuple[PersonQuality, ...]:
    """Every person with a vote, in the order of `Ballots.people`. `truth` (num_items,) true classes, -1 unknown."""
    true_class = np.full(len(ballots.items), -1) if truth is None else truth
    order = np.argsort(ballots.person, kind="stable")
    ends = np.cumsum(np.bincount(ballots.person, minlength=len(ballots.people)))
    prevalence = run.revised.mean(axis=0)
    facts = _Facts(ballots, ballots.counts, None if predictions is None else predictions.argmax(axis=1))
    return tuple(
        _person(e, votes, facts, run.state, prevalence, true_class)
        for e, votes in enumerate(np.split(order, ends[:-1]))
        if len(votes)
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Facts:
    """The votes, their counts by item, and the classifier's answer to each item, if there is one."""

    ballots: Ballots
    counts: IntArray
    predicted: IntArray | None


def _person(
    e: int, votes: IntArray, facts: _Facts, state: CrowdState, prevalence: FloatArray, truth: IntArray
) -> PersonQuality:
    rows, kinds = person(state, e)
    if facts.predicted is None:  # without predictions there is nothing to copy
        kinds[COPIER] = 0.0
        kinds /= kinds.sum()
    right = facts.ballots.label[votes] == truth[facts.ballots.item[votes]]
    is_known = truth[facts.ballots.item[votes]] >= 0
    quality = PersonQuality(
        person=facts.ballots.people[e],
        num_votes=len(votes),
        accuracy=_accuracy(np.diag(rows), state.confusion[e], prevalence),
        kinds=tuple(float(kind) for kind in kinds),
        evidence="",
        num_known=int(is_known.sum()),
        with_truth=float(right[is_known].mean()) if is_known.any() else None,
    )
    if quality.kind == "careful":
        return quality
    return replace(quality, evidence=_SENTENCES[quality.kind](votes, facts))


def _accuracy(hits: FloatArray, confusion: FloatArray, prevalence: FloatArray) -> Estimate:
    value = float(prevalence @ hits)
    spread = hits * (1 - hits) / (OWN_VOTES + confusion.sum(axis=1) + 1)
    width = HALF_WIDTH * float(np.sqrt(prevalence**2 @ spread))
    return Estimate(value, max(value - width, 0.0), min(value + width, 1.0))


def _uniform(votes: IntArray, facts: _Facts) -> str:
    agreeing, compared = _with_others(votes, facts)
    guess = 100 / len(facts.ballots.classes)
    if not compared:
        return "The labels look like guesses; nobody else voted on these items."
    return (
        f"Agrees with the other voters in {agreeing:g} of {compared} votes "
        f"({100 * agreeing / compared:.0f} %); guessing gives about {guess:.0f} %."
    )


def _habit(votes: IntArray, facts: _Facts) -> str:
    used = np.bincount(facts.ballots.label[votes], minlength=len(facts.ballots.classes))
    agreeing, compared = _with_others(votes, facts)
    name = facts.ballots.classes[int(used.argmax())]
    share = f" and agrees with the other voters in {agreeing:g} of {compared}" if compared else ""
    return f"Gave {name!r} in {used.max()} of {len(votes)} votes{share}."


def _copier(votes: IntArray, facts: _Facts) -> str:
    assert facts.predicted is not None  # without predictions nobody looks like a copier
    same = facts.ballots.label[votes] == facts.predicted[facts.ballots.item[votes]]
    shares = plurality_shares(facts.counts[facts.ballots.item[votes]])
    is_against = shares[np.arange(len(votes)), facts.predicted[facts.ballots.item[votes]]] == 0
    return (
        f"Gave the classifier's answer in {same.sum()} of {len(votes)} votes, and in {same[is_against].sum()} of the "
        f"{is_against.sum()} where the plurality is another."
    )


def _with_others(votes: IntArray, facts: _Facts) -> tuple[float, int]:
    """Votes that agree with the plurality of the others, ties shared, and votes that can be compared."""
    labels, shares = others_plurality(facts.ballots, facts.counts, votes)
    return float(shares[np.arange(len(labels)), labels].sum()), len(labels)


_SENTENCES = {"uniform": _uniform, "habit": _habit, "copier": _copier}
