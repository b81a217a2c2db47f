"""Runs with an aim: a budget is met, a target error held, audits paid for, and what was missed is said."""

import json

import numpy as np
import pytest

import quorate
from quorate.commands.run import run
from tests.quorate.commands.run import run_data
from tests.refusals import refused


@pytest.fixture(scope="module")
def long_stream():
    return run_data.stream(num_items=2000, pool_size=7, num_classes=4, accuracy=0.7, agreement=0.7, seed=4)


def test_a_budget_is_met_and_the_control_says_how_closely(long_stream, tmp_path):
    result = run(long_stream, order="given", budget=2.5, out=tmp_path / "out")
    control = result.summary()["control"]
    assert control["kind"] == "budget"
    assert result.summary()["votes"]["per_item"] == pytest.approx(2.5, rel=0.05) == control["reached"]
    assert control["gap"] == pytest.approx(control["reached"] / 2.5 - 1)
    assert control["overshoot"] >= 0
    policy = json.loads((tmp_path / "out" / "params.json").read_text())["method"]["policy"]
    assert policy["error_cost"] == control["last_parameter"] != quorate.method("value").parameters["error_cost"]


def test_a_target_error_is_held_and_its_audits_are_paid_for(long_stream):
    result = run(long_stream, order="given", target_error=0.08, seed=2)
    rows, summary = result.table.to_pylist(), result.summary()
    assert 0.04 < summary["error"]["rate"] < 0.08
    assert summary["control"]["reached"] < summary["control"]["upper"] == pytest.approx(0.08, abs=0.02)
    audited = [row for row in rows if row["audited"]]
    assert len(audited) == summary["control"]["audited"] > 50
    assert summary["votes"]["audit_votes"] > 0
    assert sum(row["cost"] for row in rows) == summary["votes"]["total"]
    assert all(row["cost"] == row["num_votes"] for row in rows if not row["audited"])
    assert all(row["cost"] > row["num_votes"] for row in audited)
    assert all(row["stop_reason"] not in ("settled", "exhausted") for row in audited)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"budget": 9.0}, "7.00"),
        ({"budget": 6.5}, "6.50"),
        ({"budget": 4.5, "max_votes": 3}, "3 votes"),
        ({"budget": 1.0, "min_votes": 3}, "3 are asked"),
        ({"target_error": 0.001}, "0.1 %"),
        ({"target_error": 0.9}, "90.00 %"),
        ({"budget": 2.5}, None),
        ({"target_error": 0.08}, None),
    ],
)
def test_what_no_run_could_reach_is_said_and_nothing_else_is(long_stream, options, said):
    result = run(long_stream, order="given", **options)
    unreachable = result.summary()["control"]["unreachable"]
    assert unreachable is None if said is None else said in unreachable
    assert said is None or unreachable in " ".join(result.summary()["notes"])


def test_everyone_errs_by_the_ties_of_the_pool(long_stream):
    result = run(long_stream, order="given", budget=0.5)
    tops = [np.bincount(row, minlength=4) for row in long_stream.votes]
    ties = np.mean([1 - 1 / (counts == counts.max()).sum() for counts in tops])
    assert result.summary()["error"]["tie_rate"] == pytest.approx(ties) == pytest.approx(result.tradeoff.everyone.error)


def test_a_budget_goes_with_costs_and_a_target_error_does_not(long_stream):
    costs = {long_stream.classes[1]: {long_stream.classes[0]: 2000}}
    plain, costly = (run(long_stream, order="given", budget=2.0, error_cost=each).summary() for each in (None, costs))
    assert costly["votes"]["per_item"] == pytest.approx(2.0, rel=0.05)
    assert costly["confusion"]["table"][1][0] < plain["confusion"]["table"][1][0]
    with refused("target_error"):
        run(long_stream, target_error=0.1, error_cost=costs)
