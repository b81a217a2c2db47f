"""What every test shares: a place of its own for each parallel worker, and where the real data lies.

`make test` runs pytest on several workers. Each computes on one thread and keeps its own compiled kernels, begun
from those `make kernels` left: numba's cache on disk may mix up two processes that compile one function at once.
"""

import os
import shutil
from pathlib import Path

import pytest

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
KERNELS = Path(__file__).resolve().parents[1] / ".kernels"


def _settle_worker(worker: str) -> None:
    """Threads and kernel cache of one worker; before numpy and numba are imported, which read this once."""
    for name in ONE_THREAD:
        os.environ.setdefault(name, "1")
    if "NUMBA_CACHE_DIR" not in os.environ:
        _begin_from(KERNELS / "made", KERNELS / worker)
        os.environ["NUMBA_CACHE_DIR"] = str(KERNELS / worker)


def _begin_from(made: Path, own: Path) -> None:
    """Copy what was compiled since the worker's own copy; an index (.nbi) goes with its machine code (.nbc) or not."""
    for index in made.rglob("*.nbi"):
        folder = own / index.parent.relative_to(made)
        mine = folder / index.name
        if mine.exists() and mine.stat().st_mtime >= index.stat().st_mtime:
            continue
        folder.mkdir(parents=True, exist_ok=True)
        for file in index.parent.glob(f"{index.stem}.*"):
            shutil.copy2(file, folder / file.name)


if worker := os.environ.get("PYTEST_XDIST_WORKER"):
    _settle_worker(worker)


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder of the real data sets; tests that need it skip, saying what is missing."""
    folder = os.environ.get("QUORATE_DATA")
    if not folder:
        pytest.skip("QUORATE_DATA is not set: it must name the folder with imagenet16h_shift.npz and the other sets")
    if not Path(folder).is_dir():
        pytest.fail(f"QUORATE_DATA={folder!r} is not a folder")
    return Path(folder)


COUNTS = "counts"  # what a test records under this name is told at the end of the run


def pytest_terminal_summary(terminalreporter):
    """The counts that tests recorded: votes sent, acknowledged, stored and lost under each fault."""
    told = [
        value
        for outcome in ("passed", "failed")
        for report in terminalreporter.getreports(outcome)
        for name, value in getattr(report, "user_properties", [])
        if name == COUNTS
    ]
    if told:
        terminalreporter.section("counts")
        for line in dict.fromkeys(told):
            terminalreporter.write_line(line)
