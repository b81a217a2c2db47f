"""The time of a new process that opens an item and casts a vote. Called by run.py."""

from __future__ import annotations

import subprocess
import sys

from common import alternate, median
from report import Row

OPEN_AND_VOTE = """
import quorate
session = quorate.Session("value", classes=["cat", "dog", "bird"], pool_size=6)
session.open("photo-1", [0.7, 0.2, 0.1])
session.vote("photo-1", "cat")
"""
IMPORTS = "import numpy, scipy.special"


def start_row(rounds: int) -> Row:
    """Import, open, vote in a fresh process against the import of NumPy and scipy.special alone."""
    ours, theirs = alternate((lambda: _python(OPEN_AND_VOTE), 1), (lambda: _python(IMPORTS), 1), rounds=rounds)
    return Row(
        "fresh_process",
        "fresh process: import quorate, open an item, cast a vote; kernels cached",
        f'fresh process: python -c "{IMPORTS}"',
        "K=3, pool of 6, no journal",
        median(ours),
        median(theirs),
    ).at_most(4)


def _python(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
