"""Shared fixtures: where the real data lies, and nothing else."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder of the real data sets; tests that need it skip, saying what is missing."""
    folder = os.environ.get("QUORATE_DATA")
    if not folder:
        pytest.skip("QUORATE_DATA is not set: it must name the folder with imagenet16h_shift.npz and the other sets")
    if not Path(folder).is_dir():
        pytest.fail(f"QUORATE_DATA={folder!r} is not a folder")
    return Path(folder)
