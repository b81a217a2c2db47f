"""Items: added in bulk, listed, shown, closed by hand, and the trail of each.

An item's id may hold any printable character, slashes included, so it travels in the query or the body, never in the
path, where proxies would rewrite it.
"""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from sqlalchemy import Row, select

from quorate.service.access.surroundings import now_of
from quorate.service.api.batch_threads import in_batch_thread
from quorate.service.api.fields import ItemQuery, Key, Text, problems
from quorate.service.api.here import Now, Owner, ProjectId, TheProjects, Viewer
from quorate.service.api.idempotency import Work, carried_out, is_known
from quorate.service.api.item_models import (
    AddedOut,
    BatchOut,
    ClearedOut,
    ClearIn,
    CloseIn,
    ItemDetail,
    ItemIn,
    ItemOut,
    ItemsIn,
    TrailOut,
)
from quorate.service.api.paging import Cursor, Limit, Page, after_number, page
from quorate.service.api.reading import StrictRoute
from quorate.service.api.shows import checked_address, checked_image, for_browser, upload_of
from quorate.service.api.vote_models import DecidedOut, ShowOut
from quorate.service.api.votes import decided
from quorate.service.deciding.acts import Request as Act
from quorate.service.deciding.ballots import act
from quorate.service.deciding.broken_images import clear_image
from quorate.service.deciding.items import Batch, NewItem, Show, decide_items, store_items
from quorate.service.deciding.listing import Filter, Status, events_of, list_items
from quorate.service.deciding.projects import Project, Projects
from quorate.service.deciding.trail import find, trail
from quorate.service.store.lists import among
from quorate.service.store.schema import uploads
from quorate.service.store.store import Store
from quorate.validate import broken, shown

router = APIRouter(prefix="/api/v1/projects/{project_id}", tags=["items"], route_class=StrictRoute)


@router.post("/items", summary="Add items", response_model=BatchOut, responses=problems(403, 404, 409))
async def create_items(
    request: Request, project_id: ProjectId, caller: Owner, projects_: TheProjects, body: ItemsIn, key: Key = None
) -> Response:
    """All of them, or none if one is not valid. Safe to send again: items that are there already stay as they are."""

    allow = bool(request.app.state.config.allow_private_webhooks)

    def decide(projects_: Projects) -> Batch:
        project = projects_.get(project_id)
        batch = [new_item(project, item, index, allow_private=allow) for index, item in enumerate(body.items)]
        _check_uploads(projects_.store, project_id, batch)
        return decide_items(projects_, project_id, batch, now=now_of(request))

    def add() -> Response:
        # decided before the transaction begins: it can take long, and on SQLite nobody else could write meanwhile
        ahead = None if is_known(request, caller.principal, key) else decide(projects_)

        def work(on: Work) -> BatchOut:
            told = store_items(on.projects, ahead or decide(on.projects), now=on.now)
            added = [AddedOut(id=each.name, status=each.status) for each in told]
            return BatchOut(items=added, added=sum(each.status != "exists" for each in added))

        return carried_out(request, caller.principal, key, work)

    return await in_batch_thread(request, add)


@router.get("/items", summary="List items", responses=problems(403, 404))
def list_project_items(
    project_id: ProjectId,
    _caller: Viewer,
    projects_: TheProjects,
    status: Annotated[Status | None, Query(description="`audit`: drawn for it; `aside`: set aside.")] = None,
    search: Annotated[Text | None, Query(max_length=200, description="A part of the id, in any case.")] = None,
    label: Annotated[Text | None, Query(max_length=100, description="The label they have now.")] = None,
    cursor: Cursor = None,
    limit: Limit = 100,
) -> Page[ItemOut]:
    """In the order in which they came."""
    after, chosen = after_number(cursor), Filter(status, search, label)
    with projects_.store.read() as connection:
        project = projects_.get_in(connection, project_id)
        rows = list_items(connection, project_id, chosen, after=after, limit=limit + 1)
    return Page[ItemOut](
        **page(rows, limit, lambda row: ItemOut(**as_shown(project, row)), lambda row: int(row.number))
    )


