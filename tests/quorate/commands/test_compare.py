"""`quorate.compare`: every method with its own parameters, under its own name, in table, legend, frame and records."""

import json
import sys
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
    area = found.area()
    assert [row[0] for row in area.rows] == ["quorum"] and "first-votes" in area.note
    assert found.table([9]).rows[0][1] is None, "nobody can ask nine of five"
    with pytest.raises(InvalidInput, match="grid"):
        compare(DATA, [FirstVotes(2, sweeps=False)], [1]).area()


class Mixed:
    """The classifier as two votes."""

    def alpha(self, prediction, params):
        return 2.0 * prediction + 0.05


def test_a_prior_of_ones_own_with_a_policy_of_ours_has_the_grid_of_that_policy():
    small = synthetic(num_items=40, num_classes=3, pool_size=5, seed=1)
    own = quorate.Method(policy="finexp", prior=Mixed(), learner=None, name="mine")
    named = quorate.method("fixed-finexp", prior=Mixed(), name="named")
    found = compare(small, ["finexp", own, named], [1])
    assert [curve.label for curve in found.curves] == ["finexp", "mine", "named"]
    assert len({len(curve.runs) for curve in found.curves}) == 1
    assert [row[0] for row in found.area().rows] == ["finexp", "mine", "named"]
    np.testing.assert_array_equal(found.curves[1].runs[5].votes, found.curves[2].runs[5].votes)


def test_intervals_cover_the_true_difference_whatever_the_number_of_seeds():
    """The seeds of one data set are no new items: of many data sets, 95 % of the intervals contain the mean."""
    found = []
    for seed in range(60):
        data = synthetic(num_items=60, num_classes=3, pool_size=5, seed=seed)
        row = compare(data, ["quorum", "fixed-finexp"], range(8)).area().rows[1]
        low, high = (float(end.replace("−", "-")) for end in row[3].split(" to "))
        found.append((row[2], low, high))
    mean, low, high = np.array(found).T
    covered = np.mean((low <= mean.mean()) & (mean.mean() <= high))
    assert covered >= 0.86, "of 60, three standard errors below 0.95"
    assert np.mean(high - low) / 3.92 == pytest.approx(mean.std(ddof=1), rel=0.3)


def test_seeds_with_data_of_their_own_are_independent():
    sets = {seed: synthetic(num_items=80, num_classes=3, pool_size=3, seed=seed) for seed in (1, 2)}
    assert len(set(compare(sets.__getitem__, ["quorum:votes=2"], [1, 2]).items.tolist())) == 160
    assert len(set(compare(sets[1], ["quorum:votes=2"], [1, 2]).items.tolist())) == 80


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


@pytest.mark.parametrize("seeds", [[], 1])
def test_no_list_of_seeds_is_refused(seeds):
    with pytest.raises(InvalidInput, match="seed"):
        compare(DATA, ["quorum"], seeds)


def test_a_hyperprior_of_ones_own_has_a_short_name_that_json_can_store():
    chosen = quorate.method("finexp", threshold=0.9, hyperprior=quorate.Hyperprior(theta=(4, 1), tau=(6, 5)))
    found = compare(DATA, [chosen], [1])
    assert len(found.curves[0].label) < 60
    json.dumps(found.records())


def test_a_frame_without_pandas_is_an_arrow_table(found, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert found.to_frame().column_names[0] == "method"


def test_lines_of_a_picture_differ_and_have_a_mark_at_every_setting(found):
    names = ["random", "entropy", "mp", "quorum", "quorum:votes=2", "finexp", "finexp:hyperprior=infexp"]
    axes = figures.canvas(compare(DATA.rows(slice(40)), [*reversed(names), FirstVotes()], [1]).figure()).axes[0]
    lines = [line for line in axes.lines if not line.get_label().startswith("_")]
    looks = [(line.get_color(), line.get_linestyle(), line.get_marker()) for line in lines]
    assert len(set(looks)) == len(lines) == len(names) + 1
    assert all(line.get_marker() not in ("", "None", None) for line in lines)
    assert DATA.name in axes.get_title() and "1 seed" in axes.get_title()
