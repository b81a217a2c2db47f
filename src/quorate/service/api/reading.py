"""Bodies of requests, read with care: valid JSON, nothing in it that a database cannot keep.

`StrictRoute` is the class of every API route: no NaN, no huge numbers, no U+0000, no endless nesting. What is large is
read in a thread, so that other requests go on meanwhile; `body_limit` says how large. Called by every router.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Coroutine, Iterable
from hashlib import sha256
from itertools import chain
from typing import Any, NoReturn

from fastapi import HTTPException, Request, Response
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool

from quorate.service.api.body_limit import SMALL

DEEPEST = 12  # lists and objects within each other
LARGEST = 2**63 - 1
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
            self._json = parsed(raw) if len(raw) <= SMALL else await run_in_threadpool(parsed, raw)
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
            return await handle(StrictRequest(request.scope, request.receive))

        return strict


def parsed(raw: bytes) -> Any:  # noqa: ANN401
    """The value of a JSON text that holds only what every database keeps and every JSON reader reads.

    >>> parsed(b'{"label": "cat"}')
    {'label': 'cat'}
    """
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
