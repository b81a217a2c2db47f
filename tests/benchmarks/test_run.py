"""`make bench` on a small scale: it runs, prints a table and writes every row. The ratios are not tested here."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
REQUIRED = {
    "plurality_infinite",
    "plurality_finite_6",
    "plurality_finite_50",
    "warm_refit",
    "infexp_stream",
    "finexp_stream",
    "fresh_process",
}
REPORTED = {
    "monte_carlo_infinite",
    "monte_carlo_finite_6",
    "monte_carlo_finite_50",
    "reproduce",
}

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The quick run, on the synthetic look-alikes: the table it printed and the JSON it wrote."""
    file = tmp_path_factory.mktemp("bench") / "bench.json"
    environment = {name: value for name, value in os.environ.items() if name != "QUORATE_DATA"}
    command = [sys.executable, str(ROOT / "benchmarks" / "run.py"), "--quick", "--reproduce", "--json", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=500)
    assert done.returncode == 0, done.stderr
    return done, json.loads(file.read_text(encoding="utf-8"))


def test_every_row_is_there_once(run):
    keys = [row["key"] for row in run[1]["rows"]]
    assert len(keys) == len(set(keys))
    assert set(keys) == REQUIRED | REPORTED


def test_required_rows_have_times_a_ratio_and_a_verdict(run):
    rows = {row["key"]: row for row in run[1]["rows"]}
    for key in REQUIRED:
        row = rows[key]
        assert row["gates"], key
        assert row["ours"] > 0 and row["theirs"] > 0 and row["ratio"] > 0, key
        assert row["required"].startswith(("at least", "at most")) and isinstance(row["met"], bool), key


def test_rows_say_what_their_inputs_are(run):
    assert all(row["inputs"] for row in run[1]["rows"])
    assert "synthetic look-alike" in next(row["inputs"] for row in run[1]["rows"] if row["key"] == "infexp_stream")


def test_exactness_is_measured_beside_speed(run):
    rows = {row["key"]: row for row in run[1]["rows"]}
    assert rows["plurality_infinite"]["extra"]["error"] <= 1e-8
    assert rows["plurality_finite_6"]["extra"]["error"] <= 1e-12
    assert rows["plurality_finite_50"]["extra"]["error"] <= 1e-12


def test_quick_run_says_that_its_figures_mean_nothing(run):
    done, content = run
    assert content["quick"]
    assert "figures mean nothing" in done.stdout
    assert "[1/" in done.stderr
