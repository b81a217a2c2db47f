"""Batches -> scored batches, in their order: computed here, or by the workers of a Dask cluster.

This process reads and writes; workers get numbers and give numbers back, with the same compiled functions, so the
output is the same. At most three batches per worker are under way, so memory stays that of a few batches.
Called by `score`.
"""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

from quorate.compiled import sources_digest, wait_until_compiled
from quorate.errors import ClusterError
from quorate.session.batch import BatchDecisions, Decider
from quorate.types import FloatArray, IntArray
from quorate.validate import broken
from quorate.workflows.dask_cluster import connected, dask
from quorate.workflows.score.batches import ItemBatch

IN_FLIGHT = 3  # batches under way per worker


Scored = Callable[[Iterable[ItemBatch]], Iterator[tuple[ItemBatch, BatchDecisions]]]


@contextmanager
def scored_by(decider: Decider, cluster: str | None) -> Iterator[Scored]:
    """A function that scores batches in their order, here (`cluster` None) or on the workers of a cluster."""
    if cluster is None:
        yield lambda batches: ((batch, decider.decide(batch.predictions, batch.votes)) for batch in batches)
        return
    with connected(cluster, kind=_kind, prepare=wait_until_compiled) as client:
        yield lambda batches: _on_dask(client, cluster, decider, batches)


def _kind() -> dict[str, str]:
    """What must be alike on two machines for their results to be."""
    return {"code": sources_digest()} | {name: version(name) for name in ("numpy", "numba", "scipy")}


def _on_dask(
    client: Any,  # noqa: ANN401
    address: str,
    decider: Decider,
    batches: Iterable[ItemBatch],
) -> Iterator[tuple[ItemBatch, BatchDecisions]]:
    waiting: deque[tuple[ItemBatch, Any]] = deque()
    most = IN_FLIGHT * max(1, len(client.scheduler_info(n_workers=-1)["workers"]))
    try:
        for batch in batches:
            waiting.append((batch, _submitted(client, decider, batch)))
            if len(waiting) >= most:
                yield _first(waiting)
        while waiting:
            yield _first(waiting)
    except dask().KilledWorker as cause:
        rule, fix = "workers with enough memory; several died at one batch", "lower `batch_rows` and run it again."
        raise broken("cluster", address, rule, fix, error=ClusterError) from cause
    except (dask().CancelledError, OSError) as cause:
        if client.status == "running" and not isinstance(cause, dask().CancelledError):
            raise
        rule = "a scheduler that stays; this one went away"
        raise broken("cluster", address, rule, "run it again.", error=ClusterError) from cause


def _submitted(client: Any, decider: Decider, batch: ItemBatch) -> Any:  # noqa: ANN401
    """The batch, sent with its task: a worker's death cannot lose it, as it can lose data that was scattered."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sending large graph", category=UserWarning)
        return client.submit(_score_there, sources_digest(), decider, batch.predictions, batch.votes, pure=False)


def _score_there(code: str, decider: Decider, predictions: FloatArray, votes: IntArray) -> BatchDecisions:
    """On a worker: score, unless this worker's code is another; it may have come after the check at the start."""
    if sources_digest() != code:
        rule = f"workers with the same sources of quorate; one has {sources_digest()}, this machine {code}"
        fix = "install the same version there, restart it, and run it again."
        raise broken("cluster", None, rule, fix, error=ClusterError)
    return decider.decide(predictions, votes)


def _first(waiting: deque[tuple[ItemBatch, Any]]) -> tuple[ItemBatch, BatchDecisions]:
    batch, job = waiting.popleft()
    return batch, job.result()
