"""How many independent people the votes of one item are worth: people who err on the same items count less.

    x_ei = 1 if person e is wrong on item i,  p_e = mean_i x_ei,  S_i = sum_e (x_ei - p_e)
    D = mean_i S_i^2 / (the same of a panel whose people err independently),   effective size = (votes per item) / D

The right class is the true class where known, otherwise the plurality of the item's votes. The independent panel is
simulated, with the same items, people, error rates and frequencies of wrong labels, so that the effect of using the
plurality cancels.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from quorate.experts.ballots import Ballots
from quorate.experts.bootstrap import Estimate, estimate
from quorate.types import FloatArray, IntArray

SIMULATIONS = 50


def effective_size(ballots: Ballots, truth: IntArray | None, bootstraps: int, rng: np.random.Generator) -> Estimate:
    """How many independent people the votes of an item are worth, with an interval, from items with several votes.

    `truth` (num_items,) true classes, -1 unknown. nan if nobody is ever wrong.
    """
    known = np.full(len(ballots.items), -1) if truth is None else truth
    ballots = ballots.only((ballots.counts.sum(axis=1) >= 2)[ballots.item])
    right = _right(ballots.counts, known, rng)
    wrong = ballots.label != right[ballots.item]
    observed = _squares(ballots, wrong)
    rates, slips = _rates(ballots, wrong), _slips(ballots, right, wrong)
    independent = np.zeros_like(observed)
    for _ in range(SIMULATIONS):
        simulated = _independent(ballots, right, rates, slips, rng)
        found = _right(simulated.counts, known, rng)
        independent += _squares(simulated, simulated.label != found[ballots.item]) / SIMULATIONS
    used = np.unique(ballots.item)
    again = np.empty(bootstraps)
    for b in range(bootstraps):
        drawn = rng.choice(used, size=len(used))
        again[b] = _ratio(independent[drawn], observed[drawn])
    votes_per_item = ballots.num_votes / len(used)
    return estimate(votes_per_item * _ratio(independent, observed), votes_per_item * again)


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
