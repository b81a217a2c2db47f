"""Shared by the benchmarks: one thread, alternating timers, inputs from real or synthetic streams.

Import this before NumPy: the thread counts of its libraries are read once, when they load.
"""

# ruff: noqa: E402

from __future__ import annotations

import math
import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import platform
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import quorate
from quorate import Hyperprior, Method, PriorParams, Simulation, VoteDataset, concentration, simulate
from quorate.datasets import load_npz, synthetic
from quorate.model.learning.learner import Window, refit
from quorate.model.learning.problem import unpack
from quorate.model.posterior.settled import is_settled
from quorate.streams import Stream, prepare

ROOT = Path(__file__).resolve().parent.parent
SHIFT, CIFAR = "imagenet16h_shift", "cifar10h"
LOOK_ALIKES: dict[str, dict[str, Any]] = {
    SHIFT: {"num_items": 2400, "num_classes": 16, "pool_size": 6, "accuracy": 0.73, "shift_accuracy": 0.41,
            "agreement": 0.85, "shift_agreement": 0.65, "calibration": 2.0, "num_models": 5, "seed": 1},
    CIFAR: {"num_items": 10_000, "num_classes": 10, "pool_size": 50, "accuracy": 0.75, "agreement": 0.93,
            "num_models": 4, "seed": 2},
}  # fmt: skip


def say(text: str) -> None:
    """Print a line of progress to stderr."""
    print(text, file=sys.stderr, flush=True)


def data_set(name: str) -> tuple[VoteDataset, str]:
    """The real set if it is in the folder QUORATE_DATA, else a similar synthetic one; and a name for it."""
    folder = os.environ.get("QUORATE_DATA")
    file = Path(folder) / f"{name}.npz" if folder else None
    if file is not None and file.is_file():
        return load_npz(file), f"{name} (real)"
    return synthetic(**LOOK_ALIKES[name]), f"synthetic look-alike of {name}"


def machine() -> dict[str, Any]:
    """The machine and the versions that the figures depend on."""
    return {
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "quorate": quorate.__version__,
        "real_data": bool(os.environ.get("QUORATE_DATA")),
    }


def seconds(task: Callable[[], Any], calls: int = 1, *, clock: Callable[[], float] = time.perf_counter) -> float:
    """Seconds of one call, averaged over `calls` in a row."""
    begin = clock()
    for _ in range(calls):
        task()
    return (clock() - begin) / calls


def cpu_seconds(task: Callable[[], Any], calls: int = 1) -> float:
    """CPU seconds of one call: for work in this process, where other processes share the machine."""
    return seconds(task, calls, clock=time.process_time)


def cpu_of_children() -> float:
    """CPU seconds of the processes that this one has waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def alternate(*tasks: tuple[Callable[[], Any], int], rounds: int) -> list[list[float]]:
    """Seconds per call of each (task, calls), in alternating rounds, after one warm-up call each."""
    for task, _ in tasks:
        task()
    times: list[list[float]] = [[] for _ in tasks]
    for _ in range(rounds):
        for own, (task, calls) in zip(times, tasks, strict=True):
            own.append(seconds(task, calls))
    return times


def median(times: list[float]) -> float:
    """The median."""
    return float(np.median(times))


class Beliefs(NamedTuple):
    """States in which a method computed a belief: alpha, votes (B, K), pool_sizes (B,)."""

    alpha: np.ndarray
    votes: np.ndarray
    pool_sizes: np.ndarray


def moments(dataset: VoteDataset, method: str, *, pool_size: int, count: int, seed: int = 0) -> Beliefs:
    """`count` items seen by `method`, all classifiers in turn, each at a random vote before its pool was settled.

    alpha comes from the parameters learned by then, votes are those seen so far.
    """
    rng = np.random.default_rng(seed)
    share = math.ceil(count / len(dataset.models))
    parts = [_moments_of(dataset, method, pool_size, model, share, rng) for model in range(len(dataset.models))]
    order = rng.permutation(share * len(parts))[:count]  # shuffled, so that any part of the batch is representative
    alpha, votes, sizes = (np.concatenate(part)[order] for part in zip(*parts, strict=True))
    return Beliefs(alpha, votes, sizes)


def _moments_of(
    dataset: VoteDataset, method: str, pool_size: int, model: int, count: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    run = simulate(dataset, method, pool_size=pool_size, model=model, seed=0)
    stream = prepare(dataset, pool_size, model, 0)
    alpha, votes, sizes = [], [], []
    while len(alpha) < count:
        t = int(rng.integers(dataset.num_items))
        seen = np.bincount(stream.votes[t, : rng.integers(run.costs[t] + 1)], minlength=dataset.num_classes)
        params = params_at(run, t)
        if params is None or is_settled(seen, int(stream.pool_sizes[t])):
            continue
        alpha.append(concentration(params, stream.predictions[t, 0]))
        votes.append(seen)
        sizes.append(stream.pool_sizes[t])
    return np.array(alpha), np.array(votes), np.array(sizes)


def params_at(run: Simulation, item: int) -> PriorParams | None:
    """The run's parameters at this item; None before the first fit."""
    place = int(np.searchsorted(run.fitted_after, item)) - 1
    return unpack(run.fits[place], run.tau_shape) if place >= 0 else None


class Refit(NamedTuple):
    """One warm refit of a stream: the window's items, and the parameters before it."""

    predictions: np.ndarray  # (W, K)
    votes: np.ndarray  # (W, K)
    window: Window
    start: PriorParams
    prior: Hyperprior

    def run(self) -> PriorParams:
        return refit(self.start, self.window, self.prior)[0]


def warm_refits(dataset: VoteDataset, method: str | Method, *, pool_size: int, window: int, count: int) -> list[Refit]:
    """`count` of the refits, every 20 items, that `method` made once its window was full, spread evenly."""
    run = simulate(dataset, method, pool_size=pool_size, model=0, seed=0)
    stream = prepare(dataset, pool_size, 0, 0)
    learner = run.method.learner
    if learner is None:
        raise ValueError(f"{method} does not learn")
    asked = run.costs > 0
    full = [i for i, (at, _) in enumerate(run.trace) if i and asked[: at + 1].sum() >= window + 20]
    return [
        _refit_at(stream, run, learner.hyperprior, window, i)
        for i in np.array(full)[np.linspace(0, len(full) - 1, count).round().astype(int)]
    ]


def _refit_at(stream: Stream, run: Simulation, prior: Hyperprior, window: int, fit: int) -> Refit:
    rows = np.flatnonzero(run.costs[: run.trace[fit][0] + 1])[-window:]
    held = Window(window, 1, stream.counts.shape[1])
    for t in rows:
        held.enter(str(t), stream.log_predictions[t])
        for label in stream.votes[t, : run.costs[t]]:
            held.add(str(t), int(label), 1)
    return Refit(stream.predictions[rows, 0], held.votes.copy(), held, run.trace[fit - 1][1], prior)


def resident() -> tuple[int, int]:
    """Memory of this process in bytes: now and peak. Without /proc, both are the peak."""
    status = Path("/proc/self/status")
    if status.exists():
        lines = dict(line.split(":", 1) for line in status.read_text(encoding="utf-8").splitlines() if ":" in line)
        now, peak = (1024 * int(lines[key].split()[0]) for key in ("VmRSS", "VmHWM"))
        return now, peak
    unit = 1 if sys.platform == "darwin" else 1024
    peak = unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak, peak
