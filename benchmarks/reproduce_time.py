"""How long `quorate reproduce all` takes from one clean run: on the clock, and in CPU seconds.

    QUORATE_DATA=folder python benchmarks/reproduce_time.py [--part shift] [--out quorate-reproduction]

Required: 10 minutes on two cores. Nothing else should run; the CPU seconds over the cores say what it would take alone.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import cpu_of_children
from report import Row

LIMIT = 600.0


def measure(part: str, out: str | None = None) -> tuple[float, float]:
    """Seconds on the clock and CPU seconds of one part, or of all, into the new folder `out`, or a temporary one."""
    with tempfile.TemporaryDirectory() as folder:
        begin, before = time.perf_counter(), cpu_of_children()
        command = [sys.executable, "-m", "quorate", "reproduce", part, "--out", out or f"{folder}/out"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - begin, cpu_of_children() - before


def reproduce_row(*, quick: bool) -> Row:
    """The whole reproduction against its limit; not measured in a quick run or without the data."""
    row = Row("reproduce", "quorate reproduce all, from one clean run", "10 minutes", "on the clock, all cores")
    if quick or not os.environ.get("QUORATE_DATA"):
        row.note = "not measured in a quick run or without QUORATE_DATA"
    else:
        row.ours, cpu = measure("all")
        row.note = f"{cpu:.0f} s of CPU, {os.cpu_count()} cores"
    return row.under(LIMIT)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", default="all", help="an experiment of `quorate reproduce`")
    parser.add_argument("--out", help="a new folder that keeps the results, for benchmarks/experiments_page.py")
    options = parser.parse_args()
    if options.out and Path(options.out).exists():
        parser.error(f"{options.out} exists: a clean run needs a new folder")
    clock, cpu = measure(options.part, options.out)
    print(f"{options.part}: {clock:.0f} s on the clock, {cpu:.0f} s of CPU, {cpu / (os.cpu_count() or 1):.0f} s a core")
    return 0


if __name__ == "__main__":
    sys.exit(main())
