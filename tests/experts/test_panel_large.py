"""The plan for larger panels: exact where it should be, and close to the exact plan elsewhere."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate.experts.panel import GONE, UNSEEN, new_panel
from quorate.experts.panel_plan import advise
from tests.experts.panel_oracle import random_panel


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 3), st.integers(1, 4))
def test_identical_members_have_the_exact_probabilities(seed, num_classes, num_experts):
    rng = np.random.default_rng(seed)
    state = random_panel(num_experts, num_classes, rng)
    state.rows[:] = state.rows[0]
    votes = np.where(rng.random(num_experts) < 0.4, rng.integers(num_classes, size=num_experts), UNSEEN)
    log_f = np.log(rng.dirichlet(np.ones(num_classes), size=1))
    exact = advise(state, log_f, votes, min_gain=0.01)
    about = advise(state, log_f, votes, min_gain=0.01, most_states=0)
    np.testing.assert_allclose(about.probs, exact.probs, atol=1e-6)


def test_different_members_are_close_to_exact():
    """Probabilities within 0.03 on average; the member asked loses little compared with the best."""
    rng = np.random.default_rng(7)
    off, lost, value = [], [], []
    for _ in range(25):
        state = random_panel(4, 2, rng)
        log_f = np.log(rng.dirichlet(np.ones(2), size=1))
        exact = advise(state, log_f, np.full(4, UNSEEN), min_gain=0.01)
        about = advise(state, log_f, np.full(4, UNSEEN), min_gain=0.01, most_states=0)
        off.append(np.abs(exact.probs - about.probs).max())
        best = max(np.nanmax(exact.net_gains), 0.0)
        value.append(best)
        lost.append(best - (exact.net_gains[about.expert] if about.expert >= 0 else 0.0))
    assert np.mean(off) < 0.03
    assert np.mean(lost) < 0.15 * np.mean(value)


def test_a_panel_too_large_for_the_exact_plan_gets_advice():
    panel = new_panel(30, 4)
    found = advise(panel, np.log([0.4, 0.3, 0.2, 0.1]), np.full(30, UNSEEN), min_gain=0.001)
    assert found.expert == 0 and found.gain > 0 and found.probs.sum() == pytest.approx(1.0)
    votes = np.where(np.arange(30) < 17, 0, UNSEEN)
    settled = advise(panel, np.log([0.4, 0.3, 0.2, 0.1]), votes, min_gain=0.0)
    assert settled.expert == -1 and settled.probs.tolist() == [1.0, 0.0, 0.0, 0.0]


def test_the_more_accurate_and_the_cheaper_are_asked_first_and_the_absent_never():
    panel = new_panel(25, 2)
    panel.rows[7, 0] = [[0.999, 0.001], [0.001, 0.999]]
    panel.rows[9, :] = 0.5
    even = np.log([0.5, 0.5])
    gains = advise(panel, even, np.full(25, UNSEEN), min_gain=1e-4).net_gains
    assert gains[7] == gains.max() and gains[9] == gains.min()
    costs = np.ones(25)
    costs[3] = 0.1
    assert advise(panel, even, np.full(25, UNSEEN), costs=costs, min_gain=1e-4).expert == 3
    present = np.arange(25) != 3
    votes = np.where(np.arange(25) == 5, GONE, UNSEEN)
    found = advise(panel, even, votes, costs=costs, available=present, min_gain=1e-4)
    assert found.expert not in (3, 5) and np.isnan(found.net_gains[[3, 5]]).all()
