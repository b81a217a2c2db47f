"""The access log of a project, for its owners: who was let in, by whom, and what was taken out. Linked from People."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response
from sqlalchemy import Connection, select

from quorate.service.access.log import Line, lines_of, owner_of_link
from quorate.service.access.request_context import store_of
from quorate.service.api.dependencies import Owner, ProjectId, projects_of
from quorate.service.pages.rendering import render
from quorate.service.store.schema import accounts

router = APIRouter(include_in_schema=False)
LINES = 100  # of a page


@router.get("/p/{project_id}/access")
def access_page(request: Request, project_id: ProjectId, caller: Owner, before: int | None = None) -> Response:
    """The newest lines, or those before a line."""
    with store_of(request).read() as connection:
        project = projects_of(request).get_in(connection, project_id)
        found = lines_of(connection, project_id, before=before, limit=LINES + 1)
        owners = _link_makers(connection, found)
    lines = found[:LINES]
    shown: dict[str, Any] = {"project": project, "lines": lines, "owners": owners}
    shown["older"] = lines[-1].id if len(found) > LINES else None
    return render(
        request, "access_log.html", me=caller.principal, role=caller.role, tab="people", before=before, **shown
    )


def _link_makers(connection: Connection, lines: list[Line]) -> dict[str, str]:
    """By how somebody was signed in: the name of the owner who made the link."""
    ways = {line.details["how"] for line in lines if "how" in line.details}
    makers = {way: owner for way in ways if (owner := owner_of_link(way))}
    query = select(accounts.c.id, accounts.c.name).where(accounts.c.id.in_(makers.values()))
    names = {row.id: row.name for row in connection.execute(query)}
    return {way: names[owner] for way, owner in makers.items() if owner in names}
