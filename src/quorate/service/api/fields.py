"""Types of the fields that requests and responses share, and the shape of a problem for OpenAPI."""

from __future__ import annotations

import re
from typing import Annotated, Any

from fastapi import Header, Query
from pydantic import AfterValidator, BaseModel, ConfigDict, Field


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
    404: "Not there, or not yours",
    409: "Already done, or an idempotency key used for something else",
    413: "The body is too large",
    415: "Not a type of file that is taken",
    422: "Something in the request breaks a rule",
    429: "Too many requests; the header Retry-After says when to go on",
    501: "Not installed",
    503: "The database cannot take this now; send it again",
}
