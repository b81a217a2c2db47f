"""A whole plan: from recorded votes to a setting, words, files; and on real data, whether its intervals hold."""

import csv
import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest

from quorate.datasets import synthetic
from quorate.errors import InvalidInput, UnknownMethod
from quorate.simulation import simulate
from quorate.workflows.plan import plan

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import plan_coverage

PILOT = synthetic(num_items=300, pool_size=6, accuracy=0.85, seed=4)
FEW = {"methods": ["quorate", "quorum"], "orderings": 2, "draws": 200}


@pytest.fixture(scope="module")
def made():
    return plan(PILOT, price=0.08, **FEW)


def test_the_default_target_is_the_tie_floor_and_a_point_and_is_said(made):
    floor = simulate(PILOT, "until-settled", seed=0, model="all").error_rate
    assert made.floor == pytest.approx(floor, abs=1e-9)
    assert made.advice.goal.limit == pytest.approx(floor + 0.01)
    assert "none was given" in made.headline()


def test_the_headline_has_setting_votes_errors_chance_savings_and_money(made):
    said = made.headline()
    for part in ("Use quorate with min_gain", "votes per item (90 % interval", "wrong (", "probability of", "money"):
        assert part in said
    assert "fewer votes than asking everyone" in said


def test_money_is_votes_of_the_batch_times_the_price(made):
    advice = made.summary()["advice"]
    assert advice["money"]["expected"] == pytest.approx(0.08 * 300 * advice["votes_per_item"]["expected"])
    assert advice["money"]["ask_all"] == pytest.approx(0.08 * 300 * 6)


def test_the_same_seed_gives_the_same_plan(made):
    assert plan(PILOT, price=0.08, **FEW).summary() == made.summary()


def test_every_setting_lies_within_its_band(made):
    for row in made.summary()["curves"]:
        assert row["votes_low"] <= row["votes_per_item"] + 1e-9 <= row["votes_high"] + 2e-9
        assert row["error_low"] <= row["error"] + 1e-9 <= row["error_high"] + 2e-9


def test_a_budget_is_planned_for(made):
    kept = plan(PILOT, budget=1.5, **FEW)
    assert kept.advice.setting.votes.mean <= 1.5
    assert kept.advice.chance >= 0.9
    assert "budget of 1.50" in kept.headline()


def test_a_target_below_the_ties_is_called_out_of_reach():
    tied = synthetic(num_items=200, pool_size=2, accuracy=0.6, agreement=0.5, seed=4)
    made = plan(tied, target_error=0.001, **FEW)
    assert made.advice.status == "unreachable"
    assert any("Out of reach: ties" in note for note in made.notes())


def test_a_small_pilot_is_said_to_be_small():
    rows = synthetic(num_items=40, pool_size=4, accuracy=0.7, seed=4)
    said = " ".join(plan(rows, **FEW).notes())
    assert "only 40 items" in said
    assert "too wide to plan on" in said or "Too small to promise" in said


def test_items_with_fewer_votes_than_the_pool_are_left_out_and_counted():
    votes = np.array(PILOT.votes)
    votes[:50, 4:] = -1
    probs = np.asarray(PILOT.predictions[0])
    made = plan(votes, probs, pool_size=5, partly_voted="drop", target_error=0.1, **FEW)
    assert (made.pilot.num_items, made.pilot.left_out, made.pilot.largest) == (250, 50, 5)
    assert any("50 items with fewer than 5 votes" in note for note in made.notes())


def test_without_a_pool_size_the_pool_is_what_was_recorded():
    votes = np.array(PILOT.votes)
    votes[:50, 4:] = -1
    made = plan(votes, np.asarray(PILOT.predictions[0]), target_error=0.1, **FEW)
    assert (made.pilot.num_items, made.pilot.smallest, made.pilot.largest) == (300, 4, 6)
    assert any("--pool-size N" in note for note in made.notes())


def test_files_are_written_and_agree(made, tmp_path):
    plan(PILOT, price=0.08, out=tmp_path / "out", **FEW)
    content = json.loads((tmp_path / "out" / "plan.json").read_text())
    assert content == json.loads(json.dumps(made.summary()))
    with (tmp_path / "out" / "curves.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(content["curves"])
    page = (tmp_path / "out" / "plan.html").read_text()
    assert "<script" not in page
    assert "What should the next batch be asked?" in page
    with pytest.raises(InvalidInput, match="overwrit"):
        plan(PILOT, out=tmp_path / "out", **FEW)


def test_a_notebook_shows_the_advice(made):
    assert "Use quorate" in made._repr_html_()
    assert repr(made).startswith("Plan: Use quorate")
    assert made.plot().axes


@pytest.mark.parametrize(
    ("wrong", "error", "says"),
    [
        ({"target_error": 0.1, "budget": 2}, InvalidInput, "one goal"),
        ({"target_error": 2}, InvalidInput, "target_error"),
        ({"methods": ["nonsense"]}, UnknownMethod, "nonsense"),
        ({"methods": []}, InvalidInput, "methods"),
        ({"orderings": 1}, InvalidInput, "orderings"),
        ({"pool_size": 50, "partly_voted": "drop"}, InvalidInput, "pool_size=50"),
        ({"partly_voted": "guess"}, InvalidInput, "partly_voted='guess'"),
    ],
)
def test_mistakes_are_named(wrong, error, says):
    with pytest.raises(error, match=says):
        plan(PILOT, **FEW | wrong)


def test_promised_intervals_hold_on_the_other_half_of_real_data(data_dir):
    """Fewer splits than the benchmark: votes and error of the other half, three goals, ten splits of a real set."""
    data = plan_coverage.load(data_dir, "kelly_nih", 0, None)
    splits = [list(plan_coverage.split(data, None, number, orderings=3, wanted=(1, 3, 5))) for number in range(10)]
    for covered in ("votes_covered", "error_covered"):
        share = np.mean([getattr(outcome, covered) for split in splits for outcome in split])
        # The goals of a split share its items, so only the splits count as trials: 90 % less 3 standard errors.
        assert share >= 0.9 - 3 * math.sqrt(0.09 / len(splits))
    widths = [outcome.error_width for split in splits for outcome in split]
    assert np.mean(widths) < 0.1  # intervals that hold because they are endless promise nothing
