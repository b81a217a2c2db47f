"""A whole plan: from recorded votes to a setting whose figures `run` repeats, words, files, and whether it holds."""

import json
import shlex
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import typer

import quorate
import quorate.commands.plan as plan_module
from quorate.commands.main import app
from quorate.commands.plan.replays import ORDERS
from quorate.commands.plan.report import page, screen
from quorate.commands.run.screen import screen as run_screen
from quorate.datasets import synthetic
from quorate.errors import InvalidInput
from quorate.methods import method
from quorate.rng import stream

sys.path.insert(0, str(Path(__file__).parents[4] / "benchmarks"))
import plan_coverage

PILOT = synthetic(num_items=200, pool_size=5, num_classes=3, accuracy=0.8, seed=4)
RARE = {"class-0": {"class-1": 900, "class-2": 900}}


@pytest.fixture(scope="module")
def made():
    return quorate.plan(PILOT, target_error=0.08, price=0.08)


def error_of(result):
    return result.summary()["error"]["rate"]


def run_in_every_order(made, votes, **options):
    """Means of `run` with the setting over the orders of the plan."""
    runs = [quorate.run(votes, method=made.method, order="shuffled", seed=seed, **options) for seed in range(ORDERS)]
    return np.mean([each.outcome.num_votes.mean() for each in runs]), np.mean([error_of(each) for each in runs])


def with_people(data, *, careless=0.0, seed=1):
    """Votes of 12 people by name; the first three often vote at random."""
    rng = stream(seed, "people")
    who = np.argsort(rng.random((data.num_items, 12)), axis=1)[:, : data.votes.shape[1]]
    is_random = (who < 3) & (rng.random(who.shape) < careless)
    votes = np.where(is_random, rng.integers(data.num_classes, size=who.shape), data.votes)
    return replace(data, votes=votes.astype(np.int16), voters=who)


@pytest.mark.parametrize(
    "goal", [{"target_error": 0.08}, {"budget": 1.5}, {"error_cost": 60}, {"method": "quorum", "budget": 3.0}]
)
def test_run_in_the_same_orders_gives_the_same_votes_and_errors(goal):
    made = quorate.plan(PILOT, **goal)
    assert run_in_every_order(made, PILOT) == pytest.approx((made.votes.expected, made.error.expected), abs=1e-9)


def test_so_it_does_where_pools_are_incomplete():
    votes = np.array(PILOT.votes)
    votes[:60, 3:] = -1
    data = replace(PILOT, votes=votes)
    made = quorate.plan(data, pool_size=5, target_error=0.1)
    found = run_in_every_order(made, data, pool_size=5)
    assert found == pytest.approx((made.votes.expected, made.error.expected), abs=1e-9)
    assert "--pool-size 5" in made.command
    left = int(made.notes[0].split()[0])
    worst = (made.error.expected * (200 - left) + left) / 200
    assert f"{100 * worst:.1f} % wrong" in made.notes[0]


def test_the_cheapest_sure_setting_for_an_error_and_the_dearest_for_a_budget(made):
    for plan, place in ((made, 0), (quorate.plan(PILOT, budget=1.5), -1)):
        sure = [point for point in plan.curve if point.chance >= 0.9]
        assert sure[place].is_chosen
        assert plan.met and plan.chance >= 0.9
    votes = [point.votes for point in made.curve]
    assert votes == sorted(votes)


def test_intervals_hold_what_was_seen_and_widen_with_the_level(made):
    wide = quorate.plan(PILOT, error_cost=made.value, confidence_level=0.98)
    narrow = quorate.plan(PILOT, error_cost=made.value, confidence_level=0.5)
    for each in ("votes", "error"):
        inner, outer = getattr(narrow, each), getattr(wide, each)
        assert outer.low <= inner.low <= inner.expected <= inner.high <= outer.high
        assert outer.high - outer.low > inner.high - inner.low


def test_a_target_below_the_ties_cannot_be_reached_and_the_plan_says_what_can():
    tied = synthetic(num_items=150, pool_size=2, accuracy=0.6, agreement=0.5, seed=4)
    made = quorate.plan(tied, target_error=0.001)
    assert not made.met
    assert made.error.expected <= made.floor + 0.002


def test_the_floor_of_a_longer_batch_has_the_weights_of_the_curve():
    tied = synthetic(num_items=150, pool_size=4, accuracy=0.6, agreement=0.5, seed=4)
    plans = [quorate.plan(tied, target_error=0.001, batch_size=size) for size in (150, 1500)]
    for made in plans:
        assert made.curve[-1].value is None and made.floor == pytest.approx(made.curve[-1].error, abs=1e-12)
    assert plans[0].floor != plans[1].floor
    assert "cannot be reached" in repr(plans[0])
    near = quorate.plan(tied, target_error=plans[1].floor - 1e-4, batch_size=1500)
    assert not near.met and "cannot be reached" not in repr(near), "a chance is left"


