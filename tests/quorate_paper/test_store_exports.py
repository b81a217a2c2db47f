"""Exported files: never partial, and accepted by strict readers."""

import csv
import io
import json

import numpy as np
import pytest
from pyarrow import parquet

from quorate.datasets import synthetic
from quorate.reports.format import json_page
from quorate.reports.section import Table
from quorate_paper.jobs import Job, settings
from quorate_paper.store import distinct, run_records, table_csv, write_runs
from quorate_paper.sweep import run_job


@pytest.fixture(scope="module")
def outcomes():
    data = synthetic(num_items=60, pool_size=5, seed=1)
    parameters = tuple((("hyperprior", "infexp"), *pair) for pair in settings("threshold", (0.5, 0.9)))
    learned = Job("toy", 5, "model-0", 3, "finexp", parameters, query_free_after=20)
    return [run_job(learned, data), run_job(Job("toy", 5, "model-0", 3, "until-settled", settings(None)), data)]


def test_a_table_keeps_all_its_digits_and_its_commas():
    table = Table("t", "", ("method, long", "error"), (('a "b", c', 0.123456789012345), ("d", None)))
    rows = list(csv.reader(io.StringIO(table_csv(table))))
    assert rows == [["method, long", "error"], ['a "b", c', "0.123456789012345"], ["d", ""]]


def test_each_parameter_setting_is_a_record_with_its_phases(outcomes):
    first, second = run_records("two-phase", outcomes[0])
    assert (first["parameter"], first["value"], first["also"], second["value"]) == (
        "threshold",
        0.5,
        "hyperprior=infexp",
        0.9,
    )
    assert (first["num_items"], first["num_items_1"], first["num_items_2"]) == (60, 20, 40)
    assert first["votes_per_item_2"] == 0.0
    assert first["votes_per_item"] == pytest.approx(first["votes_per_item_1"] / 3)
    (settled,) = run_records("curves", outcomes[1])
    assert (settled["parameter"], settled["value"], settled["part"]) == (None, None, "curves")
    assert "num_items_1" not in settled


def test_a_run_that_two_jobs_hold_is_kept_once(outcomes):
    records = run_records("curves", outcomes[0])
    assert distinct([*records, *run_records("shift", outcomes[0])]) == records


def test_csv_and_parquet_hold_the_same_runs(outcomes, tmp_path):
    records = [record for outcome in outcomes for record in run_records("toy", outcome)]
    text, table = write_runs(records, tmp_path)
    with text.open() as file:
        rows = list(csv.DictReader(file))
    columns = parquet.read_table(table).to_pylist()
    assert len(rows) == len(columns) == 3
    assert list(rows[0]) == list(columns[0])
    for row, column in zip(rows, columns, strict=True):
        assert {name: "" if value is None else str(value) for name, value in column.items()} == row


def test_no_runs_at_all_can_be_written(tmp_path):
    _, table = write_runs([], tmp_path)
    assert parquet.read_table(table).num_rows == 0


def test_json_is_strict():
    content = {"a": np.nan, "b": [np.float32(1.5), np.inf], "c": np.arange(2), 4: (True, None), "d": np.bool_(True)}
    text = json_page(content, indent=1)
    assert json.loads(text, parse_constant=pytest.fail) == {
        "a": None, "b": [1.5, None], "c": [0, 1], "4": [True, None], "d": True,
    }  # fmt: skip
