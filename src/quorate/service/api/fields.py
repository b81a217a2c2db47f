"""Types that requests and responses share: fields, pages of lists with an opaque cursor, problems for OpenAPI."""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Generic, TypeVar

from fastapi import Depends, Header, Query, Response
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from quorate.errors import InvalidInput
from quorate.validate import broken


class Complaint(BaseModel):
    """One of several things that are wrong."""

    field: str
    value: Any = None
    rule: str
    fix: str


class ProblemOut(BaseModel):
    """An error, as application/problem+json."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "type": "about:blank", "title": "Invalid input", "status": 422,
                    "detail": "pool_size=0; expected a whole number >= 1; raise it.", "field": "pool_size",
                    "value": "0", "rule": "a whole number >= 1", "fix": "raise it.",
                }
            ]
        }
    )  # fmt: skip

    type: str
    title: str
    status: int
    detail: str
    field: str | None = Field(None, description="What of the request is wrong.")
    value: Any = Field(None, description="What it was.")
    rule: str | None = Field(None, description="What it should be.")
    fix: str | None = Field(None, description="What to do about it.")
    errors: list[Complaint] = Field(default=[], description="Every complaint, if there are several.")


def keepable(text: str) -> str:
    """The text, if every database keeps it.

    >>> keepable("cat")
    'cat'
    """
    if "\x00" in text or any("\ud800" <= char <= "\udfff" for char in text):
        raise ValueError("holds U+0000 or half of a surrogate pair, which no database keeps")
    return text


def printable(text: str) -> str:
    """The text, if all of it can be seen and nothing stands around it."""
    if not text.isprintable() or text != text.strip():
        raise ValueError("should have printable characters only, and no spaces around")
    return text


Text = Annotated[str, AfterValidator(keepable)]
ItemId = Annotated[str, Field(min_length=1, max_length=200, examples=["scan-0017"]), AfterValidator(printable)]
ItemQuery = Annotated[
    str,
    Query(alias="id", min_length=1, max_length=200, description="The item's id.", examples=["scan-0017"]),
    AfterValidator(printable),
]
OutsideVoter = Annotated[str, Field(min_length=1, max_length=56), AfterValidator(printable)]
Time = Annotated[float, Field(description="Seconds since 1970.", examples=[1731718800.0])]
KEY = re.compile(r"[\x21-\x7e]{1,200}")
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=200,
        pattern=r"^[\x21-\x7e]+$",
        description="Sent again with the same key, a request is carried out once and answered as the first time.",
    ),
]


class In(BaseModel):
    """What a request sends: unknown names are refused, and nothing is converted in silence."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class Out(BaseModel):
    """What an answer holds."""

    model_config = ConfigDict(from_attributes=True)


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The problems an endpoint may answer with, for OpenAPI; those every endpoint has are added."""
    every = {401, 413, 422, 429, 503, *statuses}
    return {status: {"model": ProblemOut, "description": MEANINGS[status]} for status in sorted(every)}


MEANINGS = {
    400: "The request cannot be read",
    401: "Nobody is signed in, or the key is not valid",
    403: "Not allowed for this role",
    404: "Not found, or not visible to the caller",
    409: "Already done, or an idempotency key used for something else",
    413: "The body is too large",
    415: "Not a type of file that is taken",
    422: "Something in the request breaks a rule",
    429: "Too many requests; the header Retry-After says when to continue",
    501: "Not installed",
    503: "The database cannot take this now; send it again",
}


MOST = 500
LARGEST = 2**62
Each = TypeVar("Each")
NOTHING: dict[str, Any] = {"status_code": 204, "response_class": Response}  # of endpoints that answer with nothing

Cursor = Annotated[str | None, Query(max_length=400, description="`next` of the page before; without it, the first.")]
Limit = Annotated[int, Query(ge=1, le=MOST, description="Rows of a page at most.")]


class Page(Out, Generic[Each]):
    """Some rows, and where the next begin; `next` null: there are no more."""

    items: list[Each]
    next: Annotated[str | None, Field(description="Send it as `cursor` for the next page.")]


@dataclass(frozen=True, slots=True)
class Paging:
    """Which page of a list is asked for: those after a place, up to a limit."""

    cursor: str | None
    limit: int

    @property
    def most(self) -> int:
        """Rows to look for: one more than are answered with, to say whether there are more."""
        return self.limit + 1

    def number(self, first: int = -1) -> int:
        """The number after which the page begins."""
        value = first if self.cursor is None else _position(self.cursor)
        if not isinstance(value, int) or isinstance(value, bool) or abs(value) > LARGEST:
            raise bad_cursor(self.cursor)
        return value

    @property
    def name(self) -> str:
        """The id after which the page begins."""
        value = "" if self.cursor is None else _position(self.cursor)
        if not isinstance(value, str) or not value.isprintable() or len(value) > 200:
            raise bad_cursor(self.cursor)
        return value

    def page(self, rows: Sequence[Each], place: Callable[[Each], int | str]) -> Page[Any]:
        """The page out of up to `most` rows, each at a `place`; the endpoint's type says what is told of each."""
        kept = rows[: self.limit]
        return Page(items=list(kept), next=cursor_of(place(kept[-1])) if len(rows) > self.limit else None)


async def _paging(cursor: Cursor = None, limit: Limit = 100) -> Paging:
    return Paging(cursor, limit)


Wanted = Annotated[Paging, Depends(_paging)]


def cursor_of(position: int | str) -> str:
    """A position as a cursor.

    >>> Paging(cursor_of(17), 9).number(), Paging(cursor_of("p_1"), 9).name
    (17, 'p_1')
    """
    return urlsafe_b64encode(json.dumps(position).encode()).decode().rstrip("=")


def _position(cursor: str) -> object:
    try:
        return json.loads(urlsafe_b64decode(cursor.encode() + b"=" * (-len(cursor) % 4)))
    except (ValueError, RecursionError):  # wrong base64, wrong UTF-8, wrong JSON
        raise bad_cursor(cursor) from None


def bad_cursor(cursor: str | None) -> InvalidInput:
    """The answer to a cursor that was not given out for this list."""
    rule = "the value of `next` in a page of this list"
    return broken("cursor", (cursor or "")[:80], rule, "send `next` as it came, or leave cursor out.")
