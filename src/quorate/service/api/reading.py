"""Bodies of requests, read with care: valid JSON, nothing in it that a database cannot keep.

`StrictRoute` is the class of every API route: no NaN, no huge numbers, no U+0000, no endless nesting. What is large is
counted before it is read, so that it takes bounded memory, and read and checked in a thread of its own, so that other
requests go on meanwhile; `body_limit` says how large. Called by every router.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from hashlib import sha256
from itertools import chain
from typing import TYPE_CHECKING, Any, NoReturn

from fastapi import HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute

from quorate.service.api.batch_threads import in_batch_thread
from quorate.service.api.body_limit import SMALL

if TYPE_CHECKING:
    from fastapi._compat import ModelField

DEEPEST = 12  # lists and objects within each other
LARGEST = 2**63 - 1
MOST_PARTS = 125_000  # lists and objects in one body: MOST_ITEMS items with 20 predictions each, and some
MOST_VALUES = 2_000_000  # values in one body: MOST_ITEMS items with 400 probabilities each
QUOTED = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)
ODD = re.compile(rb"\\u|[0-9]{19}|[eE]\+?[0-9]{3}")  # only a JSON text with one of these can hold what is refused below
TOO_DEEP = ("is nested too deeply", f"at most {DEEPEST} lists or objects within each other", "send it flatter.")
TOO_MANY_BITS = (
    "holds a whole number of more than 63 bits", "whole numbers of at most 63 bits", "lower it, or send it as text."
)  # fmt: skip


class Unreadable(HTTPException):
    """What is wrong with a body; an error of the framework's kind, as it would hide any other."""

    def __init__(self, wrong: str, rule: str, fix: str) -> None:
        super().__init__(422, f"the body {wrong}; expected {rule}; {fix}")
        self.rule, self.fix = rule, fix


class StrictRequest(Request):
    """A request whose JSON is checked as it is read; `state.content` is the digest of what was sent."""

    async def json(self) -> Any:  # noqa: ANN401
        """The body's JSON, or 422 that says what is wrong with it."""
        if not hasattr(self, "_json"):
            raw = await self.body()
            self._json = parsed(raw) if len(raw) <= SMALL else await in_batch_thread(self, lambda: parsed(raw))
        return self._json

    async def body(self) -> bytes:
        """The body; its digest is kept for idempotency keys."""
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


def _checked(field: ModelField, raw: bytes) -> Any:  # noqa: ANN401
    """A large body as its model. The framework takes it as it is; it would check it while nobody else is served."""
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
    """Refuse a text of more values than a batch can have, before memory is taken for them.

    >>> _check_size(b'{"items": [' + b"{}," * 10 + b"{}]}")
    """
    if raw.count(b"{") + raw.count(b"[") <= MOST_PARTS and raw.count(b",") <= MOST_VALUES:
        return
    bare = QUOTED.sub(b"", raw)  # what is left has brackets and commas of JSON alone
    parts, values = bare.count(b"{") + bare.count(b"["), bare.count(b",")
    if parts > MOST_PARTS or values > MOST_VALUES:
        rule = f"at most {MOST_PARTS} lists and objects and {MOST_VALUES} values in one request"
        _refuse(f"holds {parts} lists and objects and {values} values", rule, "send it in several requests.")


def parsed(raw: bytes) -> Any:  # noqa: ANN401
    """The value of a JSON text that holds only what every database keeps and every JSON reader reads.

    >>> parsed(b'{"label": "cat"}')
    {'label': 'cat'}
    """
    _check_size(raw)
    try:
        value = json.loads(raw.decode(), parse_constant=_constant)
    except RecursionError:
        _refuse(*TOO_DEEP)
    except UnicodeDecodeError:
        _refuse("is not UTF-8", "JSON in UTF-8", "send it so.")
    except json.JSONDecodeError:
        raise
    except ValueError:  # more digits than Python makes a number of
        _refuse(*TOO_MANY_BITS)
    _check_depth(value, looks=ODD.search(raw) is not None)
    return value


def _check_depth(value: Any, *, looks: bool) -> None:  # noqa: ANN401
    """Go down level by level, through lists and objects alone; `looks`: at what they hold, too."""
    level: list[Any] = [[value]]
    for _ in range(DEEPEST + 1):
        if looks:
            for each in level:
                _check_parts(each)
        level = [part for each in level for part in _parts(each) if type(part) in (dict, list)]
        if not level:
            return
    _refuse(*TOO_DEEP)


def _parts(each: Any) -> Iterable[Any]:  # noqa: ANN401
    return each.values() if type(each) is dict else each


def _check_parts(each: Any) -> None:  # noqa: ANN401
    for part in chain(each, _parts(each)) if type(each) is dict else each:
        if isinstance(part, str) and ("\x00" in part or any("\ud800" <= char <= "\udfff" for char in part)):
            _refuse("holds U+0000 or half of a surrogate pair", "text that a database keeps", "remove it.")
        if isinstance(part, int) and abs(part) > LARGEST:
            _refuse(*TOO_MANY_BITS)
        if isinstance(part, float) and math.isinf(part):
            _refuse("holds a number that is too large", "numbers that a computer can hold", "lower it.")


def _constant(word: str) -> NoReturn:
    _refuse(f"holds {word}", "JSON, which has no such word", "leave it out or send null.")


def _refuse(wrong: str, rule: str, fix: str) -> NoReturn:
    raise Unreadable(wrong, rule, fix)
