"""A route for what is called all day: a request that is plainly in order skips FastAPI's general way of reading it.

Such a request has a small JSON body that its model accepts, and an idempotency key as it should be, or none. Everything
else takes the long way, which says what is wrong; both end in the same endpoint. Called by `votes`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from inspect import signature
from typing import Any, get_type_hints

from fastapi import APIRouter, HTTPException, Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, TypeAdapter, ValidationError
from starlette.routing import Match, Route
from starlette.types import Scope

from quorate.service.access.csrf import sent_token
from quorate.service.access.principal import PROJECT_ID, as_member
from quorate.service.access.surroundings import now_of
from quorate.service.api.body_limit import SMALL
from quorate.service.api.fields import KEY
from quorate.service.api.reading import StrictRequest, StrictRoute, parsed

TAKES = {"http", "project_id", "caller", "now", "body", "key"}  # what an endpoint may ask for, under these names


class QuickRoute(StrictRoute):
    """POSTs by owners and voters. An endpoint with a body is a coroutine that takes TAKES and returns a model."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler: the quick way, or the long one."""
        long_way, endpoint = super().get_route_handler(), self.endpoint
        names = set(signature(endpoint).parameters)
        if "body" not in names:
            return long_way
        assert names <= TAKES, f"{self.name} takes {names - TAKES}"
        model: TypeAdapter[Any] = TypeAdapter(get_type_hints(endpoint)["body"])

        async def quick(request: Request) -> Response:
            strict = StrictRequest(request.scope, request.receive)
            read = await _read(strict, model)
            if read is None:
                return await long_way(strict)
            project_id = str(strict.path_params["project_id"])
            caller = await as_member(strict, project_id, "owner", "voter", token=await sent_token(strict))
            read |= {"http": strict, "project_id": project_id, "caller": caller, "now": now_of(strict)}
            answer: BaseModel = await endpoint(**{name: read[name] for name in names})
            return Response(answer.__pydantic_serializer__.to_json(answer), media_type="application/json")

        return quick


async def _read(request: StrictRequest, model: TypeAdapter[Any]) -> dict[str, Any] | None:
    """The body and the key of a request that is in order; None for any other."""
    key = request.headers.get("idempotency-key")
    if (key is not None and not KEY.fullmatch(key)) or not PROJECT_ID.fullmatch(request.path_params["project_id"]):
        return None
    raw = await Request.body(request)  # without the digest, which only the long way needs
    if not raw:
        return None
    if request.headers.get("content-type") != "application/json" or len(raw) > SMALL:
        return None
    try:
        return {"body": model.validate_python(parsed(raw)), "key": key}
    except (ValidationError, HTTPException, json.JSONDecodeError):
        return None


class _Express(Route):
    """A plain route that says which one it is, as FastAPI's routes do: requests are counted by that."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Whether it is for this request."""
        match, found = super().matches(scope)
        return match, {**found, "route": self}


def express(router: APIRouter) -> list[Route]:
    """The router's routes as plain ones, to stand before all others: FastAPI's own are matched several times slower."""
    found: list[Route] = []
    for route in router.routes:
        if isinstance(route, APIRoute):
            plain = _Express(route.path, route.endpoint, methods=list(route.methods or ()), name=route.name)
            plain.app = route.app
            found.append(plain)
    return found
