"""`quorate score`: a table for people, JSON for programs, one line for mistakes."""

import json

import numpy as np
import pytest

import quorate
from quorate.commands.params_file import write_params
from quorate.types import PriorParams


@pytest.fixture
def files(tmp_path):
    params = write_params(
        tmp_path / "params.json", PriorParams(4.0, 0.3, np.ones(2)), classes=("cat", "dog"), models=("net",),
        method=quorate.method("infexp"), pool_size=5, fitted_after=10,
    )  # fmt: skip
    (tmp_path / "probs.csv").write_text("id,cat,dog\na,0.999,0.001\nb,0.5,0.5\nc,0.5,x\n")
    (tmp_path / "votes.csv").write_text("item,worker,label\nb,1,dog\nb,2,dog\nb,3,dog\n")
    return params, tmp_path


def options(files, *more):
    params, folder = files
    return ("score", "--params", params, "--predictions", folder / "probs.csv", "--out", folder / "out.csv", *more)


def test_people_see_how_many_to_ask_and_where_the_scores_are(run, files):
    result = run(*options(files, "--votes", files[1] / "votes.csv"))
    assert result.exit_code == 0, result.output
    assert "of 3 items" in result.stdout and "confident" in result.stdout and "settled" in result.stdout
    assert "bad-number 1" in result.stdout and "out.rejects.csv" in result.stdout
    lines = (files[1] / "out.csv").read_text().splitlines()
    assert lines[0] == '"item","consensus_label","confidence","num_votes","ask","reason","prob_cat","prob_dog"'
    assert lines[2] == '"b","dog",1,3,false,"settled",0,1'


def test_programs_get_json_alone(run, files):
    result = run(*options(files, "--json"))
    content = json.loads(result.stdout)
    assert result.stderr == ""
    assert (content["num_items"], content["ask"], content["stop"]) == (3, 2, 1)
    assert content["method"]["name"] == "infexp" and content["version"] == quorate.__version__
    assert [each["rule"] for each in content["tables"]["findings"]] == ["bad-number"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--votes", "nowhere.csv"), "nowhere.csv"),
        (("--out", "scores.doc"), ".doc"),
        (("--cluster", "here"), "tcp://HOST:PORT"),
        (("--pool-size", "0"), "--pool-size 0"),
    ],
)
def test_a_mistake_is_one_line(run, files, more, said):
    result = run(*options(files, *more))
    assert result.exit_code == 1 and said in result.stderr
    assert result.stderr.count("\n") == 1 and "Traceback" not in result.output
