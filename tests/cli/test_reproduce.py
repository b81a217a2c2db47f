"""`quorate reproduce` end to end on a small synthetic data folder: printed, written, killed, continued, repeated."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from quorate.cli.reproduce import _print_table
from quorate.reports.section import Table
from tests.paper.toy_data import write_toy_data

WRITTEN = ("runs.csv", "runs.parquet")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_toy_data(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def first(run, data, tmp_path_factory):
    out = tmp_path_factory.mktemp("first") / "out"
    return run("reproduce", "shift", "--data", data, "--out", out, "--quick", "--jobs", 1), out


def summary_of(out):
    content = json.loads((out / "summary.json").read_text(), parse_constant=pytest.fail)
    return {key: value for key, value in content.items() if key not in {"seconds", "runs"}}


def files_of(out):
    """The files that must not depend on when and how the command was run."""
    paths = [out / name for name in WRITTEN] + sorted(out.glob("tables/*")) + sorted(out.glob("figures/*"))
    return {str(path.relative_to(out)): path.read_bytes() for path in paths} | {"summary": summary_of(out)}


def test_it_prints_tables_claims_times_and_files(first):
    result, out = first
    assert result.exit_code == 0, result.output
    assert "== Does it hold? ==" in result.stdout
    assert "measured:" in result.stdout
    assert "This is a quick reproduction" in result.stdout
    assert "runs computed" in result.stdout
    assert str(out / "report.html") in result.stdout.replace("\n", "")
    assert max(len(line) for line in result.stdout.splitlines() if "│" in line or "─" in line) <= 100


def test_a_second_time_is_equal_and_runs_nothing(run, first, data):
    _, out = first
    before = files_of(out)
    result = run("reproduce", "shift", "--data", data, "--out", out, "--quick", "--json")
    printed = json.loads(result.stdout)
    assert printed["runs"]["run"] == 0
    assert printed["runs"]["from_store"] > 0
    assert files_of(out) == before
    assert {Path(file).name for file in printed["files"]} >= {"report.html", "summary.json", *WRITTEN}


def started(data, out):
    """`quorate reproduce` in its own process, stopped nowhere yet but with some runs stored."""
    options = ("--data", str(data), "--out", str(out), "--quick", "--jobs", "1")
    command = [sys.executable, "-m", "quorate", "reproduce", "shift", *options]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 120
    while process.poll() is None and stored(out) < 3 and time.monotonic() < until:
        time.sleep(0.005)
    return process


def stored(out):
    return len(list(out.glob("runs/*/[!.]*.npz")))


def test_killed_in_mid_run_with_one_job_it_goes_on_with_two_where_it_was(run, first, data, tmp_path):
    process = started(data, tmp_path)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert stored(tmp_path) >= 3
    assert not (tmp_path / "summary.json").exists(), "it was done before it could be killed"
    result = run("reproduce", "shift", "--data", data, "--out", tmp_path, "--quick", "--jobs", 2, "--json")
    runs = json.loads(result.stdout)["runs"]
    assert runs["run"] > 0
    assert runs["from_store"] > 0
    assert files_of(tmp_path) == files_of(first[1])
    assert not list(tmp_path.rglob(".half-*"))


def test_ctrl_c_says_that_the_same_command_goes_on(data, tmp_path):
    process = started(data, tmp_path)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "the same command" in said and str(tmp_path) in said
    assert "Traceback" not in said


def test_printed_cells_are_whole_and_what_does_not_fit_is_in_the_csv(capsys):
    heads = ("classifier", "method", *(f"a long head {number}" for number in range(20)), "verdict")
    rows = tuple(("patches-50 (50.2 %)", f"fixed-ask-infexp-{number}", *(20 * [1.5]), "agrees") for number in range(40))
    _print_table(Table("wide", "A wide one", heads, rows, text_columns=2), "tables/wide.csv")
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 100
    assert sum("patches-50 (50.2 %)" in line and line.rstrip().endswith("agrees") for line in lines) == 40
    assert any(line.endswith("more columns in tables/wide.csv") for line in lines)
    _print_table(Table("long", "A long one", ("n",), tuple((number,) for number in range(30))), "tables/long.csv")
    assert "6 more rows in tables/long.csv" in capsys.readouterr().out


def test_every_run_is_in_the_csv_with_its_design(first):
    with (first[1] / "runs.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["data"] for row in rows} == {"imagenet16h_shift"}
    assert {row["seed"] for row in rows} >= {"3", "4", "5"}
    assert all(0 <= float(row["error"]) <= 1 and 0 <= float(row["votes_per_item"]) <= 6 for row in rows)
    assert len({tuple(row.values()) for row in rows}) == len(rows)


def test_the_summary_has_the_shift_table_as_promised(first):
    rows = summary_of(first[1])["shift_table"]
    for key in ("method", "budget", "grouping", "phase", "ours", "se", "paper", "paper_se", "verdict"):
        assert key in rows[0]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("everything",), "WHAT everything"),
        (("shift", "--seeds", "3,x"), "--seeds 3,x; expected whole numbers"),
        (("shift", "--seeds", "3,3"), "--seeds 3,3"),
        (("shift", "--jobs", "0"), "--jobs 0"),
        (("shift", "--cluster", "nowhere"), "--cluster nowhere"),
    ],
)
def test_wrong_options_are_one_line_and_exit_code_1(run, data, tmp_path, args, said):
    result = run("reproduce", *args, "--data", data, "--out", tmp_path / "out")
    assert result.exit_code == 1
    assert said in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_no_data_says_how_to_get_it(run, tmp_path):
    result = run("reproduce", "--data", tmp_path, "--out", tmp_path / "out")
    assert result.exit_code == 1
    assert "quorate data list" in result.stderr


def quickly(run, what, data_dir, out):
    """The summary of a quick reproduction on the real data."""
    result = run("reproduce", what, "--data", data_dir, "--out", out, "--quick", "--jobs", 2, "--json")
    assert result.exit_code == 0, result.output
    summary = json.loads(result.stdout)
    assert summary["left_out"] == []
    assert summary["seconds"]["total"] > 0
    assert (out / "report.html").stat().st_size < 5_000_000
    return summary


@pytest.mark.skipif(os.environ.get("QUORATE_DATA") is None, reason="QUORATE_DATA is not set")
def test_a_quick_reproduction_of_the_calibration_on_the_real_data(run, data_dir, tmp_path):
    assert "calibration" in quickly(run, "calibration", data_dir, tmp_path)


@pytest.mark.slow
def test_a_quick_reproduction_of_all_on_the_real_data_takes_minutes(run, data_dir, tmp_path):
    begun = time.process_time()  # beside other tests a clock would say what they take, too
    summary = quickly(run, "all", data_dir, tmp_path)
    assert time.process_time() - begun < 240  # of two processors; half of it when nothing else runs
    robust = ("RANDOM, ENTROPY, MP (released) and InfExp agree with", "FinExp is at least as good as printed")
    held = [claim["text"] for claim in summary["claims"] if claim["holds"]]
    assert all(any(text.startswith(start) for text in held) for start in robust), held
    assert {"shift_table", "auc", "two_phase", "calibration"} <= summary.keys()
