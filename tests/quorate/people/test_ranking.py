"""Reliability: between a person's own share and the mean, depending on the number of votes."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from quorate.people.ranking import FIRST_GUESS, SHRINKAGE, reliability


@given(st.lists(st.tuples(st.integers(0, 200), st.integers(0, 200)), min_size=1, max_size=8))
def test_it_lies_between_the_own_share_and_the_mean(pairs):
    votes = np.array([float(a + b) for a, b in pairs])
    agreements = np.array([float(a) for a, _ in pairs])
    mean = agreements.sum() / votes.sum() if votes.sum() else FIRST_GUESS
    found = reliability(agreements, votes)
    own = np.where(votes > 0, agreements / np.maximum(votes, 1), mean)
    assert np.all(found >= np.minimum(own, mean) - 1e-12) and np.all(found <= np.maximum(own, mean) + 1e-12)


def test_by_hand_and_in_the_limits():
    assert reliability(np.array([8.0]), np.array([10.0]), of_all=(80, 100)).tolist() == [(8 + 15 * 0.8) / 25]
    assert reliability(np.zeros(2), np.zeros(2)).tolist() == [FIRST_GUESS] * 2
    many = reliability(np.array([9e6, 0.0]), np.array([1e7, SHRINKAGE]))
    assert abs(many[0] - 0.9) < 1e-5
