"""Bodies of requests, read with care: not too large, valid JSON, nothing in it that a database cannot keep.

`BodyLimit` is ASGI middleware that ends a request before more is read than it may send; `StrictRoute` is the class of
every API route: no NaN, no huge numbers, no U+0000, no endless nesting. Called by `app` and by every router.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Coroutine
from hashlib import sha256
from typing import Any, NoReturn

from fastapi import HTTPException, Request, Response
from fastapi.routing import APIRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quorate.service.problems import MEDIA_TYPE, Problem

MEGABYTE = 1_000_000
MOST = MEGABYTE  # bytes of a body, unless its path says otherwise
MOST_BY_END = {"/items": 32 * MEGABYTE, "/uploads": 6 * MEGABYTE, "/import": 32 * MEGABYTE}
DEEPEST = 12  # lists and objects within each other
LARGEST = 2**63 - 1


class StrictRequest(Request):
    """A request whose JSON is checked as it is read; `state.content` is the digest of what was sent."""

    async def json(self) -> Any:  # noqa: ANN401
        """The body's JSON, or 422 that says what is wrong with it."""
        if not hasattr(self, "_json"):
            self._json = parsed(await self.body())
        return self._json

    async def body(self) -> bytes:
        """The body; its digest is kept for idempotency keys."""
        raw = await super().body()
        self.state.content = sha256(raw).hexdigest()
        return raw


class StrictRoute(APIRoute):
    """A route that reads its requests strictly."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, given a `StrictRequest`."""
        handle = super().get_route_handler()

        async def strict(request: Request) -> Response:
            return await handle(StrictRequest(request.scope, request.receive))

        return strict


def parsed(raw: bytes) -> Any:  # noqa: ANN401
    """The value of a JSON text that holds only what every database keeps and every JSON reader reads.

    >>> parsed(b'{"label": "cat"}')
    {'label': 'cat'}
    """
    try:
        value = json.loads(raw, parse_constant=_constant, parse_int=_whole, parse_float=_number)
    except RecursionError:
        _refuse(f"the body is nested too deeply; at most {DEEPEST} lists or objects may stand within each other.")
    except UnicodeDecodeError:
        _refuse("the body is not UTF-8; send JSON in UTF-8.")
    _check(value, is_odd=b"\\u" in raw, depth=0)
    return value


def _check(value: Any, *, is_odd: bool, depth: int) -> None:  # noqa: ANN401
    """Walk the value; texts are looked at only if the JSON escapes some character by its number."""
    if isinstance(value, str):
        if is_odd and ("\x00" in value or any("\ud800" <= char <= "\udfff" for char in value)):
            _refuse("a text holds U+0000 or half of a surrogate pair, which no database keeps; remove it.")
        return
    if not isinstance(value, (dict, list)):
        return
    if depth == DEEPEST:
        _refuse(f"the body is nested too deeply; at most {DEEPEST} lists or objects may stand within each other.")
    if isinstance(value, dict):
        for name in value:
            _check(name, is_odd=is_odd, depth=depth + 1)
    for part in value.values() if isinstance(value, dict) else value:
        _check(part, is_odd=is_odd, depth=depth + 1)


def _constant(word: str) -> NoReturn:
    _refuse(f"the body holds {word}, which is no JSON; leave it out or send null.")


def _whole(digits: str) -> int:
    if len(digits) > 20 or abs(int(digits)) > LARGEST:
        _refuse("the body holds a whole number of more than 63 bits; lower it, or send it as text.")
    return int(digits)


def _number(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        _refuse(f"the body holds the number {digits[:20]}, which is too large; lower it.")
    return value


def _refuse(detail: str) -> NoReturn:
    raise HTTPException(422, detail)


class BodyLimit:
    """ASGI middleware: 413 for a body that is larger than its path allows, before it is read."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Count what comes in; a length that is announced is believed only to refuse."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        most = largest_body(scope["path"])
        announced = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        if announced.isdigit() and int(announced) > most:
            await _too_large(most, scope, receive, send)
            return
        read, has_begun = 0, False

        async def counted() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > most:
                raise _TooLarge
            return message

        async def noted(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await self.app(scope, counted, noted)
        except _TooLarge:
            if not has_begun:
                await _too_large(most, scope, receive, send)


class _TooLarge(BaseException):
    """Goes past every handler of the app, which would call it an internal error."""


def largest_body(path: str) -> int:
    """How many bytes a request to this path may send.

    >>> largest_body("/api/v1/projects/p/items"), largest_body("/api/v1/projects/p/votes")
    (32000000, 1000000)
    """
    return next((most for end, most in MOST_BY_END.items() if path.rstrip("/").endswith(end)), MOST)


async def _too_large(most: int, scope: Scope, receive: Receive, send: Send) -> None:
    problem = Problem(
        413, "Too large", f"the body has more than {most:,} bytes.", rule=f"at most {most} bytes",
        fix="send it in several requests.",
    )  # fmt: skip
    headers = {"Connection": "close", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
    await Response(json.dumps(problem.body()), 413, headers, MEDIA_TYPE)(scope, receive, send)
