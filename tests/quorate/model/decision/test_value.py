import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorate.model.decision.value import optimistic_gain


def obvious_gain(probs, votes, remaining):
    """The definition: the best j, and the mass of the classes that can overtake within j votes."""
    leader = int(np.argmax(probs))
    best = 0.0
    for j in range(1, remaining + 1):
        mass = sum(probs[k] for k in range(len(probs)) if k != leader and max(1, votes[leader] - votes[k] + 1) <= j)
        best = max(best, mass / j)
    return best


@given(
    st.lists(st.tuples(st.floats(0.01, 1), st.integers(0, 6)), min_size=2, max_size=6),
    st.integers(1, 20),
)
def test_it_is_the_definition(classes, remaining):
    probs = np.array([weight for weight, _ in classes])
    probs /= probs.sum()
    votes = np.array([count for _, count in classes])
    assert optimistic_gain(probs, votes, remaining) == pytest.approx(obvious_gain(probs, votes, remaining), abs=1e-15)


def test_a_hand_worked_gain():
    # Class 1 needs 2 straight votes to overtake, class 2 needs 3: max(0, 0.25/2, 0.3/3) = 0.125.
    assert optimistic_gain(np.array([0.7, 0.25, 0.05]), np.array([2, 1, 0]), 5) == pytest.approx(0.125)


def test_nobody_can_overtake_so_nothing_is_gained():
    assert optimistic_gain(np.array([0.9, 0.1]), np.array([3, 0]), 2) == 0.0
