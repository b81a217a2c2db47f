"""Voters report images that they could not see: the item is set aside until an owner clears it. Called by the API."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Connection, Row, exists, func, insert, select, update

from quorate.errors import UnknownItem
from quorate.validate import invalid
from quorate_service.domain.item_actions import set_asking
from quorate_service.domain.listing import find_item, reporters_of
from quorate_service.domain.projects import Projects
from quorate_service.domain.votes import not_met
from quorate_service.store.schema import ballots, image_reports, items, leases

MOST_OF_ONE = 5  # items that one voter alone sets aside at a time: with more, their own connection is likely broken


def report_image(projects_: Projects, project_id: str, name: str, voter: str, *, now: float) -> bool:
    """Note that this voter, who holds the item, could not see its image; returns whether the item is set aside.

    It is after the reports of two voters, or of one if nobody has voted on it. Reporting it again changes nothing.
    """
    with projects_.store.write() as connection:
        try:
            row = find_item(connection, project_id, name, lock=True)
        except UnknownItem:
            raise not_met(name, "skip") from None
        reporters = reporters_of(connection, row.id)
        if voter in reporters:
            return row.set_aside is not None
        if not _holds(connection, row, voter):
            raise not_met(name, "skip")
        if "image" not in json.loads(row.show):
            raise invalid("item", name, "an item that shows an image", "vote on it, or skip it.")
        report = {"project_id": project_id, "item_id": row.id, "voter": voter, "time": now}
        connection.execute(insert(image_reports).values(report))
        if row.set_aside is None and not reporters and not _may_alone(connection, row, voter):
            return False
        theirs = (leases.c.item_id == row.id, leases.c.voter == voter)
        connection.execute(update(leases).where(*theirs).values(is_out=False))
        set_asking(connection, row, set_aside=now if row.set_aside is None else row.set_aside)
        return True


def _holds(connection: Connection, row: Row[Any], voter: str) -> bool:
    """Whether the voter holds the item and has not acted on it."""
    acted = exists().where(ballots.c.item_id == row.id, ballots.c.voter == voter)
    lease = select(leases.c.voter).where(leases.c.item_id == row.id, leases.c.voter == voter, leases.c.is_out, ~acted)
    return connection.execute(lease).one_or_none() is not None


def _may_alone(connection: Connection, row: Row[Any], voter: str) -> bool:
    """Whether one report is enough: nobody has seen the item, and few items are set aside by this voter's reports."""
    seen = exists().where(ballots.c.item_id == row.id, ballots.c.kind != "skip")
    mine = exists().where(image_reports.c.item_id == items.c.id, image_reports.c.voter == voter)
    here = (items.c.project_id == row.project_id, items.c.set_aside.is_not(None), mine)
    number, is_seen = connection.execute(select(func.count(), select(seen).scalar_subquery()).where(*here)).one()
    return not is_seen and int(number) < MOST_OF_ONE
