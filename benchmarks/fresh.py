"""The time of a new process with and without compiled kernels on disk, and of writing an event to disk."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from common import alternate, cpu_of_children, median
from quorate import JsonlJournal
from quorate.session.lines import encode_line
from report import Row

OPEN_AND_VOTE = """
import quorate
session = quorate.Session("quorate", classes=["cat", "dog", "bird"], pool_size=6)
session.open("photo-1", [0.7, 0.2, 0.1])
session.vote("photo-1", "cat")
"""
SIMULATE = """
import quorate, quorate.datasets
quorate.simulate(quorate.datasets.synthetic(num_items=100), "quorate", seed=0)
"""
DECIDE = """
from quorate.cli.main import app
app(["decide", "--prediction", "0.7,0.2,0.1", "--votes", "1,0,0", "--pool-size", "6", "--json"], standalone_mode=False)
"""
IMPORTS = "import numpy, scipy.special"
RUN = """
import quorate, quorate.datasets
data = quorate.datasets.synthetic(num_items={items}, num_classes=10, pool_size=6, seed=1)
quorate.run(data.votes, data.predictions[0], classes=data.classes)
"""
DEMO = "from quorate.workflows.demo import run_demo; run_demo({folder!r})"
CPU = """
import time
print(time.process_time())
"""
COMPILE_LIMIT = 60.0
START_LIMIT = 1.5
RUN_LIMIT = 10.0
DEMO_LIMIT = 35.0


def start_row(rounds: int) -> Row:
    """Import, open, vote in a fresh process against the import of NumPy and scipy.special alone."""
    ours, theirs = alternate((lambda: _python(OPEN_AND_VOTE), 1), (lambda: _python(IMPORTS), 1), rounds=rounds)
    return Row(
        "fresh_process",
        "fresh process: import quorate, open an item, cast a vote; kernels cached",
        'fresh process: python -c "import numpy, scipy.special"',
        "K=3, pool of 6, no journal",
        median(ours),
        median(theirs),
    ).at_most(4)


def compile_row(key: str, what: str, code: str, *, quick: bool) -> Row:
    """The first run with an empty cache of compiled kernels, in CPU seconds, which do not depend on other processes."""
    row = Row(key, what, f"{COMPILE_LIMIT:g} s of CPU", "empty NUMBA_CACHE_DIR, one run, one thread")
    if not quick:
        with empty_cache() as cache:
            before = cpu_of_children()
            _python(code, NUMBA_CACHE_DIR=cache)
            row.ours = cpu_of_children() - before
    return row.under(COMPILE_LIMIT)


def first_start_rows() -> list[Row]:
    """The first process ever on a machine, which runs kernels interpreted: CPU seconds."""
    return [
        _first_row(
            "first_start", "first process ever: import quorate, open an item, cast a vote", OPEN_AND_VOTE, START_LIMIT
        ),
        _first_row("first_decide", "first process ever: quorate decide", DECIDE, START_LIMIT),
    ]


def first_run_row(*, quick: bool) -> Row:
    """`quorate run` as the first process: interpreted, while another process compiles; CPU seconds of the run."""
    items = 80 if quick else 800
    what = f"first process ever: quorate.run on {items} items"
    return _first_row("first_run", what, RUN.format(items=items), RUN_LIMIT)


def first_demo_row(*, quick: bool) -> Row:
    """The demo as the first process: it waits for the compiler. Wall-clock seconds, so nothing else should run."""
    row = Row("first_demo", "first process ever: quorate demo", f"{DEMO_LIMIT:g} s", "on the clock, all cores")
    if not quick:
        with tempfile.TemporaryDirectory() as folder, empty_cache() as cache:
            begin = time.perf_counter()
            _python(DEMO.format(folder=folder), NUMBA_CACHE_DIR=cache, QUORATE_KERNELS="")
            row.ours = time.perf_counter() - begin
    return row.under(DEMO_LIMIT)


def _first_row(key: str, what: str, code: str, limit: float) -> Row:
    row = Row(key, what, f"{limit:g} s of CPU", "interpreted kernels")
    with empty_cache() as cache:
        row.ours = float(_printed(code + CPU, NUMBA_CACHE_DIR=cache, QUORATE_KERNELS="").splitlines()[-1])
    return row.under(limit)


def journal_row(events: int, rounds: int) -> Row:
    """An event appended to a JsonlJournal, compared with a bare write and fsync of the same size."""
    with tempfile.TemporaryDirectory() as folder:
        journal = JsonlJournal(Path(folder) / "journal.jsonl")
        journal.start({"classes": ["cat", "dog"]})
        event = {"seq": 0, "time": time.time(), "type": "vote", "item": "photo-000001", "voter": "ann", "label": "cat"}
        event["decision"] = {"ask": False, "label": "cat", "confidence": 0.9731234567890123, "num_votes": 2,
                             "reason": "not_worth_it", "params": 12}  # fmt: skip
        line = encode_line(event, what="event")
        bare = os.open(Path(folder) / "bare", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

        def append() -> None:
            event["seq"] += 1
            journal.append(event)

        def write() -> None:
            os.write(bare, line)
            os.fsync(bare)

        ours, theirs = alternate((append, events), (write, events), rounds=rounds)
        os.close(bare)
        journal.close()
    return Row(
        "journal",
        "JsonlJournal.append of one vote, durable on return",
        "bare write and fsync of the same bytes",
        f"{len(line)} bytes an event",
        median(ours),
        median(theirs),
    ).informative()


@contextmanager
def empty_cache() -> Iterator[str]:
    """A folder for kernels; what still compiles into it is killed, so that nothing disturbs the next measurement."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as cache:
        try:
            yield cache
        finally:
            for process in psutil.process_iter():
                with suppress(psutil.Error):
                    if process.environ().get("NUMBA_CACHE_DIR") == cache:
                        process.kill()
                        process.wait(10.0)


def _python(code: str, **environment: str) -> None:
    _printed(code, **environment)


def _printed(code: str, **environment: str) -> str:
    command, quiet = [sys.executable, "-c", code], subprocess.DEVNULL
    return subprocess.run(
        command, check=True, env=os.environ | environment, stdout=subprocess.PIPE, stderr=quiet, text=True
    ).stdout
