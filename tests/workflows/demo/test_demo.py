"""The demo's table against `simulate`."""

import numpy as np
import pytest

from quorate.streams import simulate
from quorate.streams.curves import budgets_of
from quorate.workflows.demo import COMPARED, SCENARIO, SEEDS, demo_replicates, run_setting

NUM_ITEMS = 300


@pytest.fixture(scope="module")
def comparison():
    return run_setting(SCENARIO, demo_replicates(SEEDS[:1], num_items=NUM_ITEMS))


@pytest.mark.parametrize("name", ["value", "quorum", "mp"])
def test_table_values_agree_with_simulate_called_directly(comparison, name):
    data = SCENARIO.dataset(SEEDS[0], num_items=NUM_ITEMS)
    reading = next(reading for reading in comparison.middle.readings if reading.name == name)
    low, high = (simulate(data, point.method, seed=SEEDS[0]) for point in (reading.low, reading.high))
    weight = reading.weight
    assert reading.votes_per_item == pytest.approx((1 - weight) * low.mean_cost + weight * high.mean_cost)
    assert reading.error_rate == pytest.approx((1 - weight) * low.error_rate + weight * high.error_rate)
    assert reading.votes_per_item == pytest.approx(comparison.middle.budget)


def test_budgets_are_a_quarter_half_and_seven_tenths_of_until_settled(comparison):
    data = SCENARIO.dataset(SEEDS[0], num_items=NUM_ITEMS)
    settled = simulate(data, "until-settled", seed=SEEDS[0])
    assert budgets_of(comparison.curves) == pytest.approx(np.array([0.25, 0.5, 0.7]) * settled.mean_cost)
    assert comparison.tie_floor == pytest.approx(settled.error_rate)


def test_every_method_is_read_at_every_cost_the_best_first(comparison):
    for matched in comparison.matched:
        assert {reading.name for reading in matched.readings} == set(COMPARED)
        errors = [reading.error_rate for reading in matched.readings]
        assert errors == sorted(errors) and errors[0] >= comparison.tie_floor - 1e-12
