"""The folder of a run: identical bytes for identical runs, never overwritten by default, never partial after a kill."""

import csv
import json
import signal
import subprocess
import sys

import pyarrow.parquet as pq
import pytest

from quorate.commands.audit import draw_audit
from quorate.commands.params_file import read_params
from quorate.commands.run import run
from quorate.commands.run.result import FILES, RunResult, write_run
from tests.quorate.commands.run import run_data
from tests.refusals import refused


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    return run_data.write_dirty(folder, run_data.stream())


@pytest.fixture(scope="module")
def written(tables, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "deep" / "out"
    return run(*tables, out=folder, price=0.08, order="shuffled", seed=5), folder


def test_every_file_is_there_and_nothing_else(written):
    _, folder = written
    assert {file.name for file in folder.iterdir()} == set(FILES)
    assert [file.name for file in folder.parent.iterdir()] == ["out"]


def test_csv_and_parquet_hold_the_decisions(written):
    result, folder = written
    assert pq.read_table(folder / "decisions.parquet").equals(result.table)
    with (folder / "decisions.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == result.table.column_names
    for row, decision in zip(rows, result.table.to_pylist(), strict=True):
        assert row["item"] == decision["item"]
        assert float(row["confidence"]) == decision["confidence"]
        assert row["audited"] == "false"


def test_the_params_can_be_scored_with_and_the_summary_is_what_the_result_says(written):
    result, folder = written
    params = read_params(folder / "params.json")
    assert params.params.theta == result.params.theta
    assert params.method().policy == result.method.policy
    assert params.pool_size == 6  # one item of the dirty table has a vote more
    assert 0 < params.fitted_after <= len(result.items)
    assert json.loads((folder / "summary.json").read_text()) == json.loads(json.dumps(result.summary()))


def test_a_number_that_is_not_finite_is_null_in_the_summary(written, tmp_path, monkeypatch):
    monkeypatch.setattr(RunResult, "summary", lambda self: {"error": float("nan"), "votes": 3})
    monkeypatch.setattr(RunResult, "to_html", lambda self: "")
    write_run(written[0], tmp_path / "out")
    assert json.loads((tmp_path / "out" / "summary.json").read_text()) == {"error": None, "votes": 3}


def test_rejects_name_row_and_reason(written):
    result, folder = written
    with (folder / "rejects.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == result.summary()["data"]["set_aside"] > 0
    assert all(row["rule"] and row["reason"] and int(row["row"]) > 1 for row in rows)


def test_an_audit_can_be_drawn_from_the_decisions(written, tmp_path):
    result, folder = written
    drawn = draw_audit(folder / "decisions.csv", rate=0.5, seed=1, out=tmp_path / "audit.csv")
    assert drawn.num_closed == len(result.items)
    stops = result.summary()["stop_reasons"]
    assert drawn.num_settled == stops.get("settled", 0) + stops.get("exhausted", 0)


def test_the_same_seed_writes_the_same_bytes(written, tables, tmp_path):
    _, folder = written
    run(*tables, out=tmp_path / "again", price=0.08, order="shuffled", seed=5)
    for name in FILES:
        assert (tmp_path / "again" / name).read_bytes() == (folder / name).read_bytes(), name


def test_a_run_that_is_there_is_refused_and_stays_as_it_was(written, tables):
    _, folder = written
    before = (folder / "summary.json").read_bytes()
    with refused("out"):
        run(*tables, out=folder, seed=9)
    assert (folder / "summary.json").read_bytes() == before


def test_overwriting_replaces_the_run_and_leaves_other_files(tables, tmp_path):
    folder = tmp_path / "out"
    run(*tables, out=folder)
    (folder / "audit.csv").write_text("mine")
    first = (folder / "decisions.csv").read_bytes()
    run(*tables, out=folder, threshold=0.6, overwrite=True)
    assert (folder / "audit.csv").read_text() == "mine"
    assert (folder / "decisions.csv").read_bytes() != first


def test_a_folder_with_other_files_and_a_file_are_refused(tables, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with refused("out"):
        run(*tables, out=tmp_path)
    with refused("out"):
        run(*tables, out=tmp_path / "notes.txt", overwrite=True)


KILLED = """
import os, signal
from pathlib import Path
from quorate.commands.run import result as run_result
from quorate.commands.run import run

def half(result, path):
    path.write_text("hal")
    os.kill(os.getpid(), signal.SIGKILL)

run_result._params = half
run({votes!r}, {probs!r}, out={out!r}, overwrite=True)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_kill_in_the_middle_of_a_file_leaves_no_trace_of_it(tables, tmp_path):
    out = tmp_path / "out"
    code = KILLED.format(votes=str(tables[0]), probs=str(tables[1]), out=str(out))
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -signal.SIGKILL
    assert not out.exists()
    run(*tables, out=out)
    before = {name: (out / name).read_bytes() for name in FILES}
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -signal.SIGKILL
    assert {name: (out / name).read_bytes() for name in FILES} == before
    run(*tables, out=out, overwrite=True, seed=2)
    assert [file.name for file in tmp_path.iterdir()] == ["out"]


def test_the_page_loads_nothing_and_runs_nothing(written):
    _, folder = written
    page = (folder / "report.html").read_text(encoding="utf-8")
    for word in ("<script", "http://", "https://", "src=", "@import", "url("):
        assert word not in page
    for rule in ("duplicate", "no-answer", "rounded"):
        assert rule in page
