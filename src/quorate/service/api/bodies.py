"""Request bodies: limited in size and time while they arrive, checked as JSON; large ones are parsed in threads."""

from __future__ import annotations

import asyncio
import json
import math
import re
import time
from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from hashlib import sha256
from itertools import chain
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

from anyio import CapacityLimiter, to_thread
from fastapi import HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import JsonValue
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quorate.errors import QuorateError
from quorate.service.access.principal import as_member
from quorate.service.access.request_context import kept
from quorate.service.api.fields import can_be_stored
from quorate.service.problems import Problem, Refusal, TooLarge, TooSlow, of_error

if TYPE_CHECKING:
    from fastapi._compat import ModelField


AT_ONCE = 2  # batches that a worker processes concurrently; others wait
Result = TypeVar("Result")
Nested = dict[str, JsonValue] | list[JsonValue]


async def in_batch_thread(request: Request, work: Callable[[], Result]) -> Result:
    """Run `work` in a thread reserved for batches."""
    return await to_thread.run_sync(work, limiter=kept(request, "batch_threads", lambda: CapacityLimiter(AT_ONCE)))


DEEPEST = 12  # lists and objects within each other
LARGEST = 2**63 - 1
MOST_PARTS = 125_000  # lists and objects in one body: MOST_ITEMS items with 20 predictions each, and some more
MOST_VALUES = 2_000_000  # values in one body: MOST_ITEMS items with 400 probabilities each
QUOTED = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)
ODD = re.compile(rb"\\u|[0-9]{19}|[eE]\+?[0-9]{3}")  # a JSON text without any of these needs no check of its values
TOO_DEEP = ("is nested too deeply", f"at most {DEEPEST} nested lists or objects", "nest it less deeply.")
TOO_MANY_BITS = (
    "contains a whole number of more than 63 bits", "whole numbers of at most 63 bits", "lower it, or send it as text."
)  # fmt: skip


class Unreadable(HTTPException):
    """An invalid body. An HTTPException, because the framework would replace any other error."""

    def __init__(self, wrong: str, rule: str, fix: str) -> None:
        super().__init__(422, f"the body {wrong}; expected {rule}; {fix}")
        self.wrong, self.rule, self.fix = wrong, rule, fix


class StrictRequest(Request):
    """A request whose JSON is checked when it is read; `state.content` is the digest of the body."""

    async def json(self) -> JsonValue:
        """The JSON of the body; 422 if it is not valid."""
        if not hasattr(self, "_json"):
            raw = await self.body()
            self._json = parsed(raw) if len(raw) <= SMALL else await in_batch_thread(self, lambda: parsed(raw))
        return cast(JsonValue, self._json)

    async def body(self) -> bytes:
        """The body; its digest is stored for idempotency keys."""
        if not hasattr(self.state, "content"):
            self.state.content = sha256(await super().body()).hexdigest()
        return await super().body()


class StrictRoute(APIRoute):
    """A route that reads its requests strictly."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, given a `StrictRequest`."""
        handle = super().get_route_handler()

        async def strict(request: Request) -> Response:
            strictly = StrictRequest(request.scope, request.receive)
            if self.body_field is not None and len(await strictly.body()) > SMALL and _is_json(strictly):
                strictly._json = await in_batch_thread(strictly, partial(_checked, self.body_field, strictly._body))
            return await handle(strictly)

        return strict


def _is_json(request: Request) -> bool:
    kind = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    return kind == "application/json" or kind.endswith("+json")


def _checked(field: ModelField, raw: bytes) -> object:
    """A large body, parsed and validated in a batch thread: the framework would do it in the event loop."""
    try:
        sent = parsed(raw)
    except json.JSONDecodeError as problem:
        place = {"type": "json_invalid", "loc": ("body", problem.pos), "msg": "JSON decode error", "input": {}}
        raise RequestValidationError([place | {"ctx": {"error": problem.msg}}], body=problem.doc) from problem
    value, errors = field.validate(sent, {}, loc=("body",))
    if errors:
        raise RequestValidationError(errors, body=sent)
    return value


def _check_size(raw: bytes) -> None:
    """Refuse a text of more values than a batch can have, before it is parsed into memory.

    >>> _check_size(b'{"items": [' + b"{}," * 10 + b"{}]}")
    """
    if raw.count(b"{") + raw.count(b"[") <= MOST_PARTS and raw.count(b",") <= MOST_VALUES:
        return
    bare = QUOTED.sub(b"", raw)  # without strings, so that all brackets and commas left are structure
    parts, values = bare.count(b"{") + bare.count(b"["), bare.count(b",")
    if parts > MOST_PARTS or values > MOST_VALUES:
        rule = f"at most {MOST_PARTS} lists and objects and {MOST_VALUES} values in one request"
        _refuse(f"contains {parts} lists and objects and {values} values", rule, "send it in several requests.")


def parsed(raw: bytes) -> JsonValue:
    """The value of a JSON text, if every part can be stored and is portable JSON.

    >>> parsed(b'{"label": "cat"}')
    {'label': 'cat'}
    """
    _check_size(raw)
    try:
        value: JsonValue = json.loads(raw.decode(), parse_constant=_constant)
    except RecursionError:
        _refuse(*TOO_DEEP)
    except UnicodeDecodeError:
        _refuse("is not UTF-8", "JSON in UTF-8", "encode it as UTF-8.")
    except json.JSONDecodeError:
        raise
    except ValueError:  # a number with more digits than Python converts
        _refuse(*TOO_MANY_BITS)
    _check_values(value, check_parts=ODD.search(raw) is not None)
    return value


