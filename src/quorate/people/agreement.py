"""How far the people of a panel agree: Fleiss' and Cohen's kappa, Krippendorff's alpha, confusion by person.

    Krippendorff (nominal)  alpha = 1 - (n - 1) * sum_u [ (m_u^2 - sum_k n_uk^2) / (m_u - 1) ] / (n^2 - sum_k n_k^2)
    Fleiss                  kappa = (mean_u P_u - P_e) / (1 - P_e),  P_u = sum_k n_uk (n_uk - 1) / (m_u (m_u - 1)),
                            P_e = sum_k (n_k / n)^2

n_uk votes of item u for class k, m_u its votes, n_k = sum_u n_uk, n = sum_k n_k, over items with two votes or more.
If all votes are equal, chance explains all agreement, and kappa and alpha are undefined: nan. No model is needed.

How many independent people the votes of one item are worth, because people who err on the same items count less:

    x_ei = 1 if person e is wrong on item i,  p_e = mean_i x_ei,  S_i = sum_e (x_ei - p_e)
    D = mean_i S_i^2 / (the same of a panel whose people err independently),   effective size = (votes per item) / D

The right class is the true class where known, otherwise the plurality of the item's votes. The independent panel is
simulated, with the same items, people, error rates and frequencies of wrong labels, so that the effect of using the
plurality cancels. Errors that overlap less than by chance would give more people than voted; that is nearly always
noise, so estimate and interval end at the number of votes per item.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from quorate.model import plurality_shares
from quorate.people.ballots import Ballots
from quorate.people.bootstrap import BOOTSTRAPS, Estimate, drawn_again, estimate, mean_of
from quorate.people.pairs import PairAgreement, SideBySide, pair_agreements, votes_side_by_side
from quorate.types import FloatArray, IntArray
from quorate.validate import invalid, whole

TINY = 1e-9  # rounding errors of sums of parts of votes
SIMULATIONS = 50  # of the independent panel
BY_CHANCE = 0.01  # the most probable it may be that anybody is said to differ from others who are alike


@dataclass(frozen=True, slots=True)
class LabelDifference:
    """A class that a person gives clearly more or less often than the others do about the same items."""

    label: str
    share: float
    share_of_others: float


@dataclass(frozen=True, slots=True, eq=False)
class PersonAgreement:
    """One person compared with the others who voted on the same items.

    `num_votes` all votes of the person   `num_compared` those on items with another vote
    `with_others` share of them that agree with the plurality of the others; ties are shared
    `confusion` (K, K) the others' plurality (rows) by the person's label (columns), in votes
    `beside` (K, K) the same, with the shares of all their votes instead of the plurality
    """

    person: str
    num_votes: int
    num_compared: int
    with_others: Estimate
    confusion: FloatArray
    beside: FloatArray

    def difference(self, classes: Sequence[str], *, num_people: int) -> LabelDifference | None:
        """The class that the person gives clearly more or less often than the other voters; None if there is none.

        A sign test of each class: of the votes where only one of both gives it, as many should be the person's as the
        others'. There are `num_people` times K such tests, by which the probability of chance is divided. Compared
        with the plurality, people who are all alike would seem to give rare classes too often: it hides their errors.
        """
        if not self.num_compared:
            return None
        ours, theirs, both = self.beside.sum(axis=0), self.beside.sum(axis=1), np.diag(self.beside)
        chance = [sign_test(float(ours[k] - both[k]), float(theirs[k] - both[k])) for k in range(len(classes))]
        k = min(range(len(classes)), key=lambda k: (chance[k], ours[k] <= theirs[k]))  # of two: the one given more
        if chance[k] > BY_CHANCE / (num_people * len(classes)):
            return None
        return LabelDifference(classes[k], float(ours[k] / self.num_compared), float(theirs[k] / self.num_compared))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Agreement:
    """How far the people of a panel agree.

    `pairwise` the probability that two votes on one item are equal   `fleiss_kappa`, `krippendorff_alpha` of the panel
    `cohen_kappa` mean over `pairs`, weighted by the items both voted on; None if no two people share enough items
    `effective_size` how many independent people the votes of one item are worth
    `num_items` items with at least two votes; others give no information about agreement.
    """

    num_items: int
    num_people: int
    num_votes: int
    pairwise: Estimate
    fleiss_kappa: Estimate
    krippendorff_alpha: Estimate
    cohen_kappa: Estimate | None
    effective_size: Estimate
    people: tuple[PersonAgreement, ...]
    pairs: tuple[PairAgreement, ...]

    def __repr__(self) -> str:
        return (
            f"Agreement({self.num_people} people, {self.num_items} items, pairwise {self.pairwise.value:.3f}, "
            f"alpha {self.krippendorff_alpha.value:.3f}, effective size {self.effective_size.value:.1f})"
        )


def agreement_of(
    ballots: Ballots,
    *,
    truth: IntArray | None = None,
    side_by_side: SideBySide | None = None,
    bootstraps: int = BOOTSTRAPS,
    seed: int = 0,
) -> Agreement:
    """All measures of agreement. `truth` (num_items,) the true class of each item, -1 unknown: for `effective_size`.

    >>> from quorate.people.ballots import from_matrix
    >>> found = agreement_of(from_matrix([[0, 0], [1, 1], [0, 1], [1, 1]]))
    >>> found.pairwise.value, round(found.fleiss_kappa.value, 3)
    (0.75, 0.467)
    """
    whole(bootstraps, where="bootstraps", least=10, most=100_000)
    counts = ballots.counts
    shared = counts.sum(axis=1) >= 2
    if shared.sum() < 2:
        fix = "agreement needs several people on the same items."
        raise invalid("votes", int(shared.sum()), "at least 2 items with 2 votes or more", fix)
    rng = np.random.default_rng(seed)
    pairs, cohen = pair_agreements(
        ballots, votes_side_by_side(ballots) if side_by_side is None else side_by_side, bootstraps, rng
    )
    pairwise, fleiss, krippendorff = _panel(counts[shared], bootstraps, rng)
    return Agreement(
        num_items=int(shared.sum()),
        num_people=len(ballots.people),
        num_votes=ballots.num_votes,
        pairwise=pairwise,
        fleiss_kappa=fleiss,
        krippendorff_alpha=krippendorff,
        cohen_kappa=cohen,
        effective_size=effective_size(ballots, truth, bootstraps, rng),
        people=_people(ballots, counts, bootstraps, rng),
        pairs=pairs,
    )


def item_terms(counts: IntArray) -> FloatArray:
    """(num_items, 3 + K): 1, P_u, the item's term of alpha and its votes by class; items have at least two votes."""
    m = counts.sum(axis=1).astype(float)
    squares = (counts.astype(float) ** 2).sum(axis=1)
    agreeing = (squares - m) / (m * (m - 1.0))
    unlike = (m**2 - squares) / (m - 1.0)
    return np.column_stack([np.ones(len(counts)), agreeing, unlike, counts])


