"""The first decision of a new process, and two threads beside one. Called by run.py."""

from __future__ import annotations

import os
import subprocess
import sys

from common import SHIFT, alternate, cpu_of_children, data_set, median
from quorate_paper.jobs import Job, settings
from quorate_paper.sweep import on_threads
from report import Row

OPEN_AND_VOTE = """
import quorate
session = quorate.Session("value", classes=["cat", "dog", "bird"], pool_size=6)
session.open("photo-1", [0.7, 0.2, 0.1])
session.vote("photo-1", "cat")
"""
NUMPY = ["-c", "import numpy"]
DECIDE = ["-m", "quorate", "decide", "--prediction", "0.7,0.2,0.1", "--votes", "1,0,0", "--pool-size", "6"]
TYPER = ["-c", "import numpy, typer\napp = typer.Typer()\n@app.command()\ndef main(size: int = 6): pass\napp([])"]


def start_rows(rounds: int) -> list[Row]:
    """A session's first item, and `quorate decide`, in a fresh process each, against the import of NumPy alone."""
    commands = (["-c", OPEN_AND_VOTE], DECIDE, TYPER, NUMPY)
    times = [[_cpu(command) for command in commands] for _ in range(rounds + 1)][1:]  # the first writes bytecode
    session, decide, typer, numpy = (median(list(column)) for column in zip(*times, strict=True))
    against = "fresh process: import numpy"
    alone = f"NumPy and an empty command of typer: {typer / numpy:.2f}x"
    return [
        Row("first_vote", "fresh process: import quorate, open an item, cast a vote", against,
            "K=3, pool of 6, no journal; CPU seconds", session, numpy).at_most(4),
        Row("first_decide", "fresh process: quorate decide", against, "K=3, pool of 6; CPU seconds", decide, numpy,
            note=alone).informative(),
    ]  # fmt: skip


def _cpu(arguments: list[str]) -> float:
    before = cpu_of_children()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return cpu_of_children() - before


def threads_row(*, jobs: int, rounds: int) -> Row:
    """A sweep on two threads against the same on one: the core releases the interpreter's lock."""
    dataset, source = data_set(SHIFT)
    costs = settings("error_cost", (20.0, 50.0, 100.0, 200.0))
    work = [Job("shift", 6, dataset.models[0], seed, "value", costs) for seed in range(jobs)]
    tasks = [(lambda n=n: list(on_threads(n)(work, {"shift": dataset})), 1) for n in (1, 2)]
    one, two = alternate(*tasks, rounds=rounds)
    load = os.getloadavg()[0]
    return Row(
        "two_threads", "a sweep on two threads", "the same sweep on one thread",
        f"{source}: value at {len(costs)} error costs, {jobs} seeds", median(two), median(one),
        note=f"on the clock; means something on two idle cores only: the load was {load:.1f}",
    ).faster()  # fmt: skip
