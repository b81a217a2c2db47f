"""Read by a server's Python before anything else of it, where PYTHONPATH names this folder: its clock is off.

By as many seconds as the file that TEST_CLOCK names says, which may change at any time. (libfaketime, which fakes the
clock below Python, makes a process with threads end in a fault now and then.)
"""

import os
import time
from pathlib import Path

_true, _file = time.time, Path(os.environ["TEST_CLOCK"])


def _jumped() -> float:
    return _true() + float(_file.read_text())


time.time = _jumped