def panel_statistics(sums: FloatArray) -> FloatArray:
    """Sums of `item_terms` (..., 3 + K) -> (..., 3): pairwise agreement, Fleiss' kappa, Krippendorff's alpha.

    >>> panel_statistics(item_terms(np.array([[2, 0], [0, 2], [2, 0]])).sum(axis=0))
    array([1., 1., 1.])
    """
    num_items, agreeing, unlike, by_class = sums[..., 0], sums[..., 1], sums[..., 2], sums[..., 3:]
    votes = by_class.sum(axis=-1)
    observed = agreeing / num_items
    squares = (by_class**2).sum(axis=-1)
    alike = squares >= votes**2
    with np.errstate(invalid="ignore", divide="ignore"):
        by_chance = squares / votes**2
        kappa = (observed - by_chance) / (1.0 - by_chance)
        alpha = 1.0 - (votes - 1.0) * unlike / (votes**2 - squares)
    return np.stack([observed, np.where(alike, np.nan, kappa), np.where(alike, np.nan, alpha)], axis=-1)


def _panel(counts: IntArray, bootstraps: int, rng: np.random.Generator) -> list[Estimate]:
    kinds, number = np.unique(counts, axis=0, return_counts=True)
    terms = item_terms(kinds)
    values = panel_statistics(number @ terms)
    again = panel_statistics(drawn_again(number, bootstraps, rng) @ terms)
    return [estimate(values[i], again[:, i]) for i in range(3)]


def _people(
    ballots: Ballots, counts: IntArray, bootstraps: int, rng: np.random.Generator
) -> tuple[PersonAgreement, ...]:
    order = np.argsort(ballots.person, kind="stable")
    ends = np.cumsum(np.bincount(ballots.person, minlength=len(ballots.people)))
    return tuple(
        _person(name, votes, ballots, counts, bootstraps, rng)
        for name, votes in zip(ballots.people, np.split(order, ends[:-1]), strict=True)
        if len(votes)
    )


def _person(
    name: str, votes: IntArray, ballots: Ballots, counts: IntArray, bootstraps: int, rng: np.random.Generator
) -> PersonAgreement:
    labels, others = _others(ballots, counts, votes)
    shares = plurality_shares(others)
    confusion, beside = np.zeros((2, len(ballots.classes), len(ballots.classes)))
    np.add.at(confusion.T, labels, shares)
    np.add.at(beside.T, labels, others / others.sum(axis=1, keepdims=True))
    alike = shares[np.arange(len(labels)), labels]
    agreeing = mean_of(alike, bootstraps, rng) if len(alike) else Estimate(np.nan, np.nan, np.nan)
    return PersonAgreement(name, len(votes), len(labels), agreeing, confusion, beside)


def others_plurality(ballots: Ballots, counts: IntArray, votes: IntArray) -> tuple[IntArray, FloatArray]:
    """The same as `_others`, with the others' plurality (V', K) instead of their votes."""
    labels, others = _others(ballots, counts, votes)
    return labels, plurality_shares(others)


