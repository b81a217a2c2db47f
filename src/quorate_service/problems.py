"""Turns every error into a response of type application/problem+json, with field, value, rule and fix.

`install(app)`, called by `app`, handles `Problem` (raised by endpoints and dependencies), the library's errors,
requests that do not match the specification, and unexpected exceptions, whose details are logged and not sent.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import DataError
from sqlalchemy.exc import TimeoutError as NoConnection
from starlette.exceptions import HTTPException
from starlette.routing import Match

from quorate.errors import (
    DuplicateVote,
    InvalidInput,
    ItemExists,
    MissingExtra,
    QuorateError,
    RequestReused,
    UnknownItem,
)
from quorate_service.access.request_context import security_headers
from quorate_service.pydantic_errors import complaints, quoted
from quorate_service.store import StoreUnavailable

log = logging.getLogger("quorate_service")

MEDIA_TYPE = "application/problem+json"
LONGEST_DETAIL = 2000
SECRET_PATHS = ("/link/", "/join/")  # the rest of the path is a secret that signs somebody in
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
BUSY = ("Database unavailable", "all connections to the database are in use; send this again.")


class NotFound(InvalidInput):
    """No account, member, key or invitation with this id that the caller may see."""


class Outdated(InvalidInput):
    """A change based on something that somebody else has changed meanwhile."""


class Refusal(QuorateError):
    """A valid request that is refused; carries what is wrong, for people to read, and what to do."""

    def __init__(self, wrong: str, fix: str, *, field: str, rule: str, value: object = None) -> None:
        super().__init__(
            f"{wrong[:1].upper()}{wrong[1:]}. {fix[:1].upper()}{fix[1:]}", field=field, value=value, rule=rule, fix=fix
        )


class NotSignedIn(Refusal):
    """Nobody is signed in, or the key is not valid."""


class NotAllowed(Refusal):
    """The caller is signed in but may not do this."""


class NotOurPage(Refusal):
    """A request with a cookie that was not sent by one of our pages."""


class TooLarge(Refusal):
    """More bytes than the limit."""


class TooSlow(Refusal):
    """The body did not arrive in time."""


class TooMany(Refusal):
    """Too many requests; the next one is accepted after `retry_after` seconds."""

    def __init__(self, wrong: str, rule: str, *, retry_after: float) -> None:
        self.retry_after = retry_after
        wait = f"wait {whole_seconds(retry_after)} s, then send this again."
        super().__init__(wrong, wait, field="request", rule=rule)


class UnknownLink(Refusal):
    """No link or invitation has this token."""

    def __init__(self, wrong: str, fix: str) -> None:
        super().__init__(wrong, fix, field="link", rule="a link that this service made")


class LinkOver(Refusal):
    """The link or invitation was used up, has expired or was revoked."""

    def __init__(self, wrong: str, fix: str) -> None:
        super().__init__(wrong, fix, field="link", rule="a link that can still be used")


STATUSES: dict[type[QuorateError], tuple[int, str]] = {  # the first match in an error's class hierarchy applies
    StoreUnavailable: (503, "Database unavailable"),
    UnknownItem: (404, "Not found"),
    NotFound: (404, "Not found"),
    UnknownLink: (404, "No such link"),
    LinkOver: (410, "Link no longer valid"),
    NotSignedIn: (401, "Not signed in"),
    NotAllowed: (403, "Not allowed"),
    NotOurPage: (403, "Not from our page"),
    TooSlow: (408, "Too slow"),
    TooLarge: (413, "Too large"),
    TooMany: (429, "Too many requests"),
    ItemExists: (409, "Already exists"),
    DuplicateVote: (409, "Already voted"),
    Outdated: (409, "Changed meanwhile"),
    RequestReused: (409, "Idempotency key used for something else"),
    MissingExtra: (501, "Not installed"),
    InvalidInput: (422, "Invalid input"),
}
Page = Callable[[Request, dict[str, Any]], Response | None]


class Problem(HTTPException):
    """An error response: raise it from an endpoint, a dependency or, while the body is read, middleware.

    Errors of the caller (status below 500) name field, value, rule and fix; `value` is None if nothing was sent or
    if it is a secret.

    >>> Problem(503, "Not ready", "the database is away").body()
    {'type': 'about:blank', 'title': 'Not ready', 'status': 503, 'detail': 'the database is away'}
    """

    def __init__(
        self,
        status: int,
        title: str,
        detail: str,
        field: str | None = None,
        value: object = None,
        rule: str | None = None,
        fix: str | None = None,
        headers: Mapping[str, str] | None = None,
        errors: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        super().__init__(status, detail)
        self.status, self.title = status, title
        self.field, self.value, self.rule, self.fix = field, value, rule, fix
        self.headers: dict[str, str] = dict(headers or {})
        self.errors = [dict(error) for error in errors]

    def body(self) -> dict[str, Any]:
        """The members of the response; errors of the service (500 and above) leave out those that are None."""
        whole = {"type": "about:blank", "title": self.title, "status": self.status, "detail": self.detail}
        four = {"field": self.field, "value": self.value, "rule": self.rule, "fix": self.fix}
        if self.status >= 500:
            four = {name: value for name, value in four.items() if value is not None}
        return whole | four | ({"errors": self.errors} if self.errors else {})


def install(app: FastAPI, *, page: Page | None = None) -> None:
    """Handle every error of this app as a problem; `page` may return an HTML page for browsers, or None for JSON."""

    def answer(request: Request, problem: Problem, extra: Mapping[str, str] | None = None) -> Response:
        body = problem.body()
        response = page(request, body) if page is not None else None
        if response is None:
            # ASCII only: text quoted from a request may contain lone surrogates, which cannot be encoded
            response = Response(json.dumps(body, default=repr), problem.status, media_type=MEDIA_TYPE)
        response.headers.update({**(extra or {}), **problem.headers, "Cache-Control": "no-store"})
        return response

    def on(kind: type[Exception], meaning: Callable[[Any], Problem]) -> None:
        async def handle(request: Request, error: Exception) -> Response:
            return answer(request, meaning(error))

        app.add_exception_handler(kind, handle)

    async def of_framework(request: Request, error: Exception) -> Response:
        refused = cast(HTTPException, error)
        return answer(request, of_http(refused, request))

    async def unexpected(request: Request, error: Exception) -> Response:
        log.error("%s %s failed", request.method, request.url.path, exc_info=error)
        return answer(request, INTERNAL, security_headers(request.scope))  # no middleware adds headers to this one

    on(Problem, lambda problem: problem)
    on(QuorateError, of_error)
    on(RequestValidationError, of_request)
    app.add_exception_handler(HTTPException, of_framework)
    on(DataError, lambda _: UNKEEPABLE)
    on(UnicodeEncodeError, lambda _: UNKEEPABLE)
    on(OverflowError, of_overflow)
    on(NoConnection, lambda _: Problem(503, *BUSY, headers={"Retry-After": "1"}))
    app.add_exception_handler(Exception, unexpected)


INTERNAL = Problem(
    500,
    "Internal error",
    "the service failed; the reason is in its log. Send this again with the same idempotency key.",
)
UNKEEPABLE = Problem(
    422,
    "Invalid input",
    "a text contains a character that cannot be stored (U+0000 or a lone surrogate), or a number is too large.",
    field="request",
    rule="text without U+0000 and without lone surrogates; numbers of at most 64 bits",
    fix="remove the character, or lower the number",
)


def of_error(error: QuorateError) -> Problem:
    """The problem for one of the library's errors.

    >>> from quorate.validate import invalid
    >>> of_error(invalid("pool_size", 0, "a whole number >= 1", "raise it.")).body()["rule"]
    'a whole number >= 1'
    """
    kind = next((kind for kind in type(error).__mro__ if kind in STATUSES), None)
    if kind is None:
        log.error("internal error", exc_info=error)
        return INTERNAL
    status, title = STATUSES[kind]
    headers = {"WWW-Authenticate": "Bearer"} if isinstance(error, NotSignedIn) else {}
    if isinstance(error, (StoreUnavailable, TooMany)):
        headers = {"Retry-After": whole_seconds(error.retry_after)}
    four = parts(error) if status < 500 else {}
    return Problem(status, title, str(error)[:LONGEST_DETAIL], headers=headers, **four)


def parts(error: QuorateError) -> dict[str, Any]:
    """Field, value, rule and fix of an error; if it has no rule, its message is the rule.

    >>> parts(InvalidInput("the pool is empty"))["rule"]
    'the pool is empty'
    """
    return {
        "field": error.field or "request",
        "value": quoted(error.value),
        "rule": error.rule or str(error) or "valid",
        "fix": error.fix or "Change the request so that it follows the rule.",
    }


def of_overflow(error: OverflowError) -> Problem:
    """A whole number too large for SQLite is the caller's error; any other overflow is an internal error."""
    if "SQLite INTEGER" in str(error):
        return UNKEEPABLE
    log.error("numeric overflow", exc_info=error)
    return INTERNAL


