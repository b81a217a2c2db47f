"""An item and a voter -> everything an act looks at, the item locked: two statements, however much that is.

The lock is a statement of its own: what is read by the statement that waits for a lock may be older than the lock.
Called by `ballots` at every act.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, Select, bindparam, func, select

from quorate.errors import InvalidInput, UnknownItem
from quorate.service.deciding.projects import Project, Projects, unknown
from quorate.service.store.schema import ballots, events, items, leases, projects
from quorate.session.journal import Event
from quorate.validate import shown


def _around() -> Select[Any]:
    """The project's row; what the voter did and holds; to how many others the item is out; the item's events."""
    item: Any = bindparam("item_id")
    voter: Any = bindparam("voter")
    ballot = (ballots.c.item_id == item, ballots.c.voter == voter)
    lease = (leases.c.item_id == item, leases.c.voter == voter)
    others = (leases.c.item_id == item, leases.c.voter != voter, leases.c.is_out)
    same = (events.c.project_id == bindparam("project"), events.c.voter == voter)
    past = (events.c.item_id == item, events.c.kind != "skip")
    parts = {
        "acted": select(ballots.c.kind).where(*ballot),
        "acted_at": select(ballots.c.time).where(*ballot),
        "holds": select(leases.c.is_out).where(*lease),
        "others_out": select(func.count()).select_from(leases).where(*others),
        "repeats": select(events.c.id).where(*same, events.c.request == bindparam("request")),
        "past": select(func.aggregate_strings(events.c.body, "\n")).where(*past),
    }
    columns = [part.scalar_subquery().label(name) for name, part in parts.items()]
    return select(projects, *columns).where(projects.c.id == bindparam("project"))


LOCK = select(items).where(items.c.project_id == bindparam("project"), items.c.name == bindparam("item"))
LOCK = LOCK.with_for_update()
AROUND = _around()


@dataclass(frozen=True, slots=True)
class Scene:
    """What an act meets. `row`: the item's, locked. `acted`, `acted_at`: the voter's ballot, None if there is none.

    `holds`: whether the voter's lease still counts, None without one. `repeats`: the event this request made before.
    """

    project: Project
    row: Row[Any]
    acted: str | None
    acted_at: float | None
    holds: bool | None
    others_out: int
    repeats: int | None
    past: str

    @property
    def events(self) -> list[Event]:
        """The item's events in order, as the session core folds them."""
        return sorted((json.loads(line) for line in self.past.split("\n")), key=lambda event: int(event["seq"]))


def meet(
    projects_: Projects, connection: Connection, *, project_id: str, item: str, voter: str, request: str | None
) -> Scene:
    """Lock the item, then look around."""
    row = connection.execute(LOCK, {"project": project_id, "item": item}).one_or_none()
    asked = {"project": project_id, "voter": voter, "request": request, "item_id": None if row is None else row.id}
    around = connection.execute(AROUND, asked).one_or_none()
    if around is None:
        raise unknown(project_id)
    if row is None:
        raise UnknownItem(f"item={shown(item)} is not in this project; see the list of its items.")
    project = projects_.of_row(around)
    if project.state == "archived":
        raise InvalidInput(f"project {project.name!r} is archived and takes no votes; set its state to active.")
    return Scene(
        project=project,
        row=row,
        acted=around.acted,
        acted_at=around.acted_at,
        holds=around.holds,
        others_out=around.others_out,
        repeats=around.repeats,
        past=around.past,
    )
