"""What owners do with open items, and the record of all that owners did."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Request, Response
from pydantic import Field

from quorate.service.access.request_context import now_of
from quorate.service.api.bodies import StrictRoute
from quorate.service.api.dependencies import Owner, ProjectId, TheProjects, Viewer
from quorate.service.api.fields import Cursor, In, ItemId, Key, Limit, Out, Page, Time, after_number, page, problems
from quorate.service.api.idempotency import Work, carried_out, carried_out_in_parts
from quorate.service.domain.events import list_actions
from quorate.service.domain.open_items import change_pool, close_open, restore, withdraw
from quorate.service.domain.projects import Projects

router = APIRouter(prefix="/api/v1/projects/{project_id}", tags=["items"], route_class=StrictRoute)


class PoolIn(In):
    """The pool that items which still ask shall have: all of them, or those named."""

    pool_size: Annotated[int, Field(ge=1, le=10**9)]
    items: Annotated[list[ItemId] | None, Field(min_length=1, max_length=1000)] = None


class PoolOut(Out):
    """How many items have the new pool, how many of them closed by it, and how many cannot have it."""

    changed: int
    closed: int
    kept: int


class ClosedOut(Out):
    """How many items were closed."""

    closed: int


class WhichIn(In):
    """Which item."""

    id: ItemId


class WithdrawnOut(Out):
    """Whether the item is withdrawn now."""

    id: str
    withdrawn: bool


class ActionOut(Out):
    """One thing an owner did. `who`: the account, empty where it is not known; `item`: null if it is of the project."""

    id: int
    time: Time
    who: str
    kind: str
    item: str | None
    body: dict[str, Any]


@router.post(
    "/pool", summary="Change the pool of open items", response_model=PoolOut, responses=problems(403, 404, 409)
)
async def change_project_pool(
    request: Request, project_id: ProjectId, caller: Owner, body: PoolIn, key: Key = None
) -> Response:
    """Of items that are open or in the audit. An item keeps at least those who have acted on it, and never gets more
    than it was opened with: such items are counted in `kept`.

    Stored in parts; sent again it goes on with what is left.
    """
    me, now = caller.principal, now_of(request)

    def work(projects_: Projects) -> PoolOut:
        done = change_pool(
            projects_, project_id, body.pool_size, by=me.account_id, signed_in_by=me.signed_in_by, now=now,
            names=body.items,
        )  # fmt: skip
        return PoolOut.model_validate(done)

    return await carried_out_in_parts(request, caller.principal, key, work)


@router.post("/close-open", summary="Close all open items", response_model=ClosedOut, responses=problems(403, 404, 409))
async def close_open_items(request: Request, project_id: ProjectId, caller: Owner, key: Key = None) -> Response:
    """Each is answered with the votes there are. Some may be drawn for the audit, and ask on for that.

    Stored in parts; sent again it goes on with what is left.
    """
    me, now = caller.principal, now_of(request)

    def work(projects_: Projects) -> ClosedOut:
        closed = close_open(projects_, project_id, by=me.account_id, signed_in_by=me.signed_in_by, now=now)
        return ClosedOut(closed=closed)

    return await carried_out_in_parts(request, caller.principal, key, work)


@router.post(
    "/item/withdraw", summary="Withdraw an item", response_model=WithdrawnOut, responses=problems(403, 404, 409)
)
def withdraw_item(request: Request, project_id: ProjectId, caller: Owner, body: WhichIn, key: Key = None) -> Response:
    """Nobody is asked about it any more, and no number counts it. Its events stay. The audit keeps counting an item of
    which chance had decided before whether it is audited; drawn and not voted to the end, it counts as wrong."""
    me = caller.principal.account_id

    def work(on: Work) -> WithdrawnOut:
        withdraw(on.projects, project_id, body.id, by=me, now=on.now)
        return WithdrawnOut(id=body.id, withdrawn=True)

    return carried_out(request, caller.principal, key, work)


@router.post("/item/restore", summary="Restore an item", response_model=WithdrawnOut, responses=problems(403, 404, 409))
def restore_item(request: Request, project_id: ProjectId, caller: Owner, body: WhichIn, key: Key = None) -> Response:
    """A withdrawn item counts again, as its events have it."""
    me = caller.principal.account_id

    def work(on: Work) -> WithdrawnOut:
        restore(on.projects, project_id, body.id, by=me, now=on.now)
        return WithdrawnOut(id=body.id, withdrawn=False)

    return carried_out(request, caller.principal, key, work)


@router.get("/owner-actions", summary="What owners did", responses=problems(403, 404))
def list_owner_actions(
    project_id: ProjectId, _caller: Viewer, projects_: TheProjects, cursor: Cursor = None, limit: Limit = 100
) -> Page[ActionOut]:
    """Who made and changed the project, changed pools, closed, withdrew, restored and cleared items, and when;
    oldest first."""
    with projects_.store.read() as connection:
        projects_.get_in(connection, project_id)
        found = list_actions(connection, project_id, after=after_number(cursor, first=0), limit=limit + 1)
    return Page[ActionOut](**page(found, limit, ActionOut.model_validate, lambda each: each.id))
