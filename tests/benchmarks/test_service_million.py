"""The measurement of a million votes starts with what the package has now; the run itself takes an hour."""

import subprocess
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


def test_it_can_be_imported_and_what_it_compiles_first_runs():
    script = "import service_million as it; exec(it.COMPILE)"
    done = subprocess.run([sys.executable, "-c", script], cwd=BENCHMARKS, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
