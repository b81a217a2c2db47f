"""Only the tests of the core are traced for coverage, also on workers, because tracing doubles the time."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).with_name("conftest.py")
ASK = """
import sys
import pytest

@pytest.mark.no_cover
def test_never():
    assert sys.gettrace() is None

def test_as_its_folder():
    assert (sys.gettrace() is not None) is {traced}
"""


@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["alone", "on a worker"])
def test_tests_of_the_core_are_traced_and_no_others(tmp_path, workers):
    pytest.importorskip("pytest_cov")
    (tmp_path / "conftest.py").write_text(CONFTEST.read_text())
    for name, traced in (("audit", True), ("tables", False), ("workflows", False)):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"test_{name}_traced.py").write_text(ASK.format(traced=traced))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--cov=audit", "--cov-report=", *workers]
    done = subprocess.run(command, cwd=tmp_path, env=_lone(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def _lone():
    """The environment without what a worker of the tests around this one has set."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV"))}