def test_settings_that_do_the_same_have_the_same_chance_and_the_smallest_error_cost_is_chosen():
    small = synthetic(num_items=60, pool_size=2, num_classes=2, accuracy=0.7, seed=5)
    for goal in ({"target_error": 0.3}, {"budget": 2.0}):
        made = quorate.plan(small, **goal)
        alike = {}
        for point in made.curve:
            alike.setdefault((point.votes, point.error), []).append(point)
        assert max(map(len, alike.values())) > 1
        for points in alike.values():
            assert len({point.chance for point in points}) == 1
            assert not any(point.is_chosen for point in points[1:])


def test_a_number_is_a_setting_to_forecast_and_no_goal_is_the_default():
    for made, cost in ((quorate.plan(PILOT, error_cost=30), 30), (quorate.plan(PILOT), 200)):
        assert made.value == cost
        assert made.method == method("value", error_cost=cost)
        assert made.met and "probability" not in repr(made)


def test_a_recall_is_kept_beside_the_error(made):
    lowest = min(made.recall, key=lambda each: each.found / each.items)
    both = quorate.plan(PILOT, target_error=0.08, recall={f" {lowest.name.upper()}": 0.9})
    assert list(both.goal.recall) == [lowest.name]
    assert both.votes.expected > made.votes.expected
    chances = {point.value: point.chance for point in made.curve if not point.is_fine}
    assert all(point.chance <= chances[point.value] for point in both.curve if point.value in chances)
    assert {each.name for each in both.recall} == set(PILOT.classes)


def test_of_a_class_with_few_items_nothing_is_promised():
    few = stream(1, "few").permutation(PILOT.num_items)
    counts = (PILOT.votes == 2).sum(axis=1)
    rare = PILOT.rows(np.sort(few[(counts[few] < 3) | (np.arange(len(few)) < 9)]))
    made = quorate.plan(rare, target_error=0.1)
    (found,) = [each for each in made.recall if each.name == "class-2"]
    assert found.items < 10 and found.share is None
    with pytest.raises(InvalidInput, match="at least 10 items"):
        quorate.plan(rare, target_error=0.1, recall={"class-2": 0.5})


@pytest.fixture(scope="module")
def rare():
    """120 items, 12 of which are findings that the classifier hardly sees."""
    rng = stream(3, "rare")
    truth = (np.arange(120) < 12)[rng.permutation(120)].astype(int)
    votes = np.where(rng.random((120, 5)) < 0.9, truth[:, None], 1 - truth[:, None])
    sick = np.where(truth == 1, rng.beta(2, 6, 120), rng.beta(1, 30, 120))
    return votes, np.column_stack([1 - sick, sick])


@pytest.mark.parametrize("what", ["run", "plan"])
def test_a_class_that_loses_items_is_named_with_the_cost_that_keeps_it(rare, what, tmp_path):
    options = {"error_cost": 4, "classes": ["none", "finding"]}
    found = getattr(quorate, what)(*rare, **options)
    lost = found.lost if what == "plan" else found.tradeoff.lost
    assert lost.name == "finding" and lost.found < 0.9 and lost.kept >= 0.9 and lost.error_cost in (400, 1000, 2000)
    found.save(tmp_path / what)
    kept = quorate.run(*rare, **options | {"error_cost": tmp_path / what / "class-costs.csv"})
    assert kept.recall["finding"] >= 0.85
    lines = screen(found, None) if what == "plan" else run_screen(found.summary(), str(tmp_path))
    assert len(lines) <= 24 and sum("finding" in line and "loses" in line for line in lines) == 1


def test_a_table_whose_errors_all_cost_the_same_is_the_number():
    alike = {"class-0": {"class-1": 30, "class-2": 30}, "class-1": {"class-0": 30, "class-2": 30}}
    alike["class-2"] = {"class-0": 30, "class-1": 30}
    made = quorate.plan(PILOT, error_cost=alike)
    assert made.method == method("value", error_cost=30) and made.error_cost is None
    assert made.votes == quorate.plan(PILOT, error_cost=30).votes


def test_a_table_of_error_costs_is_multiplied_and_passed_on():
    made = quorate.plan(PILOT, error_cost=RARE, budget=2.0)
    assert made.error_cost["class-0"]["class-1"] == pytest.approx(900 * made.value)
    assert made.error_cost["class-1"]["class-2"] == pytest.approx(200 * made.value)
    votes, _ = run_in_every_order(made, PILOT)
    assert votes == pytest.approx(made.votes.expected, abs=1e-9)
    aimed = quorate.plan(PILOT, error_cost=RARE, target_error=made.error.high)
    assert aimed.met and "errors cost" in repr(aimed)


def test_asking_first_whoever_agreed_most_is_advised_where_it_is_clearly_better():
    data = with_people(synthetic(num_items=250, pool_size=7, accuracy=0.6, agreement=0.9, seed=2), careless=0.9)
    made = quorate.plan(data, error_cost=None, target_error=0.1)
    assert made.method.choose == "agreement"
    assert run_in_every_order(made, data) == pytest.approx((made.votes.expected, made.error.expected), abs=1e-9)
    alike = quorate.plan(with_people(PILOT), target_error=0.08)
    assert alike.method.choose is None


