"""The OpenAPI description, completed: tags, problem+json for every error, nothing that only pages use. By `app`."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from quorate.service.problems import MEDIA_TYPE

TAGS = [
    {"name": "projects", "description": "What is decided, by whom and by which rule."},
    {"name": "items", "description": "What is voted on, and the trail of every decision."},
    {"name": "voting", "description": "The next item, votes, undo. Voters see nothing that could sway them."},
    {"name": "decisions", "description": "Answers and exports."},
    {"name": "numbers", "description": "Audit, dashboard, what was learned."},
    {"name": "people", "description": "Members, invitations, API keys."},
    {"name": "uploads", "description": "Images to vote on."},
    {"name": "webhooks", "description": "Who is told when something happens."},
    {"name": "health", "description": "For supervisors and Prometheus."},
]
DESCRIPTION = """
Send an API key: `Authorization: Bearer qk_...`. Every write takes an `Idempotency-Key`, except `/next`, `/leave`,
`/report-image`, `/clear` and `/sign-out`, which may be repeated without one. Lists are paged: send `next` of the
answer as `cursor`. Errors are
`application/problem+json` with field, value, rule and fix.
"""


def described(app: FastAPI) -> None:
    """Let `app.openapi()` give the completed description."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            found = get_openapi(
                title=app.title, version=app.version, summary=app.summary, description=DESCRIPTION, routes=app.routes,
                tags=TAGS,
            )  # fmt: skip
            app.openapi_schema = _with_problems(found)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def _with_problems(found: dict[str, Any]) -> dict[str, Any]:
    """Errors have a media type of their own, which FastAPI does not know of."""
    for path in found["paths"].values():
        for operation in path.values():
            for status, response in operation.get("responses", {}).items():
                content = response.get("content", {})
                if status >= "400" and "application/json" in content:
                    response["content"] = {MEDIA_TYPE: content["application/json"]}
    return found
