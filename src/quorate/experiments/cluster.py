"""Runs a sweep's jobs on other processes or machines: an existing Dask scheduler, or workers started here.

`backend_for(address, jobs)` gives the backend `sweep` takes. Jobs go out through joblib's Dask backend, all at once, so
that workers who come later get some too; outcomes come back to the process that sweeps, the only one that writes files.
A data set travels once to each worker, as a worker plugin: the scheduler hands it to those who come later or again, so
no worker's death can lose it, as it can lose data that was scattered.
"""

from __future__ import annotations

import logging
import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import version
from typing import Any
from uuid import uuid4

from quorate.errors import ClusterError, InvalidInput, MissingExtra
from quorate.experiments.design import Job, settings
from quorate.experiments.outcome import Outcome
from quorate.experiments.runs import run_job
from quorate.experiments.store import code_digest
from quorate.experiments.sweep import Backend, on_threads
from quorate.types import VoteDataset
from quorate.validate import shown

ANSWER_WITHIN = 10.0  # seconds for a scheduler to answer, and for its first worker to be there
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
    num_local = _local(address)
    _dask()
    with _quiet(), _workers(num_local) if num_local else _scheduler(address) as client:
        _check_workers(client, address)
        with _hand_outs(client) as hand_out:
            yield _on_dask(client, address, hand_out)


def _local(address: str) -> int:
    """How many workers to start; 0 if the address is a scheduler's."""
    if re.fullmatch(r"(tcp|tls)://.+:\d+", address):
        return 0
    found = re.fullmatch(r"local:(\d{1,3})", address)
    if found is None or int(found[1]) < 1:
        raise InvalidInput(
            f"cluster={shown(address)}; expected tcp://HOST:PORT of a Dask scheduler, or local:N to start N workers "
            "here, such as local:2."
        )
    return int(found[1])


def _dask() -> Any:  # noqa: ANN401
    try:
        import distributed  # noqa: PLC0415
        import joblib  # noqa: F401, PLC0415
    except ImportError as cause:
        raise MissingExtra("Dask is not installed; to run on a cluster: pip install 'quorate[cluster]'") from cause
    return distributed


@contextmanager
def _quiet() -> Iterator[None]:
    """Dask tells of each lost connection by a traceback; what matters of it we say in one line."""
    logger = logging.getLogger("distributed")
    before = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(before)


@contextmanager
def _scheduler(address: str) -> Iterator[Any]:
    try:
        client = _dask().Client(address, timeout=ANSWER_WITHIN, set_as_default=False)
    except (OSError, ValueError, TypeError) as cause:
        raise ClusterError(
            f"cluster={shown(address)}: no Dask scheduler answers there. Start one with `dask scheduler "
            f"--port {address.rsplit(':', 1)[1]}`, and workers with `dask worker {address} --nthreads 1`."
        ) from cause
    try:
        yield client
    finally:
        client.close(timeout=ANSWER_WITHIN)


@contextmanager
def _workers(count: int) -> Iterator[Any]:
    """A scheduler and `count` worker processes of one thread each."""
    _compile_here()
    with (
        _dask().LocalCluster(
            n_workers=count,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            memory_limit=0,
            silence_logs=logging.CRITICAL,
        ) as cluster,
        _dask().Client(cluster, set_as_default=False) as client,
    ):
        from quorate.experiments.dask_jobs import Undisturbed  # noqa: PLC0415

        client.register_plugin(Undisturbed())
        yield client


def _compile_here() -> None:
    """Once, before the workers start: they find the kernels on disk, and the notice comes from one process only."""
    from quorate.datasets import synthetic  # noqa: PLC0415

    small = synthetic(num_items=30, num_classes=3, pool_size=3, seed=0)
    for name in ("quorate", "mp", "fixed-finexp"):
        run_job(Job("", 3, small.models[0], 0, name, settings(None)), small)


def _kind() -> dict[str, str]:
    """What must be alike on two machines for their results to be."""
    return {"code": code_digest()} | {name: version(name) for name in ("numpy", "numba", "scipy")}


def _check_workers(client: Any, address: str) -> None:  # noqa: ANN401
    """Refuse, before anything is run, workers that are not there or would compute something else."""
    try:
        client.wait_for_workers(1, timeout=ANSWER_WITHIN)
    except TimeoutError as cause:
        raise ClusterError(
            f"cluster={shown(address)}: the scheduler has no workers. Start some: `dask worker {address} --nthreads 1`."
        ) from cause
    ours = _kind()
    for worker, theirs in client.run(_kind, on_error="return").items():
        if isinstance(theirs, Exception):
            raise ClusterError(f"worker {worker} cannot run quorate ({theirs!r}). Install the same quorate there.")
        for part, value in ours.items():
            if theirs.get(part) != value:
                raise ClusterError(_differs(worker, part, theirs.get(part), value))


def _differs(worker: str, part: str, theirs: object, ours: str) -> str:
    what = "quorate's sources" if part == "code" else part
    return (
        f"worker {worker} would compute with other code: {what} {theirs} there, {ours} here. "
        "Install the same versions there, and restart it."
    )


def _on_dask(client: Any, address: str, hand_out: Callable[[VoteDataset], str]) -> Backend:  # noqa: ANN401
    lost, given_up = _dask().CancelledError, _dask().KilledWorker

    def run(jobs: Sequence[Job], datasets: Mapping[str, VoteDataset]) -> Iterator[Outcome]:
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


def _through_joblib(client: Any, jobs: Sequence[Job], names: Mapping[str, str]) -> Iterator[Outcome]:  # noqa: ANN401
    from joblib import Parallel, delayed  # noqa: PLC0415

    from quorate.experiments.dask_jobs import DaskBackend, run_there  # noqa: PLC0415

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
def _hand_outs(client: Any) -> Iterator[Callable[[VoteDataset], str]]:  # noqa: ANN401
    """Gives a function that hands a data set to every worker, once, and says what it is called there."""
    from quorate.experiments.dask_jobs import HandOut  # noqa: PLC0415

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
                    client.unregister_worker_plugin(name)
