"""Endpoints for items: add in bulk, list, show, close, withdraw, restore; change their pools and known answers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from fastapi import APIRouter, Query, Response
from pydantic import ConfigDict, Field, model_validator
from sqlalchemy import Row, select

from quorate.errors import shown
from quorate.session import class_number
from quorate.validate import invalid
from quorate_service.api.dependencies import Now, Owner, ProjectId, TheProjects, Viewer, Work, Write
from quorate_service.api.fields import In, ItemId, ItemQuery, Key, Out, Page, Text, Time, Wanted, problems
from quorate_service.api.votes import DecidedOut, ShowOut, decided
from quorate_service.domain.ballots import act
from quorate_service.domain.gold import set_gold
from quorate_service.domain.item_actions import PoolChanged, change_item, change_pool, close_open
from quorate_service.domain.items import (
    MOST_ITEMS,
    MOST_PRIORITY,
    MOST_TEXT,
    ONE_MODEL,
    DecidedBatch,
    ItemContent,
    NewItem,
    checked_address,
    checked_image,
    decide_items,
    for_browser,
    store_items,
    upload_of,
)
from quorate_service.domain.listing import Filter, Status, events_of, find_item, list_items
from quorate_service.domain.projects import Project, Projects
from quorate_service.domain.settings import MOST_CLASSES, MOST_MODELS
from quorate_service.domain.votes import Request as Act
from quorate_service.store import Store
from quorate_service.store.bulk import among
from quorate_service.store.schema import uploads

Share = Annotated[float, Field(ge=0, le=1)]
ClassName = Annotated[Text, Field(max_length=100)]
InOrder = Annotated[list[float], Field(max_length=MOST_CLASSES, fail_fast=True)]
Prediction = Annotated[
    ClassName | Share | InOrder | dict[ClassName, float] | None,
    Field(
        description="A label, probabilities by class or in the order of the classes, with two classes the score of the "
        "second one, or nothing.",
        examples=[{"cat": 0.8, "dog": 0.2}],
    ),
]


class ItemIn(In):
    """One new item. With several classifiers: `predictions`, an object by their names, or a list.

    The first items of a project name its classifiers.
    """

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"id": "scan-0017", "prediction": {"cat": 0.8}, "text": "Which animal?"}]}
    )

    id: ItemId
    prediction: Prediction = None
    predictions: Annotated[list[Prediction] | dict[ClassName, Prediction] | None, Field(max_length=MOST_MODELS)] = None
    text: Annotated[Text, Field(max_length=MOST_TEXT, description="Shown as plain text.")] | None = None
    image: Annotated[Text, Field(max_length=2000, description="`upload:<id>`, or an https address.")] | None = None
    link: Annotated[Text, Field(max_length=2000, description="An https address to open.")] | None = None
    pool_size: Annotated[int, Field(ge=1, le=10**9)] | None = None
    priority: Annotated[int, Field(ge=-MOST_PRIORITY, le=MOST_PRIORITY)] = 0
    gold: Annotated[ClassName | None, Field(description="The known answer of a gold item, which tests voters.")] = None

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if self.prediction is not None and self.predictions is not None:
            raise ValueError("expected prediction or predictions, not both")
        return self


class ItemsIn(In):
    """A batch, stored as a whole or not at all. Items that exist already stay unchanged."""

    items: Annotated[list[ItemIn], Field(min_length=1, max_length=MOST_ITEMS, fail_fast=True)]


class AddedOut(Out):
    """The result for one item of a batch."""

    id: str
    status: Literal["open", "closed", "exists", "gold"]


class BatchOut(Out):
    """The results of a batch, in its order."""

    items: list[AddedOut]
    added: int


class ItemOut(Out):
    """The current state of an item, for owners and readers."""

    id: str
    number: int
    status: Literal["open", "closed", "withdrawn", "gold"]
    gold: Annotated[str | None, Field(description="The known answer of a gold item; null: not a gold item.")] = None
    answer: Annotated[
        str | None,
        Field(description="Final once it is closed: the verdict, else what the whole pool said, else the label."),
    ]
    label: Annotated[str | None, Field(description="The answer, while open the class that leads; null: no answer.")]
    confidence: Annotated[float | None, Field(description="Null without an answer.")]
    reason: str
    votes: Annotated[dict[str, int], Field(description="By class, late ones included.")]
    num_votes: int
    num_abstained: int
    num_late: int
    pool_size: int
    priority: int
    audit: Annotated[
        Literal["drawn", "done"] | None,
        Field(description="`drawn`: in the audit sample, the whole pool is asked; `done`: the whole pool has voted."),
    ]
    again: Annotated[
        Literal["asked", "done"] | None,
        Field(description="`asked`: an owner asks the rest of the pool; `done`: its verdict is known."),
    ] = None
    created: Time
    closed: Annotated[float | None, Field(description="Seconds since 1970.")]
    set_aside: Annotated[
        float | None,
        Field(description="When it was set aside because a voter reported a broken image; seconds since 1970."),
    ] = None
    verdict: Annotated[str | None, Field(description="A senior's verdict; null: none.")] = None
    verdict_by: str | None = None
    show: ShowOut


class ItemDetail(ItemOut):
    """One item, with its predictions by model and class."""

    predictions: dict[str, dict[str, float]]


class WhichIn(In):
    """Which item."""

    id: ItemId


class GoldIn(In):
    """An item and its known answer; null: it is not a gold item."""

    id: ItemId
    gold: ClassName | None


class GoldOut(Out):
    """An item's known answer now."""

    id: str
    gold: str | None


