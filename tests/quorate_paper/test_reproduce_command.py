"""`quorate reproduce` end to end on a small synthetic data folder: printed, written, killed, continued, repeated."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from quorate_paper.datasets.catalogue import CATALOGUE
from tests.quorate_paper.toy_data import write_toy_data

WRITTEN = ("runs.csv", "runs.parquet")


@pytest.fixture(scope="module", autouse=True)
def data(tmp_path_factory):
    """A small folder of data in QUORATE_DATA."""
    with pytest.MonkeyPatch.context() as patch:
        folder = write_toy_data(tmp_path_factory.mktemp("data"))
        patch.setenv("QUORATE_DATA", str(folder))
        yield folder


@pytest.fixture(scope="module")
def first(run, tmp_path_factory):
    out = tmp_path_factory.mktemp("first") / "out"
    return run("reproduce", "shift", "--out", out, "--quick"), out


def summary_of(out):
    content = json.loads((out / "summary.json").read_text(), parse_constant=pytest.fail)
    return {key: value for key, value in content.items() if key not in {"seconds", "runs"}}


def files_of(out):
    """The files that must not depend on when and how the command was run."""
    paths = [out / name for name in WRITTEN] + sorted(out.glob("tables/*")) + sorted(out.glob("figures/*"))
    return {str(path.relative_to(out)): path.read_bytes() for path in paths} | {"summary": summary_of(out)}


def test_it_prints_one_screen_with_the_result_and_where_the_report_is(first):
    result, out = first
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("Claims of the paper: ")
    assert " runs, by the speed of this machine" in result.stderr.splitlines()[0]
    assert "This is a quick reproduction" in result.stdout
    assert str(out / "report.html") in result.stdout.replace("\n", "")
    assert len(result.stdout.splitlines()) <= 24
    assert max(len(line) for line in result.stdout.splitlines() if "│" in line or "─" in line) <= 100


def test_a_second_time_is_equal_and_runs_nothing(run, first):
    _, out = first
    before = files_of(out)
    stored_before = stored(out)
    assert run("reproduce", "shift", "--out", out, "--quick").exit_code == 0
    assert stored(out) == stored_before
    assert files_of(out) == before


def started(out):
    """`quorate reproduce` in its own process, stopped nowhere yet but with some runs stored."""
    command = [sys.executable, "-m", "quorate", "reproduce", "shift", "--out", str(out), "--quick"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 120
    while process.poll() is None and stored(out) < 3 and time.monotonic() < until:
        time.sleep(0.005)
    return process


def stored(out):
    return len(list(out.glob("runs/*/[!.]*.npz")))


def test_killed_in_mid_run_it_goes_on_where_it_was(run, first, tmp_path):
    process = started(tmp_path)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    before = {path: path.stat().st_mtime_ns for path in tmp_path.glob("runs/*/[!.]*.npz")}
    assert len(before) >= 3
    assert not (tmp_path / "summary.json").exists(), "it was done before it could be killed"
    assert run("reproduce", "shift", "--out", tmp_path, "--quick").exit_code == 0
    assert stored(tmp_path) > len(before)
    assert all(path.stat().st_mtime_ns == at for path, at in before.items())
    assert files_of(tmp_path) == files_of(first[1])
    assert not list(tmp_path.rglob(".half-*"))


def test_ctrl_c_says_that_the_same_command_goes_on(tmp_path):
    process = started(tmp_path)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "the same command" in said and str(tmp_path) in said
    assert "Traceback" not in said


def test_the_list_has_every_set_with_its_licence_and_whether_it_is_here(run, data, tmp_path, monkeypatch):
    (tmp_path / "imagenet16h_shift.npz").write_bytes((data / "imagenet16h_shift.npz").read_bytes())
    monkeypatch.setenv("QUORATE_DATA", str(tmp_path))
    lines = run("reproduce", "list").stdout.splitlines()
    rows = {name: next(line for line in lines if f" {name} " in line) for name in CATALOGUE}
    assert " here " in rows["imagenet16h_shift"] and " to fetch " in rows["cifar10h"]
    assert "CC BY-NC-SA 4.0" in rows["cifar10h"]


def test_a_wrong_cluster_is_one_line_and_exit_code_1(run, tmp_path):
    result = run("reproduce", "all", "--cluster", "nowhere", "--out", tmp_path / "out")
    assert result.exit_code == 1
    assert "--cluster nowhere" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_no_data_says_how_to_get_it(run, tmp_path, monkeypatch):
    monkeypatch.setenv("QUORATE_DATA", str(tmp_path))
    result = run("reproduce", "all", "--out", tmp_path / "out")
    assert result.exit_code == 1
    assert "quorate reproduce list" in result.stderr and "QUORATE_DATA" in result.stderr


def quickly(run, what, data_dir, out, monkeypatch):
    """The summary of a quick reproduction on the real data."""
    monkeypatch.setenv("QUORATE_DATA", str(data_dir))
    result = run("reproduce", what, "--out", out, "--quick")
    assert result.exit_code == 0, result.output
    summary = json.loads((out / "summary.json").read_text())
    assert summary["left_out"] == []
    assert summary["seconds"]["total"] > 0
    assert (out / "report.html").stat().st_size < 5_000_000
    return summary


@pytest.mark.skipif(os.environ.get("QUORATE_DATA") is None, reason="QUORATE_DATA is not set")
def test_a_quick_reproduction_of_the_calibration_on_the_real_data(run, data_dir, tmp_path, monkeypatch):
    assert "calibration" in quickly(run, "calibration", data_dir, tmp_path, monkeypatch)


@pytest.mark.slow
def test_a_quick_reproduction_of_all_on_the_real_data_takes_minutes(run, data_dir, tmp_path, monkeypatch):
    begun = time.process_time()  # beside other tests a clock would say what they take, too
    summary = quickly(run, "all", data_dir, tmp_path, monkeypatch)
    assert time.process_time() - begun < 240  # of two processors; half of it when nothing else runs
    assert {"shift_table", "auc", "two_phase", "calibration"} <= summary.keys()
