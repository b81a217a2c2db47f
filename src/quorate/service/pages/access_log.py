"""The access log of a project, for its owners: who was let in, by whom, and what was taken out. Linked from People."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from quorate.service.access.log import lines_of
from quorate.service.access.surroundings import store_of
from quorate.service.api.here import Owner, ProjectId, projects_of
from quorate.service.pages.rendering import render

router = APIRouter(include_in_schema=False)
LINES = 100  # of a page


@router.get("/p/{project_id}/access")
def access_page(request: Request, project_id: ProjectId, caller: Owner, before: int | None = None) -> Response:
    """The newest lines, or those before a line."""
    with store_of(request).read() as connection:
        project = projects_of(request).get_in(connection, project_id)
        found = lines_of(connection, project_id, before=before, limit=LINES + 1)
    lines = found[:LINES]
    shown = {"project": project, "lines": lines, "older": lines[-1].id if len(found) > LINES else None}
    return render(
        request, "access_log.html", me=caller.principal, role=caller.role, tab="people", before=before, **shown
    )
