"""Where the jobs of a sweep run: threads of this machine, or the workers of a Dask cluster."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from quorate.commands.dask_cluster import connected
from quorate.types import VoteDataset
from quorate_paper.jobs import Job, JobOutcome
from quorate_paper.store import code_digest, libraries
from quorate_paper.sweep import Backend, on_threads, run_job


@contextmanager
def backend_for(address: str | None, jobs: int | None = None) -> Iterator[Backend]:
    """The backend for `sweep`. None: `jobs` threads (None: one per core); else see `dask_cluster.connected`.

    >>> with backend_for(None, 2) as backend:
    ...     callable(backend)
    True
    """
    if address is None:
        yield on_threads(jobs or os.cpu_count() or 1)
        return
    with connected(address, kind=_kind) as cluster:
        kept: dict[VoteDataset, Any] = {}  # by identity: data sets have no equality

        def run(jobs: Sequence[Job], datasets: Mapping[str, VoteDataset]) -> Iterator[JobOutcome]:
            for dataset in {job.data: datasets[job.data] for job in jobs}.values():
                if dataset not in kept:
                    kept[dataset] = cluster.keep(dataset)
            yield from cluster.as_finished([cluster.submit(run_job, job, kept[datasets[job.data]]) for job in jobs])

        yield run


def _kind() -> dict[str, str]:
    return libraries() | {"code": code_digest()}
