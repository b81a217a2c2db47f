"""Search, filters and a page number -> one page of a project's items. O(page) by the project's index where it can be.

Called by the items page alone; exports read everything elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlencode

from sqlalchemy import ColumnElement, Connection, Row, func, select

from quorate.service.deciding.projects import Project
from quorate.service.store.schema import items, not_withdrawn

PER_PAGE = 50
State = Literal["", "open", "closed", "audit", "aside", "withdrawn"]
ORDERS: dict[str, tuple[str, Sequence[ColumnElement[Any]]]] = {
    "": ("as they came", (items.c.number,)),
    "closed": ("closed last", (items.c.closed_event.desc().nulls_last(), items.c.number)),
    "unsure": ("least sure", (items.c.confidence, items.c.number)),
    "votes": ("most votes", (items.c.num_votes.desc(), items.c.number)),
    "priority": ("by priority", (items.c.priority.desc(), items.c.number)),
}


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is looked for; empty: everything."""

    search: str = ""
    state: str = ""
    label: str = ""
    reason: str = ""
    order: str = ""
    page: int = 1

    def query(self, **changes: object) -> str:
        """The same as the end of an address, with changes.

        >>> Wanted(state="open", page=2).query(page=3)
        '?state=open&page=3'
        """
        values = {name: getattr(self, name) for name in self.__dataclass_fields__} | changes
        told = {name: value for name, value in values.items() if value and (name, value) != ("page", 1)}
        return f"?{urlencode(told)}"

    @property
    def is_narrowed(self) -> bool:
        """Whether anything is left out."""
        return bool(self.search or self.state or self.label or self.reason)


@dataclass(frozen=True, slots=True)
class Page:
    """Some rows, how many there are in all, and the number of the last page."""

    rows: Sequence[Row[Any]]
    total: int
    last: int


def page_of(connection: Connection, project: Project, wanted: Wanted) -> Page:
    """One page of items."""
    matching = _matching(project, wanted)
    total = int(connection.execute(select(func.count()).where(*matching)).scalar_one())
    last = max(1, -(-total // PER_PAGE))
    order = ORDERS.get(wanted.order, ORDERS[""])[1]
    start = PER_PAGE * (min(max(wanted.page, 1), last) - 1)
    rows = connection.execute(select(items).where(*matching).order_by(*order).limit(PER_PAGE).offset(start)).all()
    return Page(rows, total, last)


def _matching(project: Project, wanted: Wanted) -> list[ColumnElement[bool]]:
    found = [items.c.project_id == project.id]
    if wanted.search:
        words = wanted.search.strip().lower()
        found.append(func.lower(items.c.name).contains(words, autoescape=True))
    if wanted.state:
        found.append(items.c.withdrawn.is_not(None) if wanted.state == "withdrawn" else not_withdrawn)
    if wanted.state == "open":
        found.append(items.c.is_open)
    if wanted.state == "closed":
        found.append(~items.c.is_open)
    if wanted.state == "audit":
        found.append(items.c.audit.is_not(None))
    if wanted.state == "aside":
        found.append(items.c.set_aside.is_not(None))
    for name in ("label", "reason"):
        if getattr(wanted, name):
            found.append(items.c[name] == getattr(wanted, name))
    return found
