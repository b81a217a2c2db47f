"""`quorate decide`: a sentence for people, JSON for programs, one line for mistakes."""

import json

import pytest

from quorate.methods import method
from quorate.reasons import SENTENCES
from quorate.session import Session
from quorate.version import __version__

GOOD = ("decide", "--prediction", "0.7,0.2,0.1", "--pool-size", "6", "--classes", "cat,dog,bird")


def decided(run, *more):
    result = run(*GOOD, "--json", *more)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_a_sentence_tells_to_stop_and_why(run):
    settled = run(*GOOD, "--votes", "4,0,0")
    assert "'cat', 100.0 % sure" in settled.stdout and SENTENCES["settled"] in settled.stdout
    confident = run(*GOOD, "--votes", "3,0,0", "--method", "finexp:threshold=0.5")
    assert SENTENCES["confident"] in confident.stdout


def test_json_has_every_field_and_probabilities_that_sum_to_one(run):
    content = decided(run, "--votes", "1,0,0")
    assert {"ask", "label", "confidence", "probs", "num_votes", "reason", "version"} <= content.keys()
    assert content["version"] == __version__
    assert sum(content["probs"].values()) == pytest.approx(1)
    assert content["confidence"] == content["probs"][content["label"]]
    assert content["num_votes"] == 1


@pytest.mark.parametrize("name", ["value", "finexp", "infexp", "fixed-finexp", "beta", "until-settled"])
def test_the_decision_is_the_one_a_session_makes_of_its_first_item(run, name):
    session = Session(method(name), classes=["cat", "dog", "bird"], pool_size=6)
    expected = session.open("photo", [0.7, 0.2, 0.1])
    votes = [0, 0, 0]
    for label in ("dog", "cat", "dog"):
        if not expected.ask:
            break
        expected = session.vote("photo", label)
        votes[["cat", "dog", "bird"].index(label)] += 1
    content = decided(run, "--votes", ",".join(map(str, votes)), "--method", name)
    assert (content["ask"], content["label"], content["reason"]) == (expected.ask, expected.label, expected.reason)
    assert list(content["probs"].values()) == pytest.approx(expected.probs.tolist(), abs=1e-12)


def test_parameters_may_be_written_behind_the_method(run):
    assert decided(run, "--votes", "2,0,0", "--method", "quorum:votes=2")["reason"] == "rule"
    assert decided(run, "--votes", "2,0,0", "--method", "quorum:votes=3")["ask"]


def test_votes_alone_are_enough(run):
    result = run("decide", "--votes", "1,0", "--pool-size", "5", "--json")
    assert json.loads(result.stdout)["label"] == "class-0"


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("--prediction", "0.7,0.2,0.3", "--pool-size", "6"), "a sum of 1"),
        (("--prediction", "0.7,x", "--pool-size", "6"), "numbers with commas"),
        (("--prediction", "0.7,0.3", "--votes", "4,3", "--pool-size", "6"), "raise --pool-size"),
        (("--prediction", "0.7,0.3", "--votes", "1,0,0", "--pool-size", "6"), "expected 2 counts"),
        (("--prediction", "0.7,0.3", "--votes=-1,0", "--pool-size", "6"), "whole numbers >= 0"),
        (("--prediction", "0.7,0.3", "--pool-size", "6", "--method", "magic"), "--method magic"),
        (("--prediction", "0.7,0.3", "--pool-size", "6", "--method", "beta:x"), "name=value"),
        (("--prediction", "0.7,0.3", "--pool-size", "6", "--method", "finexp:threshold=2"), "[0, 1]"),
        (("--votes", "1,0", "--pool-size", "6", "--method", "finexp", "--error-cost", "10"), "threshold"),
        (("--prediction", "0.7,0.3", "--pool-size", "0"), "--pool-size 0"),
        (("--pool-size", "6"), "--prediction not given; expected at least one of"),
        (("--votes", "1,0,0", "--pool-size", "99999999999999999999999"), "<= 100000; lower it"),
        (("--votes", "1e300,0,0", "--pool-size", "6"), "counts of at most 100000"),
        (("--votes", "1,0", "--pool-size", "6", "--method", "value:error_cost=9", "--error-cost", "5"), "9 and 5"),
        (("--votes", "1,0", "--pool-size", "6", "--method", "quorum:votes=9" + "9" * 30), "lower it"),
    ],
)
def test_a_mistake_is_one_line_on_stderr_and_exit_code_1(run, args, says):
    result = run("decide", *args)
    assert result.exit_code == 1
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("quorate: ")
    assert says in lines[0]
    assert result.stdout == ""
