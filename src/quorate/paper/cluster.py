"""Runs a sweep's jobs on other processes or machines: an existing Dask scheduler, or workers started here.

`backend_for(address, jobs)` returns the backend for `sweep`. All jobs are sent at once, through joblib's Dask backend,
so that workers that join later get some too; outcomes return to the sweeping process, the only one that writes files.
A data set is sent once to each worker as a worker plugin: the scheduler also sends it to workers that join or restart
later. Scattered data, in contrast, is lost when a worker dies.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from quorate.compiled import wait_until_compiled
from quorate.errors import ClusterError, shown
from quorate.paper.jobs import Job, JobOutcome
from quorate.paper.store import code_digest, libraries
from quorate.paper.sweep import Backend, on_threads
from quorate.types import VoteDataset
from quorate.workflows.dask_cluster import ANSWER_WITHIN, connected, dask

if TYPE_CHECKING:
    from distributed import Client

RunOn = Callable[["Client", Sequence[Job], Mapping[str, str]], Iterator[JobOutcome]]
_KEPT = "Finished jobs are stored; run the same command again to continue."


@contextmanager
def backend_for(address: str | None, jobs: int | None = None) -> Iterator[Backend]:
    """Where jobs run. None: `jobs` threads of this machine (None: one per core).

    "tcp://host:port" (or tls://): the workers of the Dask scheduler that listens there.
    "local:2": two worker processes, started here and ended with the block.

    >>> with backend_for(None, 2) as backend:
    ...     callable(backend)
    True
    """
    if address is None:
        yield on_threads(jobs or os.cpu_count() or 1)
        return
    dask()  # raises a clear error if the extra is missing
    from quorate.paper import dask_jobs  # noqa: PLC0415

    with (
        connected(address, kind=_kind, prepare=wait_until_compiled, answer_within=ANSWER_WITHIN) as client,
        dask_jobs.hand_outs(client) as hand_out,
    ):
        yield _on_dask(client, address, hand_out, dask_jobs.run_on)


def _kind() -> dict[str, str]:
    """Versions that must be equal on two machines for equal results."""
    return libraries() | {"code": code_digest()}  # the digest includes the libraries: report those first


def _on_dask(client: Client, address: str, hand_out: Callable[[VoteDataset], str], run_on: RunOn) -> Backend:
    lost, given_up = dask().CancelledError, dask().KilledWorker

    def run(jobs: Sequence[Job], datasets: Mapping[str, VoteDataset]) -> Iterator[JobOutcome]:
        try:
            names = {data: hand_out(datasets[data]) for data in dict.fromkeys(job.data for job in jobs)}
            yield from run_on(client, jobs, names)
        except given_up as cause:
            raise ClusterError(
                f"cluster={shown(address)}: several workers died at the same job, perhaps out of memory. {_KEPT}"
            ) from cause
        except (lost, OSError) as cause:
            if client.status == "running" and not isinstance(cause, lost):
                raise
            raise ClusterError(f"cluster={shown(address)}: the scheduler disconnected. {_KEPT}") from cause

    return run
