"""Encodings, named columns of predictions, Hugging Face datasets in, and frames of any library out."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import quorate
from quorate.errors import InvalidInput
from quorate.tables import read_predictions, read_votes
from tests.refusals import refused

VOTES = pd.DataFrame({"item": [1, 1, 1, 2, 2, 2], "worker": list("abcabc"), "label": ["ja", "ja", "nö"] + ["nö"] * 3})


def test_a_table_in_another_encoding_is_read_when_it_is_named(tmp_path):
    path = tmp_path / "votes.csv"
    VOTES.to_csv(path, index=False, encoding="latin-1")
    with pytest.raises(InvalidInput):
        read_votes(path)
    assert set(read_votes(path, encoding="latin-1").classes) == {"ja", "nö"}
    with refused("encoding"):
        read_votes(path, encoding="latin-99")


def test_predictions_have_the_encoding_too(tmp_path):
    path = tmp_path / "probs.csv"
    pd.DataFrame({"item": [1, 2], "ja": [0.9, 0.2], "nö": [0.1, 0.8]}).to_csv(path, index=False, encoding="cp1252")
    assert read_predictions(path, encoding="cp1252").classes == ("ja", "nö")


def test_the_column_of_probabilities_can_be_named():
    table = pd.DataFrame(
        {"id": ["x", "y"], "size": [[640, 480], [320, 200]], "softmax": [{"a": 0.9, "b": 0.1}, {"a": 0.3, "b": 0.7}]}
    )
    [found] = read_predictions(table, probs_column="softmax").tables
    assert found.classes == ("a", "b") and np.allclose(found.values, [[0.9, 0.1], [0.3, 0.7]])
    for wrong in ("id2", "id"):
        with refused("probs_column"):
            read_predictions(table, probs_column=wrong)


def test_the_column_of_the_label_can_be_named():
    table = pd.DataFrame({"id": ["x", "y"], "v1": ["a", "b"], "x_a": [0.5, 0.5], "x_b": [0.5, 0.5]})
    [found] = read_predictions(table, prediction_column="v1").tables
    assert found.classes == ("a", "b") and np.nanargmax(found.values, axis=1).tolist() == [0, 1]
    with refused("prediction_column"):
        read_predictions(table, prediction_column="v2")


@pytest.fixture
def result():
    return quorate.run(VOTES)


def test_results_come_as_a_table_of_any_library(result):
    frames = {"pandas": result.to_pandas(), "polars": result.to_polars()}
    assert type(frames["pandas"]).__module__.startswith("pandas")
    assert type(frames["polars"]).__module__.startswith("polars")
    assert isinstance(result.to_arrow(), pa.Table)
    for frame in frames.values():
        assert frame["item"].to_list() == [1, 2] and frame["consensus_label"].to_list() == ["ja", "nö"]


def test_scores_come_as_tables_too(tmp_path, result):
    folder = tmp_path / "run"
    quorate.run(VOTES, pd.DataFrame({"item": [1, 2], "ja": [0.9, 0.2], "nö": [0.1, 0.8]}), out=folder)
    for name in ("scores.parquet", "scores.csv"):
        found = quorate.score(
            folder / "params.json",
            pd.DataFrame({"item": [7, 8], "ja": [0.9, 0.2], "nö": [0.1, 0.8]}),
            out=tmp_path / name,
        )
        assert found.to_pandas()["item"].tolist() == [7, 8]


class TestHuggingFace:
    datasets = pytest.importorskip("datasets", reason="needs datasets: pip install datasets")

    def test_a_dataset_is_read_as_the_same_votes_and_results_become_one(self, result):
        votes = self.datasets.Dataset.from_pandas(VOTES)
        found = quorate.run(votes)
        assert found.table.equals(result.table)
        assert isinstance(found.decisions, self.datasets.Dataset)
        assert result.to_dataset().to_pandas()["consensus_label"].tolist() == ["ja", "nö"]

    def test_numbered_classes_have_their_names_and_filtered_rows_are_left_out(self):
        features = self.datasets.Features(
            {
                "item": self.datasets.Value("int64"),
                "worker": self.datasets.Value("string"),
                "label": self.datasets.ClassLabel(names=["ja", "nö"]),
            }
        )
        votes = self.datasets.Dataset.from_pandas(VOTES, features=features).filter(lambda row: row["item"] == 2)
        found = read_votes(votes)
        assert found.classes == ("nö",) and found.items == ("2",)

    def test_several_splits_are_refused(self):
        splits = self.datasets.DatasetDict({"train": self.datasets.Dataset.from_pandas(VOTES)})
        with pytest.raises(InvalidInput) as caught:
            read_votes(splits)
        assert "split" in caught.value.rule
