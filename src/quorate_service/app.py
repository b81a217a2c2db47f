"""Builds the web application from a store and a configuration: API, pages, health, metrics, background threads.

`create_app` is what tests and `quorate serve` use; `from_environment` is the factory that uvicorn's workers call, with
`TimedConnection` for their connections.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Protocol

from anyio.to_thread import current_default_thread_limiter
from fastapi import FastAPI
from fastapi.staticfiles import StaticFiles
from starlette.concurrency import run_in_threadpool
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from quorate.version import __version__
from quorate_service import pages, problems
from quorate_service.access.cookies import signing_key
from quorate_service.access.request_context import SecurityHeaders
from quorate_service.api import (
    decisions,
    exports,
    items,
    monitoring,
    people,
    projects,
    uploads,
    votes,
    webhooks,
)
from quorate_service.api.bodies import BodyLimit
from quorate_service.api.exports import ExportSlots
from quorate_service.api.monitoring import Metrics, MetricsMiddleware
from quorate_service.background import BackgroundJobs, Housekeeping
from quorate_service.config import ServiceConfig
from quorate_service.demo import DemoVoters
from quorate_service.domain.projects import Projects
from quorate_service.label_studio import hooks
from quorate_service.label_studio.connector import Connector
from quorate_service.pages.rendering import STATIC
from quorate_service.problems import MEDIA_TYPE
from quorate_service.sender import Sender
from quorate_service.store import POOL, Store
from quorate_service.store.prepare import prepare

PARTS = (projects, items, votes, decisions, exports, people, uploads, webhooks, monitoring)
TAGS = [
    {"name": "projects", "description": "Classes, pool, method and other settings."},
    {"name": "items", "description": "What is voted on, and the full history of every decision."},
    {"name": "voting", "description": "The next item, votes, undo. Nothing in them can influence voters."},
    {"name": "adjudication", "description": "Items whose votes leave doubt, and the verdicts of seniors."},
    {"name": "decisions", "description": "Answers and exports."},
    {"name": "numbers", "description": "Audit, dashboard, learned parameters."},
    {"name": "people", "description": "Members, invitations, API keys."},
    {"name": "uploads", "description": "Images to vote on."},
    {"name": "webhooks", "description": "Notifications to your own servers."},
    {"name": "health", "description": "For supervisors and Prometheus."},
]
DESCRIPTION = """
Send an API key: `Authorization: Bearer qk_...`. Every write takes an `Idempotency-Key`, except `/next`, `/leave`,
`/report-image`, `/clear` and `/sign-out`, which may be repeated without one. Lists are paged: send `next` of the
answer as `cursor`. Errors are
`application/problem+json` with field, value, rule and fix.
"""
HEADER_SECONDS = 30.0  # from the first byte of a request, or the connection, to the end of its headers


class Background(Protocol):
    """Background work, in a separate thread."""

    def start(self) -> None:
        """Start the thread."""

    def stop(self) -> None:
        """Stop the thread and wait until it has ended."""


def create_app(store: Store, config: ServiceConfig) -> FastAPI:
    """The application on this store. The tables must exist (`store.prepare.prepare`)."""
    app = FastAPI(
        title="quorate",
        version=__version__,
        summary="Experts vote; quorate decides when enough have.",
        description=DESCRIPTION,
        openapi_tags=TAGS,
        openapi_url="/api/v1/openapi.json",
        docs_url=None,  # these pages load scripts from other hosts
        redoc_url=None,
        lifespan=_lifespan,
        generate_unique_id_function=lambda route: route.name,  # client generators name their methods after it
        redirect_slashes=False,
    )
    app.state.store, app.state.config, app.state.projects = store, config, Projects(store)
    app.state.metrics, app.state.export_slots = Metrics(store), ExportSlots()
    app.state.jobs = BackgroundJobs(app.state.projects)
    app.state.jobs.extra.append(Housekeeping(store))
    app.state.connector = Connector(app.state.projects, app.state.jobs)
    app.state.background = [app.state.jobs, Sender(store, allow_private=config.allow_private_addresses)]
    app.state.background.append(app.state.connector)
    if config.demo:
        app.state.background.append(DemoVoters(app.state.projects))
    for part in PARTS:
        app.include_router(part.router)
    app.include_router(hooks.router)
    app.include_router(pages.router)
    app.mount("/static", StaticFiles(directory=STATIC))
    problems.install(app, page=pages.error_page)
    app.add_middleware(BodyLimit)
    app.add_middleware(SecurityHeaders)
    app.add_middleware(MetricsMiddleware, metrics=app.state.metrics)
    described(app)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    current_default_thread_limiter().total_tokens = POOL  # more threads than pooled connections gain nothing
    app.state.signing_key = await run_in_threadpool(signing_key, app.state.store, now=time.time())
    background: list[Background] = app.state.background
    for thread in background:
        thread.start()
    yield
    for thread in reversed(background):
        thread.stop()


def from_environment() -> FastAPI:
    """The application as configured by environment variables: for `uvicorn --factory`."""
    config = ServiceConfig.from_environment()
    store = Store(config.database)
    prepare(store)
    return create_app(store, config)


def described(app: FastAPI) -> None:
    """Make `app.openapi()` return the schema with the right media type of errors."""
    plain = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _with_problems(plain())
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def _with_problems(schema: dict[str, Any]) -> dict[str, Any]:
    """Give error responses the media type application/problem+json; FastAPI declares application/json."""
    for path in schema["paths"].values():
        for operation in path.values():
            for status, response in operation.get("responses", {}).items():
                content = response.get("content", {})
                if status >= "400" and "application/json" in content:
                    response["content"] = {MEDIA_TYPE: content["application/json"]}
    return schema


class TimedConnection(HttpToolsProtocol):
    """Closes the connection if a request's headers are not complete within HEADER_SECONDS."""

    _limit: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timer for the first request's headers."""
        super().connection_made(transport)
        self._begin()

    def data_received(self, data: bytes) -> None:
        """Run the timer until the headers are complete, which is when a request is in progress."""
        super().data_received(data)
        cycle: Any = self.cycle
        if cycle is None or cycle.response_complete:  # part of a header, or of a body that was refused
            self._begin()
        else:
            self._end()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._end()
        super().connection_lost(exc)

    def _begin(self) -> None:
        """Start the timer, unless it is running."""
        if self._limit is None:
            self._limit = self.loop.call_later(HEADER_SECONDS, self.transport.close)

    def _end(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None
