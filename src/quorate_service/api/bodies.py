"""Request bodies: limited in size and time while they arrive. Large ones are accepted from a project's owners only."""

from __future__ import annotations

import asyncio
import re
import time

from fastapi import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quorate.errors import QuorateError
from quorate_service.access.principal import as_member
from quorate_service.problems import Problem, TooLarge, TooSlow, of_error

MEGABYTE = 1_000_000
SMALL = 256_000  # bytes: 200 classes of 100 characters and the longest instructions fit, in any encoding
SMALL_SECONDS, LARGE_SECONDS = 60.0, 600.0  # for the whole body
LARGE = {
    re.compile(r"/api/v1/projects/([^/]+)/items"): 8 * MEGABYTE,
    re.compile(r"/api/v1/projects/([^/]+)/uploads"): 6 * MEGABYTE,
    re.compile(r"/p/([^/]+)/import"): 32 * MEGABYTE,
}


class BodyLimit:
    """ASGI middleware: 413 for a body that is larger than its path allows, 408 for one that takes too long."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; its body is checked whenever the app reads it."""
        await self.app(scope, _Body(scope, receive).receive if scope["type"] == "http" else receive, send)


class _Body:
    """The body of one request."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self.scope, self._receive = scope, receive
        self.num_bytes, self.most, self.seconds = 0, SMALL, SMALL_SECONDS
        self.begin: float | None = None
        self.is_whole = False

    async def receive(self) -> Message:
        """The next part; Content-Length is used only to refuse a request early."""
        if self.is_whole:
            return await self._receive()
        if self.begin is None:
            self.begin = time.monotonic()
            await self._admit(_announced(self.scope))
        try:
            message = await asyncio.wait_for(self._receive(), self.begin + self.seconds - time.monotonic())
        except TimeoutError:
            raise _refused(_too_slow(self.seconds)) from None
        self.is_whole = not message.get("more_body", False)
        self.num_bytes += len(message.get("body", b""))
        await self._admit(self.num_bytes)
        return message

    async def _admit(self, num_bytes: int) -> None:
        """Raise unless this request may send this many bytes."""
        if num_bytes <= self.most:
            return
        limit, project_id = largest_body(self.scope["path"])
        if num_bytes > limit:
            raise _refused(_too_large(limit, num_bytes))
        try:  # as a GET: a form's origin is checked when the form is read
            await as_member(Request({**self.scope, "method": "GET"}), project_id, "owner")
        except QuorateError as error:
            raise _refused(error) from error
        self.most, self.seconds = limit, LARGE_SECONDS


def largest_body(path: str) -> tuple[int, str]:
    """How many bytes a request to this path may send, and the project whose owners may send more than SMALL.

    >>> largest_body("/api/v1/projects/p/items"), largest_body("/api/v1/projects/p/votes")
    ((8000000, 'p'), (256000, ''))
    """
    for pattern, limit in LARGE.items():
        if match := pattern.fullmatch(path):
            return limit, match[1]
    return SMALL, ""


def _announced(scope: Scope) -> int:
    value = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
    return int(value) if value.isdigit() and len(value) < 20 else 0


def _refused(error: QuorateError) -> Problem:
    """The problem to raise; the connection is closed, because the rest of the body is not read."""
    problem = of_error(error)
    problem.headers["Connection"] = "close"
    return problem


def _too_large(most: int, num_bytes: int) -> TooLarge:
    wrong, rule, value = f"the body has more than {most:,} bytes", f"at most {most} bytes", f"{num_bytes} bytes so far"
    return TooLarge(wrong, "send it in several requests.", field="body", value=value, rule=rule)


def _too_slow(seconds: float) -> TooSlow:
    wrong, rule = f"the body was not complete after {seconds:g} s", f"a body that is complete within {seconds:g} s"
    fix = "send the request again, or in smaller parts."
    return TooSlow(wrong, fix, field="body", value=f"more than {seconds:g} s", rule=rule)
