import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from quorate.tables import join, read_predictions, read_votes
from tests.quorate.tables.writing import vote_rows

VOTES = {"task": [1, 1, 2], "worker": ["x", "y", "x"], "label": ["cat", "dog", "dog"]}
PROBS = {"id": [2, 1], "dog": [0.9, 0.4], "cat": [0.1, 0.6]}
KINDS = [pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table]


@pytest.mark.parametrize("kind", KINDS)
def test_frames_of_every_kind_are_read_and_given_back_in_kind(kind):
    joined = join(read_votes(kind(VOTES)), read_predictions(kind(PROBS)))
    assert vote_rows(joined) == [(1, "x", "cat"), (1, "y", "dog"), (2, "x", "dog")]
    assert np.allclose(joined.predictions[0], [[0.4, 0.6], [0.9, 0.1]]) and joined.classes == ("dog", "cat")
    own = {pl.LazyFrame: pl.DataFrame, pa.table: pa.Table}.get(kind, kind)
    assert isinstance(joined.vote_table(), own)
    assert isinstance(joined.vote_table("polars"), pl.DataFrame)


def test_a_pandas_column_of_mixed_types_is_read_cell_by_cell():
    frame = pd.DataFrame({"task": pd.Series([7, "007", 7.0, None, "7"], dtype=object), "label": list("xxyxy")})
    votes = read_votes(frame.assign(worker=list("abcde")))
    assert votes.items == ("7", "007") and votes.num_votes == 4
    assert votes.report.count("spelling") == 1 and votes.report.count("no-item") == 1


def test_floats_that_pandas_made_of_whole_numbers_are_whole_again():
    frame = pd.DataFrame({"task": [1, 2, 3], "worker": ["a"] * 3, "label": [1.0, np.nan, 0.0]})
    votes = read_votes(frame)
    assert votes.classes == ("1", "0") and votes.report.count("no-answer") == 1


def test_categories_and_times_of_frames_are_read():
    frame = pd.DataFrame(VOTES).astype({"label": "category"})
    frame["when"] = pd.to_datetime(["2024-01-03", "2024-01-02", "2024-01-01"])
    joined = join(read_votes(frame, timestamp="when"))
    assert joined.items == ("2", "1") and joined.time[0] == pd.Timestamp("2024-01-01").timestamp()


def test_a_byte_order_mark_in_a_column_name_is_removed():
    votes = read_votes(pl.DataFrame({"\ufefftask": ["1"], "worker": ["a"], "label": ["x"]}))
    assert votes.items == ("1",)