class ClearedOut(Out):
    """An item that is no longer set aside."""

    id: str


class PoolIn(In):
    """A new pool size for items that still ask for votes: all of them, or those named."""

    pool_size: Annotated[int, Field(ge=1, le=10**9)]
    items: Annotated[list[ItemId] | None, Field(min_length=1, max_length=1000)] = None


class PoolOut(Out):
    """How many items have the new pool size, how many of them closed because of it, and how many cannot have it."""

    changed: int
    closed: int
    kept: int


class ClosedOut(Out):
    """How many items were closed."""

    closed: int


class AskedOut(Out):
    """Whether people are asked because of this request."""

    id: str
    asked: bool


class WithdrawnOut(Out):
    """Whether the item is withdrawn now."""

    id: str
    withdrawn: bool


router = APIRouter(prefix="/api/v1/projects/{project_id}", tags=["items"])


@router.post("/items", summary="Add items", response_model=BatchOut, responses=problems(403, 404, 409))
async def create_items(once: Write, project_id: ProjectId, caller: Owner, body: ItemsIn) -> Response:
    """Adds all of them, or none if one is not valid. Safe to repeat: items that exist already stay unchanged."""
    allow = bool(once.request.app.state.config.allow_private_addresses)

    def decide(projects_: Projects) -> DecidedBatch:
        project = projects_.get(project_id)
        project = project if project.models else project.with_models(models_of(body.items))
        batch = [new_item(project, item, index, allow_private=allow) for index, item in enumerate(body.items)]
        _check_uploads(projects_.store, project_id, batch)
        return decide_items(projects_, project_id, batch, models=project.models, now=once.now)

    def store(batch: DecidedBatch, on: Work) -> BatchOut:
        stored = store_items(on.projects, batch, now=on.now)
        added = [AddedOut(id=item.name, status=item.status) for item in stored]
        return BatchOut(items=added, added=sum(item.status != "exists" for item in added))

    return await once.prepared(caller, decide, store)


@router.get("/items", summary="List items", responses=problems(403, 404))
def list_project_items(
    project_id: ProjectId,
    _caller: Viewer,
    projects_: TheProjects,
    wanted: Wanted,
    status: Annotated[
        Status | None, Query(description="`audit`: in the audit sample; `aside`: set aside; `gold`: gold items.")
    ] = None,
    search: Annotated[
        Text | None, Query(max_length=200, description="A part of the id, text, image or link; ignores case.")
    ] = None,
    label: Annotated[Text | None, Query(max_length=100, description="The answer, or the leading one.")] = None,
) -> Page[ItemOut]:
    """In the order in which they were added."""
    chosen = Filter(status, search, label)
    with projects_.store.read() as connection:
        project = projects_.get_in(connection, project_id)
        rows = list_items(connection, project_id, chosen, after=wanted.number(), limit=wanted.most)
    return wanted.page([as_shown(project, row) for row in rows], lambda row: int(row["number"]))


@router.get("/item", summary="One item", responses=problems(403, 404))
def show_item(project_id: ProjectId, _caller: Viewer, projects_: TheProjects, item: ItemQuery) -> ItemDetail:
    """With its predictions."""
    with projects_.store.read() as connection:
        project = projects_.get_in(connection, project_id)
        row = find_item(connection, project_id, item)
        (opened, *_) = events_of(connection, [row.id])[row.id]
    return ItemDetail(**as_shown(project, row), predictions=project.by_model(opened["prediction"]))


