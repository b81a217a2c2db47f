"""The part of `cluster` that imports Dask: the functions that run on a worker, and a corrected joblib Dask backend.

A worker gets each data set once, by `HandOut`, and then runs `run_there` for each job. Imported by `cluster` and by the
workers.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import partial
from uuid import uuid4

from distributed import Client, WorkerPlugin
from joblib import Parallel, delayed
from joblib._dask import DaskDistributedBackend

from quorate.errors import ClusterError
from quorate.paper.jobs import Job, JobOutcome
from quorate.paper.store import code_digest
from quorate.paper.sweep import run_job
from quorate.types import VoteDataset
from quorate.workflows.dask_cluster import ANSWER_WITHIN

DATA_WITHIN = 120.0  # seconds that a new worker waits for a data set
_here: dict[str, VoteDataset] = {}  # the data sets on this worker


class HandOut(WorkerPlugin):
    """Sends a data set to every worker, including those that join later: the scheduler keeps it."""

    def __init__(self, name: str, dataset: VoteDataset) -> None:
        self.name, self.dataset = name, dataset

    def setup(self, worker: object) -> None:
        """Keep the data set on this worker."""
        _here[self.name] = self.dataset

    def teardown(self, worker: object) -> None:
        """Remove the data set from this worker."""
        _here.pop(self.name, None)


def run_there(job: Job, name: str, code: str) -> JobOutcome:
    """On a worker: run the job on the data set `name`; an error if this worker's code differs."""
    if code_digest() != code:  # the worker joined after the check at the start, or its sources were changed
        raise ClusterError(
            f"a worker has other quorate sources or libraries ({code_digest()}) than the sweep ({code}). "
            "Install the same versions there, restart it, and run the sweep again."
        )
    return run_job(job, _handed(name))


def _handed(name: str) -> VoteDataset:
    """The data set. A worker may get a job shortly before it gets the data."""
    deadline = time.monotonic() + DATA_WITHIN
    while name not in _here:
        if time.monotonic() > deadline:
            raise ClusterError(f"a worker got no data and timed out after {DATA_WITHIN:.0f} s. Run the sweep again.")
        time.sleep(0.05)
    return _here[name]


class DaskBackend(DaskDistributedBackend):  # type: ignore[misc]
    """Joblib's Dask backend with two changes.

    Joblib runs everything in the calling process if the cluster has a single core; here jobs still go to the cluster.
    Joblib waits forever for a task that Dask gave up because its workers died repeatedly; here that is an error.
    """

    def effective_n_jobs(self, n_jobs: int) -> int:
        """Never 1, which joblib would run in the calling process."""
        return max(2, int(super().effective_n_jobs(n_jobs)))

    def submit(self, func: Callable[[], object], callback: Callable[[object], None] | None = None) -> Future[object]:
        """Send a job; joblib's callback is called whether it succeeds or fails."""
        future: Future[object] = super().submit(func, callback)
        future.add_done_callback(partial(_tell, callback))
        return future

    def retrieve_result_callback(self, out: object) -> object:
        """The result, or raise the job's error."""
        if isinstance(out, BaseException):
            raise out
        return super().retrieve_result_callback(out)


def _tell(callback: Callable[[object], None] | None, future: Future[object]) -> None:
    problem = future.exception()
    if problem is not None and callback is not None:
        callback(problem)


def run_on(client: Client, jobs: Sequence[Job], names: Mapping[str, str]) -> Iterator[JobOutcome]:
    """Outcomes of the jobs as they finish; `names` of the data sets on the workers (`hand_outs`)."""
    backend = DaskBackend(client=client, wait_for_workers_timeout=ANSWER_WITHIN)
    parallel = Parallel(n_jobs=-1, backend=backend, return_as="generator_unordered", batch_size=1, pre_dispatch="all")
    outcomes = parallel(delayed(run_there)(job, names[job.data], code_digest()) for job in jobs)
    try:
        for outcome in outcomes:  # noqa: UP028 `yield from` would close joblib's generator outside the filter below
            yield outcome
    finally:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*tasks", category=UserWarning)  # stopped early on purpose
            outcomes.close()


@contextmanager
def hand_outs(client: Client) -> Iterator[Callable[[VoteDataset], str]]:
    """Yields a function that sends a data set to every worker, once, and returns its name there."""
    names: dict[VoteDataset, str] = {}

    def hand_out(dataset: VoteDataset) -> str:
        if dataset not in names:  # by identity: data sets have no equality
            names[dataset] = f"quorate-{uuid4().hex}"
            client.register_plugin(HandOut(names[dataset], dataset), name=names[dataset])
        return names[dataset]

    try:
        yield hand_out
    finally:
        for name in names.values():
            if client.status == "running":
                with suppress(Exception):  # the scheduler is stopping, and drops the data
                    client.unregister_worker_plugin(name)  # type: ignore[no-untyped-call]
