"""Pages for people: voting, the owner's dashboard, items, settings; no build step, nothing loaded from other hosts.

`app` includes `router` and passes `error_page` to `problems.install`. Pages need a browser's sign-in and refuse API
keys: a key may be for one project only, while pages show everything an account may see; and requests with a key are
exempt from the check of their origin. Programs use the API.
"""

from __future__ import annotations

from fastapi import APIRouter, Depends, Request
from fastapi.routing import APIRoute

from quorate_service.access.principal import has_key
from quorate_service.pages import adjudicate, dashboard, data, entrance, items, people, projects, rendering
from quorate_service.pages.rendering import error_page
from quorate_service.problems import NotAllowed

__all__ = ["error_page", "router"]


async def without_key(request: Request) -> None:
    """Refuse a request with an API key, valid or not, before any other check; a dependency."""
    if has_key(request):
        wrong = "pages are for signed-in browsers; an API key is for the API only"
        rule = "a request for a page with the cookie of a sign-in and without an API key"
        fix = "send the key to /api/v1/..., or open the page in a browser without it."
        raise NotAllowed(wrong, fix, field="Authorization", rule=rule)


router = APIRouter(include_in_schema=False, dependencies=[Depends(without_key)])
for each in (rendering, entrance, dashboard, items, adjudicate, projects, people, data):
    for route in each.router.routes:
        if isinstance(route, APIRoute) and route.methods is not None and "GET" in route.methods:
            route.methods.add("HEAD")  # the server omits the body
    router.include_router(each.router)
