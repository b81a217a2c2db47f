"""`make bench-peers` on a small scale: every peer runs on the same votes. The figures are not tested here."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
OWN = ["value", "quorum", "unanimous-then-cap", "beta"]
BATCH = ["cleanlab", "crowd-kit", "crowd-kit + classifier", "crowd-kit one-coin", "crowd-kit one-coin + classifier"]

needs_peers = pytest.mark.skipif(
    not all(importlib.util.find_spec(name) for name in ("cleanlab", "crowdkit")),
    reason="cleanlab and crowd-kit are not installed: pip install 'quorate[peers]'",
)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The quick run: what it printed and the JSON it wrote."""
    file = tmp_path_factory.mktemp("peers") / "peers.json"
    environment = {name: value for name, value in os.environ.items() if name != "QUORATE_DATA"}
    command = [sys.executable, str(ROOT / "benchmarks" / "peers.py"), "--quick", "--json", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=500)
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads(file.read_text(encoding="utf-8"))["sets"]["synthetic"]


@pytest.fixture
def table(monkeypatch):
    """The pure part, which needs no peer."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("peers_table")


@pytest.mark.slow
@needs_peers
def test_every_method_has_a_row_with_its_speed(run):
    printed, rows = run
    assert list(rows) == OWN + BATCH
    assert all(f"\n| {name} | " in printed for name in rows)
    assert all(row["speed"] > 0 for row in rows.values())


@pytest.mark.slow
@needs_peers
def test_all_curves_end_where_asking_until_settled_does(run):
    ends = [row["points"][0][-1] for name, row in run[1].items() if name != "value"]
    assert all(end == pytest.approx(ends[0]) for end in ends)


@pytest.mark.slow
@needs_peers
def test_methods_that_know_the_classifier_start_from_its_error(run):
    starts = {name: row["points"][0][0] for name, row in run[1].items()}
    assert all(cost == 0 for cost, _ in starts.values())
    assert starts["cleanlab"] == pytest.approx(starts["crowd-kit + classifier"])
    assert starts["crowd-kit"][1] == pytest.approx(2 / 3)


def test_a_ratio_of_areas_has_no_spread_where_errors_are_proportional(table):
    ours = np.array([0.1, 0.2, 0.4])
    assert table.ratio_se(2 * ours, ours) == pytest.approx((2.0, 0.0))


def test_losses_are_said_and_called_by_their_spread(table):
    def row(difference):
        return {"differences": [(difference, 0.01)] * 4}

    rows = {"value": row(0.0), "better": row(-0.05), "maybe": row(-0.01), "worse": row(0.05)}
    said = table.losses(rows)
    assert len(said) == 8
    assert "better errs less than value at 15 %" in said[0] and "beyond chance" in said[0]
    assert "within the error of this run" in said[4]
    assert table.losses({"value": row(0.0), "worse": row(0.05)})[0].startswith("No peer errs less")


def test_speeds_are_told_to_one_digit(table):
    rows = {
        name: {
            "errors": [0.1] * 4,
            "differences": [(0.0, 0.0)] * 4,
            "area": (1.0, 0.0),
            "parameters": 1,
            "speed": speed,
        }
        for name, speed in {"value": 43132.0, "fast": 1184999.0, "level": 31000.0, "slow": 691.0}.items()
    }
    lines = table.markdown("a set", rows).splitlines()[-4:]
    ends = [tuple(cell.strip() for cell in line.split("|")[-3:-1]) for line in lines]
    assert ends == [("40,000", "1"), ("1,000,000", "30"), ("30,000", "0.7"), ("700", "1/60")]
