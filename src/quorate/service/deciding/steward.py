"""What happens off the request path: learning, steering, numbers for the dashboard. One thread in each worker.

Workers share the work through the table `stewards`: who holds a project's task does it, the others pass by. Nothing is
lost if a worker dies: its hold runs out and another goes on from what the database says. Started by the app.
"""

from __future__ import annotations

import json
import logging
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from sqlalchemy import insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from quorate.service.deciding.control import steer
from quorate.service.deciding.learning import learn
from quorate.service.deciding.notices import announce
from quorate.service.deciding.projects import Projects
from quorate.service.deciding.stats import Stats, stats
from quorate.service.store.failures import StoreBusy, StoreUnavailable
from quorate.service.store.schema import projects, stewards

log = logging.getLogger("quorate.service.steward")

HOLD_SECONDS = 60.0
STATS_SECONDS = 3.0
STATS_SHARE = 0.05  # of the time, at most, that computing numbers may take


class Steward:
    """Goes round all active projects every `rhythm` seconds. `extra` jobs are called on each round, with the time."""

    def __init__(self, projects_: Projects, *, rhythm: float = 1.0, clock: Callable[[], float] = time.time) -> None:
        self.projects = projects_
        self.rhythm = rhythm
        self.clock = clock
        self.name = secrets.token_hex(8)
        self.extra: list[Callable[[float], object]] = []
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._stats_due: dict[str, float] = {}

    def start(self) -> None:
        """Begin, in a thread of its own."""
        self._thread = threading.Thread(target=self._run, name="quorate-steward", daemon=True)
        self._thread.start()

    def stop(self, *, timeout: float = 10.0) -> None:
        """End after the job at hand."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout)

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self.round()
            except StoreUnavailable as problem:
                log.warning("waiting for the database: %s", problem)
            except Exception:  # the next round starts afresh; a voter must never feel this
                log.exception("a round of the steward failed")
            self._stop.wait(self.rhythm)

    def round(self) -> None:
        """Everything that is due, once."""
        with self.projects.store.read() as connection:
            active = list(connection.execute(select(projects.c.id).where(projects.c.state == "active")).scalars())
        for project_id in active:
            if self._stop.is_set():
                return
            self._safely(partial(self._tend, project_id))
        for job in self.extra:
            self._safely(job)

    def _safely(self, job: Callable[[float], object]) -> None:
        """Do the job; if it fails, the others are done all the same."""
        try:
            job(self.clock())
        except StoreBusy as problem:  # somebody holds a row of this project; the others are none the worse
            log.info("a job of the steward waits for the next round: %s", problem)
        except StoreUnavailable:
            raise
        except Exception:
            log.exception("a job of the steward failed; it is tried again in the next round")

    def _tend(self, project_id: str, now: float) -> None:
        self._with_hold(project_id, "learn", lambda: learn(self.projects, project_id, now=now))
        self._with_hold(project_id, "control", lambda: steer(self.projects, project_id, now=now))
        self._stats(project_id, now)

    def _stats(self, project_id: str, now: float) -> None:
        """Numbers for the dashboard, no more often than costs a small share of the time."""
        started = time.monotonic()
        if started < self._stats_due.get(project_id, 0.0):
            return
        self._with_hold(project_id, "stats", lambda: self._compute_stats(project_id, now))
        took = time.monotonic() - started
        self._stats_due[project_id] = started + max(STATS_SECONDS, took / STATS_SHARE)

    def _compute_stats(self, project_id: str, now: float) -> None:
        with self.projects.store.read() as connection:
            project = self.projects.get_in(connection, project_id)
            told = stats(connection, project, now=now)
        mine = (stewards.c.project_id == project_id, stewards.c.task == "stats")
        with self.projects.store.write() as connection:
            query = select(stewards.c.state).where(*mine).with_for_update()
            before = json.loads(connection.execute(query).scalar_one())
            done = is_completed(before, told)
            state = {"stats": told.as_json(), "announced": told.num_items if done else _announced(before)}
            connection.execute(update(stewards).where(*mine).values(state=json.dumps(state)))
            if done:
                content = {"num_items": told.num_items, "num_votes": told.num_votes}
                announce(connection, project, [("project.completed", content)], now=now)

    def _with_hold(self, project_id: str, task: str, job: Callable[[], object]) -> None:
        """Do the job if no other worker is at it."""
        if self.hold(project_id, task):
            job()

    def hold(self, project_id: str, task: str) -> bool:
        """Take or keep the task for a while; False if another worker has it."""
        now = self.clock()
        mine = (stewards.c.project_id == project_id, stewards.c.task == task)
        free = or_(
            stewards.c.holder == self.name, stewards.c.until < now, stewards.c.until > now + 2 * HOLD_SECONDS
        )  # the last: the clock was set back
        values = {"holder": self.name, "until": now + HOLD_SECONDS}
        with self.projects.store.read() as connection:
            held = connection.execute(select(stewards.c.holder, stewards.c.until).where(*mine)).one_or_none()
        if held is not None and held.holder == self.name and now + HOLD_SECONDS / 2 < held.until <= now + HOLD_SECONDS:
            return True
        try:
            with self.projects.store.write() as connection:
                if connection.execute(update(stewards).where(*mine, free).values(values)).rowcount:
                    return True
                if held is None:
                    connection.execute(insert(stewards).values(project_id=project_id, task=task, **values))
                return held is None
        except IntegrityError:
            return False


def is_completed(before: Mapping[str, Any], told: Stats) -> bool:
    """Whether the last open item of a project was closed since the state `before`: to be announced once.

    So it is if all are closed and, since it was announced, items came (also if none of them was seen open) or one was
    seen open again.
    """
    was_open = before.get("stats", {}).get("num_open", 0) > 0
    return told.num_open == 0 and (was_open or told.num_items > _announced(before))


def _announced(before: Mapping[str, Any]) -> int:
    """The items there were when the project's end was announced; a state that does not say so: when it was seen."""
    seen = before.get("stats", {"num_items": 0, "num_open": 0})
    return int(before.get("announced", 0 if seen["num_open"] else seen["num_items"]))
