"""Lists in pages: an opaque cursor says where the next page begins. Pages do not shift when rows are added.

Called by every router that lists.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Generic, TypeVar

from fastapi import Query
from pydantic import Field

from quorate.service.api.fields import Out
from quorate.service.problems import Problem

MOST = 500
LARGEST = 2**62
Each = TypeVar("Each")
Row = TypeVar("Row")

Cursor = Annotated[str | None, Query(max_length=400, description="`next` of the page before; without it, the first.")]
Limit = Annotated[int, Query(ge=1, le=MOST, description="Rows of a page at most.")]


class Page(Out, Generic[Each]):
    """Some rows, and where the next begin; `next` null: there are no more."""

    items: list[Each]
    next: Annotated[str | None, Field(description="Send it as `cursor` for the next page.")]


def cursor_of(position: int | str) -> str:
    """A position as a cursor.

    >>> after_number(cursor_of(17)), after_name(cursor_of("p_1"))
    (17, 'p_1')
    """
    return urlsafe_b64encode(json.dumps(position).encode()).decode().rstrip("=")


def after_number(cursor: str | None, *, first: int = -1) -> int:
    """The number after which a page begins."""
    value = first if cursor is None else _position(cursor)
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) > LARGEST:
        raise bad_cursor(cursor)
    return value


def after_name(cursor: str | None) -> str:
    """The id after which a page begins."""
    value = "" if cursor is None else _position(cursor)
    if not isinstance(value, str) or not value.isprintable() or len(value) > 200:
        raise bad_cursor(cursor)
    return value


def page(
    rows: Sequence[Row], limit: int, shown: Callable[[Row], Each], position: Callable[[Row], int | str]
) -> dict[str, Any]:
    """A page out of up to `limit` + 1 rows: the last of them only says that there are more."""
    kept = rows[:limit]
    return {"items": [shown(row) for row in kept], "next": cursor_of(position(kept[-1])) if len(rows) > limit else None}


def _position(cursor: str) -> object:
    try:
        return json.loads(urlsafe_b64decode(cursor.encode() + b"=" * (-len(cursor) % 4)))
    except (ValueError, RecursionError):  # wrong base64, wrong UTF-8, wrong JSON
        raise bad_cursor(cursor) from None


def bad_cursor(cursor: str | None) -> Problem:
    """The answer to a cursor that was not given out for this list."""
    return Problem(
        422, "Invalid input", "cursor is none of ours; send `next` as it came.", field="cursor",
        value=(cursor or "")[:80], rule="the value of `next` in a page of this list",
        fix="send `next` as it came, or leave cursor out.",
    )  # fmt: skip
