"""Runs a sweep's jobs on other processes or machines: an existing Dask scheduler, or workers started here.

`backend_for(address, jobs)` gives the backend `sweep` takes. Jobs go out through joblib's Dask backend, all at once, so
that workers who come later get some too; outcomes come back to the process that sweeps, the only one that writes files.
A data set travels once to each worker, as a worker plugin: the scheduler hands it to those who come later or again, so
no worker's death can lose it, as it can lose data that was scattered.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING
from uuid import uuid4

from quorate.datasets import synthetic
from quorate.errors import ClusterError
from quorate.paper.design import Job, settings
from quorate.paper.readings import JobOutcome
from quorate.paper.runs import run_job
from quorate.paper.store import code_digest, libraries
from quorate.paper.sweep import Backend, on_threads
from quorate.types import VoteDataset
from quorate.validate import shown
from quorate.workflows.dask_cluster import ANSWER_WITHIN, connected, dask

if TYPE_CHECKING:
    from distributed import Client

_KEPT = "What was done is stored; run the same command again to go on."


@contextmanager
def backend_for(address: str | None, jobs: int | None = None) -> Iterator[Backend]:
    """Where jobs run. None: `jobs` threads of this machine (None: one a core).

    "tcp://host:port" (or tls://): the workers of the Dask scheduler that listens there.
    "local:2": two worker processes, started here and ended with the block.

    >>> with backend_for(None, 2) as backend:
    ...     callable(backend)
    True
    """
    if address is None:
        yield on_threads(jobs or os.cpu_count() or 1)
        return
    with (
        connected(address, kind=_kind, prepare=_compile_here, answer_within=ANSWER_WITHIN) as client,
        _hand_outs(client) as hand_out,
    ):
        yield _on_dask(client, address, hand_out)


def _compile_here() -> None:
    """Once, before the workers start: they find the kernels on disk, and the notice comes from one process only."""
    small = synthetic(num_items=30, num_classes=3, pool_size=3, seed=0)
    for name in ("quorate", "mp", "fixed-finexp"):
        run_job(Job("", 3, small.models[0], 0, name, settings(None)), small)


def _kind() -> dict[str, str]:
    """What must be alike on two machines for their results to be."""
    return libraries() | {"code": code_digest()}  # the code's digest covers the libraries: name those first


def _on_dask(client: Client, address: str, hand_out: Callable[[VoteDataset], str]) -> Backend:
    lost, given_up = dask().CancelledError, dask().KilledWorker

    def run(jobs: Sequence[Job], datasets: Mapping[str, VoteDataset]) -> Iterator[JobOutcome]:
        try:
            names = {data: hand_out(datasets[data]) for data in dict.fromkeys(job.data for job in jobs)}
            yield from _through_joblib(client, jobs, names)
        except given_up as cause:
            raise ClusterError(
                f"cluster={shown(address)}: several workers died at the same job, perhaps for want of memory. {_KEPT}"
            ) from cause
        except (lost, OSError) as cause:
            if client.status == "running" and not isinstance(cause, lost):
                raise
            raise ClusterError(f"cluster={shown(address)}: the scheduler went away. {_KEPT}") from cause

    return run


def _through_joblib(client: Client, jobs: Sequence[Job], names: Mapping[str, str]) -> Iterator[JobOutcome]:
    from joblib import Parallel, delayed  # noqa: PLC0415

    from quorate.paper.dask_jobs import DaskBackend, run_there  # noqa: PLC0415

    backend = DaskBackend(client=client, wait_for_workers_timeout=ANSWER_WITHIN)
    parallel = Parallel(n_jobs=-1, backend=backend, return_as="generator_unordered", batch_size=1, pre_dispatch="all")
    outcomes = parallel(delayed(run_there)(job, names[job.data], code_digest()) for job in jobs)
    try:
        for outcome in outcomes:  # noqa: UP028 `yield from` would close joblib's generator outside the filter below
            yield outcome
    finally:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*tasks", category=UserWarning)  # stopped early: we know
            outcomes.close()


@contextmanager
def _hand_outs(client: Client) -> Iterator[Callable[[VoteDataset], str]]:
    """Gives a function that hands a data set to every worker, once, and says what it is called there."""
    from quorate.paper.dask_jobs import HandOut  # noqa: PLC0415

    names: dict[VoteDataset, str] = {}

    def hand_out(dataset: VoteDataset) -> str:
        if dataset not in names:  # the very object: data sets are equal to nothing but themselves
            names[dataset] = f"quorate-{uuid4().hex}"
            client.register_plugin(HandOut(names[dataset], dataset), name=names[dataset])
        return names[dataset]

    try:
        yield hand_out
    finally:
        for name in names.values():
            if client.status == "running":
                with suppress(Exception):  # the scheduler is going, and the data with it
                    client.unregister_worker_plugin(name)  # type: ignore[no-untyped-call]
