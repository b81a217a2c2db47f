"""Costs of errors: from tables of every kind, by name, and errors for mistakes."""

import numpy as np
import pandas as pd
import pytest

from quorate.tables.error_cost import read_error_cost
from tests.refusals import refused

CLASSES = ["healthy", "cancer", "unclear"]


def test_names_are_matched_by_name_and_blanks_cost_the_default(tmp_path):
    file = tmp_path / "costs.csv"
    file.write_text("truth,unclear,healthy,cancer\ncancer,5,50,0\nhealthy,,,2\n", encoding="utf-8-sig")
    assert read_error_cost(file, CLASSES).votes.tolist() == [[0, 2, 200], [50, 0, 5], [200, 200, 0]]


def test_a_frame_with_its_index_as_a_column_and_a_file_of_it_say_the_same(tmp_path):
    frame = pd.DataFrame([[0.0, 1], [50, 0]], index=["healthy", "cancer"], columns=["healthy", "cancer"])
    frame.to_csv(tmp_path / "costs.csv")
    from_file = read_error_cost(tmp_path / "costs.csv", CLASSES[:2])
    assert from_file == read_error_cost(frame.reset_index(), CLASSES[:2])
    assert from_file.votes.tolist() == [[0, 1], [50, 0]]


def test_an_array_is_taken_in_the_order_of_the_classes():
    assert read_error_cost(np.array([[0, 3.0], [7, 0]]), CLASSES[:2]).votes[1, 0] == 7


def test_a_table_whose_errors_all_cost_the_same_is_the_number():
    assert read_error_cost(50.0 * (1 - np.eye(3)), CLASSES) == read_error_cost(50, CLASSES) == 50
    assert read_error_cost({"cancer": {"healthy": 200}}, CLASSES) == 200


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ({"tumour": {"healthy": 5}}, "tumour"),
        ({"cancer": {"healthy": "much"}}, "much"),
        ({"cancer": {"healthy": -1}}, -1),
        ({"cancer": {"healthy": float("inf")}}, float("inf")),
        ({"cancer": {"cancer": 1}}, 1),
        ({"cancer": 5}, {"cancer": 5}),
        (np.zeros((3, 3)), [[0.0] * 3] * 3),
        (np.ones((2, 2)), (2, 2)),
    ],
)
def test_a_mistake_is_named(source, value):
    with refused("error_cost", value=value):
        read_error_cost(source, CLASSES)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("truth,cancer\nhealthy,1\nhealthy,2\n", "healthy"),
        ("truth,cancer\nhealthy,1,9\n", None),
        ("truth\nhealthy\n", ["truth"]),
    ],
)
def test_a_table_that_is_none_is_refused(tmp_path, text, value):
    file = tmp_path / "costs.csv"
    file.write_text(text)
    with refused("error_cost", value=str(file) if value is None else value):
        read_error_cost(file, CLASSES)