@router.post("/item/close", summary="Close an item by hand", responses=problems(403, 404, 409))
def close_item(
    project_id: ProjectId, caller: Owner, projects_: TheProjects, now: Now, body: WhichIn, key: Key = None
) -> DecidedOut:
    """The current answer becomes final; later votes are stored as late. No more are asked for, except for the audit."""
    me, how = caller.account_id, caller.signed_in_by
    close = Act(project_id, body.id, me, "close", request=key, served=False, signed_in_by=how)
    return decided(projects_, close, act(projects_, close, now=now))


@router.post("/item/clear", summary="Clear an item that was set aside", responses=problems(403, 404))
def clear_item(project_id: ProjectId, caller: Owner, projects_: TheProjects, now: Now, body: WhichIn) -> ClearedOut:
    """Voters are asked about it again: its image was repaired, or was not broken. May be repeated."""
    change_item(projects_, project_id, "clear", body.id, by=caller.account_id, now=now)
    return ClearedOut(id=body.id)


@router.post(
    "/pool", summary="Change the pool of open items", response_model=PoolOut, responses=problems(403, 404, 409)
)
async def change_project_pool(once: Write, project_id: ProjectId, caller: Owner, body: PoolIn) -> Response:
    """For items that are open or in the audit sample. A pool cannot become smaller than the number of people who have
    acted on the item, or larger than when the item was opened: such items are counted in `kept`.

    Stored in parts: sent again, it continues with what is left.
    """

    def work(projects_: Projects) -> PoolChanged:
        author = {"by": caller.account_id, "signed_in_by": caller.signed_in_by}
        return change_pool(projects_, project_id, body.pool_size, **author, now=once.now, names=body.items)

    return await once.in_parts(caller, work)


@router.post("/close-open", summary="Close all open items", response_model=ClosedOut, responses=problems(403, 404, 409))
async def close_open_items(once: Write, project_id: ProjectId, caller: Owner) -> Response:
    """Each is answered from the votes it has. Items drawn for the audit keep asking for votes.

    Stored in parts: sent again, it continues with what is left.
    """

    def work(projects_: Projects) -> ClosedOut:
        author = {"by": caller.account_id, "signed_in_by": caller.signed_in_by}
        return ClosedOut(closed=close_open(projects_, project_id, **author, now=once.now))

    return await once.in_parts(caller, work)


@router.post(
    "/item/withdraw", summary="Withdraw an item", response_model=WithdrawnOut, responses=problems(403, 404, 409)
)
def withdraw_item(once: Write, project_id: ProjectId, caller: Owner, body: WhichIn) -> Response:
    """No more votes are asked for, and no number counts the item. Its events stay. If the audit draw had been made, the
    audit still counts it: drawn and not finished, it counts as wrong."""

    def work(on: Work) -> WithdrawnOut:
        change_item(on.projects, project_id, "withdraw", body.id, by=caller.account_id, now=on.now)
        return WithdrawnOut(id=body.id, withdrawn=True)

    return once(caller, work)


@router.post(
    "/item/ask-again", summary="Ask the rest of the pool", response_model=AskedOut, responses=problems(403, 404, 409)
)
def ask_again(once: Write, project_id: ProjectId, caller: Owner, body: WhichIn) -> Response:
    """About a closed item. What the whole pool says is then its answer; the consensus of the decision stays beside it.
    Nothing changes if the whole pool's verdict is known, or the rest of it is being asked already."""

    def work(on: Work) -> AskedOut:
        asked = change_item(on.projects, project_id, "ask-again", body.id, by=caller.account_id, now=on.now)
        return AskedOut(id=body.id, asked=asked)

    return once(caller, work)


@router.post("/item/restore", summary="Restore an item", response_model=WithdrawnOut, responses=problems(403, 404, 409))
def restore_item(once: Write, project_id: ProjectId, caller: Owner, body: WhichIn) -> Response:
    """A withdrawn item counts again, in the state given by its events."""

    def work(on: Work) -> WithdrawnOut:
        change_item(on.projects, project_id, "restore", body.id, by=caller.account_id, now=on.now)
        return WithdrawnOut(id=body.id, withdrawn=False)

    return once(caller, work)


