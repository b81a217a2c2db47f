"""A budget or a target error held over a project: what closed items cost turns the knob for the items to come.

The same controllers as `quorate run` (workflows/control.py); their state lives in the database, so that any worker can
go on. Called by the steward, off the request path.
"""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import Any

from sqlalchemy import Connection, Row, select, update

from quorate.service.deciding.projects import Project, Projects
from quorate.service.deciding.settings import goal_control, knobs_of
from quorate.service.store.schema import items, projects, stewards
from quorate.workflows.control import Control

BATCH = 2000
WORTH_A_TUNE = 0.01  # relative change of the knob that is worth an event


def steer(projects_: Projects, project_id: str, *, now: float) -> int | None:
    """Account for what closed since the last time; the number of the "tune" event, None if the knob stays."""
    with projects_.store.write() as connection:
        row = connection.execute(select(projects).where(projects.c.id == project_id).with_for_update()).one()
        project = projects_.of_row(row)
        control = stored_control(connection, project)
        if control is None:
            return None
        for item in _unaccounted(connection, project):
            control = _closed(control, item)
            connection.execute(update(items).where(items.c.id == item.id).values(is_accounted=True))
        _store(connection, project, control)
        return _tune(projects_, connection, project, control, now)


def stored_control(connection: Connection, project: Project) -> Control | None:
    """The controller as it stands; a new one if there was none or the owner set another goal; None without a goal."""
    fresh = goal_control(project.settings)
    if fresh is None:
        return None
    query = select(stewards.c.state).where(stewards.c.project_id == project.id, stewards.c.task == "control")
    text = connection.execute(query).scalar_one_or_none()
    state = json.loads(text or "{}")
    if state.get("goal") != fresh.asked_for or state.get("kind") != type(fresh).__name__:
        return fresh
    return replace(fresh, **state["state"])


def _unaccounted(connection: Connection, project: Project) -> list[Row[Any]]:
    """Closed items the controller has not seen, in order; one that is being audited waits for its panel."""
    query = select(items).where(items.c.project_id == project.id, ~items.c.is_open, ~items.c.is_accounted)
    ready = items.c.audit.is_(None) | (items.c.audit == "done")
    rows: list[Any] = list(connection.execute(query.where(ready).order_by(items.c.closed_event).limit(BATCH)).all())
    return rows


def _closed(control: Control, item: Row[Any]) -> Control:
    error = item.audit_loss if item.audit == "done" else None
    return control.closed(
        num_votes=item.num_votes, confidence=item.confidence, settled=item.is_settled, audited_error=error
    )


def _store(connection: Connection, project: Project, control: Control) -> None:
    content = {"kind": type(control).__name__, "goal": control.asked_for, "state": asdict(control)}  # type: ignore[call-overload]
    mine = (stewards.c.project_id == project.id, stewards.c.task == "control")
    values = {"state": json.dumps(content)}
    if not connection.execute(update(stewards).where(*mine).values(values)).rowcount:
        connection.execute(stewards.insert().values(project_id=project.id, task="control", **values))


def _tune(projects_: Projects, connection: Connection, project: Project, control: Control, now: float) -> int | None:
    wanted = knobs_of(project.settings) | control.knobs
    in_force = projects_.knobs_in(connection, project.tune_event)
    (name,) = control.knobs
    if abs(wanted[name] - in_force[name]) <= WORTH_A_TUNE * min(abs(wanted[name]), 1.0 - min(wanted[name], 0.999999)):
        return None
    return projects_.tune_in(connection, project.id, wanted, now=now)
