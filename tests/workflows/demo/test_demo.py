"""The demo's tables against `simulate`, and its settings."""

import numpy as np
import pytest

from quorate.methods import method
from quorate.streams import simulate
from quorate.streams.curves import budgets_of
from quorate.workflows.demo import QUICK_ITEMS, SEEDS, SETTINGS, demo_replicates, run_setting
from quorate.workflows.demo.report import default_sentence


@pytest.fixture(scope="module")
def comparison():
    return run_setting(SETTINGS[0], demo_replicates(SETTINGS[0], quick=True), quick=True)


@pytest.mark.parametrize("name", ["value", "quorum", "mp"])
def test_table_values_agree_with_simulate_called_directly(comparison, name):
    data = SETTINGS[0].dataset(SEEDS[0], num_items=QUICK_ITEMS)
    reading = next(reading for reading in comparison.middle.readings if reading.name == name)
    low, high = (simulate(data, point.method, seed=SEEDS[0]) for point in (reading.low, reading.high))
    weight = reading.weight
    assert reading.votes_per_item == pytest.approx((1 - weight) * low.mean_cost + weight * high.mean_cost)
    assert reading.error_rate == pytest.approx((1 - weight) * low.error_rate + weight * high.error_rate)
    assert reading.votes_per_item == pytest.approx(comparison.middle.budget)


def test_budgets_are_a_quarter_half_and_seven_tenths_of_until_settled(comparison):
    data = SETTINGS[0].dataset(SEEDS[0], num_items=QUICK_ITEMS)
    settled = simulate(data, "until-settled", seed=SEEDS[0])
    assert budgets_of(comparison.curves) == pytest.approx(np.array([0.25, 0.5, 0.7]) * settled.mean_cost)
    assert comparison.tie_floor == pytest.approx(settled.error_rate)


def test_quorate_as_it_comes_is_reported_from_its_default_parameter(comparison):
    data = SETTINGS[0].dataset(SEEDS[0], num_items=QUICK_ITEMS)
    direct = simulate(data, method("value"), seed=SEEDS[0])
    assert comparison.default.votes_per_item == pytest.approx(direct.mean_cost)
    assert f"{direct.mean_cost:.2f} votes per item" in default_sentence(comparison)


def test_readings_are_sorted_by_error(comparison):
    for matched in comparison.matched:
        errors = [reading.error_rate for reading in matched.readings]
        assert errors == sorted(errors)


def test_the_settings_are_what_they_say():
    useless = SETTINGS[2].dataset(1)
    assert useless.predictions[0].max(axis=1).mean() == pytest.approx(0.5, abs=0.02)
    assert SETTINGS[3].dataset(1).votes.shape[1] == 3
    assert SETTINGS[1].dataset(1).blocks.max() == 1
