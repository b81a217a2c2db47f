import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import quorate
from quorate.tables import join, read_predictions, read_votes
from tests.refusals import refused

RNG = np.random.default_rng(3)
TRUTH = RNG.integers(0, 2, 30)
SAID = np.where(RNG.random((30, 5)) < 0.9, TRUTH[:, None], 1 - TRUTH[:, None])
LONG = {"item": np.repeat(np.arange(100, 130), 5), "reader": np.tile(np.arange(5), 30), "label": SAID.ravel()}


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize("label", [int, bool])
def test_ids_and_labels_come_back_in_the_types_of_the_frame(kind, label):
    votes = kind(LONG | {"label": LONG["label"].astype(label)})
    decisions = quorate.run(votes).decisions
    answers = np.asarray(decisions["consensus_label"])
    assert answers.dtype == np.dtype(label) and np.asarray(decisions["item"]).tolist() == list(range(100, 130))
    assert np.mean(answers == TRUTH.astype(label)) > 0.8


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize("label", [int, bool])
def test_labels_in_lists_come_back_in_their_type(kind, label):
    cells = [[label(each) for each in row] for row in SAID.tolist()]
    table = join(read_votes(kind({"item": np.arange(100, 130), "labels": cells}))).vote_table("pyarrow")
    assert table["label"].to_pylist() == [each for row in cells for each in row]
    assert table.schema.field("label").type == (pa.bool_() if label is bool else pa.int64())


def test_crosstabs_and_pivots_are_read_with_their_index_and_their_columns_of_numbers():
    frame = pd.DataFrame(LONG)
    counts = join(read_votes(pd.crosstab(frame.item, frame.label)))
    said = join(read_votes(frame.pivot(index="item", columns="reader", values="label")))
    levels = join(read_votes(frame.pivot(index="item", columns="reader", values=["label"])))
    for joined in (counts, said, levels):
        table = joined.vote_table("pyarrow")
        assert joined.num_votes == 150 and set(table["label"].to_pylist()) == {0, 1}
        assert set(table["task"].to_pylist()) == set(range(100, 130))
    assert set(said.vote_table()["worker"]) == set(range(5)) and counts.workers == ()


def test_predictions_of_a_classifier_are_read_by_its_classes_and_the_index():
    probs = pd.DataFrame(np.c_[1 - 0.8 * TRUTH, 0.8 * TRUTH], columns=np.array([0, 1]), index=range(100, 130))
    joined = join(read_votes(pd.DataFrame(LONG)), read_predictions(probs), classes=np.array([0, 1]))
    assert joined.classes == ("0", "1") and joined.report.count("unmatched") == 0
    flags = probs.set_axis([False, True], axis=1)
    votes = read_votes(pd.DataFrame(LONG).astype({"label": bool}))
    assert join(votes, read_predictions(flags)).classes == ("false", "true")


def test_categories_and_floats_with_gaps_come_back_as_their_values():
    frame = pd.DataFrame(LONG).astype({"label": "category", "item": float})
    frame.loc[0, "item"] = np.nan
    table = join(read_votes(frame)).vote_table()
    assert table["label"].dtype == np.int64 and table["task"].dtype == np.int64


def test_values_of_mixed_types_stay_text_and_columns_of_one_name_are_refused():
    mixed = pd.DataFrame({"item": pd.Series([1, "1", 1.0, True, 2, 2], dtype=object), "label": list("xyxxyx")})
    joined = join(read_votes(mixed.assign(worker=list("abcdab"))))
    assert joined.vote_table()["task"].tolist() == ["1", "1", "1", "true", "2", "2"]
    with refused("columns") as problem:
        read_votes(pd.DataFrame([["a", 1, 2]], columns=["item", 1, "1"]))
    assert problem.value.value == ["1"]
