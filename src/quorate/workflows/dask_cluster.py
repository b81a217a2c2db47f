"""An address -> a Dask client, of a running scheduler or of workers that are started here and stopped with the block.

Workers with other code or versions are refused before anything runs. Used by `score` and by the sweeps of `paper`.
"""

from __future__ import annotations

import logging
import re
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from quorate.errors import ClusterError, MissingExtra
from quorate.validate import invalid

ANSWER_WITHIN = 10.0  # seconds for a scheduler to answer, and for its first worker to appear

Kind = Callable[[], Mapping[str, str]]


@contextmanager
def connected(
    address: str, *, kind: Kind, prepare: Callable[[], None], answer_within: float | None = None
) -> Iterator[Any]:
    """A client whose workers run and have the same code as this process.

    `address` "tcp://host:port" (or tls://) of a Dask scheduler, or "local:2" for two worker processes started here.
    `kind`: what must be equal on two machines for equal results, "code" and versions by name. `prepare` is called
    before workers are started here: it compiles the kernels that they will load from disk.
    """
    num_local = num_workers(address)
    dask()
    within = ANSWER_WITHIN if answer_within is None else answer_within
    with _quiet(), _workers(num_local, prepare) if num_local else _scheduler(address, within) as client:
        _check_workers(client, address, kind, within)
        yield client


def num_workers(address: str) -> int:
    """How many workers to start; 0 if the address is a scheduler's.

    >>> num_workers("local:2"), num_workers("tcp://10.0.0.1:8786")
    (2, 0)
    """
    if re.fullmatch(r"(tcp|tls)://.+:\d+", address):
        return 0
    found = re.fullmatch(r"local:(\d{1,3})", address)
    if found is None or int(found[1]) < 1:
        rule = "tcp://HOST:PORT of a Dask scheduler, or local:N to start N workers here"
        raise invalid("cluster", address, rule, "pass e.g. `cluster='local:2'`.")
    return int(found[1])


def dask() -> Any:  # noqa: ANN401
    """The module `distributed`, or an error that says how to install it."""
    try:
        import distributed  # noqa: PLC0415
        import joblib  # noqa: F401, PLC0415
    except ImportError as cause:
        raise MissingExtra("Dask is not installed; to run on a cluster: pip install 'quorate[cluster]'") from cause
    return distributed


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence Dask's tracebacks for lost connections; our error says it in one line."""
    logger = logging.getLogger("distributed")
    before = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(before)


@contextmanager
def _scheduler(address: str, answer_within: float) -> Iterator[Any]:
    try:
        client = dask().Client(address, timeout=answer_within, set_as_default=False)
    except (OSError, ValueError, TypeError) as cause:
        port = address.rsplit(":", 1)[1]
        start = f"start one with 'dask scheduler --port {port}', and workers with 'dask worker {address} --nthreads 1'."
        raise invalid("cluster", address, "the address of a Dask scheduler", start, error=ClusterError) from cause
    try:
        yield client
    finally:
        client.close(timeout=answer_within)


@contextmanager
def _workers(count: int, prepare: Callable[[], None]) -> Iterator[Any]:
    """A scheduler and `count` worker processes of one thread each."""
    prepare()
    with (
        dask().LocalCluster(
            n_workers=count,
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",  # any free port: with None it must be 8787
            memory_limit=0,
            silence_logs=logging.CRITICAL,
        ) as cluster,
        dask().Client(cluster, set_as_default=False) as client,
    ):
        client.register_plugin(_undisturbed())
        yield client


def _undisturbed() -> Any:  # noqa: ANN401
    """A plugin for workers started here: they ignore Ctrl-C in the shared terminal, because we stop them."""

    class Undisturbed(dask().WorkerPlugin):  # type: ignore[misc]
        def setup(self, worker: object) -> None:
            signal.signal(signal.SIGINT, signal.SIG_IGN)

    return Undisturbed()


def _check_workers(client: Any, address: str, kind: Kind, answer_within: float) -> None:  # noqa: ANN401
    """Refuse a scheduler without workers, and workers with other code or versions."""
    try:
        client.wait_for_workers(1, timeout=answer_within)
    except TimeoutError as cause:
        fix = f"start some with 'dask worker {address} --nthreads 1'."
        raise invalid("cluster", address, "a scheduler with workers", fix, error=ClusterError) from cause
    ours = kind()
    for worker, theirs in client.run(kind, on_error="return").items():
        if isinstance(theirs, Exception):
            rule, fix = f"workers that can run quorate, not {theirs!r}", "install the same version there."
            raise invalid("cluster", worker, rule, fix, error=ClusterError)
        for part, value in ours.items():
            if theirs.get(part) != value:
                what = "quorate's sources" if part == "code" else part
                rule = f"workers with the same code as here: {what} {theirs.get(part)} there, {value} here"
                fix = "install the same versions there, and restart it."
                raise invalid("cluster", worker, rule, fix, error=ClusterError)