def of_request(error: RequestValidationError) -> Problem:
    """The problem of a request that does not match the specification: the first complaint, and a list of all."""
    listed = complaints(error.errors())
    first = listed[0]
    detail = f"{first['field']}: {first['rule']}. {first['fix']}"
    return Problem(422, "Invalid input", detail, **first, errors=listed if len(listed) > 1 else ())


def methods_of(request: Request) -> str:
    """All methods allowed at this address: the framework knows only those of the first matching route."""
    routes = request.app.routes
    taken = [
        method
        for method in METHODS
        if any(route.matches({**request.scope, "method": method})[0] is Match.FULL for route in routes)
    ]
    return ", ".join(taken)


def of_http(error: HTTPException, request: Request) -> Problem:
    """The problem for an error of the framework: no such path, method not allowed, unreadable body."""
    title = error.detail if isinstance(error.detail, str) else "Error"
    if title == "Not Found":
        return nothing_here(request.url.path)
    if title == "Method Not Allowed":
        methods = methods_of(request)
        taken = methods or "another one"
        detail = f"this address does not allow that method; it allows {taken}."
        four: dict[str, Any] = {"field": "method", "value": request.method, "rule": taken, "fix": f"Use {taken}."}
        headers = {**(error.headers or {}), **({"Allow": methods} if methods else {})}
        return Problem(405, "Method not allowed", detail, headers=headers, **four)
    rule, fix = "a body that matches its Content-Type", "check what was sent, and send it again."
    kind = "Invalid input" if error.status_code in (400, 422) else title
    return Problem(error.status_code, kind, title, field="body", rule=rule, fix=fix, headers=error.headers)


def nothing_here(path: str) -> Problem:
    """The problem of an address that does not exist."""
    is_secret = path.startswith(SECRET_PATHS)
    return Problem(
        404, "Not found", "there is nothing at this address; check its spelling.", field="path",
        value=None if is_secret else quoted(path), rule="an address of this service (the API's: /api/v1/openapi.json)",
        fix="check its spelling.",
    )  # fmt: skip


def whole_seconds(seconds: float) -> str:
    """The value of the header Retry-After: at least 1.

    >>> whole_seconds(0.2), whole_seconds(2.5)
    ('1', '3')
    """
    return str(max(1, math.ceil(seconds)))
