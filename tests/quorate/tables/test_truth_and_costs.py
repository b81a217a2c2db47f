"""True classes and costs beside the votes."""

import pyarrow as pa
import pytest

from quorate.tables import join, read_votes
from quorate.tables.options import TableOptions
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


@pytest.mark.parametrize(
    ("columns", "options"),
    [
        (("doc", "truth"), TableOptions(task="Doc Ref")),
        (("Sheet No", "truth"), TableOptions()),
        (("image", "colour"), TableOptions()),
        (("doc", "ref", "truth"), TableOptions(id_column="ref")),
        (("Doc Ref", "doc", "truth"), TableOptions(task="Doc Ref")),
    ],
)
def test_the_ids_of_the_truth_are_named_or_known_or_the_only_other_column(columns, options):
    named = next(filter(None, (options.id_column, options.task if options.task in columns else None)), columns[0])
    table = pa.table({name: ["dog"] if name == columns[-1] else ["y" if name == named else "?"] for name in columns})
    joined = join(read_votes(VOTES))
    assert read_truth(table, joined, options).tolist() == [-1, joined.classes.index("dog")]


def test_a_truth_without_ids_is_refused_by_its_own_name():
    with refused("truth"):
        read_truth(pa.table({"a": ["x"], "b": ["y"], "truth": ["dog"]}), join(read_votes(VOTES)))
