"""Columns are found under the names that people use for items, labels and workers."""

import pyarrow as pa
import pytest

from quorate.tables import join, read_predictions, read_votes
from quorate.tables.columns import find_column


def long_table(item="item", label="label", worker="reader"):
    return pa.table({item: ["a", "a", "b", "b"], worker: ["x", "y", "x", "y"], label: ["yes", "no", "yes", "yes"]})


@pytest.mark.parametrize("name", ["finding", "Diagnosis", "read", "dx", "reading", "verdict"])
def test_labels_of_medicine_are_found_beside_a_reader(name):
    votes = read_votes(long_table(label=name))
    assert (votes.num_votes, votes.classes) == (4, ("yes", "no"))


def test_such_a_label_is_found_without_a_reader_if_items_have_several_rows():
    votes = read_votes(long_table(label="diagnosis").drop_columns("reader"))
    assert (votes.num_votes, votes.items) == (4, ("a", "b"))


def test_beside_a_column_per_reader_a_diagnosis_is_not_the_vote():
    readers = {f"reader_{k}": ["yes", "no", "yes"] for k in (1, 2, 3)}
    votes = read_votes(pa.table({"case": ["a", "b", "c"], **readers, "diagnosis": ["benign", "other", "benign"]}))
    assert votes.num_votes >= 9
    assert "reader_1" in votes.report.decisions[-1]


@pytest.mark.parametrize(
    "name",
    ["study_id", "accession", "Accession Number", "case", "image_id", "case_number", "StudyInstanceUID", "slide_id"],
)
def test_items_of_medicine_are_found_in_votes_and_predictions(name):
    votes = read_votes(long_table(item=name))
    said = read_predictions(pa.table({name: ["a", "b"], "yes": [0.9, 0.2], "no": [0.1, 0.8]}))
    assert join(votes, said).report.usable == {"model-0": 2}


def test_a_study_goes_before_a_patient_and_before_the_number_of_a_row():
    assert find_column("task", ["id", "patient_id", "study_id", "read"]) == "study_id"


def test_the_item_column_of_the_votes_is_tried_for_the_ids_of_the_predictions():
    table = pa.table({"id": [1, 2], "scan ref": ["a", "b"], "yes": [0.9, 0.2], "no": [0.1, 0.8]})
    assert read_predictions(table, task="scan ref").tables[0].ids.to_pylist() == ["a", "b"]
    assert read_predictions(table, task="scan ref", id_column="id").tables[0].ids.to_pylist() == ["1", "2"]
    assert read_predictions(table, task="elsewhere").tables[0].ids.to_pylist() == ["1", "2"]
