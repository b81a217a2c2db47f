"""The address of a Dask cluster -> calls made by its workers. Used by `score` and `reproduce`.

Workers with other code or versions are refused. Work is sent with its data, so that the scheduler can give it to
another worker when one dies.
"""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from quorate.errors import ClusterError, MissingExtra
from quorate.validate import invalid

ANSWER_WITHIN = 10.0  # seconds for a scheduler to answer, and for its first worker to appear
Kind = Callable[[], Mapping[str, str]]  # what must be equal on two machines for equal results


@dataclass(frozen=True, slots=True)
class Cluster:
    """A connected scheduler. `kind` names what its workers must have in common with this process."""

    client: Any
    address: str
    kind: Kind

    def submit(self, function: Callable[..., object], *arguments: object) -> Any:  # noqa: ANN401
        """A future for a call by a worker; arguments may be futures, such as those of `keep`."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sending large graph", category=UserWarning)
            return self.client.submit(called, self.kind, dict(self.kind()), function, *arguments, pure=False)

    def keep(self, value: object) -> Any:  # noqa: ANN401
        """A future for a value that many calls need: workers pass it on, and it survives their death."""
        return self.submit(_same, value)

    @property
    def num_workers(self) -> int:
        """Workers that are connected now."""
        return len(self.client.scheduler_info(n_workers=-1)["workers"])

    def as_finished(self, futures: Sequence[Any]) -> Iterator[Any]:
        """The results as they finish; calls that have not begun are cancelled if nobody wants the others."""
        try:
            with self.failures():
                for future in _dask().as_completed(futures, loop=self.client.loop):
                    yield future.result()  # raises for a lost one; `with_results` would yield its error
        finally:
            if self.client.status == "running":
                self.client.cancel(futures)

    @contextmanager
    def failures(self) -> Iterator[None]:
        """Dask's errors of lost workers and schedulers as one `ClusterError`."""
        lost, killed, again = _dask().CancelledError, _dask().KilledWorker, "run the same command again."
        try:
            yield
        except killed as cause:
            rule = "workers with enough memory; several died on one task"
            raise invalid("cluster", self.address, rule, again, error=ClusterError) from cause
        except (lost, OSError) as cause:
            if self.client.status == "running" and not isinstance(cause, lost):
                raise
            rule = "a scheduler that keeps running; this one disconnected"
            raise invalid("cluster", self.address, rule, again, error=ClusterError) from cause


def called(kind: Kind, expected: Mapping[str, str], function: Callable[..., object], *arguments: object) -> object:
    """On a worker: the result, or an error if its code differs; it may have joined after the check at the start."""
    _check("a worker", expected, kind())
    return function(*arguments)


def _same(value: object) -> object:
    return value


@contextmanager
def connected(address: str, *, kind: Kind) -> Iterator[Cluster]:
    """A cluster whose workers run: "tcp://host:port" of a scheduler, or "local:2" for two processes started here."""
    num_local = num_workers(address)
    _dask()
    logger = logging.getLogger("distributed")
    before = logger.level
    logger.setLevel(logging.CRITICAL + 1)  # its tracebacks of lost connections; our error says it in one line
    try:
        with _local(num_local) if num_local else _scheduler(address) as client:
            _check_workers(client, address, kind)
            yield Cluster(client, address, kind)
    finally:
        logger.setLevel(before)


def num_workers(address: str) -> int:
    """How many workers to start; 0 if the address is a scheduler's.

    >>> num_workers("local:2"), num_workers("tcp://10.0.0.1:8786")
    (2, 0)
    """
    if re.fullmatch(r"(tcp|tls)://.+:\d+", address):
        return 0
    found = re.fullmatch(r"local:([1-9]\d{0,2})", address)
    if found is None:
        rule = "tcp://HOST:PORT of a Dask scheduler, or local:N to start N workers here"
        raise invalid("cluster", address, rule, "pass e.g. `cluster='local:2'`.")
    return int(found[1])


def _dask() -> Any:  # noqa: ANN401
    try:
        import distributed  # noqa: PLC0415
    except ImportError as cause:
        raise MissingExtra("Dask is not installed; to run on a cluster: pip install 'quorate[cluster]'") from cause
    return distributed


@contextmanager
def _scheduler(address: str) -> Iterator[Any]:
    try:
        client = _dask().Client(address, timeout=ANSWER_WITHIN, set_as_default=False)
    except (OSError, ValueError, TypeError) as cause:
        port = address.rsplit(":", 1)[1]
        start = f"start one with 'dask scheduler --port {port}', and workers with 'dask worker {address} --nthreads 1'."
        raise invalid("cluster", address, "the address of a Dask scheduler", start, error=ClusterError) from cause
    try:
        yield client
    finally:
        client.close(timeout=ANSWER_WITHIN)


@contextmanager
def _local(count: int) -> Iterator[Any]:
    options = {"processes": True, "memory_limit": 0, "silence_logs": logging.CRITICAL}
    dashboard = "127.0.0.1:0"  # any free port: with None it must be 8787
    with (
        _dask().LocalCluster(count, threads_per_worker=1, dashboard_address=dashboard, **options) as cluster,
        _dask().Client(cluster, set_as_default=False) as client,
    ):
        yield client


def _check_workers(client: Any, address: str, kind: Kind) -> None:  # noqa: ANN401
    """Refuse a scheduler without workers, and workers with other code or versions."""
    try:
        client.wait_for_workers(1, timeout=ANSWER_WITHIN)
    except TimeoutError as cause:
        fix = f"start some with 'dask worker {address} --nthreads 1'."
        raise invalid("cluster", address, "a scheduler with workers", fix, error=ClusterError) from cause
    for worker, theirs in client.run(kind, on_error="return").items():
        _check(worker, kind(), theirs)


def _check(worker: str, ours: Mapping[str, str], theirs: Mapping[str, str] | Exception) -> None:
    if theirs != ours:
        rule = f"workers with the same code and libraries as here: {dict(ours)}, not {theirs!r}"
        raise invalid("cluster", worker, rule, "install the same versions there, and restart it.", error=ClusterError)