def test_the_truth_takes_the_place_of_the_pool():
    data = with_people(synthetic(num_items=40, pool_size=3, accuracy=0.7, seed=3))
    data = replace(data, truth=np.where(np.arange(40) < 30, data.votes[:, 0], -1))
    made = quorate.plan(data, target="truth", target_error=0.001)
    assert made.method.name == "crowd" and "--target truth" in made.command and "--truth" not in made.command
    assert "cannot be reached" not in repr(made), "asking until settled is no floor"
    gold = pa.table({"doc": [str(t) for t in range(30)], "truth": [f"class-{k}" for k in data.truth[:30]]})
    same = quorate.plan(replace(data, truth=None), target="truth", truth=gold, target_error=0.001)
    assert "--truth" in same.command and same.error == made.error
    assert any("30 items" in note for note in made.notes)


class TwoVotes:
    def ask(self, item):
        return item.num_votes < 2


def test_methods_without_a_parameter_are_one_point_and_own_policies_too():
    made = quorate.plan(PILOT, method="until-settled", target_error=0.5)
    assert len(made.curve) == 1 and made.met
    assert made.error.expected == pytest.approx(made.floor)
    own = quorate.plan(PILOT, method=TwoVotes())
    assert len(own.curve) == 1


def test_of_a_large_pilot_some_items_are_drawn_and_the_plan_says_so(monkeypatch):
    monkeypatch.setattr(plan_module, "MOST_ITEMS", 120)
    made = quorate.plan(PILOT, target_error=0.1)
    assert (made.num_items, made.batch_size) == (200, 200)
    assert any("120 of the 200 items" in note for note in made.notes)
    assert quorate.plan(PILOT, target_error=0.1).summary() == made.summary()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"target_error": 0.1, "budget": 2}, "budget"),
        ({"target_error": 0.1, "error_cost": 100}, "error_cost"),
        ({"recall": {"bird": 0.5}}, "bird"),
        ({"target_error": 3}, "0.03"),
        ({"truth": "gold.csv"}, "target='truth'"),
        ({"method": "finexp", "error_cost": 100}, "error_cost"),
    ],
)
def test_what_cannot_be_is_refused(options, says):
    with pytest.raises(InvalidInput, match=says):
        quorate.plan(PILOT, **options)


def test_the_same_seed_gives_the_same_plan(made):
    again = quorate.plan(PILOT, target_error=0.08, price=0.08)
    assert again.summary() == made.summary()
    assert quorate.plan(PILOT, target_error=0.08, price=0.08, seed=9).summary() != made.summary()


def test_money_is_the_price_of_the_votes_of_the_people_asked(made):
    assert made.money.expected == pytest.approx(0.08 * 200 * made.votes.expected)
    dear = quorate.plan(with_people(PILOT), error_cost=50, price=0.5, costs={str(k): 2.0 for k in range(12)})
    assert dear.money.expected == pytest.approx(2 * 0.5 * 200 * dear.votes.expected)


def test_files_hold_the_plan(made, tmp_path):
    made.save(tmp_path / "out")
    assert json.loads((tmp_path / "out" / "plan.json").read_text()) == json.loads(json.dumps(made.summary()))
    text = (tmp_path / "out" / "report.html").read_text()
    assert "<script" not in text and "<svg" in text
    for name in PILOT.classes:
        assert name in text
    with pytest.raises(InvalidInput, match="overwrite"):
        made.save(tmp_path / "out")


def test_the_screen_is_one_page_whatever_there_is_to_say(made):
    many = synthetic(num_items=300, pool_size=4, num_classes=20, accuracy=0.4, seed=2)
    crowded = quorate.plan(many, target_error=0.2, recall={"class-0": 0.5}, price=3, batch_size=10**6)
    for plan in (made, crowded):
        lines = screen(plan, "a-folder")
        assert len(lines) <= 24
        assert max(map(len, lines)) <= 100
        text, lost = " ".join(lines), [] if plan.lost is None else [str(plan.lost)]
        for note in [*lost, *plan.notes]:
            assert note in text or note[:40] not in text, "whole or not at all"
    assert "more in the report" in " ".join(screen(crowded, None))
    assert page(crowded).count("<tr") > 30


def test_the_command_is_one_that_run_knows(made):
    words = shlex.split(made.command)
    options = dict(zip(words[2::2], words[3::2], strict=True))
    assert method(options["--method"]) == made.method
    known = {name for command in typer.main.get_command(app).commands["run"].params for name in command.opts}
    assert set(options) <= known


def test_goals_are_kept_as_often_as_promised():
    data = synthetic(num_items=1500, pool_size=5, num_classes=4, accuracy=0.75, seed=6)
    found = [each for number in range(2) for each in plan_coverage.trials(data, None, 0, number)]
    assert np.mean([each.is_kept for each in found]) >= np.mean([each.made.chance for each in found]) - 0.15
    votes = [each.made.votes.low <= each.votes <= each.made.votes.high for each in found]
    errors = [each.made.error.low <= each.error <= each.made.error.high for each in found]
    assert min(np.mean(votes), np.mean(errors)) >= 0.7
