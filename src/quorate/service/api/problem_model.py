"""What a problem looks like, for OpenAPI; the answers themselves are made by `service.problems`."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


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
