"""True classes and costs beside the votes."""

import pyarrow as pa
import pytest

from quorate.tables import join, read_votes
from quorate.tables.truth_and_costs import read_costs, read_truth
from tests.refusals import refused

VOTES = pa.table({"task": ["x", "x", "y"], "worker": ["ann", "bob", "ann"], "label": ["cat", "dog", "dog"]})


def test_costs_of_a_table_and_of_a_mapping_are_the_same(tmp_path):
    (tmp_path / "costs.csv").write_text("reader,price\nbob,2.5\n")
    named = {"bob": 2.5}
    assert read_costs(tmp_path / "costs.csv", ["ann", "bob"]) == read_costs(named, ["ann", "bob"]) == (1.0, 2.5)


@pytest.mark.parametrize("cost", [0, -1, "much", float("nan"), float("inf")])
def test_a_cost_that_is_no_positive_number_is_named(cost):
    with refused("costs"):
        read_costs({"ann": cost}, ["ann"])


def test_costs_of_nobody_who_voted_are_refused():
    with refused("costs"):
        read_costs({"eve": 2.0, "ann": 1.0}, ["ann", "bob"])


def test_two_costs_of_one_person_are_refused():
    table = pa.table({"worker": ["ann", "ann"], "cost": [1.0, 2.0]})
    with refused("costs"):
        read_costs(table, ["ann"])


def test_costs_without_a_column_of_people_are_refused():
    with refused("costs"):
        read_costs(pa.table({"colour": ["red"], "cost": [1.0]}), ["ann"])


def test_true_classes_are_found_by_item_and_unknown_elsewhere():
    joined = join(read_votes(VOTES))
    truth = pa.table({"task": ["y", "z"], "truth": ["dog", "cat"]})
    assert read_truth(truth, joined).tolist() == [-1, joined.classes.index("dog")]
