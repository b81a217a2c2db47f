"""`quorate.compare`: every method with its own parameters, under its own name, in table, legend, frame and records."""

import json
from dataclasses import dataclass

import numpy as np
import pytest

import quorate
from quorate.commands.compare import compare
from quorate.datasets import synthetic
from quorate.errors import InvalidInput
from quorate.reports import figures

DATA = synthetic(num_items=200, num_classes=3, pool_size=5, num_models=2, seed=1)


@dataclass(frozen=True)
class FirstVotes:
    """Asks for the first `votes` votes, whatever they are."""

    votes: int = 1
    sweeps: bool = True
    name = "first-votes"

    def quota(self, item, rng):
        return self.votes

    def ask(self, item):
        return True

    @property
    def grid(self):
        return [FirstVotes(votes) for votes in range(4)] if self.sweeps else []


@pytest.fixture(scope="module")
def found():
    return compare(DATA, ["finexp", "finexp:hyperprior=infexp", "quorum", FirstVotes()], [1, 2])


LABELS = ["finexp", "finexp:hyperprior=infexp", "quorum", "first-votes"]


def test_every_point_is_what_simulate_gives_with_those_parameters(found):
    for label, hyperprior in (("finexp", None), ("finexp:hyperprior=infexp", "infexp")):
        for point in found.curve(label).runs[2:4]:
            chosen = quorate.method("finexp", threshold=point.method.parameters["threshold"], hyperprior=hyperprior)
            runs = [quorate.simulate(DATA, chosen, seed=seed) for seed in (1, 2)]
            assert point.error_rate == pytest.approx(np.mean([run.error_rate for run in runs]))
            assert point.votes_per_item == pytest.approx(np.mean([run.mean_cost for run in runs]))


def test_methods_that_differ_in_a_parameter_have_names_of_their_own_everywhere(found, tmp_path):
    assert [row[0] for row in found.table([1]).rows] == LABELS
    assert [row[0] for row in found.area().rows] == LABELS
    assert list(dict.fromkeys(found.to_frame()["method"])) == LABELS
    assert list(dict.fromkeys(row["method"] for row in found.records())) == LABELS
    legend = figures.canvas(found.figure()).legends[0]
    assert {text.get_text() for text in legend.get_texts()} == set(LABELS)
    assert found.plot(tmp_path / "curves.svg").read_bytes().lstrip().startswith(b"<?xml")
    json.dumps(found.records())
    with pytest.raises(InvalidInput, match="told apart"):
        compare(DATA, ["finexp", quorate.method("finexp")], [1])


def test_the_same_method_as_text_and_as_object_has_the_same_curve():
    text, thing = (
        compare(DATA, [each], [1]).records()
        for each in ("finexp:hyperprior=infexp", quorate.method("finexp", hyperprior="infexp"))
    )
    assert text == thing


def test_an_own_policy_without_a_grid_is_one_point_and_has_no_area():
    found = compare(DATA, ["quorum", FirstVotes(2, sweeps=False)], [1])
    own = found.curves[1]
    assert own.is_point and own.at(1.9) is None and own.at(2.5).votes_per_item <= 2
    assert found.table([1]).rows[1][1] is None
    with pytest.raises(InvalidInput, match="grid"):
        found.area()


def test_the_data_may_depend_on_the_seed():
    sets = {seed: synthetic(num_items=80, num_classes=3, pool_size=3, seed=seed) for seed in (1, 2)}
    (found,) = compare(sets.__getitem__, ["quorum:votes=2"], [1, 2]).curves
    costs = [quorate.simulate(sets[seed], "quorum:votes=2", seed=seed).costs for seed in (1, 2)]
    assert found.runs[0].votes.tolist() == np.concatenate(costs).tolist()


def test_scores_of_the_confidence_are_those_of_their_definitions():
    (record,) = compare(DATA, ["finexp:threshold=0.9"], [1]).records()
    run = quorate.simulate(DATA, "finexp:threshold=0.9", seed=1)
    right = 1 - run.expected_errors
    brier = right * (1 - run.confidence) ** 2 + (1 - right) * run.confidence**2
    assert record["brier"] == pytest.approx(brier.mean())
    assert record["log_score"] > 0 and 0 < record["calibration_error"] < 0.5


def test_no_seed_is_refused():
    with pytest.raises(InvalidInput, match="seed"):
        compare(DATA, ["quorum"], [])
