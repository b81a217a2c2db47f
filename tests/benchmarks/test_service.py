"""`make bench-service` on a small scale: it runs and prints a row for each load, without a refused request."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("psycopg")
from tests.quorate_service.postgres import find_binaries

pytestmark = pytest.mark.slow  # a minute of load on two databases; `make test-slow`

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "service.py"
DATABASES = ["sqlite", *["postgresql"] * (find_binaries() is not None)]


def test_every_database_is_loaded_in_both_ways_and_no_request_fails():
    command = [sys.executable, str(SCRIPT), "--quick", "--databases", *DATABASES]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ.copy(), check=False, timeout=500)
    assert done.returncode == 0, done.stderr
    rows = done.stdout.splitlines()[2:]
    assert len(rows) == 2 * len(DATABASES) and all(float(row[34:42]) > 0 for row in rows)
    assert "{" not in done.stdout  # no problems
