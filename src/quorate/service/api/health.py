"""Is the process alive, can it work, and its numbers: for supervisors, load balancers and Prometheus."""

from __future__ import annotations

import hmac
from ipaddress import ip_address
from typing import Annotated, Literal

from fastapi import APIRouter, Header, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST

from quorate.service.api.fields import Out, problems
from quorate.service.api.here import TheStore
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
def alive() -> AliveOut:
    """Says nothing of the database."""
    return AliveOut(status="ok")


@router.get("/readyz", summary="Can it take requests?", responses=problems())
def ready(store: TheStore) -> ReadyOut:
    """503 while the database cannot be reached or has other tables than this program's."""
    with store.read() as connection:
        found = revision_of(connection)
    if found != newest():
        raise Problem(503, "Not ready", f"the database is at revision {found}; this program needs {newest()}.")
    return ReadyOut(status="ready", revision=found)


@router.get(
    "/metrics",
    summary="Numbers for Prometheus",
    response_class=Response,
    responses={200: {"content": {"text/plain": {}}}, **problems(403)},
)
def metrics(request: Request, authorization: Annotated[str | None, Header(include_in_schema=False)] = None) -> Response:
    """Only from this machine, not through a proxy; or from anywhere with the metrics token as Bearer."""
    token = request.app.state.config.metrics_token
    if not (_has_token(authorization, token) or (token is None and _is_local(request))):
        raise Problem(
            403, "Not allowed", "metrics are read from this machine, or with the metrics token.", field="Authorization",
            rule="a request from a loopback address, or Authorization: Bearer <metrics token>",
            fix="set a metrics token in the configuration and send it.",
        )  # fmt: skip
    return Response(request.app.state.metrics.text(), headers={"Content-Type": CONTENT_TYPE_LATEST})


def _has_token(authorization: str | None, token: str | None) -> bool:
    sent = (authorization or "").removeprefix("Bearer ").encode("utf-8", "replace")
    return token is not None and hmac.compare_digest(sent, token.encode())


def _is_local(request: Request) -> bool:
    """From a loopback address, and not sent on by a proxy on this machine."""
    if request.client is None or any(name in request.headers for name in FORWARDED):
        return False
    try:
        return ip_address(request.client.host).is_loopback
    except ValueError:
        return False
