import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate.decision import backward_pass

NO_COSTS = np.zeros((0, 0))


@pytest.mark.parametrize(("groups", "horizon"), [(2, 3), (3, 4), (5, 2)])
def test_states_are_visited_in_the_order_of_their_ranks_and_their_probabilities_sum_to_one(groups, horizon):
    ranks, beta = backward_pass.state_ranks(groups, horizon), np.arange(1.0, groups + 1)
    weights = backward_pass.state_weights(beta, beta.sum(), horizon)
    sums, total = np.zeros(groups, np.int64), 0.0
    sums[-1] = horizon
    for rank in range(ranks[groups - 1, horizon + 1]):
        assert rank == sum(ranks[i + 1, sums[i]] for i in range(groups - 1))
        counts = np.diff(sums, prepend=0)
        total += np.prod([weights[c, counts[c]] for c in range(groups)]) / weights[groups, horizon]
        is_last = not backward_pass.advance(sums)
    assert is_last
    assert total == pytest.approx(1.0)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(3, 6), st.booleans(), st.integers(1, 7))
def test_all_levels_at_once_are_the_levels_one_by_one_to_the_bit(seed, groups, has_others, horizon):
    rng = np.random.default_rng(seed)
    beta = rng.gamma(1.0, 2.0, groups) + 0.01
    has_others = has_others or groups > 5
    total, explicit = beta.sum(), groups - has_others
    ranks, weights = backward_pass.state_ranks(groups, horizon), backward_pass.state_weights(beta, total, horizon)
    winners = rng.dirichlet(np.ones(explicit + has_others), ranks[groups - 1, horizon + 1])[:, :explicit].copy()
    together, one_by_one = np.zeros(horizon), np.zeros(horizon)
    backward_pass.step_all_back(horizon, beta, total, ranks, weights, winners, together)
    for level in range(horizon - 1, -1, -1):
        backward_pass.step_back(level, beta, total, ranks, winners)
        one_by_one[level] = backward_pass.worth_at(level, weights, winners, NO_COSTS, np.zeros(explicit))
    assert np.array_equal(together, one_by_one)
