"""Items whose image a voter could not see: reported, set aside until an owner clears them, served again afterwards.

A report is a row that stays; no event is written, since nothing was voted or decided. Called by the API and the pages.
"""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Connection, Row, func, insert, select, update

from quorate.service.deciding.acts import not_here, not_met
from quorate.service.deciding.projects import Projects
from quorate.service.store.schema import image_reports, items, leases
from quorate.validate import broken

MOST_OF_ONE = 20  # items set aside by the reports of one voter at a time: beyond that their own connection is at fault


def report_image(projects_: Projects, project_id: str, name: str, voter: str, *, now: float) -> bool:
    """Set the item aside, whose image this voter could not see; False if too many of this voter's reports are open."""
    with projects_.store.write() as connection:
        row = _locked(connection, project_id, name)
        mine = (leases.c.item_id == (0 if row is None else row.id), leases.c.voter == voter)
        lease = connection.execute(select(leases.c.is_out).where(*mine)).one_or_none()
        if row is None or lease is None:
            raise not_met(name, "skip")
        if "image" not in json.loads(row.show):
            raise broken("item", name, "an item that shows an image", "vote on it, or skip it.")
        given = {"project_id": project_id, "item_id": row.id, "voter": voter, "time": now}
        connection.execute(insert(image_reports).values(given))
        if row.set_aside is None and _open_reports(connection, project_id, voter) >= MOST_OF_ONE:
            return False
        connection.execute(update(leases).where(*mine).values(is_out=False))
        slots = row.slots - (row.is_wanted and row.set_aside is None) + lease.is_out
        since = now if row.set_aside is None else row.set_aside
        _change(connection, row, set_aside=since, is_wanted=False, slots=slots)
        return True


def clear_image(projects_: Projects, project_id: str, name: str) -> None:
    """Ask voters about the item again. Twice is as good as once."""
    with projects_.store.write() as connection:
        row = _locked(connection, project_id, name)
        if row is None:
            raise not_here(name)
        if row.set_aside is not None:
            wanted = row.is_open or row.audit == "drawn"
            _change(connection, row, set_aside=None, is_wanted=wanted, slots=row.slots + wanted)


def count_set_aside(connection: Connection, project_id: str) -> int:
    """How many items of the project wait for an owner."""
    query = select(func.count()).where(items.c.project_id == project_id, items.c.set_aside.is_not(None))
    return int(connection.execute(query).scalar_one())


def reports_of(connection: Connection, item_id: int) -> list[tuple[str, float]]:
    """Who could not see the item's image, and when; the last first."""
    query = select(image_reports.c.voter, image_reports.c.time).where(image_reports.c.item_id == item_id)
    return [(row.voter, row.time) for row in connection.execute(query.order_by(image_reports.c.id.desc()).limit(20))]


def _locked(connection: Connection, project_id: str, name: str) -> Row[Any] | None:
    query = select(items).where(items.c.project_id == project_id, items.c.name == name)
    row: Row[Any] | None = connection.execute(query.with_for_update()).one_or_none()
    return row


def _open_reports(connection: Connection, project_id: str, voter: str) -> int:
    """Items that are set aside now, and of which this voter is among those who reported them."""
    mine = select(image_reports.c.item_id).where(
        image_reports.c.project_id == project_id, image_reports.c.voter == voter
    )
    query = select(func.count()).where(items.c.set_aside.is_not(None), items.c.id.in_(mine))
    return int(connection.execute(query).scalar_one())


def _change(connection: Connection, row: Row[Any], **values: Any) -> None:  # noqa: ANN401
    connection.execute(update(items).where(items.c.id == row.id).values(values))
