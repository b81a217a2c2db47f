"""`quorate simulate`: error and cost of methods, on a synthetic stream or on recorded votes."""

import csv
import json

import numpy as np
import pytest

import quorate.workflows.simulate
from quorate.datasets import synthetic
from quorate.streams import simulate
from quorate.version import __version__

SMALL = ("--items", "200", "--pool-size", "5", "--accuracy", "0.8", "--seed", "3")


def test_rows_agree_with_simulate_called_directly(run):
    result = run("simulate", "--method", "value", "--method", "quorum:votes=2", *SMALL, "--json")
    content = json.loads(result.stdout)
    data = synthetic(num_items=200, pool_size=5, accuracy=0.8, seed=3)
    rows = {row["name"]: row for row in content["rows"]}
    direct = simulate(data, "value", seed=3)
    assert rows["value"]["votes_per_item"] == pytest.approx(direct.mean_cost)
    assert rows["value"]["error_rate"] == pytest.approx(direct.error_rate)
    assert rows["value"]["saved_against_ask_all"] == pytest.approx(1 - direct.mean_cost / 5)
    assert rows["quorum"]["parameters"] == {"votes": 2}
    assert content["version"] == __version__


def test_the_table_counts_savings_against_everyone_and_until_settled(run):
    text = run("simulate", "--method", "beta", *SMALL).stdout
    assert "ask-all" in text
    assert "until-settled" in text
    assert "saved against" in text


def test_a_sweep_turns_the_parameter_from_no_vote_to_until_settled(run, tmp_path):
    result = run("simulate", "--method", "random", "--sweep", *SMALL, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    with (tmp_path / "out" / "results.csv").open() as file:
        costs = [float(row["votes_per_item"]) for row in csv.DictReader(file) if row["method"] == "random"]
    assert costs[0] == 0
    assert costs == sorted(costs)
    assert {"summary.json", "error-cost.png", "error-cost.svg"} <= {path.name for path in (tmp_path / "out").iterdir()}


def test_recorded_votes_are_read_from_npz(run, tmp_path):
    data = synthetic(num_items=60, num_classes=3, pool_size=4, seed=1)
    np.savez(tmp_path / "mine.npz", votes=data.votes, probs=data.predictions)
    result = run("simulate", "--method", "beta", "--data", tmp_path / "mine.npz", "--pool-size", "3", "--json")
    content = json.loads(result.stdout)
    assert (content["stream"], content["num_items"], content["ask_all_votes"]) == ("mine", 60, 3)


def test_the_target_truth_and_costs_of_people_are_taken_with_recorded_voters(run, tmp_path):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 60)
    right = rng.random((60, 3)) < np.array([0.95, 0.4, 0.4])
    votes = np.where(right, labels[:, None], 1 - labels[:, None])
    people = np.tile(np.arange(3), (60, 1))
    np.savez(tmp_path / "mine.npz", votes=votes, probs=np.full((1, 60, 2), 0.5), annotator_ids=people, labels=labels)
    (tmp_path / "costs.csv").write_text("worker,cost\n0,5\n")
    args = ("simulate", "--data", tmp_path / "mine.npz", "--json", "--method", "ask-all")
    told = [
        {row["name"]: row for row in json.loads(run(*args, *more).stdout)["rows"]}["ask-all"]
        for more in ((), ("--target", "truth"), ("--costs", tmp_path / "costs.csv"))
    ]
    plurality, truth, priced = told
    wrong = np.mean((votes.sum(axis=1) >= 2) != labels)
    assert (plurality["error_rate"], truth["error_rate"]) == (0.0, pytest.approx(wrong))
    assert (priced["votes_per_item"], priced["cost_per_item"]) == (3, pytest.approx(7.0))
    assert plurality["cost_per_item"] == plurality["votes_per_item"] == 3
    costly = ("--target", "truth", "--method", "quorum:votes=2", "--costs", tmp_path / "costs.csv")
    summary = json.loads(run(*args, *costly, "--out", tmp_path / "out").stdout)
    assert (summary["ask_all_votes"], summary["ask_all_cost"]) == (3, pytest.approx(7.0))
    with (tmp_path / "out" / "results.csv").open() as file:
        rows = {row["method"]: row for row in csv.DictReader(file)}
    everyone, two = rows["ask-all"], rows["quorum"]
    assert (float(everyone["votes_per_item"]), float(everyone["cost_per_item"])) == (3, pytest.approx(7.0))
    assert 2 <= float(two["votes_per_item"]) < 3 < float(two["cost_per_item"]) < 7


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("--data", "nowhere.npz"), "nowhere.npz"),
        (("--data", "nowhere.npz", "--accuracy", "0.9"), "drop --data"),
        (("--accuracy", "1.5"), "--accuracy 1.5"),
        (("--accuracy", "0.01"), "--accuracy 0.01"),
        (("--repeats", "0"), "--repeats 0"),
        (("--repeats", "99999999999"), "--repeats 99999999999"),
        (("--pool-size", "99999999999999"), "--pool-size 99999999999999"),
        (("--items", "99999999999999"), "--items 99999999999999"),
        (("--items", "999999999"), "--items 999999999"),
        (("--classes", "99999"), "--classes 99999"),
        (("--seed", "-1"), "--seed -1"),
        (("--method", "quorum:votes=1,votes=2"), "1 and 2"),
        (("--method", "quorum:depth=2"), "parameters of quorum"),
    ],
)
def test_a_mistake_is_one_line_on_stderr_and_exit_code_1(run, args, says):
    result = run("simulate", *args)
    assert result.exit_code == 1
    assert len(result.stderr.strip().splitlines()) == 1
    assert says in result.stderr


def test_too_little_memory_is_one_line_and_exit_code_1(run, monkeypatch):
    def full(*args, **kwargs):
        raise MemoryError

    monkeypatch.setattr(quorate.workflows.simulate, "synthetic", full)
    result = run("simulate", *SMALL)
    assert result.exit_code == 1
    assert result.stderr.startswith("quorate: not enough memory")


def test_a_folder_that_cannot_be_made_is_one_line_before_any_work(run, tmp_path):
    (tmp_path / "file").write_text("in the way")
    result = run("simulate", *SMALL, "--out", tmp_path / "file" / "out")
    assert result.exit_code == 1
    assert result.stderr.startswith("quorate: ")
    assert len(result.stderr.strip().splitlines()) == 1
