"""Is the process alive, can it work, and its numbers: for supervisors, load balancers and Prometheus."""

from __future__ import annotations

import hmac
from ipaddress import ip_address
from typing import Annotated, Literal, cast

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Header, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST

from quorate.service.api.dependencies import TheStore
from quorate.service.api.fields import Out, problems
from quorate.service.problems import Problem
from quorate.service.store.upgrade import newest, revision_of

router = APIRouter(tags=["health"])
FORWARDED = ("x-forwarded-for", "x-real-ip", "forwarded", "via")


class AliveOut(Out):
    """The process answers."""

    status: Literal["ok"]


class ReadyOut(Out):
    """The database answers and has the tables this program works with."""

    status: Literal["ready"]
    revision: str


@router.get("/healthz", summary="Is the process alive?")
async def alive() -> AliveOut:
    """Says nothing of the database. Needs no worker thread, so it is answered while all of them are busy."""
    return AliveOut(status="ok")


@router.get("/readyz", summary="Can it take requests?", responses=problems())
async def ready(request: Request, store: TheStore) -> ReadyOut:
    """503 while the database cannot be reached or has other tables than this program's."""

    def revision() -> str | None:
        with store.read() as connection:
            return revision_of(connection)

    found = await to_thread.run_sync(revision, limiter=_own_thread(request))
    if found != newest():
        raise Problem(503, "Not ready", f"the database is at revision {found}; this program needs {newest()}.")
    return ReadyOut(status="ready", revision=found)


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
        raise Problem(
            403, "Not allowed", "metrics are read from this machine, or with the metrics token.", field="Authorization",
            rule="a request from a loopback address, or Authorization: Bearer <metrics token>",
            fix="set a metrics token in the configuration and send it.",
        )  # fmt: skip
    text = await to_thread.run_sync(request.app.state.metrics.text, limiter=_own_thread(request))
    return Response(text, headers={"Content-Type": CONTENT_TYPE_LATEST})


def _own_thread(request: Request) -> CapacityLimiter:
    """A thread for these checks alone: they do not wait for those that serve voters and owners."""
    state = request.app.state
    if not hasattr(state, "health_thread"):
        state.health_thread = CapacityLimiter(1)
    return cast(CapacityLimiter, state.health_thread)


def _has_token(authorization: str | None, token: str | None) -> bool:
    sent = (authorization or "").removeprefix("Bearer ").encode("utf-8", "replace")
    return token is not None and hmac.compare_digest(sent, token.encode())


def _is_local(request: Request) -> bool:
    """From a loopback address to one, and not sent on by a proxy on this machine.

    The header Host must name this machine, too: a page elsewhere whose name was made to lead here (DNS rebinding), or
    a proxy that adds no header, sends another.
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
