"""Middleware that ends a request before more of its body is read than it may send. Added by `app`.

Most requests may send SMALL bytes, which cost next to nothing to read. The few that may send more are an owner's:
who is calling is found out from the headers first, so nobody else can keep a worker busy with a large body.
"""

from __future__ import annotations

import asyncio
import re
import time

from fastapi import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quorate.errors import QuorateError
from quorate.service.access.principal import as_member
from quorate.service.problems import Problem, of_error

MEGABYTE = 1_000_000
SMALL = 256_000  # bytes: 200 classes of 100 characters and the longest instructions fit, however they are written
BODY_SECONDS = 30.0  # without a further byte of a body, before the request is ended
SMALL_SECONDS, LARGE_SECONDS = 60.0, 600.0  # to wait for the whole of a small body, and of an owner's large one
LARGE = {
    re.compile(r"/api/v1/projects/([^/]+)/items"): 32 * MEGABYTE,
    re.compile(r"/api/v1/projects/([^/]+)/uploads"): 6 * MEGABYTE,
    re.compile(r"/p/([^/]+)/import"): 32 * MEGABYTE,
}


class BodyLimit:
    """ASGI middleware: 413 for a body larger than its path allows, 401 to 404 for a large one that is no owner's."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Count what comes in; a length that is announced is believed only to refuse."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        body, has_begun = _Body(scope, receive), False

        async def noted(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await body.check(_announced(scope))
            await self.app(scope, body.receive, noted)
        except _Refused as refused:
            if not has_begun:
                await _answer(refused.problem, scope, receive, send)


class _Body:
    """What has come in of one request's body, and whether more of it may."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self.scope, self._receive = scope, receive
        self.read, self.is_owners, self.is_whole = 0, False, False
        self.waited = 0.0  # seconds, for all of it so far: what the service itself takes does not count

    async def receive(self) -> Message:
        if self.is_whole:
            return await self._receive()
        most, begin = LARGE_SECONDS if self.is_owners else SMALL_SECONDS, time.monotonic()
        try:
            message = await asyncio.wait_for(self._receive(), min(BODY_SECONDS, most - self.waited))
        except TimeoutError:
            raise _Refused(_too_slow(most)) from None
        self.waited += time.monotonic() - begin
        self.is_whole = not message.get("more_body", False)
        self.read += len(message.get("body", b""))
        await self.check(self.read)
        return message

    async def check(self, num_bytes: int) -> None:
        """Raise unless this request may send so many bytes."""
        if num_bytes <= SMALL:
            return
        most, project_id = largest_body(self.scope["path"])
        if num_bytes > most:
            raise _Refused(_too_large(most, num_bytes))
        if not self.is_owners:
            await _check_owner(self.scope, project_id)
            self.is_owners = True


async def _check_owner(scope: Scope, project_id: str) -> None:
    """Raise unless the headers are those of an owner of this project.

    As if they only looked: the token against forged forms may be in the form, so it is checked when that is read.
    """
    try:
        await as_member(Request({**scope, "method": "GET"}), project_id, "owner")
    except Problem as problem:
        raise _Refused(problem) from None
    except QuorateError as error:
        raise _Refused(of_error(error)) from error


class _Refused(BaseException):
    """Goes past every handler of the app, which would call it an unreadable body."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail)
        self.problem = problem


def largest_body(path: str) -> tuple[int, str]:
    """How many bytes a request to this path may send, and the project whose owner alone may send more than SMALL.

    >>> largest_body("/api/v1/projects/p/items"), largest_body("/api/v1/projects/p/votes")
    ((32000000, 'p'), (256000, ''))
    """
    for pattern, most in LARGE.items():
        if found := pattern.fullmatch(path):
            return most, found[1]
    return SMALL, ""


def _announced(scope: Scope) -> int:
    value = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
    return int(value) if value.isdigit() and len(value) < 20 else 0


def _too_large(most: int, num_bytes: int) -> Problem:
    return Problem(
        413, "Too large", f"the body has more than {most:,} bytes.", field="body", value=f"{num_bytes} bytes so far",
        rule=f"at most {most} bytes", fix="send it in several requests.",
    )  # fmt: skip


def _too_slow(most: float) -> Problem:
    return Problem(
        408, "Too slow", f"the body paused for {BODY_SECONDS:g} s, or took {most:g} s.", field="body",
        rule=f"a body that comes within {most:g} s, without a pause of {BODY_SECONDS:g} s",
        fix="send the request again.",
    )  # fmt: skip


async def _answer(problem: Problem, scope: Scope, receive: Receive, send: Send) -> None:
    """As the app itself answers; the connection ends, because nobody reads the rest of the body."""
    response = await scope["app"].exception_handlers[Problem](Request(scope), problem)
    response.headers["Connection"] = "close"
    await response(scope, receive, send)
