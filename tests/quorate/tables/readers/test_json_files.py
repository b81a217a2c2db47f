import json
from pathlib import Path

import numpy as np

from quorate.tables import join, read_predictions, read_votes
from tests.quorate.tables.writing import rejected, vote_rows
from tests.refusals import refused

EXPORT = Path(__file__).with_name("label_studio_export.json")


def test_an_export_gives_one_vote_per_annotation_with_one_choice(tmp_path):
    votes = read_votes(EXPORT, label="animal")
    assert vote_rows(join(votes)) == [
        ("101", "ann@example.org", "Dog"),
        ("101", "3", "Cat"),
        ("102", "6", "Bird"),
        ("102", "3", "Dog"),
    ]
    assert rejected(votes.report, tmp_path / "rejects.csv") == [
        (1, "no-answer"),
        (2, "no-answer"),
        (2, "unreadable"),
    ]
    assert any("from the choices of the control 'animal'" in line for line in votes.report.decisions)


def test_choices_of_several_controls_are_set_aside_until_one_is_named():
    assert read_votes(EXPORT).report.count("unreadable") == 2
    assert read_votes(EXPORT, label="animal").report.count("unreadable") == 1
    assert read_votes(EXPORT, label="quality").classes == ("sharp",)


def test_items_can_be_named_after_a_field_of_the_data():
    assert read_votes(EXPORT, task="key", label="animal").items == ("photo,1", "photo,2")
    with refused("task", value="nope") as caught:
        read_votes(EXPORT, task="nope")
    assert "['image', 'key', 'probs']" in caught.value.rule


def test_probabilities_come_from_the_data_by_class_name():
    joined = join(read_votes(EXPORT, label="animal"), read_predictions(EXPORT, field="probs"))
    assert joined.classes == ("Cat", "Dog", "Bird")
    assert np.allclose(joined.predictions[0], [[0.7, 0.2, 0.1], [0.08 / 0.98, 0.9 / 0.98, 0]], atol=1e-8)
    assert joined.report.count("rounded") == 1


def test_a_prediction_with_one_score_is_the_score_of_its_choice():
    joined = join(read_votes(EXPORT, label="animal"), read_predictions(EXPORT))
    assert joined.models == ("resnet",) and joined.classes[0] == "Cat"
    assert np.allclose(joined.predictions[0, 0], [0.8, 0.1, 0.1])
    assert np.allclose(joined.predictions[0, 1], 1 / 3)
    assert joined.report.count("unmatched") == 1


def test_a_cut_off_export_is_refused(tmp_path):
    path = tmp_path / "export.json"
    path.write_text(EXPORT.read_text()[:1500])
    with refused("source", value=str(path)) as caught:
        read_votes(path)
    assert "record 2" in caught.value.rule


def test_an_array_of_plain_records_is_a_long_table(tmp_path):
    path = tmp_path / "min.json"
    path.write_text(json.dumps([{"id": 1, "annotator": 2, "choice": "x"}, {"id": 1, "annotator": 3, "choice": "y"}, 7]))
    votes = read_votes(path)
    assert vote_rows(join(votes)) == [("1", "2", "x"), ("1", "3", "y")]
    assert rejected(votes.report, tmp_path / "r.csv") == [(3, "unreadable")]


def test_tasks_that_nobody_annotated_are_counted_and_odd_shapes_are_no_votes(tmp_path):
    path = tmp_path / "odd.json"
    odd = [{"result": "abc"}, {"result": [{"value": "x"}]}, {"result": [{"value": {"choices": "Cat"}}]}, 7]
    path.write_text(json.dumps([{"id": 1, "data": {}, "annotations": []}, {"id": 2, "data": None, "annotations": odd}]))
    votes = read_votes(path)
    assert votes.items == ("2",) and votes.classes == ("Cat",)
    assert votes.report.count("unmatched") == 1 and votes.report.count("no-answer") == 2
