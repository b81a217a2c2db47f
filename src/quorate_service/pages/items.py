"""The items table with search, filters and bulk actions; an item's page: votes, belief, decision, reasons."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, cast
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Form, Query, Response
from sqlalchemy import ColumnElement, Connection, Row, func, select

from quorate.reasons import SENTENCES, SHORT
from quorate_service.access.request_context import allow_images
from quorate_service.api.dependencies import in_batch_thread
from quorate_service.domain.ballots import act
from quorate_service.domain.gold import gold_answers, set_gold
from quorate_service.domain.item_actions import (
    Change,
    can_ask_again,
    change_item,
    change_items,
    change_pool,
    close_open,
)
from quorate_service.domain.items import EQUAL, for_browser
from quorate_service.domain.listing import Filter, Status, conditions, find_item, has_predictions, reports_of
from quorate_service.domain.projects import Project, Projects
from quorate_service.domain.trail import trail
from quorate_service.domain.verdicts import can_correct, is_waiting
from quorate_service.domain.votes import Request as Act
from quorate_service.domain.webhooks import final_answer
from quorate_service.pages.explain import Step, timeline
from quorate_service.pages.formats import Fields, whole_number
from quorate_service.pages.rendering import (
    REST,
    ChartLine,
    OwnerVisit,
    ViewerVisit,
    bar,
    line_chart,
    swatch,
)
from quorate_service.store.schema import accounts, items

PER_PAGE = 50
Words = Annotated[str, Query(max_length=200)]
ORDERS: dict[str, tuple[str, Sequence[ColumnElement[Any]]]] = {
    "": ("as added", (items.c.number,)),
    "closed": ("closed last", (items.c.closed_event.desc().nulls_last(), items.c.number)),
    "unsure": ("least sure", (items.c.confidence, items.c.number)),
    "votes": ("most votes", (items.c.num_votes.desc(), items.c.number)),
    "priority": ("by priority", (items.c.priority.desc(), items.c.number)),
}
WORTH_A_LINE = 0.15  # the belief that a class must have reached to get a line; the rest share a grey one


@dataclass(frozen=True, slots=True)
class ItemsQuery:
    """The filters and the page; empty: everything."""

    search: Words = ""
    state: Words = ""
    label: Words = ""
    reason: Words = ""
    order: Words = ""
    page: int = 1

    def query(self, **changes: object) -> str:
        """The query string, with changes.

        >>> ItemsQuery(state="open", page=2).query(page=3)
        '?state=open&page=3'
        """
        values = {name: getattr(self, name) for name in self.__dataclass_fields__} | changes
        chosen = {name: value for name, value in values.items() if value and (name, value) != ("page", 1)}
        return f"?{urlencode(chosen)}"

    @property
    def chosen(self) -> Filter:
        """The items that match."""
        search, state = self.search.strip() or None, cast("Status", self.state) or None
        return Filter(state, search, self.label or None, self.reason or None)

    @property
    def is_narrowed(self) -> bool:
        """Whether any filter is set."""
        return bool(self.search or self.state or self.label or self.reason)


@dataclass(frozen=True, slots=True)
class ItemsPage:
    """Some rows, the total number of rows, and the number of the last page."""

    rows: Sequence[Row[Any]]
    total: int
    last: int


def page_of(connection: Connection, project: Project, wanted: ItemsQuery) -> ItemsPage:
    """One page of items."""
    matching = list(conditions(project.id, wanted.chosen))
    total = int(connection.execute(select(func.count()).where(*matching)).scalar_one())
    last = max(1, -(-total // PER_PAGE))
    order = ORDERS.get(wanted.order, ORDERS[""])[1]
    start = PER_PAGE * (min(max(wanted.page, 1), last) - 1)
    rows = connection.execute(select(items).where(*matching).order_by(*order).limit(PER_PAGE).offset(start)).all()
    return ItemsPage(rows, total, last)


router = APIRouter(include_in_schema=False)
Wanted = Annotated[ItemsQuery, Depends()]


@router.get("/p/{project_id}/items")
def items_page(on: ViewerVisit, wanted: Wanted) -> Response:
    """A page of the project's items, filtered and ordered."""
    allow_images(on.request, "https:", "http:")
    with on.store.read() as connection:
        project = on.projects.get_in(connection, on.project_id)
        rows_page = page_of(connection, project, wanted)
    shown = {"project": project, "wanted": wanted, "found": rows_page, "short": SHORT, "orders": ORDERS}
    shown["shows"] = {row.id: for_browser(project.id, json.loads(row.show)) for row in rows_page.rows}
    return on.render("items.html", **shown, tab="items")


@router.get("/p/{project_id}/item")
def item_page(on: ViewerVisit, id: str) -> Response:  # noqa: A002
    """The history of one item, and the reasons of its decisions."""
    allow_images(on.request, "https:", "http:")
    with on.store.read() as connection:
        shown = _item(on.projects, connection, on.projects.get_in(connection, on.project_id), id)
    return on.render("item.html", **shown, tab="items")


@router.post("/p/{project_id}/item/close")
def close_item(on: OwnerVisit, id: str) -> Response:  # noqa: A002
    """Close the item with the votes it has."""
    close = Act(on.project_id, id, on.me, "close", served=False, signed_in_by=on.caller.signed_in_by)
    act(on.projects, close, now=on.now)
    return on.go("items", "closed")


@router.post("/p/{project_id}/item/change")
def change_one(on: OwnerVisit, id: str, change: Annotated[Change, Form()]) -> Response:  # noqa: A002
    """Withdraw, restore or clear the item, or ask the rest of its pool."""
    done = change_item(on.projects, on.project_id, change, id, by=on.me, now=on.now)
    return on.go("items", change, number=int(done))


