"""How far the classifiers can be trusted, fitted anew as items close. Off the request path: no decision waits for it.

One worker at a time fits a project; the result is a "learn" event that decisions made from then on name. Called by the
steward.
"""

from __future__ import annotations

import json

import numpy as np
from sqlalchemy import Connection, select

from quorate.learning.learner import refit
from quorate.learning.window import Window
from quorate.service.deciding.notices import announce
from quorate.service.deciding.projects import Project, Projects
from quorate.service.store.schema import events, items, not_withdrawn, projects
from quorate.types import PriorParams


def learn(projects_: Projects, project_id: str, *, now: float, at_once: bool = False) -> int | None:
    """Fit if enough items closed since the last time (or `at_once`); the number of the event, None if not."""
    with projects_.store.read() as connection:
        project = projects_.get_in(connection, project_id)
        learner = project.session.method.learner
        if learner is None or not (at_once or is_due(connection, project)):
            return None
        window = window_of(connection, project)
        before = projects_.params(connection, project, project.learn_event)
    if len(window) == 0:
        return None
    params, _ = refit(before, window, learner.hyperprior)
    return _store(projects_, project, params, len(window), now)


def is_due(connection: Connection, project: Project) -> bool:
    """Have `refit_every` items closed since the last fit?"""
    since = select(items.c.id).where(items.c.project_id == project.id, items.c.closed_event > project.learn_event)
    every = project.settings.refit_every
    return len(connection.execute(since.limit(every)).all()) >= every


def window_of(connection: Connection, project: Project) -> Window:
    """The last items with votes, in the order of their first vote: what the session core would learn from."""
    newest = select(items.c.id, items.c.name, items.c.votes, events.c.body)
    newest = newest.join(events, (events.c.item_id == items.c.id) & (events.c.seq == 1))
    newest = newest.where(items.c.project_id == project.id, items.c.first_vote_event.is_not(None), not_withdrawn)
    rows = connection.execute(newest.order_by(items.c.first_vote_event.desc()).limit(project.settings.window)).all()
    window = Window(project.settings.window, len(project.settings.models), len(project.session.classes))
    for row in reversed(rows):
        window.enter(row.name, np.log(np.array(json.loads(row.body)["prediction"])))
        for label, count in enumerate(json.loads(row.votes)):
            if count:
                window.add(row.name, label, count)
    return window


def _store(projects_: Projects, project: Project, params: PriorParams, num_items: int, now: float) -> int | None:
    """Keep what was fitted, unless another worker fitted meanwhile."""
    with projects_.store.write() as connection:
        lock = select(projects).where(projects.c.id == project.id).with_for_update(key_share=True)  # votes go on
        latest = projects_.of_row(connection.execute(lock).one())
        if latest.learn_event != project.learn_event:
            return None
        number = projects_.learn_in(connection, project.id, params, num_items, now=now)
        content = {"theta": params.theta, "phi": params.phi, "num_items": num_items}
        announce(connection, project, [("project.learned", content)], now=now)
        return number
