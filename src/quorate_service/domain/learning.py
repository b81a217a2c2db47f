"""Fits parameters, and controls budgets and target errors, as items close. Called by `background`."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
from sqlalchemy import ColumnElement, Connection, Row, Select, case, func, select, update

from quorate.model import Gains, Window, fit_is_due, refit
from quorate.streams import BudgetControl, TargetErrorControl
from quorate.types import PriorParams
from quorate_service.domain.projects import Project, Projects
from quorate_service.domain.settings import goal_control, parameters_of
from quorate_service.domain.webhooks import announce
from quorate_service.store.bulk import among
from quorate_service.store.schema import counted, counts_in_audit, events, has_answer, items, tasks

BATCH = 2000
WORTH_A_TUNE = 0.01  # smallest relative change of the parameter that is stored as an event
COUNTED = {
    BudgetControl: ("log_depth", "spent", "num_items"),
    TargetErrorControl: (
        "depth", "num_items", "settled_errors", "open_doubt", "audited_doubt", "audited_errors", "num_audited",
        "seen_doubt", "seen_errors",
    ),
}  # fmt: skip


def learn(projects_: Projects, project_id: str, *, now: float, at_once: bool = False) -> int | None:
    """Fit if enough items closed since the last fit (or `at_once`); returns the number of the event, or None."""
    with projects_.store.read() as connection:
        project = projects_.get_in(connection, project_id)
        learner = project.session.method.map_learner
        if learner is None or not (at_once or is_due(connection, project)):
            return None
        window = window_of(connection, project)
        before, gains = projects_.learned(connection, project, project.learn_event)
        new = window_of(connection, project, after=project.learn_event)
    if len(window) == 0:
        return None
    params, _ = refit(before, window, learner.hyperprior)
    if gains is not None:
        gains = gains.after(before, new.log_predictions, new.votes)
    return _store(projects_, project, params, gains, len(window), now)


def is_due(connection: Connection, project: Project) -> bool:
    """Whether a fit fell due since the last one: see `fit_is_due`. This may run later than the item that closed."""
    learner = project.session.method.map_learner
    if learner is None or learner.refit_every is None:
        return False
    every = learner.refit_every
    closed = select(items.c.id, items.c.first_vote_event).where(items.c.project_id == project.id)
    since = closed.where(items.c.closed_event > project.learn_event)
    num_closed, fitted_after = _count(connection, since), 0
    if not learner.proportional:
        fitted_after = _count(connection, closed.where(items.c.closed_event < project.learn_event))
        num_closed += fitted_after
        num_closed -= num_closed % every  # the fit is due at this number, with the votes on items closed by then
    if num_closed == 0 or num_closed < fitted_after:
        return False
    new = since.order_by(items.c.closed_event).limit(num_closed - fitted_after).subquery()
    if _count(connection, select(new.c.id).where(new.c.first_vote_event.is_not(None)).limit(1)) == 0:
        return False
    num_items = _count(connection, select(items.c.id).where(*_with_votes(project)).limit(learner.window))
    return fit_is_due(num_closed, fitted_after, num_items, every, learner.proportional)


def _with_votes(project: Project) -> tuple[ColumnElement[bool], ...]:
    return items.c.project_id == project.id, items.c.first_vote_event.is_not(None), counted


def _count(connection: Connection, rows: Select[Any]) -> int:
    return int(connection.execute(select(func.count()).select_from(rows.subquery())).scalar_one())


def window_of(connection: Connection, project: Project, *, after: int = 0) -> Window:
    """The latest items with votes, in the order of their first vote: what the session core would learn from.

    `after`: only those whose first vote came after this event.
    """
    newest = select(items.c.id, items.c.name, items.c.votes, events.c.body)
    newest = newest.join(events, (events.c.item_id == items.c.id) & (events.c.seq == 1))
    newest = newest.where(*_with_votes(project), items.c.first_vote_event > after)
    size = project.session.method.window
    rows = connection.execute(newest.order_by(items.c.first_vote_event.desc()).limit(size)).all()
    window = Window(size, project.session.num_classifiers, len(project.session.classes))
    for row in reversed(rows):
        window.enter(row.name, np.log(np.array(json.loads(row.body)["prediction"])))
        for label, count in enumerate(json.loads(row.votes)):
            if count:
                window.add(row.name, label, count)
    return window


def _store(
    projects_: Projects, project: Project, params: PriorParams, gains: Gains | None, num_items: int, now: float
) -> int | None:
    """Store the fitted parameters, unless another worker stored some in the meantime."""
    with projects_.store.write() as connection:
        if projects_.locked(connection, project.id).learn_event != project.learn_event:
            return None
        number = projects_.learn_in(connection, project.id, params, num_items, now=now, gains=gains)
        content = {"theta": params.theta, "phi": params.phi, "num_items": num_items}
        announce(connection, project.id, [("project.learned", content)], now=now)
        return number


Goal = BudgetControl | TargetErrorControl


def steer(projects_: Projects, project_id: str, *, now: float) -> int | None:
    """Account for newly closed items; returns the number of the "tune" event, None if the parameter stays."""
    if goal_control(projects_.get(project_id).settings) is None:
        return None
    with projects_.store.write() as connection:
        project = projects_.locked(connection, project_id)
        before = control = stored_control(connection, project)
        if control is None:
            return None
        closed = _unaccounted(connection, project)
        for item in closed:
            control = _closed(control, item)
        if closed:
            ids = [item.id for item in closed]
            connection.execute(update(items).where(among(items.c.id, "ids")).values(is_accounted=True), {"ids": ids})
        control = _counted_again(connection, project, control)
        if control == before:
            return None
        _store_control(connection, project, control)
        return _tune(projects_, connection, project, control, now)


def stored_control(connection: Connection, project: Project) -> Goal | None:
    """The stored controller; a new one if there is none for the goal in force; None without a goal."""
    fresh = goal_control(project.settings)
    if fresh is None:
        return None
    query = select(tasks.c.state).where(tasks.c.project_id == project.id, tasks.c.task == "control")
    state = json.loads(connection.execute(query).scalar_one_or_none() or "{}")
    return replace(fresh, **state["counted"]) if state.get("goal_event") == project.goal_event else fresh


def _of_goal(project: Project) -> tuple[ColumnElement[bool], ...]:
    """The closed items that count for the goal in force: with an answer, and no vote from before it was set."""
    since, first = project.goal_event, items.c.first_vote_event
    is_new = (items.c.closed_event > since, first.is_(None) | (first > since))
    return items.c.project_id == project.id, *is_new, has_answer


def _unaccounted(connection: Connection, project: Project) -> list[Row[Any]]:
    """Closed items that the controller has not seen and the audit counts, in order of closing."""
    which = (*_of_goal(project), ~items.c.is_open, ~items.c.is_accounted, counts_in_audit)
    first = select(items.c.id).where(*which).order_by(items.c.closed_event).limit(BATCH)
    # locked in order of ids, as everywhere; items locked by a voter are left for the next time
    lock = select(items).where(items.c.id.in_(first), *which).order_by(items.c.id).with_for_update(skip_locked=True)
    return sorted(connection.execute(lock).all(), key=lambda row: int(row.closed_event))


def _closed(control: Goal, item: Row[Any]) -> Goal:
    """The controller after one more item, without the result of its audit (`_counted_again`)."""
    loss = item.audit_loss if item.is_settled else None
    return control.closed(
        num_votes=item.num_votes, confidence=item.confidence, settled=item.is_settled, audited_error=loss
    )


def _counted_again(connection: Connection, project: Project, control: Goal) -> Goal:
    """The controller with its sums over items as they are now: with late votes, verdicts of audits, without reopened
    items.

    Items stay accounted for if they are withdrawn later; a drawn item that is incomplete by then counts as wrong.
    """
    accounted = (*_of_goal(project), items.c.is_accounted, ~items.c.is_open)
    doubt = 1.0 - items.c.confidence
    sums = select(
        func.count().label("num_items"),
        func.sum(items.c.num_votes).label("spent"),
        func.sum(case((items.c.is_settled, func.coalesce(items.c.audit_loss, doubt)), else_=0.0)).label("settled"),
        func.sum(case((items.c.is_settled, 0.0), else_=doubt)).label("doubt"),
    )
    row = connection.execute(sums.where(*accounted)).one()
    if isinstance(control, BudgetControl):
        return replace(control, num_items=row.num_items, spent=int(row.spent or 0))
    settled, doubts = float(row.settled or 0.0), float(row.doubt or 0.0)
    control = replace(control, num_items=row.num_items, settled_errors=settled, open_doubt=doubts)
    drawn = items.c.audit == "drawn"
    done = select(items.c.confidence, func.coalesce(items.c.audit_loss, 1.0).label("loss"))
    done = done.where(*accounted, (items.c.audit == "done") | (drawn & ~counted))
    oldest = connection.execute(select(func.min(items.c.closed_event)).where(*_of_goal(project), drawn, counted))
    if (first := oldest.scalar_one()) is not None:  # those after it that are complete already are easy: a biased sample
        done = done.where(items.c.closed_event < first)
    outcomes = ((item.confidence, item.loss) for item in connection.execute(done))
    return control.with_audits(outcomes)


def _store_control(connection: Connection, project: Project, control: Goal) -> None:
    counted = {name: getattr(control, name) for name in COUNTED[type(control)]}
    content = {"goal_event": project.goal_event, "counted": counted}
    task = (tasks.c.project_id == project.id, tasks.c.task == "control")
    values = {"state": json.dumps(content)}
    if not connection.execute(update(tasks).where(*task).values(values)).rowcount:
        connection.execute(tasks.insert().values(project_id=project.id, task="control", **values))


def _tune(projects_: Projects, connection: Connection, project: Project, control: Goal, now: float) -> int | None:
    wanted = parameters_of(project.settings) | control.parameters
    in_force = projects_.parameters_in(connection, project.tune_event)
    (name,) = control.parameters
    if abs(wanted[name] - in_force[name]) <= WORTH_A_TUNE * min(abs(wanted[name]), 1.0 - min(wanted[name], 0.999999)):
        return None
    return projects_.tune_in(connection, project.id, wanted, now=now)
