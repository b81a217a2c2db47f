import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate.decision import backward_pass

NO_COSTS = np.zeros((0, 0))


@pytest.mark.parametrize(("groups", "horizon"), [(2, 3), (3, 4), (5, 2)])
def test_states_are_visited_in_the_order_of_their_ranks(groups, horizon):
    ranks = backward_pass.state_ranks(groups, horizon)
    sums, seen = np.zeros(groups, np.int64), []
    sums[-1] = horizon
    for rank in range(ranks[groups - 1, horizon + 1]):
        assert rank == sum(ranks[i + 1, sums[i]] for i in range(groups - 1))
        seen.append(tuple(np.diff(sums, prepend=0).tolist()))
        is_last = not backward_pass.advance(sums)
    assert is_last
    assert len(set(seen)) == ranks[groups - 1, horizon + 1]
    assert np.array_equal(seen, backward_pass.states_of(groups, horizon))
    assert {sum(counts) for counts in seen} == {horizon}


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(3, 6), st.booleans(), st.integers(1, 7), st.sampled_from([1e-4, 1e-2]))
def test_all_levels_at_once_are_the_levels_one_by_one_to_the_bit(seed, groups, has_others, horizon, price):
    rng = np.random.default_rng(seed)
    beta, classes = rng.gamma(1.0, 2.0, groups) + 0.01, groups - has_others
    ranks = backward_pass.state_ranks(groups, horizon)
    rows = np.zeros((ranks[groups - 1, horizon + 1], 8))
    rows[:, :classes] = rng.dirichlet(np.ones(groups), len(rows))[:, :classes]
    rows[:, 6], rows[:, 7] = rng.random(len(rows)), rng.integers(5, size=len(rows))
    together = rows.copy()
    backward_pass.step_all_back(horizon, price, beta, beta.sum(), ranks, has_others, together)
    for level in range(horizon - 1, 0, -1):
        backward_pass.step_back(level, beta, beta.sum(), ranks, rows)
        backward_pass.stop_or_go_on(level, price, groups, classes, NO_COSTS, rows)
    assert np.array_equal(together, rows)


def test_a_plan_stops_where_going_on_is_worth_less_than_its_price():
    # two classes, two votes left, a tie now: after one vote the other may still tie
    ranks = backward_pass.state_ranks(2, 2)

    def plan(price):
        rows = np.zeros((3, 8))
        rows[:, :2] = [[0, 1], [0.5, 0.5], [1, 0]]  # (0, 2), (1, 1), (2, 0)
        rows[:, 6] = [1, 0.5, 1]
        return backward_pass.best_plan(2, 0, np.ones(2), 2, ranks, NO_COSTS, price, rows)

    # beta (1, 1): (2, 0) and (0, 2) have 1/3 each. After one vote the leader has 2/3 + 1/6, after two it is 1 or 1/2.
    assert plan(1.0) == pytest.approx((5 / 6 - 1 / 2 - 1.0, 1.0))
    assert plan(0.01) == pytest.approx((5 / 6 - 1 / 2 - 0.01, 1.0)), "a second vote changes no answer"
    # 1 : 0 with beta (2, 1): a second vote is asked only after a first one for the second class
    rows = np.zeros((3, 8))
    rows[:, :2], rows[:, 6] = [[0, 1], [1, 0], [1, 0]], 1
    for price in (0.0625, 0.1):
        found = backward_pass.best_plan(2, 0, np.array([2.0, 1.0]), 2, ranks, NO_COSTS, price, rows.copy())
        assert found == pytest.approx((1 / 6 - 4 / 3 * price, 4 / 3))
    # with others to ask at once, which leaves no doubt, for a price that is low enough
    rows = np.zeros((2, 8))
    rows[:, :2], rows[:, 6] = [[0.2, 0.8], [0.8, 0.2]], 0.8
    surplus, votes = backward_pass.best_plan(1, 3, np.ones(2), 2, backward_pass.state_ranks(2, 1), NO_COSTS, 0.01, rows)
    assert (surplus, votes) == pytest.approx((1.0 - 0.5 - 0.04, 4.0))
