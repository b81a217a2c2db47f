"""Compile every kernel into the cache on disk: `python -m quorate.compile_kernels`. Started by `quorate.compiled`.

Calls the kernels of streams and sessions once on a tiny stream, then creates the marker file. With two processors, a
second process (`python -m quorate.compile_kernels helper`) compiles the look-ahead and learning while this one compiles
beliefs and rules, and sessions and small kernels while this one compiles streams; each tells the other by a line what
it can use. Afterwards come the kernels of crowds and panels, with a marker of their own, and those of answers without
votes; with the argument `later` only when the process that started this one has ended, or after `PAUSE` seconds, so
that it has the processors. A process waits for another one that is already compiling.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import numpy as np

from quorate import compiled, files, machine_code
from quorate.datasets import synthetic
from quorate.decision.belief import FINITE, belief_into, pick_label, stop_before_rule
from quorate.decision.bounds import choice_by_bounds
from quorate.decision.error_costs import cheapest_answer
from quorate.decision.look_ahead import expected_gain, look_ahead_size, num_states
from quorate.decision.quota import binomial_quantile
from quorate.decision.rules import BLENDED, rule_asks
from quorate.densities import log_dirichlet_multinomial
from quorate.experts.ballots import from_matrix
from quorate.experts.crowd_stream import run_crowd
from quorate.experts.panel import new_panel
from quorate.experts.panel_learning import learn_item, revise_item
from quorate.experts.panel_plan import advise
from quorate.experts.panel_stream import run_panel
from quorate.learning.answers import shrunk_params
from quorate.learning.fit import fit
from quorate.methods import method, with_learning
from quorate.posterior.finite import plurality_finite
from quorate.posterior.infinite import plurality_infinite
from quorate.posterior.settled import plurality_share_into
from quorate.prior import concentration, concentration_into, hyperprior
from quorate.session import Session
from quorate.session.batch import decide_items
from quorate.streams import prepare, simulate
from quorate.streams.fixed_paths import fixed_paths
from quorate.streams.stream import complete_panel
from quorate.types import PriorParams, VoteDataset

PAUSE = 20.0  # seconds
COMPILED = "compiled"  # the line by which the second process says that a part is done


def _data() -> VoteDataset:
    return synthetic(num_items=6, num_classes=3, pool_size=3, seed=0)


def live(data: VoteDataset, name: str) -> None:
    """Run a session: two items with all their votes, and one fit."""
    session = Session(with_learning(method(name), window=4, refit_every=1), classes=data.classes, pool_size=3)
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
    return [partial(live, _data(), "value"), partial(live, _data(), "mp")]


def belief_calls() -> list[Callable[[], object]]:
    """Calls that compile beliefs: who wins the plurality, given a prediction and votes."""
    believe = partial(belief_into, FINITE, 1.0, 1.0, np.ones((1, 3)), np.zeros(3), np.zeros((1, 3)), np.ones(3) / 3)
    return [partial(believe, np.zeros(3, dtype=np.int64), 3, np.empty(3))]


def look_ahead_calls() -> list[Callable[[], object]]:
    """Calls that compile the look-ahead, which rules and bounds need."""
    votes, probs = np.zeros(4, dtype=np.int64), np.ones(4) / 4
    return [partial(expected_gain, np.ones(4), votes, 3, probs, np.zeros((0, 0)))]


def rule_calls() -> list[Callable[[], object]]:
    """Calls that compile the stopping rules."""
    votes, probs = np.zeros(3, dtype=np.int64), np.ones(3) / 3
    return [partial(rule_asks, BLENDED, 0.1, 0.0, probs, votes, 3, np.ones(3), np.zeros((0, 0)), 0.0)]


def learning_calls() -> list[Callable[[], object]]:
    """Calls that compile learning, and the bounds that decide in streams."""
    return [
        partial(fit, np.ones((2, 3)) / 3, np.ones((2, 3))),
        partial(choice_by_bounds, BLENDED, 0.1, np.ones(3), np.zeros(3, dtype=np.int64), 3, True),
    ]


def small_calls() -> list[Callable[[], object]]:
    """Calls that compile the kernels called from Python directly which need no belief."""
    alpha, votes = np.ones((2, 3)), np.ones((2, 3), dtype=np.int64)
    params = PriorParams(theta=1.0, phi=1.0, tau=np.ones(3))
    row, probs = votes[0], alpha[0] / 3
    return [
        partial(stop_before_rule, row, 5, 0, 5, True),
        partial(concentration_into, 1.0, 1.0, np.ones((1, 3)), np.zeros(3), np.zeros((1, 3)), np.empty(3)),
        partial(pick_label, probs, 0.5),
        partial(binomial_quantile, 0.5, 3, 0.5),
        partial(log_dirichlet_multinomial, votes, alpha),
        partial(concentration, params, alpha / 3),
        partial(complete_panel, np.zeros(3, dtype=np.int16), 1, 3, 3, np.zeros(3, dtype=np.int64)),
        partial(cheapest_answer, np.ones((3, 3)), probs, 0.5, np.empty(3)),
        partial(plurality_share_into, row, np.empty(3)),
        partial(look_ahead_size, 3, 5),
        partial(num_states, 3, 5),
    ]


def stream_calls() -> list[Callable[[], object]]:
    """Calls that compile the kernels of recorded streams."""
    return [partial(simulate, _data(), method("value", window=4, refit_every=2), seed=0)]


def other_calls() -> list[Callable[[], object]]:
    """Calls that compile what else needs beliefs, learning and rules: batches, posteriors and live sessions."""
    data = _data()
    alpha, votes = np.ones((2, 3)), np.ones((2, 3), dtype=np.int64)
    params = PriorParams(theta=1.0, phi=1.0, tau=np.ones(3))
    return [
        partial(fixed_paths, prepare(data, 3, 0, 3), FINITE),
        partial(decide_items, method("value"), params, np.ones((2, 1, 3)) / 3, votes, pool_size=5),
        partial(plurality_finite, alpha, votes, pool_size=5),
        partial(plurality_infinite, alpha, votes),
        *session_calls(),
    ]


def expert_calls() -> list[Callable[[], object]]:
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


def answer_calls() -> list[Callable[[], object]]:
    """Calls that compile learning for answers without votes, which calls the steps of a fit from Python."""
    log_predictions = np.log([[[0.9, 0.1]], [[0.2, 0.8]], [[0.7, 0.3]]])
    votes, start = np.array([[3, 0], [0, 2], [1, 1]]), PriorParams(1.0, 1.0, np.ones(2), bias=np.zeros(2))
    return [partial(shrunk_params, start, log_predictions, votes, hyperprior("infexp"))]


def main(*, pause: float = 0.0) -> None:
    """Compile, unless another process has just done so. `pause`: before crowds and panels, while the parent runs."""
    parent = os.getppid()
    _prepare()
    marker = compiled.marker_file()
    if marker is None:
        sys.exit("quorate: no writable folder for compiled kernels; set NUMBA_CACHE_DIR to one")
    _step_back(5)
    with files.alone(marker.with_suffix(".lock")):
        if not marker.exists():
            helper = _helper()
            _compile_most(helper)
            marker.touch()
            if helper is not None:
                helper.communicate()  # it ends; numba takes a second for that
        experts = marker.with_suffix(compiled.EXPERTS)
        if not experts.exists():
            until = time.monotonic() + pause
            while os.getppid() == parent and time.monotonic() < until:
                time.sleep(0.5)
            _step_back(5)
            _run(expert_calls())
            experts.touch()
            _run(answer_calls())


def _compile_most(helper: subprocess.Popen[bytes] | None) -> None:
    _run(belief_calls())
    if not _has_compiled(helper):
        _run(look_ahead_calls())
    _run(rule_calls())
    if helper is not None and helper.stdin:
        with suppress(OSError):  # it has failed
            helper.stdin.write(b"rules\n")
            helper.stdin.flush()
    if not _has_compiled(helper):
        _run(learning_calls())
    _run(stream_calls())
    if not _has_compiled(helper):
        _run([*small_calls(), *other_calls()])


def help_main() -> None:
    """The second process. It inherits the priority of the first; if that ends, it stops after the small kernels."""
    _prepare()
    for calls in (look_ahead_calls(), learning_calls()):
        _run(calls)
        print(COMPILED, flush=True)
    _run(small_calls())
    if sys.stdin.readline():
        _run(other_calls())
        print(COMPILED, flush=True)


def _has_compiled(helper: subprocess.Popen[bytes] | None) -> bool:
    """Wait until the second process has compiled its next part; False if it failed."""
    return helper is not None and helper.stdout is not None and helper.stdout.readline().strip() == COMPILED.encode()


def _helper() -> subprocess.Popen[bytes] | None:
    """Start the second process; None with a single processor."""
    if (os.cpu_count() or 1) < 2 or not sys.executable:
        return None
    command = [sys.executable, "-P", "-m", "quorate.compile_kernels", "helper"]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def _prepare() -> None:
    gc.set_threshold(100_000)  # a tenth of the time otherwise
    compiled.compile_here()
    machine_code.compile_quickly()


def _step_back(by: int) -> None:
    if hasattr(os, "nice"):
        os.nice(by)


def _run(calls: list[Callable[[], object]]) -> None:
    for call in calls:
        call()


def start(arguments: list[str]) -> None:
    """Run the process that these arguments of the command name."""
    if arguments == ["helper"]:
        help_main()
    elif arguments == ["later"]:
        main(pause=PAUSE)
    elif arguments:
        sys.exit(f"quorate: unknown arguments {' '.join(arguments)!r}: leave them out, everything is compiled")
    else:
        main()


if __name__ == "__main__":
    start(sys.argv[1:])