def _check_values(value: JsonValue, *, check_parts: bool) -> None:
    """Check the depth, level by level; `check_parts`: also every text and number."""
    level: list[Nested] = [[value]]
    for _ in range(DEEPEST + 1):
        if check_parts:
            for each in level:
                _check_parts(each)
        level = [part for each in level for part in _parts(each) if isinstance(part, (dict, list))]
        if not level:
            return
    _refuse(*TOO_DEEP)


def _parts(each: Nested) -> Iterable[JsonValue]:
    return each.values() if isinstance(each, dict) else each


def _check_parts(each: Nested) -> None:
    for part in chain(each, _parts(each)) if isinstance(each, dict) else each:
        if isinstance(part, str) and not can_be_stored(part):
            _refuse("contains U+0000 or a lone surrogate", "text that can be stored", "remove it.")
        if isinstance(part, int) and abs(part) > LARGEST:
            _refuse(*TOO_MANY_BITS)
        if isinstance(part, float) and math.isinf(part):
            _refuse("contains a number that is too large", "numbers that fit into 64-bit floating point", "lower it.")


def _constant(word: str) -> NoReturn:
    _refuse(f"contains {word}", "valid JSON, which has no such value", "leave it out or send null.")


def _refuse(wrong: str, rule: str, fix: str) -> NoReturn:
    raise Unreadable(wrong, rule, fix)


MEGABYTE = 1_000_000
SMALL = 256_000  # bytes: 200 classes of 100 characters and the longest instructions fit, in any encoding
BODY_SECONDS = 30.0  # longest pause within a body
SMALL_SECONDS, LARGE_SECONDS = 60.0, 600.0  # for the whole of a small body, and of an owner's large one
LARGE = {
    re.compile(r"/api/v1/projects/([^/]+)/items"): 32 * MEGABYTE,
    re.compile(r"/api/v1/projects/([^/]+)/uploads"): 6 * MEGABYTE,
    re.compile(r"/p/([^/]+)/import"): 32 * MEGABYTE,
}


class BodyLimit:
    """ASGI middleware: 413 for a body larger than its path allows; large bodies are accepted from owners only."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Count the bytes received; Content-Length is used only to refuse a request early."""
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
    """Receives a request's body and enforces its limits."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self.scope, self._receive = scope, receive
        self.read, self.is_owners, self.is_whole = 0, False, False
        self.waited = 0.0  # seconds spent waiting for the client so far, without the service's own work

    async def receive(self) -> Message:
        if self.is_whole:
            return await self._receive()
        most, begin = LARGE_SECONDS if self.is_owners else SMALL_SECONDS, time.monotonic()
        try:
            message = await asyncio.wait_for(self._receive(), min(BODY_SECONDS, most - self.waited))
        except TimeoutError:
            raise _Refused(_paused() if most - self.waited >= BODY_SECONDS else _too_slow(most)) from None
        self.waited += time.monotonic() - begin
        self.is_whole = not message.get("more_body", False)
        self.read += len(message.get("body", b""))
        await self.check(self.read)
        return message

    async def check(self, num_bytes: int) -> None:
        """Raise unless this request may send this many bytes."""
        if num_bytes <= SMALL:
            return
        most, project_id = largest_body(self.scope["path"])
        if num_bytes > most:
            raise _Refused(_too_large(most, num_bytes))
        if not self.is_owners:
            await _check_owner(self.scope, project_id)
            self.is_owners = True


async def _check_owner(scope: Scope, project_id: str) -> None:
    """Raise unless the caller is an owner of this project.

    Checked as a GET, without the CSRF token: it may be in the form and is checked when the form is read.
    """
    try:
        await as_member(Request({**scope, "method": "GET"}), project_id, "owner")
    except QuorateError as error:
        raise _Refused(error) from error


class _Refused(BaseException):
    """A BaseException, so that it passes the handlers of the app, which would report an unreadable body."""

    def __init__(self, error: QuorateError) -> None:
        super().__init__(str(error))
        self.problem = of_error(error)


def largest_body(path: str) -> tuple[int, str]:
    """How many bytes a request to this path may send, and the project whose owners may send more than SMALL.

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


def _too_large(most: int, num_bytes: int) -> Refusal:
    wrong, rule, value = f"the body has more than {most:,} bytes", f"at most {most} bytes", f"{num_bytes} bytes so far"
    return TooLarge(wrong, "send it in several requests.", field="body", value=value, rule=rule)


def _paused() -> Refusal:
    wrong = f"no more of the body arrived for {BODY_SECONDS:g} s"
    rule = f"a body without a pause of {BODY_SECONDS:g} s"
    return TooSlow(wrong, "send the request again.", field="body", value=f"a pause of {BODY_SECONDS:g} s", rule=rule)


def _too_slow(most: float) -> Refusal:
    wrong, rule = f"the body was not complete after {most:g} s", f"a body that is complete within {most:g} s"
    fix = "send the request again, or in smaller parts."
    return TooSlow(wrong, fix, field="body", value=f"more than {most:g} s", rule=rule)


async def _answer(problem: Problem, scope: Scope, receive: Receive, send: Send) -> None:
    """Send the problem as the app does, and close the connection, because the rest of the body is not read."""
    response = await scope["app"].exception_handlers[Problem](Request(scope), problem)
    response.headers["Connection"] = "close"
    await response(scope, receive, send)
