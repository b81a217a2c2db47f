"""Health, readiness and Prometheus metrics: requests by route and status, votes, items and webhooks waiting.

Each worker counts its own requests. If PROMETHEUS_MULTIPROC_DIR names a folder, the counts are files there, and any
worker reports the sum. Items and deliveries are read from the database.
"""

from __future__ import annotations

import hmac
import os
import time
from collections.abc import Iterator
from ipaddress import ip_address
from typing import Annotated, Literal

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Header, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector
from sqlalchemy import case, func, select
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quorate_service.access.request_context import kept
from quorate_service.api.dependencies import TheStore
from quorate_service.api.fields import Out, problems
from quorate_service.problems import NotAllowed, Problem
from quorate_service.store import Store
from quorate_service.store.prepare import revision_of
from quorate_service.store.schema import REVISION, deliveries, is_gold, items, not_withdrawn, pending

SHARED = "PROMETHEUS_MULTIPROC_DIR"  # read by prometheus_client when it is imported
BUCKETS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
FORWARDED = ("x-forwarded-for", "x-real-ip", "forwarded", "via")


class Metrics:
    """The metrics of one app, in their own registry."""

    def __init__(self, store: Store) -> None:
        self.registry = CollectorRegistry()
        labels = ("method", "route", "status")
        self.requests = Counter("quorate_requests", "Requests answered", labels, registry=self.registry)
        self.seconds = Histogram(
            "quorate_request_seconds", "Time to answer", ("method", "route"), registry=self.registry, buckets=BUCKETS
        )
        self.acts = Counter(
            "quorate_acts", "Votes, abstentions, skips, undos stored", ("kind",), registry=self.registry
        )
        self._stored = _Stored(store)
        self._counted: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}  # bounded by the number of routes

    def note(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count and time one request."""
        both = self._counted.get((method, route, status))
        if both is None:
            both = self.requests.labels(method, route, str(status)), self.seconds.labels(method, route)
            self._counted[method, route, status] = both
        both[0].inc()
        both[1].observe(seconds)

    def text(self) -> bytes:
        """All metrics in Prometheus' text format; of all workers, if they share a folder."""
        registry, folder = CollectorRegistry(), os.environ.get(SHARED)
        registry.register(self._stored)
        if folder is None:
            return generate_latest(self.registry) + generate_latest(registry)
        MultiProcessCollector(registry, folder)  # type: ignore[no-untyped-call]
        return generate_latest(registry)


class _Stored(Collector):
    """Metrics read from the database."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def describe(self) -> Iterator[Metric]:
        """Empty, so that registering does not read the database."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """Items by state; pending deliveries, and the age of the oldest."""
        with self.store.read() as connection:
            state = case((~not_withdrawn, "withdrawn"), (is_gold, "gold"), (items.c.is_open, "open"), else_="closed")
            states = connection.execute(select(state.label("state"), func.count()).group_by("state"))
            counts = dict.fromkeys(("open", "closed", "withdrawn", "gold"), 0) | {name: int(n) for name, n in states}
            waiting = select(func.count(), func.min(deliveries.c.created)).where(pending)
            backlog, oldest = connection.execute(waiting).one()
        by_state = GaugeMetricFamily("quorate_items", "Items by state", labels=["state"])
        for state, number in counts.items():
            by_state.add_metric([state], number)
        yield by_state
        yield GaugeMetricFamily("quorate_webhook_backlog", "Pending deliveries", value=backlog)
        age = 0.0 if oldest is None else max(0.0, time.time() - oldest)
        yield GaugeMetricFamily("quorate_webhook_oldest_seconds", "Age of the oldest pending delivery", value=age)


class MetricsMiddleware:
    """ASGI middleware that counts and times every request under its route's template, never under its path."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app, self.metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; record its status and duration."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begin, status = time.perf_counter(), 500

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, noted)
        finally:
            route = getattr(scope.get("route"), "path", "none")
            method = scope["method"] if scope["method"] in METHODS else "other"
            self.metrics.note(method, route, status, time.perf_counter() - begin)


router = APIRouter(tags=["health"])


class AliveOut(Out):
    """The process is running."""

    status: Literal["ok"]


class ReadyOut(Out):
    """The database is reachable and has this program's tables."""

    status: Literal["ready"]
    revision: str


@router.get("/healthz", summary="Is the process alive?")
async def alive() -> AliveOut:
    """Does not check the database. Needs no worker thread, so it works while all of them are busy."""
    return AliveOut(status="ok")


@router.get("/readyz", summary="Can it take requests?", responses=problems())
async def ready(request: Request, store: TheStore) -> ReadyOut:
    """503 while the database is not reachable or at another revision than this program."""

    def revision() -> str | None:
        with store.read() as connection:
            return revision_of(connection)

    present = await to_thread.run_sync(revision, limiter=_own_thread(request))
    if present != REVISION:
        raise Problem(503, "Not ready", f"the database has schema {present}; this program needs {REVISION}.")
    return ReadyOut(status="ready", revision=present)


@router.get(
    "/metrics",
    summary="Numbers for Prometheus",
    response_class=Response,
    responses={200: {"content": {"text/plain": {}}}, **problems(403)},
)
async def metrics(
    request: Request, authorization: Annotated[str | None, Header(include_in_schema=False)] = None
) -> Response:
    """Only from this machine, not through a proxy; or from anywhere with the metrics token as Bearer."""
    token = request.app.state.config.metrics_token
    if not (_has_token(authorization, token) or (token is None and _is_local(request))):
        rule = "a request from a loopback address, or Authorization: Bearer <metrics token>"
        fix = "set a metrics token in the configuration and send it."
        raise NotAllowed("metrics are served to this machine only", fix, field="Authorization", rule=rule)
    text = await to_thread.run_sync(request.app.state.metrics.text, limiter=_own_thread(request))
    return Response(text, headers={"Content-Type": CONTENT_TYPE_LATEST})


def _own_thread(request: Request) -> CapacityLimiter:
    """A thread reserved for these checks, so that they do not wait for other requests."""
    return kept(request, "health_thread", lambda: CapacityLimiter(1))


def _has_token(authorization: str | None, token: str | None) -> bool:
    sent = (authorization or "").removeprefix("Bearer ").encode("utf-8", "replace")
    return token is not None and hmac.compare_digest(sent, token.encode())


def _is_local(request: Request) -> bool:
    """Whether client and Host are loopback addresses, without a proxy in between.

    Host is checked against DNS rebinding (a page on another host whose name resolves to this machine), and against
    proxies that add no header.
    """
    if request.client is None or any(name in request.headers for name in FORWARDED):
        return False
    return _is_loopback(request.client.host) and _is_loopback(request.url.hostname or "")


def _is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