@router.get("/item", summary="One item", responses=problems(403, 404))
def show_item(project_id: ProjectId, _caller: Viewer, projects_: TheProjects, item: ItemQuery) -> ItemDetail:
    """With the predictions it came with."""
    with projects_.store.read() as connection:
        project = projects_.get_in(connection, project_id)
        row = find(connection, project, item)
        (opened, *_) = events_of(connection, [row.id])[row.id]
    names, classes = project.settings.models, project.settings.classes
    said = {
        model: dict(zip(classes, each, strict=True)) for model, each in zip(names, opened["prediction"], strict=True)
    }
    return ItemDetail(**as_shown(project, row), predictions=said)


@router.get("/item/trail", summary="An item's audit trail", responses=problems(403, 404))
def show_trail(project_id: ProjectId, _caller: Viewer, projects_: TheProjects, item: ItemQuery) -> TrailOut:
    """Every event with its decision, the parameters it was made under, and the same decision computed again now."""
    with projects_.store.read() as connection:
        return TrailOut(**trail(projects_, connection, projects_.get_in(connection, project_id), item))


@router.post("/item/close", summary="Close an item by hand", responses=problems(403, 404, 409))
def close_item(
    project_id: ProjectId, caller: Owner, projects_: TheProjects, now: Now, body: CloseIn, key: Key = None
) -> DecidedOut:
    """What is decided now stays, and later votes are kept as late; none are asked for unless the audit draws it."""
    who = caller.principal
    asked = Act(project_id, body.id, who.account_id, "close", request=key, served=False, signed_in_by=who.signed_in_by)
    return decided(projects_, asked, act(projects_, asked, now=now))


@router.post("/item/clear", summary="Ask about an item again that was set aside", responses=problems(403, 404))
def clear_item(project_id: ProjectId, _caller: Owner, projects_: TheProjects, body: ClearIn) -> ClearedOut:
    """After its image was repaired, or found to be in order. May be repeated."""
    clear_image(projects_, project_id, body.id)
    return ClearedOut(id=body.id)


def as_shown(project: Project, row: Row[Any]) -> dict[str, Any]:
    """A row of the table `items` as its model holds it."""
    votes = dict(zip(project.settings.classes, json.loads(row.votes), strict=True))
    same = ("number", "label", "confidence", "reason", "num_votes", "num_abstained", "num_late", "pool_size")
    more = ("priority", "audit", "created", "closed", "set_aside")
    return {name: getattr(row, name) for name in (*same, *more)} | {
        "id": row.name,
        "status": "withdrawn" if row.withdrawn is not None else "open" if row.is_open else "closed",
        "votes": votes,
        "show": ShowOut(**for_browser(project.id, json.loads(row.show))),
    }


def new_item(project: Project, item: ItemIn, index: int, *, allow_private: bool = False) -> NewItem:
    """An item to add, as the client described it, `index` being its place in the request. Pages use it, too.

    `allow_private`: its image may come from this machine or its network.
    """
    where = f"items[{index}].image"
    show = Show(
        text=item.text,
        image=None if item.image is None else checked_image(item.image, where=where, allow_private=allow_private),
        link=None if item.link is None else checked_address(item.link, where=f"items[{index}].link"),
    )
    return NewItem(item.id, _prediction(project, item, index), show, item.pool_size, item.priority)


def _prediction(project: Project, item: ItemIn, index: int) -> Any:  # noqa: ANN401
    """What the models said, in their order, as a session takes it."""
    models = project.settings.models
    if item.predictions is None:
        return item.prediction if len(models) == 1 or item.prediction is None else [item.prediction]
    said = item.predictions
    if isinstance(said, dict):
        for name in said:
            if name not in models:
                raise broken(f"items[{index}].predictions", name, f"names of {', '.join(models)}", "correct it.")
        said = [said.get(name) for name in models]
    return said[0] if len(models) == 1 and len(said) == 1 else said


def _check_uploads(store: Store, project_id: str, batch: list[NewItem]) -> None:
    """Every upload that is shown is there, in this very project."""
    wanted = {upload: item.name for item in batch if (upload := upload_of(item.show.as_json())) is not None}
    if not wanted:
        return
    query = select(uploads.c.id).where(uploads.c.project_id == project_id, among(uploads.c.id, "ids"))
    with store.read() as connection:
        there = set(connection.execute(query, {"ids": list(wanted)}).scalars())
    for missing in set(wanted) - there:
        rule = f"an upload of this project (item {shown(wanted[missing])})"
        raise broken("image", f"upload:{missing}", rule, "upload the image first.")