@router.post(
    "/item/gold", summary="Set an item's known answer", response_model=GoldOut, responses=problems(403, 404, 409)
)
def set_item_gold(once: Write, project_id: ProjectId, caller: Owner, body: GoldIn) -> Response:
    """A gold item is given out among others to test voters; it is never decided, audited or learned from. Only an item
    that nobody has acted on can become one, or stop being one. A known answer can be corrected at any time."""

    def work(on: Work) -> GoldOut:
        set_gold(on.projects, project_id, body.id, body.gold, by=caller.account_id, now=on.now)
        return GoldOut(id=body.id, gold=body.gold)

    return once(caller, work)


def status_of(row: Row[Any]) -> Literal["open", "closed", "withdrawn", "gold"]:
    """An item's status."""
    if row.withdrawn is not None:
        return "withdrawn"
    return "gold" if row.gold is not None else "open" if row.is_open else "closed"


def as_shown(project: Project, row: Row[Any]) -> dict[str, Any]:
    """The fields of `ItemOut` from a row of table `items`."""
    votes = dict(zip(project.settings.classes, json.loads(row.votes), strict=True))
    same = ("number", "label", "reason", "num_votes", "num_abstained", "num_late", "pool_size")
    more = ("priority", "audit", "again", "created", "closed", "set_aside", "gold", "verdict", "verdict_by")
    return {name: getattr(row, name) for name in (*same, *more)} | {
        "id": row.name,
        "confidence": None if row.label is None else row.confidence,
        "answer": row.verdict or row.panel or row.label,
        "status": status_of(row),
        "votes": votes,
        "show": ShowOut(**for_browser(project.id, json.loads(row.show))),
    }


def models_of(items: Sequence[ItemIn]) -> tuple[str, ...]:
    """The names of the classifiers, from the first item with several predictions; without one: one classifier."""
    several = (item.predictions for item in items if item.predictions)
    return next((model_names(predictions) for predictions in several), ONE_MODEL)


def model_names(predictions: Mapping[str, object] | Sequence[object]) -> tuple[str, ...]:
    """The names of the classifiers with these predictions; numbered if they have none.

    >>> model_names([[0.5, 0.5], [0.1, 0.9]])
    ('classifier 1', 'classifier 2')
    """
    if isinstance(predictions, Mapping):
        return tuple(map(str, predictions))
    return tuple(f"classifier {number + 1}" for number in range(len(predictions)))


def new_item(project: Project, item: ItemIn, index: int, *, allow_private: bool = False) -> NewItem:
    """An item to add from the client's description; `index` is its place in the request. Also used by pages.

    `allow_private`: its image may come from this machine or its network.
    """
    where = f"items[{index}].image"
    show = ItemContent(
        text=item.text,
        image=None if item.image is None else checked_image(item.image, where=where, allow_private=allow_private),
        link=None if item.link is None else checked_address(item.link, where=f"items[{index}].link"),
    )
    if item.gold is not None:
        class_number(item.gold, project.settings.classes, where=f"items[{index}].gold")
    return NewItem(item.id, _prediction(project, item, index), show, item.pool_size, item.priority, item.gold)


def _prediction(project: Project, item: ItemIn, index: int) -> object:
    """The predictions in the order of the models, as a session takes them."""
    models = project.models
    if item.predictions is None:
        return item.prediction if len(models) == 1 or item.prediction is None else [item.prediction]
    predictions = item.predictions
    if isinstance(predictions, dict):
        for name in predictions:
            if name not in models:
                raise invalid(f"items[{index}].predictions", name, f"names of {', '.join(models)}", "correct it.")
        predictions = [predictions.get(name) for name in models]
    return predictions[0] if len(models) == 1 and len(predictions) == 1 else predictions


def _check_uploads(store: Store, project_id: str, batch: list[NewItem]) -> None:
    """Raise unless every upload that the items show exists in this project."""
    used_by = {upload: item.name for item in batch if (upload := upload_of(item.show.as_json())) is not None}
    if not used_by:
        return
    query = select(uploads.c.id).where(uploads.c.project_id == project_id, among(uploads.c.id, "ids"))
    with store.read() as connection:
        existing = set(connection.execute(query, {"ids": list(used_by)}).scalars())
    for missing in set(used_by) - existing:
        rule = f"an upload of this project (item {shown(used_by[missing])})"
        raise invalid("image", f"upload:{missing}", rule, "upload the image first.")
