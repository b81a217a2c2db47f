"""Decisions in pages, and exports of everything: decisions, votes, events, the session's journal, the access log."""

from __future__ import annotations

from contextlib import suppress
from typing import IO, Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import Field

from quorate.service.access.log import lines_of, note
from quorate.service.access.principal import Member
from quorate.service.access.request_context import now_of
from quorate.service.api import exports as export_tables
from quorate.service.api.bodies import StrictRoute
from quorate.service.api.dependencies import Owner, ProjectId, TheProjects, Viewer
from quorate.service.api.exports import MEDIA_TYPES, Format, chunks, spooled, write
from quorate.service.api.fields import Cursor, Limit, Out, Page, Time, after_number, page, problems
from quorate.service.domain.listing import DecisionRow, Filter, decided, list_items
from quorate.service.domain.projects import Projects
from quorate.service.store.store import StoreUnavailable, snapshot
from quorate.validate import broken

router = APIRouter(prefix="/api/v1/projects/{project_id}", tags=["decisions"], route_class=StrictRoute)

What = Literal["decisions", "votes", "events", "journal"]
Kept = What | Literal["access-log"]
TABLES = {"votes": export_tables.votes, "events": export_tables.events, "access-log": export_tables.log}


class DecisionOut(Out):
    """A closed item, with the columns of `quorate run`."""

    item: str
    consensus_label: str
    confidence: float
    num_votes: Annotated[int, Field(description="Votes the answer rests on.")]
    agreement: Annotated[float | None, Field(description="Share of them that are for the answer.")]
    stop_reason: str
    cost: Annotated[
        float,
        Field(
            description="What its votes cost, late ones too, at the price when each was cast; votes if all were free."
        ),
    ]
    pool_size: int
    audited: bool
    probs: Annotated[dict[str, float], Field(description="Who wins the pool, by class.")]
    closed: Time


@router.get("/decisions", summary="List decisions", responses=problems(403, 404))
def list_project_decisions(
    project_id: ProjectId, _caller: Viewer, projects_: TheProjects, cursor: Cursor = None, limit: Limit = 100
) -> Page[DecisionOut]:
    """Closed items in the order in which they came. Every item that was closed when the first page was read, and still
    is when its page is, is there once. Those that close meanwhile may be missing: webhooks tell of each."""
    after = after_number(cursor)
    with projects_.store.read() as connection:
        project = projects_.get_in(connection, project_id)
        rows = list_items(connection, project_id, Filter("closed"), after=after, limit=limit + 1)
        found = list(zip(decided(projects_, connection, project, rows), rows, strict=True))
    classes = project.settings.classes
    return Page[DecisionOut](**page(found, limit, lambda each: _shown(each[0], classes), lambda each: each[1].number))


def _shown(closed: DecisionRow, classes: tuple[str, ...]) -> DecisionOut:
    values: dict[str, Any] = {name: getattr(closed, name) for name in DecisionOut.model_fields if name != "probs"}
    return DecisionOut(**values, probs=dict(zip(classes, closed.probs, strict=True)))


@router.get(
    "/export",
    summary="Export a project",
    response_class=Response,
    responses={
        200: {"description": "A file", "content": {kind.partition(";")[0]: {} for kind in MEDIA_TYPES.values()}},
        **problems(403, 404),
    },
)
def export(
    request: Request,
    project_id: ProjectId,
    caller: Viewer,
    projects_: TheProjects,
    what: Annotated[
        What, Query(description="The journal is JSON lines that `quorate.Session.resume` reads.")
    ] = "decisions",
    format_: Annotated[Format | None, Query(alias="format", description="json, if nothing is said.")] = None,
) -> Response:
    """Of one moment, however long it takes to read; one at a time for each account. In CSV, text that looks like a
    formula gets an apostrophe. Votes: every act once; `label` is what stands, `cast_label` what was chosen, also of a
    vote that was taken back (`retracted`); `late`: cast when the item was closed."""
    if what == "journal" and format_ not in (None, "jsonl"):
        raise broken("format", format_, "'jsonl' for a journal", "leave it out.")
    chosen: Format = format_ or ("jsonl" if what == "journal" else "json")
    return _sent(request, projects_, project_id, caller, what, chosen)


def _sent(
    request: Request, projects_: Projects, project_id: str, caller: Member, what: Kept, chosen: Format
) -> Response:
    """The file; that it was taken out is in the access log. A full disk keeps nobody from saving their data."""
    me = caller.principal.account_id
    with request.app.state.export_slots.taken(me):
        with suppress(StoreUnavailable), projects_.store.write() as connection:
            told = {"what": what, "format": chosen}
            note(connection, "export", project_id=project_id, account_id=me, by=me, now=now_of(request), **told)
        file = exported(projects_, project_id, what, chosen)
    headers = {"Content-Disposition": f'attachment; filename="{what}.{chosen}"', "Content-Length": str(file.tell())}
    return StreamingResponse(chunks(file), headers=headers, media_type=MEDIA_TYPES[chosen])


class LineOut(Out):
    """A line of the access log."""

    id: int
    time: Time
    kind: str
    account_id: Annotated[str | None, Field(description="Who it is about; null: nobody in particular.")]
    account_name: str | None
    made_by: Annotated[str | None, Field(description="The account that did it; null: the operator.")]
    made_by_name: str | None
    details: Annotated[dict[str, Any], Field(description="What else is known; depends on the kind.")]


@router.get("/access-log", summary="Read the access log", responses=problems(403, 404), tags=["people"])
def read_access_log(
    project_id: ProjectId, _caller: Owner, projects_: TheProjects, cursor: Cursor = None, limit: Limit = 100
) -> Page[LineOut]:
    """Sign-ins, roles, keys, links, invitations, exports, settings and webhooks, the newest first. It cannot be
    changed."""
    before = None if cursor is None else after_number(cursor)
    with projects_.store.read() as connection:
        found = lines_of(connection, project_id, before=before, limit=limit + 1)
    return Page[LineOut](**page(found, limit, LineOut.model_validate, lambda each: each.id))


@router.get(
    "/access-log/export",
    summary="Export the access log",
    response_class=Response,
    responses={
        200: {"description": "A file", "content": {kind.partition(";")[0]: {} for kind in MEDIA_TYPES.values()}},
        **problems(403, 404),
    },
    tags=["people"],
)
def export_access_log(
    request: Request, project_id: ProjectId, caller: Owner, projects_: TheProjects,
    format_: Annotated[Format, Query(alias="format")] = "json",
) -> Response:  # fmt: skip
    """All of it, the oldest line first; this export is its last line."""
    return _sent(request, projects_, project_id, caller, "access-log", format_)


def exported(projects_: Projects, project_id: str, what: Kept, format_: Format) -> IO[bytes]:
    """The export as a file, written to its end; whoever takes it closes it."""
    file = spooled()
    try:
        with snapshot(projects_.store) as connection:
            project = projects_.get_in(connection, project_id)
            if what == "journal":
                file.writelines(export_tables.journal(connection, project))
            elif what == "decisions":
                write(export_tables.decisions(projects_, connection, project), format_, file)
            else:
                write(TABLES[what](connection, project), format_, file)
    except BaseException:
        file.close()
        raise
    return file
