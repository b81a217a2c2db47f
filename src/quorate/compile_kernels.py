"""Compile every kernel into the cache on disk: `python -m quorate.compile_kernels`. Started by `quorate.compiled`.

Calls each kernel once on a tiny stream and then creates the marker file; kernels of crowds and panels are compiled
after it. With two processors, a second process compiles the streams (`python -m quorate.compile_kernels streams`).
A process waits for another one that is already compiling.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial

import numpy as np

from quorate import compiled, files
from quorate.datasets import synthetic
from quorate.decision.belief import FINITE
from quorate.decision.error_costs import cheapest_answer
from quorate.decision.look_ahead import look_ahead_size, num_states
from quorate.densities import log_dirichlet_multinomial
from quorate.experts.ballots import from_matrix
from quorate.experts.crowd_stream import run_crowd
from quorate.experts.panel import new_panel
from quorate.experts.panel_learning import learn_item, revise_item
from quorate.experts.panel_plan import advise
from quorate.experts.panel_stream import run_panel
from quorate.methods import method
from quorate.posterior.finite import plurality_finite
from quorate.posterior.infinite import plurality_infinite
from quorate.posterior.settled import plurality_share_into
from quorate.prior import concentration
from quorate.session import Session
from quorate.session.batch import decide_items
from quorate.streams import prepare, simulate
from quorate.streams.fixed_paths import fixed_paths
from quorate.streams.stream import complete_panel
from quorate.types import PriorParams, VoteDataset


def _data() -> VoteDataset:
    return synthetic(num_items=6, num_classes=3, pool_size=3, seed=0)


def live(data: VoteDataset, name: str) -> None:
    """Run a session: two items with all their votes, and one fit."""
    session = Session(name, classes=data.classes, pool_size=3, window=4, refit_every=1)
    for item in range(2):
        session.open(str(item), data.predictions[0, item])
        for voter in range(3):
            session.vote(str(item), data.classes[voter % 2], f"v{voter}")
            if voter == 0:
                session.askable_at_once(str(item))


def live_crowd() -> None:
    """Run a session with named people, with enough items for a fit; one of them has a late vote."""
    session = Session("crowd", classes=["a", "b"], pool_size=2, experts=["ann", "bob"])
    for item in map(str, range(20)):
        session.open(item, 0.6)
        session.next_expert(item)
        for name in ("ann", "bob"):
            session.vote(item, "a", name)


def session_calls() -> list[Callable[[], object]]:
    """Calls that compile the kernels of a live session."""
    return [partial(live, _data(), "quorate"), partial(live, _data(), "mp")]


def stream_calls() -> list[Callable[[], object]]:
    """Calls that compile the kernels of recorded streams."""
    data = _data()
    return [
        partial(simulate, data, "quorate", seed=0, window=4, refit_every=2),
        partial(fixed_paths, prepare(data, 3, 0, 3), FINITE),
    ]


def single_calls() -> list[Callable[[], object]]:
    """Calls that compile the kernels called from Python directly."""
    alpha, votes = np.ones((2, 3)), np.ones((2, 3), dtype=np.int64)
    params = PriorParams(theta=1.0, phi=1.0, tau=np.ones(3))
    return [
        partial(decide_items, method("quorate"), params, np.ones((2, 1, 3)) / 3, votes, pool_size=5),
        partial(plurality_finite, alpha, votes, pool_size=5),
        partial(plurality_infinite, alpha, votes),
        partial(log_dirichlet_multinomial, votes, alpha),
        partial(concentration, params, alpha / 3),
        partial(complete_panel, np.zeros(3, dtype=np.int16), 1, 3, 3, np.zeros(3, dtype=np.int64)),
        partial(cheapest_answer, np.ones((3, 3)), np.ones(3) / 3, 0.5, np.empty(3)),
        partial(plurality_share_into, votes[0], np.empty(3)),
        partial(look_ahead_size, 3, 5),
        partial(num_states, 3, 5),
    ]


def calls_of_experts() -> list[Callable[[], object]]:
    """Calls that compile the kernels of crowds and panels; other methods do not wait for these."""
    panel, log_f, votes = new_panel(2, 2), np.log([[0.5, 0.5]]), np.zeros(2, dtype=np.int64)
    return [
        partial(run_crowd, from_matrix([[0, 1], [1, 1]]), seed=0),
        live_crowd,
        partial(advise, panel, log_f, votes, min_gain=0.1),
        partial(learn_item, panel, log_f, votes),
        partial(revise_item, panel, 0, votes),
        partial(run_panel, [[0, 1]], [[0.5, 0.5]], min_gain=0.1),
    ]


def main() -> None:
    """Compile, unless another process has just done so."""
    compiled.compile_here()
    marker = compiled.marker_file()
    if marker is None:
        sys.exit("quorate: no writable folder for compiled kernels; set NUMBA_CACHE_DIR to one")
    if hasattr(os, "nice"):
        os.nice(5)
    with files.alone(marker.with_suffix(".lock")):
        if marker.exists():
            return
        second = _second_process()
        _run([*session_calls(), *single_calls()])
        if second is None or second.wait() != 0:
            _run(stream_calls())
        marker.touch()
        _run(calls_of_experts())


def _second_process() -> subprocess.Popen[bytes] | None:
    """Start a process that compiles the streams in parallel; None with a single processor."""
    if (os.cpu_count() or 1) < 2 or not sys.executable:
        return None
    return subprocess.Popen([sys.executable, "-P", "-m", "quorate.compile_kernels", "streams"])


def _run(calls: list[Callable[[], object]]) -> None:
    for call in calls:
        call()


if __name__ == "__main__":
    if sys.argv[1:] == ["streams"]:
        compiled.compile_here()
        _run(stream_calls())
    else:
        main()