def _others(ballots: Ballots, counts: IntArray, votes: IntArray) -> tuple[IntArray, IntArray]:
    """Labels and the others' votes by class (V', K) for those of the `votes` (positions) on items with another vote.

    counts (num_items, K) are the votes of every item.
    """
    labels, others = ballots.label[votes], counts[ballots.item[votes]]
    others[np.arange(len(votes)), labels] -= 1
    compared = others.sum(axis=1) > 0
    return labels[compared], others[compared]


def sign_test(first: float, second: float) -> float:
    """The probability of so uneven a split, or a more uneven one, if each vote goes either way alike: two-sided.

    Ties give parts of votes: the whole numbers that are the less uneven split are tested.

    >>> round(sign_test(9, 1), 6), sign_test(3, 3)
    (0.021484, 1.0)
    """
    few, many = math.ceil(min(first, second) - TINY), math.floor(max(first, second) + TINY)
    if few >= many:
        return 1.0
    total, n = 0.0, few + many
    term = math.exp(math.lgamma(n + 1) - math.lgamma(few + 1) - math.lgamma(many + 1) - n * math.log(2.0))
    for count in range(few, -1, -1):
        total += term
        term *= count / (n - count + 1)
    return min(2.0 * total, 1.0)


def effective_size(ballots: Ballots, truth: IntArray | None, bootstraps: int, rng: np.random.Generator) -> Estimate:
    """How many independent people the votes of an item are worth, with an interval, from items with several votes.

    `truth` (num_items,) true classes, -1 unknown. nan if nobody is ever wrong.
    """
    true_class = np.full(len(ballots.items), -1) if truth is None else truth
    ballots = ballots.only((ballots.counts.sum(axis=1) >= 2)[ballots.item])
    right = _right(ballots.counts, true_class, rng)
    wrong = ballots.label != right[ballots.item]
    observed = _squares(ballots, wrong)
    rates, slips = _rates(ballots, wrong), _slips(ballots, right, wrong)
    independent = np.zeros_like(observed)
    for _ in range(SIMULATIONS):
        simulated = _independent(ballots, right, rates, slips, rng)
        rights = _right(simulated.counts, true_class, rng)
        independent += _squares(simulated, simulated.label != rights[ballots.item]) / SIMULATIONS
    used = np.unique(ballots.item)
    again = np.empty(bootstraps)
    for b in range(bootstraps):
        drawn = rng.choice(used, size=len(used))
        again[b] = _ratio(independent[drawn], observed[drawn])
    votes_per_item = ballots.num_votes / len(used)
    return estimate(
        votes_per_item * np.minimum(_ratio(independent, observed), 1.0), votes_per_item * np.minimum(again, 1.0)
    )


def _ratio(independent: FloatArray, observed: FloatArray) -> float:
    return float(independent.sum() / observed.sum()) if observed.sum() > 0 else np.nan


def _right(counts: IntArray, known: IntArray, rng: np.random.Generator) -> IntArray:
    """The true class of each item where known, otherwise its plurality; ties are broken at random."""
    leader = np.argmax(counts + rng.random(counts.shape), axis=1)
    return np.where(known >= 0, known, leader)


def _rates(ballots: Ballots, wrong: np.ndarray) -> FloatArray:
    """(num_people,) share of each person's votes that are wrong."""
    num_people = len(ballots.people)
    votes = np.bincount(ballots.person, minlength=num_people)
    return np.bincount(ballots.person, weights=wrong, minlength=num_people) / np.maximum(votes, 1)


def _squares(ballots: Ballots, wrong: np.ndarray) -> FloatArray:
    """(num_items,) S_i^2."""
    surplus = wrong - _rates(ballots, wrong)[ballots.person]
    return np.square(np.bincount(ballots.item, weights=surplus, minlength=len(ballots.items)), dtype=np.float64)


def _slips(ballots: Ballots, right: IntArray, wrong: np.ndarray) -> FloatArray:
    """(K, K) frequency of each wrong label by the right class; every wrong label has a small probability."""
    K = len(ballots.classes)
    slips = np.full((K, K), 1e-3)
    np.add.at(slips, (right[ballots.item[wrong]], ballots.label[wrong]), 1.0)
    np.fill_diagonal(slips, 0.0)
    shares: FloatArray = slips / slips.sum(axis=1, keepdims=True)
    return shares


def _independent(
    ballots: Ballots, right: IntArray, rates: FloatArray, slips: FloatArray, rng: np.random.Generator
) -> Ballots:
    """The same ballots with labels of people who err independently, as often as before."""
    label = right[ballots.item]
    errs = rng.random(len(label)) < rates[ballots.person]
    below = np.cumsum(slips, axis=1)[label[errs]]
    label[errs] = np.minimum((rng.random((int(errs.sum()), 1)) > below).sum(axis=1), len(slips) - 1)
    return replace(ballots, label=label)
