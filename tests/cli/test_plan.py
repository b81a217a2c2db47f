"""`quorate plan`: a pilot's tables in, the advice first, then a table, JSON or files."""

import json

import numpy as np
import pytest

from quorate.datasets import synthetic
from tests.cli.conftest import COSTS

FEW = ("--method", "value", "--method", "quorum", "--orderings", "2", "--draws", "200")


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


def test_the_sentence_comes_first_then_the_table_and_files(run, tables, tmp_path):
    result = run("plan", *tables, *FEW, "--target-error", "0.1", "--price", "0.08", "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    said = " ".join(result.stdout.split())
    assert said.startswith("Use value with error_cost")
    for part in ("On recorded votes: quorate run", "session = quorate.Session(quorate.method('value', error_cost="):
        assert part in said
    assert 'In the service, when a project is made by the API: {"method": "value:error_cost=' in said
    order = ("probability of", "prediction interval", "quorate run", "money per item", "Read votes.csv", "Written:")
    places = [result.stdout.index(words) for words in order]
    assert places == sorted(places)
    for name in ("report.html", "plan.json", "curves.csv"):
        assert (tmp_path / "out" / name).exists()
        assert name in result.stdout


def test_json_has_advice_intervals_curves_and_money(run, tables):
    result = run("plan", *tables, *FEW, "--budget", "2", "--price", "0.1", "--json")
    content = json.loads(result.stdout)
    assert content["goal"] == {"kind": "budget", "limit": 2.0, "given": True}
    votes = content["advice"]["votes_per_item"]
    assert votes["low"] <= votes["expected"] <= votes["high"] <= 2.3
    assert {row["method"] for row in content["curves"]} == {"value", "quorum"}
    assert content["pilot"]["num_items"] == 120


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--target-error", "0.1", "--budget", "2"), "one goal"),
        (("--pool-size", "9", "--partly-voted", "drop"), "--pool-size 9"),
        (("--method", "nonsense"), "nonsense"),
    ],
)
def test_mistakes_are_one_line(run, tables, options, says):
    result = run("plan", *tables, *options)
    assert result.exit_code == 1
    assert says in result.stderr
    assert len(result.stderr.strip().splitlines()[-1:]) == 1
    assert "Traceback" not in result.output


def test_the_target_costs_and_names_of_people_reach_the_plan(run, named):
    args = ("plan", "--votes", named / "votes.csv", *FEW[:2], *FEW[4:], "--budget", "2", "--json")
    told = json.loads(run(*args, "--costs", named / "costs.csv", "--price", "2").stdout)
    assert told["advice"]["money"]["ask_all"] == pytest.approx(2 * 120 * sum(COSTS.values()))
    assert (told["people"]["num_people"], told["people"]["is_priced"]) == (3, True)
    warned = run(*args[:-1]).stdout
    assert warned.index("Warning") < warned.index("fewer than asking everyone"), "people come in one order here"
    sought = json.loads(run(*args[:3], *args[5:], "--target", "truth", "--truth", named / "truth.csv").stdout)
    assert (sought["settings"]["target"], sought["advice"]["method"]["name"]) == ("truth", "crowd")
