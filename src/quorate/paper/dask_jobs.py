"""The part of `cluster` that needs Dask at import: what runs on a worker, and joblib's Dask backend put right for us.

A worker is handed each data set once, by `HandOut`, and then runs `run_there` for each job that comes. Imported by
`cluster` and, there, by the workers.
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
from quorate.paper.design import Job
from quorate.paper.readings import JobOutcome
from quorate.paper.runs import run_job
from quorate.paper.store import code_digest
from quorate.types import VoteDataset
from quorate.workflows.dask_cluster import ANSWER_WITHIN

DATA_WITHIN = 120.0  # seconds for a worker that has just come to be handed a data set
_here: dict[str, VoteDataset] = {}  # what this worker was handed


class HandOut(WorkerPlugin):
    """Hands a data set to every worker, those who come later included: the scheduler keeps it."""

    def __init__(self, name: str, dataset: VoteDataset) -> None:
        self.name, self.dataset = name, dataset

    def setup(self, worker: object) -> None:
        """Take it."""
        _here[self.name] = self.dataset

    def teardown(self, worker: object) -> None:
        """Forget it."""
        _here.pop(self.name, None)


def run_there(job: Job, name: str, code: str) -> JobOutcome:
    """On a worker: the job on the data set handed out as `name`, unless this worker's code is another."""
    if code_digest() != code:  # it came after the check at the start, or its sources were changed
        raise ClusterError(
            f"a worker has other sources of quorate, or other libraries, ({code_digest()}) than the sweep ({code}). "
            "Install the same versions there, restart it, and run the sweep again."
        )
    return run_job(job, _handed(name))


def _handed(name: str) -> VoteDataset:
    """The data set. A worker may be given a job a moment before it is handed the data."""
    deadline = time.monotonic() + DATA_WITHIN
    while name not in _here:
        if time.monotonic() > deadline:
            raise ClusterError(f"a worker got no data and timed out after {DATA_WITHIN:.0f} s. Run the sweep again.")
        time.sleep(0.05)
    return _here[name]


class DaskBackend(DaskDistributedBackend):  # type: ignore[misc]
    """Joblib's, but for two things.

    Joblib runs everything in the calling process when the cluster has a single core; here it still goes to the cluster.
    Joblib waits for ever for a task that Dask gave up (its workers died time and again); here that is an error.
    """

    def effective_n_jobs(self, n_jobs: int) -> int:
        """Never 1, which joblib takes for "here"."""
        return max(2, int(super().effective_n_jobs(n_jobs)))

    def submit(self, func: Callable[[], object], callback: Callable[[object], None] | None = None) -> Future[object]:
        """Send a job; joblib is told of it whatever comes of it."""
        future: Future[object] = super().submit(func, callback)
        future.add_done_callback(partial(_tell, callback))
        return future

    def retrieve_result_callback(self, out: object) -> object:
        """The result, or raise what came instead of it."""
        if isinstance(out, BaseException):
            raise out
        return super().retrieve_result_callback(out)


def _tell(callback: Callable[[object], None] | None, future: Future[object]) -> None:
    problem = future.exception()
    if problem is not None and callback is not None:
        callback(problem)


def run_on(client: Client, jobs: Sequence[Job], names: Mapping[str, str]) -> Iterator[JobOutcome]:
    """Outcomes of the jobs as they come; `names`: what each data set is called on the workers (`hand_outs`)."""
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
def hand_outs(client: Client) -> Iterator[Callable[[VoteDataset], str]]:
    """Gives a function that hands a data set to every worker, once, and says what it is called there."""
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
