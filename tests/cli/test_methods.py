"""`quorate methods`: every method, with its parameters and one sentence."""

import json

from quorate.catalogue import SENTENCES
from quorate.methods import DEFAULT_ERROR_COST, METHODS


def test_every_method_has_one_sentence():
    assert list(SENTENCES) == list(METHODS)
    assert all(sentence.endswith(".") for sentence in SENTENCES.values())


def test_the_table_names_every_method(run):
    text = run("methods").stdout
    assert all(name in text for name in METHODS)


def test_the_table_can_be_read_in_a_narrow_terminal(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    lines = run("methods").stdout.splitlines()
    assert len(lines) < 8 * len(METHODS)
    assert any("error_cost=" in line for line in lines)


def test_json_gives_the_defaults_in_force(run):
    listed = {entry["name"]: entry["parameters"] for entry in json.loads(run("methods", "--json").stdout)["methods"]}
    assert listed["value"]["error_cost"] == DEFAULT_ERROR_COST
    assert listed["unanimous-then-cap"] == {"first": 4, "cap": 9}
    assert listed["ask-all"] == {}
