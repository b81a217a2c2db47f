"""The demo's table against `simulate`."""

import subprocess
import sys

import pytest

from quorate.commands.demo import BUDGETS, COMPARED, SCENARIO, SEEDS, demo_comparison, headline_of
from quorate.commands.demo.report import error_table
from quorate.streams import simulate

NUM_ITEMS = 300


@pytest.fixture(scope="module")
def comparison():
    return demo_comparison(SEEDS[:1], num_items=NUM_ITEMS)


@pytest.mark.parametrize("name", ["value", "quorum", "mp"])
def test_table_values_agree_with_simulate_called_directly(comparison, name):
    data = SCENARIO.dataset(SEEDS[0], num_items=NUM_ITEMS)
    reading = comparison.curve(name).at(BUDGETS[1])
    low, high = (simulate(data, point.method, seed=SEEDS[0]) for point in (reading.low, reading.high))
    weight = reading.weight
    assert (1 - weight) * low.mean_cost + weight * high.mean_cost == pytest.approx(BUDGETS[1])
    wrong = (1 - weight) * low.error_rate + weight * high.error_rate
    shown = {row[0]: row[2] for row in error_table(comparison, BUDGETS).rows}
    assert shown[name] == pytest.approx(100 * wrong)


def test_every_method_is_in_the_table_the_best_first(comparison):
    rows = error_table(comparison, BUDGETS).rows
    assert {row[0] for row in rows} == set(COMPARED)
    errors = [row[2] for row in rows]
    assert errors == sorted(errors) and errors[0] >= 100 * comparison.until_settled.error_rate - 1e-9
    assert f"{rows[0][2]:.1f}" in headline_of(comparison)


def test_a_base_installation_has_all_it_imports():
    code = "import sys; sys.modules['pyarrow'] = None; import quorate.commands.demo, quorate.commands.demo_command"
    subprocess.run([sys.executable, "-c", code], check=True)
