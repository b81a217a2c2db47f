"""Types that requests and responses share: fields, pages of lists with an opaque cursor, problems for OpenAPI."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Generic, TypeVar

from fastapi import Depends, Header, Query, Response
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from quorate.errors import InvalidInput
from quorate.validate import invalid

MOST_NAMES = 1000  # in an object of a request
MEANINGS = {
    400: "The request cannot be read",
    401: "Nobody is signed in, or the key is not valid",
    403: "Not allowed for this role",
    404: "Not found, or not visible to the caller",
    409: "Already done, or an idempotency key used for something else",
    413: "The body is too large",
    415: "Unsupported type of file",
    422: "Invalid input",
    429: "Too many requests; the header Retry-After says when to continue",
    501: "Not installed",
    503: "Database unavailable; send the request again",
}
MOST = 500
LARGEST = 2**62
NOTHING: dict[str, Any] = {"status_code": 204, "response_class": Response}  # for endpoints without a response body


class Complaint(BaseModel):
    """One of several errors."""

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
    field: str | None = Field(None, description="The invalid part of the request.")
    value: Any = Field(None, description="Its value.")
    rule: str | None = Field(None, description="What it should be.")
    fix: str | None = Field(None, description="What to do.")
    errors: list[Complaint] = Field(default=[], description="Every complaint, if there are several.")


def printable(text: str) -> str:
    """The text, if all characters are printable and it has no surrounding spaces."""
    if not text.isprintable() or text != text.strip():
        raise ValueError("should have printable characters only, and no surrounding spaces")
    return text


Text = Annotated[str, Field(pattern=r"^[^\x00]*$")]  # databases do not store U+0000; pydantic refuses lone surrogates
ItemId = Annotated[str, Field(min_length=1, max_length=200, examples=["scan-0017"]), AfterValidator(printable)]
ItemQuery = Annotated[
    str,
    Query(alias="id", min_length=1, max_length=200, description="The item's id.", examples=["scan-0017"]),
    AfterValidator(printable),
]
OutsideVoter = Annotated[str, Field(min_length=1, max_length=56), AfterValidator(printable)]
Time = Annotated[float, Field(description="Seconds since 1970.", examples=[1731718800.0])]
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=200,
        pattern=r"^[\x21-\x7e]+$",
        description="A request sent again with the same key is performed once and gets the same response.",
    ),
]


class In(BaseModel):
    """Base of request bodies: unknown names are refused, and values are not converted."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _few_names(cls, sent: object) -> object:
        """Pydantic would report every invalid name, which takes seconds if there are a million."""
        for part in (sent, *sent.values()) if isinstance(sent, dict) else ():
            if isinstance(part, dict) and len(part) > MOST_NAMES:
                raise ValueError(f"expected at most {MOST_NAMES} names in an object")
        return sent


class Out(BaseModel):
    """Base of response bodies."""

    model_config = ConfigDict(from_attributes=True)


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The errors an endpoint may return, for OpenAPI, plus those common to all endpoints."""
    every = {400, 401, 413, 422, 429, 503, *statuses}
    return {status: {"model": ProblemOut, "description": MEANINGS[status]} for status in sorted(every)}


Each = TypeVar("Each")

Cursor = Annotated[str | None, Query(max_length=400, description="`next` of the page before; default: the first page.")]
Limit = Annotated[int, Query(ge=1, le=MOST, description="Maximum number of rows.")]


class Page(Out, Generic[Each]):
    """Some rows, and the cursor of the next page; `next` null: there are no more."""

    items: list[Each]
    next: Annotated[str | None, Field(description="Send it as `cursor` for the next page.")]


@dataclass(frozen=True, slots=True)
class Paging:
    """The requested page of a list: rows after a position, up to a limit."""

    cursor: str | None
    limit: int

    @property
    def most(self) -> int:
        """Rows to read: one more than are returned, to know whether there are more."""
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
        """The page out of up to `most` rows; `place` gives a row's position. The endpoint's type selects the fields."""
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
    """The error for a cursor that does not belong to this list."""
    rule = "the value of `next` in a page of this list"
    return invalid("cursor", (cursor or "")[:80], rule, "send `next` unchanged, or leave cursor out.")