@router.post("/p/{project_id}/items/change")
async def change_many(
    on: OwnerVisit, wanted: Wanted, change: Annotated[Change, Form()],
    item: Annotated[list[str] | None, Form()] = None, every: Annotated[bool, Form()] = False,
) -> Response:  # fmt: skip
    """The same with the chosen items, or with `every` one that matches the filters."""
    chosen = wanted.chosen if every else Filter(names=tuple(item or ()))
    work = partial(change_items, on.projects, on.project_id, change, chosen, by=on.me, now=on.now)
    number = await in_batch_thread(on.request, work)
    return on.go(f"items{wanted.query()}", change, number=number)


@router.post("/p/{project_id}/item/gold")
def set_item_gold(on: OwnerVisit, id: str, fields: Fields) -> Response:  # noqa: A002
    """Make the item gold, correct its known answer, or make it an ordinary item again."""
    set_gold(on.projects, on.project_id, id, fields.get("gold") or None, by=on.me, now=on.now)
    return on.go("items", "gold")


@router.post("/p/{project_id}/open-items/pool")
async def change_open_pool(on: OwnerVisit, fields: Fields) -> Response:
    """Change the pool of all items that still ask for votes."""
    size, how = whole_number(fields, "pool_size") or 0, on.caller.signed_in_by
    change = partial(change_pool, on.projects, on.project_id, size, by=on.me, signed_in_by=how, now=on.now)
    await in_batch_thread(on.request, change)
    return on.go("items", "pool")


@router.post("/p/{project_id}/open-items/close")
async def close_open_items(on: OwnerVisit) -> Response:
    """Close all open items with the votes they have."""
    how = on.caller.signed_in_by
    await in_batch_thread(
        on.request, partial(close_open, on.projects, on.project_id, by=on.me, signed_in_by=how, now=on.now)
    )
    return on.go("items", "closed")


def _item(projects_: Projects, connection: Connection, project: Project, name: str) -> dict[str, Any]:
    row = find_item(connection, project.id, name)
    whole = trail(projects_, connection, project, name)
    written = sorted([*whole["events"], *whole["beside"]], key=lambda event: event["seq"])
    steps = timeline(written, project.settings.classes, _names(connection, written))
    decided = [step for step in steps if step.agrees is not None]
    reports = reports_of(connection, row.id)
    names = _names(connection, [{"voter": voter} for voter, _ in reports])
    gold = None if row.gold is None else gold_answers(connection, row.id)
    votes = json.loads(row.votes) if gold is None else [gold.get(name, 0) for name in project.settings.classes]
    table = _by_class(project, votes, whole["events"][0]["prediction"], decided)
    return {
        "project": project,
        "row": row,
        "answer": final_answer(row._mapping),
        "can_correct": can_correct(row),
        "pool_says": row.panel or row.label,
        "has_predictions": has_predictions(connection, project.id),
        "can_ask_again": can_ask_again(projects_, connection, project, row),
        "show": for_browser(project.id, json.loads(row.show)),
        "steps": steps,
        "reports": [(names.get(voter, voter), time) for voter, time in reports],
        "eras": whole["eras"],
        "decided": decided,
        "reasons": SENTENCES,
        "verdict_by": _names(connection, [{"voter": row.verdict_by}]).get(row.verdict_by),
        "waits": is_waiting(connection, project, row.id),
        "gold": None if gold is None else (sum(gold.values()), gold.get(row.gold, 0)),
        "agrees": all(step.agrees for step in decided),
        "table": table,
        "chart": _belief_chart(table),
        "bar": bar,
        "swatch": swatch,
    }  # fmt: skip


def _by_class(
    project: Project, votes: Sequence[int], predictions: Sequence[Sequence[float]], decided: list[Step]
) -> list[dict[str, Any]]:
    """For each class: predictions, votes, belief over time, and colour; the likeliest first."""
    beliefs = [step.probs for step in decided if step.probs is not None]
    says = [max(said) - min(said) > EQUAL for said in predictions]
    table: list[dict[str, Any]] = [
        {
            "predictions": [said[index] if speaks else None for said, speaks in zip(predictions, says, strict=True)],
            "name": name, "votes": votes[index],
            "beliefs": [probs[index] for probs in beliefs], "belief": beliefs[-1][index] if beliefs else None,
        }
        for index, name in enumerate(project.settings.shown_classes)
    ]  # fmt: skip
    table.sort(key=lambda line: (-(line["belief"] or 0), -line["votes"], -max(line["beliefs"], default=0)))
    return [{**line, "colour": min(rank, REST)} for rank, line in enumerate(table)]


def _belief_chart(table: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The belief after each decision: a line for each class that ever was likely, one for all others."""
    if len(table[0]["beliefs"]) < 2:
        return None
    likely = [line for line in table[:REST] if line is table[0] or max(line["beliefs"]) >= WORTH_A_LINE]
    lines = [ChartLine(line["name"], line["colour"], line["beliefs"]) for line in likely]
    rest = [line["beliefs"] for line in table if line not in likely]
    if rest:
        lines.append(ChartLine("all others", REST, [sum(values) for values in zip(*rest, strict=True)]))
    title = "The belief after each vote: " + ", ".join(f"{line.name} {line.values[-1]:.0%}" for line in lines[:3])
    return {"svg": line_chart(lines, title=title, most=1.0), "lines": lines}


def _names(connection: Connection, written: list[dict[str, Any]]) -> dict[str, str]:
    """The names of the voters."""
    ids = {event["voter"] for event in written if event.get("voter")}
    query = select(accounts.c.id, accounts.c.name).where(accounts.c.id.in_(ids))
    return {row.id: row.name for row in connection.execute(query)}
