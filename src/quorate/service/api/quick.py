"""Votes and next items, called all day long: a request that is plainly in order is answered before FastAPI reads it.

Middleware in front of the app. It calls the same endpoints and only ever sends their success. Whatever is not plain (a
longer body, a header or a body that is refused, a caller who may not, an act that is refused) goes on to the app as if
nobody had looked at it, and is answered there. Added by `app`.
"""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from inspect import signature
from typing import Any, get_type_hints

from fastapi import HTTPException, Request
from fastapi.routing import APIRoute
from pydantic import BaseModel, TypeAdapter, ValidationError
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quorate.service.access.csrf import sent_token
from quorate.service.access.headers import raw_headers
from quorate.service.access.principal import as_member
from quorate.service.access.surroundings import now_of
from quorate.service.api.body_limit import SMALL
from quorate.service.api.fields import KEY
from quorate.service.api.reading import parsed
from quorate.service.metrics import Metrics

PATH = re.compile(r"/api/v1/projects/([A-Za-z0-9_-]{1,40})/([a-z]+)")
TAKES = {"http", "project_id", "caller", "now", "body", "key"}  # what an endpoint may ask for, under these names
log = logging.getLogger("quorate.service")


@dataclass(frozen=True, slots=True)
class Way:
    """An endpoint that is answered quickly: its path's template, what it takes, and the model of its body."""

    template: str
    endpoint: Callable[..., Coroutine[Any, Any, BaseModel]]
    names: frozenset[str]
    model: TypeAdapter[Any]


def ways_of(routes: Iterable[BaseRoute]) -> dict[str, Way]:
    """The routes whose endpoints take a body and nothing but TAKES, by the last part of their path."""
    found = {}
    for route in routes:
        if isinstance(route, APIRoute):
            names = frozenset(signature(route.endpoint).parameters)
            if "body" in names and names <= TAKES:
                model: TypeAdapter[Any] = TypeAdapter(get_type_hints(route.endpoint)["body"])
                found[route.path.rpartition("/")[2]] = Way(route.path, route.endpoint, names, model)
    return found


class Quick:
    """ASGI middleware: the quick way for plain requests, the app for all others."""

    def __init__(self, app: ASGIApp, ways: dict[str, Way], metrics: Metrics) -> None:
        self.app, self.ways, self.metrics = app, ways, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request, or pass it on."""
        found = PATH.fullmatch(scope["path"]) if scope["type"] == "http" and scope["method"] == "POST" else None
        way = None if found is None else self.ways.get(found[2])
        if found is None or way is None:
            await self.app(scope, receive, send)
            return
        begin, first = time.perf_counter(), await receive()
        content = await _success(Request(scope), way, found[1], first)
        if content is None:
            await self.app(scope, _again(first, receive), send)
            return
        await _send(scope, send, content)
        self.metrics.note("POST", way.template, 200, time.perf_counter() - begin)


async def _success(request: Request, way: Way, project_id: str, first: Message) -> bytes | None:
    """The endpoint's answer; None if there is none to be had this way, for whatever reason: the app says why."""
    try:
        read = _read(request, way, first)
        if read is None:
            return None
        caller = await as_member(request, project_id, "owner", "voter", token=await sent_token(request))
        read |= {"http": request, "project_id": project_id, "caller": caller, "now": now_of(request)}
        answer = await way.endpoint(**{name: read[name] for name in way.names})
        return answer.__pydantic_serializer__.to_json(answer)
    except Exception as problem:  # nothing was stored, or it is answered the same when sent again
        log.debug("not in order, left to the app: %r", problem)
        return None


def _read(request: Request, way: Way, first: Message) -> dict[str, Any] | None:
    """The body and the key of a request that is in order; None for any other."""
    raw, key = first.get("body", b""), request.headers.get("idempotency-key")
    is_whole = first["type"] == "http.request" and not first.get("more_body") and 0 < len(raw) <= SMALL
    if not is_whole or request.headers.get("content-type") != "application/json":
        return None
    if key is not None and not KEY.fullmatch(key):
        return None
    try:
        return {"body": way.model.validate_python(parsed(raw)), "key": key}
    except (ValidationError, HTTPException, json.JSONDecodeError):
        return None


def _again(first: Message, receive: Receive) -> Receive:
    """`receive` as if the first message had not been taken yet."""
    waiting = [first]

    async def replayed() -> Message:
        return waiting.pop() if waiting else await receive()

    return replayed


async def _send(scope: Scope, send: Send, content: bytes) -> None:
    own = [(b"content-length", str(len(content)).encode()), (b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": 200, "headers": own + raw_headers(scope)})
    await send({"type": "http.response.body", "body": content})
