"""Reliability: how often a person agreed with others, or with the answers, shrunk towards the mean of all people.

    reliability_e = (agreements_e + 15 mean) / (n_e + 15)
    mean = (sum of agreements + g first_guess) / (sum of n + g),   first_guess where sum of n + g is 0

n_e counts the votes of person e that were compared, agreements_e those that agreed. g is the number of votes that the
first guess counts for; 0 by default. Used to decide whom to ask first.
"""

from __future__ import annotations

import numpy as np

from quorate.types import FloatArray, IntArray

SHRINKAGE = 15.0  # votes that the mean of all people counts for
FIRST_GUESS = 0.5


def reliability(
    agreements: FloatArray,
    votes: FloatArray,
    *,
    of_all: tuple[float, float] | None = None,
    first_guess: float = FIRST_GUESS,
    guess_votes: float = 0.0,
) -> FloatArray:
    """(E,) reliability of people with these agreements and votes (E,).

    `of_all`: agreements and votes of all people; by default the sums of the two arrays. `first_guess`: the mean before
    the first vote; it counts for `guess_votes` votes.

    >>> reliability(np.array([9.0, 5.0, 0.0]), np.array([10.0, 10.0, 0.0])).round(3)
    array([0.78, 0.62, 0.7 ])
    """
    agreed, cast = of_all if of_all is not None else (float(np.sum(agreements)), float(np.sum(votes)))
    total = cast + guess_votes
    mean = (agreed + guess_votes * first_guess) / total if total > 0 else first_guess
    return np.asarray((agreements + SHRINKAGE * mean) / (votes + SHRINKAGE), dtype=np.float64)


def most_reliable_first(reliable: FloatArray, costs: FloatArray | float = 1.0) -> IntArray:
    """(E,) the order in which to ask people: by reliability per unit of cost; ties in the given order.

    >>> most_reliable_first(np.array([0.7, 0.9, 0.9, 0.8]), np.array([1.0, 1.0, 1.0, 0.5])).tolist()
    [3, 1, 2, 0]
    """
    return np.argsort(-(reliable / costs), kind="stable")
