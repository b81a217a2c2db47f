"""Pages for people: voting, the owner's dashboard, items, settings; no build step, nothing loaded from elsewhere.

`app` includes `router` and hands `error_page` to `problems.install`. Only a browser's sign-in opens pages, no API key:
a key may be for one project only, while pages show and change all that an account may; and requests with a key are
exempt from the checks against forgery. Programs use the API.
"""

from __future__ import annotations

from fastapi import APIRouter, Depends, Request
from fastapi.routing import APIRoute

from quorate.service.access.principal import has_key
from quorate.service.pages import (
    adjudication,
    dashboard,
    data,
    entrance,
    items,
    people,
    projects,
    rendering,
)
from quorate.service.pages.rendering import error_page
from quorate.service.problems import NotAllowed

__all__ = ["error_page", "router"]


async def without_key(request: Request) -> None:
    """Refuse a request that carries an API key, valid or not, before anything else is looked at; a dependency."""
    if has_key(request):
        wrong = "pages are for browsers that are signed in; an API key opens the API only"
        rule = "a request for a page carries the cookie of a sign-in, and no API key"
        fix = "send the key to /api/v1/..., or open the page in a browser without it."
        raise NotAllowed(wrong, fix, field="Authorization", rule=rule)


router = APIRouter(include_in_schema=False, dependencies=[Depends(without_key)])
for each in (rendering, entrance, dashboard, items, projects, people, data, adjudication):
    for route in each.router.routes:
        if isinstance(route, APIRoute) and route.methods is not None and "GET" in route.methods:
            route.methods.add("HEAD")  # the server leaves the body out
    router.include_router(each.router)
