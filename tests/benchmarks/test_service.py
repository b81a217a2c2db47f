"""`make bench-service` on a small scale: it runs, prints its tables and writes every figure."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("psycopg")
from tests.service.postgres import find_binaries

pytestmark = pytest.mark.slow  # a minute of load on two databases; `make test-slow`

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = str(ROOT / "benchmarks" / "service.py")
DATABASES = ["postgresql"] if find_binaries() is not None else ["sqlite"]


def run(file, *options):
    command = [sys.executable, SCRIPT, "--quick", "--json", str(file), *options]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ.copy(), check=False, timeout=500)
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads(file.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    return run(tmp_path_factory.mktemp("bench") / "service.json", "--databases", *DATABASES)


def test_every_database_is_loaded_in_every_mode_and_no_request_fails(quick):
    cells = quick[1]["cells"]
    assert [cell["database"] for cell in cells] == DATABASES
    for cell in cells:
        assert [load["mode"] for load in cell["loads"]] == ["page", "apart", "people"]
        for load in cell["loads"]:
            assert load["problems"] == {} and load["votes_per_second"] > 0
            assert 0 < load["vote"]["p50"] <= load["vote"]["p95"] <= load["vote"]["p99"]
            assert load["next"]["count"] > 0 and load["cpu_workers"] > 0 and load["memory"] > 0


def test_votes_are_told_as_a_share_of_bare_inserts_before_and_after(quick):
    for cell in quick[1]["cells"]:
        assert len(cell["bare"]) == 2 and cell["connections"] == 32
        for load in cell["loads"]:
            shares = cell["shares"][load["mode"]]
            for key in ("one", "all"):
                rates = [each[key]["per_second"] for each in cell["bare"]]
                assert shares[key] == pytest.approx(load["votes_per_second"] / (sum(rates) / 2))


def test_the_next_item_is_timed_among_few_and_many_items(quick):
    for each in quick[1]["growth"]:
        assert each["ratio"] == pytest.approx(each["many"] / each["few"]) and each["few"] > 0


def test_a_quick_run_says_that_its_figures_mean_nothing(quick):
    assert "figures mean nothing" in quick[0] and "of bare" in quick[0] and quick[1]["quick"]


def test_memory_is_read_on_the_way_to_a_million_votes(tmp_path):
    told, content = run(tmp_path / "million.json", "--databases", "sqlite", "--million", "2000")
    (found,) = content["million"]
    votes = [row["votes"] for row in found["rows"]]
    assert [each // 200 for each in votes] == list(range(1, 11)) and all(each % 200 < 50 for each in votes)
    assert found["growth"] < 1.1
    assert found["growth"] == pytest.approx(found["rows"][-1]["megabytes"] / found["rows"][0]["megabytes"])
    assert "end / after a tenth" in told and content["cells"] == []
