"""Batches of items -> their decisions, computed here or by the workers of a cluster.

On a cluster this process reads and writes; workers only compute, with the same compiled functions, so the output is the
same. Called by `score`.
"""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

from quorate.commands.dask_cluster import Cluster, connected
from quorate.commands.score.items import ItemBatch
from quorate.core import sources_digest
from quorate.session import BatchDecisions, Decider

IN_FLIGHT = 3  # batches in flight per worker


Scored = Callable[[Iterable[ItemBatch]], Iterator[tuple[ItemBatch, BatchDecisions]]]


@contextmanager
def scored_by(decider: Decider, cluster: str | None) -> Iterator[Scored]:
    """A function that scores batches in their order, here (`cluster` None) or on the workers of a cluster."""
    if cluster is None:
        yield lambda batches: ((batch, decider.decide(batch.predictions, batch.votes)) for batch in batches)
        return
    with connected(cluster, kind=_kind) as workers:
        yield lambda batches: _on_dask(workers, decider, batches)


def _kind() -> dict[str, str]:
    """What must be equal on two machines for equal results."""
    return {"code": sources_digest(), "numpy": version("numpy")}


def _on_dask(
    cluster: Cluster, decider: Decider, batches: Iterable[ItemBatch]
) -> Iterator[tuple[ItemBatch, BatchDecisions]]:
    """The batches in their order; some are on their way while the next are read."""
    waiting: deque[tuple[ItemBatch, Any]] = deque()
    num_waiting = IN_FLIGHT * max(1, cluster.num_workers)
    with cluster.failures():
        for batch in batches:
            work = pickle.dumps((decider, batch.predictions, batch.votes))
            waiting.append((batch, cluster.submit(_decided, work)))
            if len(waiting) >= num_waiting:
                yield _first(waiting)
        while waiting:
            yield _first(waiting)


def _decided(work: bytes) -> BatchDecisions:
    """On a worker. Dask leaves arrays where they lie in a message; unpickled here, they are aligned for the core."""
    decider, predictions, votes = pickle.loads(work)
    decisions: BatchDecisions = decider.decide(predictions, votes)
    return decisions


def _first(waiting: deque[tuple[ItemBatch, Any]]) -> tuple[ItemBatch, BatchDecisions]:
    batch, job = waiting.popleft()
    return batch, job.result()
