"""`quorate plan`: a pilot's tables in, one screen, JSON or files out."""

import json

import numpy as np
import pytest

from quorate.datasets import synthetic
from tests.quorate.command_line.conftest import COSTS


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """The tables of a pilot of 120 items: votes long, probabilities wide."""
    folder = tmp_path_factory.mktemp("pilot")
    data = synthetic(num_items=120, pool_size=5, num_classes=3, accuracy=0.85, seed=3)
    lines = [f"i{t},w{(w + t) % 5},{data.classes[k]}" for t, row in enumerate(data.votes) for w, k in enumerate(row)]
    (folder / "votes.csv").write_text("\n".join(["task,worker,label", *lines]) + "\n")
    probs = np.asarray(data.predictions[0])
    rows = [f"i{t}," + ",".join(f"{p:.6f}" for p in row) for t, row in enumerate(probs)]
    (folder / "probs.csv").write_text("\n".join(["task," + ",".join(data.classes), *rows]) + "\n")
    return ("--votes", folder / "votes.csv", "--predictions", folder / "probs.csv")


def test_one_screen_with_the_answer_first_and_the_files_last(run, tables, tmp_path):
    result = run("plan", *tables, "--target-error", "0.1", "--price", "0.08", "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert len(lines) <= 24 and max(map(len, lines[:-1])) <= 100
    order = ("error cost", "probability of", "(this plan)", "Recall", "600 votes", "quorate run", "Report:")
    places = [result.stdout.index(words) for words in order]
    assert places == sorted(places)
    assert {each.name for each in (tmp_path / "out").iterdir()} == {"report.html", "plan.json", "rejects.csv"}


def test_json_is_the_summary(run, tables):
    content = json.loads(run("plan", *tables, "--budget", "2", "--recall", "class-1=0.5", "--json").stdout)
    assert content["goal"] == {"target_error": None, "budget": 2.0, "recall": {"class-1": 0.5}, "level": 0.9}
    assert content["votes_per_item"]["low"] <= content["votes_per_item"]["expected"] <= 2.0
    assert content["method"]["name"] == "value"


def test_an_error_cost_is_a_number_or_a_file(run, tables, tmp_path):
    (tmp_path / "costs.csv").write_text("truth,class-0,class-1\nclass-0,,900\n")
    number = json.loads(run("plan", *tables, "--error-cost", "50", "--json").stdout)
    table = json.loads(run("plan", *tables, "--error-cost", tmp_path / "costs.csv", "--budget", "2", "--json").stdout)
    assert number["error_cost"] is None and number["method"]["parameters"]["error_cost"] == 50
    assert table["error_cost"]["class-0"]["class-1"] == pytest.approx(4.5 * table["error_cost"]["class-1"]["class-0"])


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--target-error", "0.1", "--budget", "2"), "--target-error"),
        (("--recall", "class-1"), "--recall"),
        (("--recall", "bird=0.5"), "bird"),
        (("--method", "nonsense"), "nonsense"),
        (("--truth", "gold.csv"), "--target"),
    ],
)
def test_mistakes_are_one_line(run, tables, options, says):
    result = run("plan", *tables, *options)
    assert result.exit_code == 1
    assert says in result.stderr.strip().splitlines()[-1]
    assert "Traceback" not in result.output


def test_costs_of_people_reach_the_plan(run, named):
    args = ("plan", "--votes", named / "votes.csv", "--json")
    paid = json.loads(run(*args, "--method", "ask-all", "--costs", named / "costs.csv", "--price", "2").stdout)
    assert paid["money"]["expected"] == pytest.approx(2 * 120 * sum(COSTS.values()))
