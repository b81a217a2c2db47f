"""What endpoints depend on: the projects, the store and the time of a request, and who is calling in which role.

`Owner`, `Viewer` (owner or reader), `Voter` (owner or voter) and `Anyone` are the only ways into a project. Called by
every router.
"""

from __future__ import annotations

import re
from typing import Annotated, cast

from fastapi import Depends, Path, Request

from quorate.service.access.principal import Member, Principal, creator, current, member, unrestricted
from quorate.service.access.request_context import config_of, is_secure, now_of, store_of
from quorate.service.domain.projects import Projects
from quorate.service.problems import Problem
from quorate.service.store.store import Store

HOST = re.compile(r"[A-Za-z0-9.\-_\[\]:]{1,255}")


def projects_of(request: Request) -> Projects:
    """The projects of the app this request came to."""
    return cast(Projects, request.app.state.projects)


def base_url_of(request: Request) -> str:
    """Where browsers find the service: as configured, else as this request says."""
    given = config_of(request.scope).base_url
    if given is not None:
        return given
    host = request.headers.get("host", "")
    if not HOST.fullmatch(host):
        raise Problem(
            422, "Invalid input", "the header Host names no host; set the service's base URL.", field="Host",
            value=host[:80], rule="the name of a host, and a port if need be", fix="Set the service's base URL.",
        )  # fmt: skip
    return f"{'https' if is_secure(request.scope) else 'http'}://{host}"


async def _the_store(request: Request) -> Store:
    return store_of(request)


async def _the_projects(request: Request) -> Projects:
    return projects_of(request)


async def _the_time(request: Request) -> float:
    return now_of(request)


# these wait for nothing, hence are coroutines: a plain function would be sent to a thread
ProjectId = Annotated[str, Path(description="The project's id.", examples=["p_0123456789abcdef"], max_length=40)]
TheStore = Annotated[Store, Depends(_the_store)]
TheProjects = Annotated[Projects, Depends(_the_projects)]
Now = Annotated[float, Depends(_the_time)]

Caller = Annotated[Principal, Depends(current)]
Creator = Annotated[Principal, Depends(creator)]
Unrestricted = Annotated[Principal, Depends(unrestricted)]
Owner = Annotated[Member, Depends(member("owner"))]
Viewer = Annotated[Member, Depends(member("owner", "reader"))]
Voter = Annotated[Member, Depends(member("owner", "voter"))]
Anyone = Annotated[Member, Depends(member())]
