"""`quorate methods`: every method, with its parameters and one sentence."""

from quorate.methods import METHODS
from quorate.methods.entries import GROUPS, SENTENCES, catalogue
from quorate.model.decision.error_costs import DEFAULT_ERROR_COST


def test_every_method_has_one_sentence():
    assert list(SENTENCES) == list(METHODS) == [name for names in GROUPS.values() for name in names]
    assert all(sentence.endswith(".") for sentence in SENTENCES.values())


def test_one_screen_names_every_method_in_its_group(run):
    lines = run("methods").stdout.splitlines()
    assert len(lines) <= 24 and max(map(len, lines)) <= 100
    assert [line.split()[0] for line in lines if line.startswith("  ")] == list(METHODS)
    assert [line for line in lines if line.endswith(":")] == [f"{group}:" for group in GROUPS]


def test_the_defaults_in_force():
    listed = {entry.name: entry.parameters for entry in catalogue()}
    assert listed["value"]["error_cost"] == DEFAULT_ERROR_COST
    assert listed["unanimous-then-cap"] == {"first": 4, "cap": 9}
    assert listed["ask-all"] == {}
