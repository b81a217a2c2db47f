"""Predictions with a mapping or a list of numbers in one cell."""

import json

import numpy as np
import pyarrow as pa
import pytest

from quorate.tables import join, read_predictions, read_votes
from tests.quorate.tables.writing import write_csv
from tests.refusals import refused

CLASSES = ["cat", "dog"]
ROWS = [("1", 0.7, 0.3), ("2", 0.25, 0.75)]


@pytest.fixture
def votes(tmp_path):
    return read_votes(
        write_csv(tmp_path / "votes.csv", ["task", "worker", "label"], [["1", "a", "cat"], ["2", "a", "dog"]])
    )


def jsonl(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def test_a_mapping_of_class_to_probability_is_read_from_jsonl(tmp_path, votes):
    records = [{"id": i, "epoch": 3, "probs": {"dog": dog, "cat": cat}} for i, cat, dog in ROWS]
    found = read_predictions(jsonl(tmp_path / "p.jsonl", records))
    assert found.classes == ("dog", "cat") and found.report.count("ignored-column") == 1
    assert np.allclose(join(votes, found).predictions[0], [[0.3, 0.7], [0.75, 0.25]])
    named = read_predictions(tmp_path / "p.jsonl", classes=CLASSES)
    assert np.allclose(join(votes, named).predictions[0], [[0.3, 0.7], [0.75, 0.25]])


def test_what_a_mapping_leaves_out_is_zero_and_a_blank_one_is_no_prediction(tmp_path):
    records = [{"id": "1", "probs": {"cat": 1}}, {"id": "2", "probs": {"dog": 0.6, "cat": 0.4}}]
    records += [{"id": "3", "probs": None}, {"id": "4", "probs": "what"}]
    (table,) = read_predictions(jsonl(tmp_path / "p.jsonl", records)).tables
    assert np.array_equal(table.values[:2], [[1, 0], [0.4, 0.6]]) and list(table.usable) == [True, True, False, False]
    assert {"no-answer", "bad-number"} == {entry.rule for entry in table.entries}


def test_a_list_takes_the_names_of_its_numbers_from_classes(tmp_path, votes):
    path = jsonl(tmp_path / "p.jsonl", [{"id": i, "probs": [cat, dog]} for i, cat, dog in ROWS])
    found = read_predictions(path, classes=CLASSES)
    assert found.report.findings == ()
    assert np.allclose(join(votes, found).predictions[0], [[0.7, 0.3], [0.25, 0.75]])
    for classes in (None, ["cat", "dog", "bird"]):
        with refused("source") as caught:
            read_predictions(path, classes=classes)
        assert "'probs', which is a list of 2" in caught.value.rule
        assert "`classes=" in caught.value.fix and ("3 are given" in caught.value.rule) == (classes is not None)


def test_a_list_of_another_length_is_set_aside(tmp_path):
    path = jsonl(tmp_path / "p.jsonl", [{"id": "1", "probs": [0.7, 0.3]}, {"id": "2", "probs": [1]}])
    assert read_predictions(path, classes=CLASSES).report.count("bad-number") == 1


@pytest.mark.parametrize("kind", ["struct", "text"])
def test_structs_and_json_in_text_are_read_alike(votes, kind):
    said = [{"cat": cat, "dog": dog} for _, cat, dog in ROWS]
    cells = said if kind == "struct" else [json.dumps(each) for each in said]
    found = read_predictions(pa.table({"id": ["1", "2"], "probs": cells}))
    assert np.allclose(join(votes, found).predictions[0], [[0.7, 0.3], [0.25, 0.75]])


def test_a_row_per_class_is_refused_with_the_cure(tmp_path):
    rows = [[i, name, value] for i, *values in ROWS for name, value in zip(CLASSES, values, strict=True)]
    path = write_csv(tmp_path / "p.csv", ["id", "class", "prob"], rows)
    with refused("source") as caught:
        read_predictions(path)
    assert "pivot(index='id', columns='class'" in caught.value.fix
    assert read_predictions(path, prediction_column="class").report.count("duplicate") == 2
