"""Background work: learning, budget control, numbers for the dashboard, deleting old rows. One thread per worker.

Workers share the work through the table `tasks`: the worker that holds a project's task does it, the others skip it.
A worker renews its holds while it lives. If it dies, they expire within `hold_seconds`, and another worker continues
from the state in the database. Old rows are deleted once an hour. Started by the app.
"""

from __future__ import annotations

import json
import logging
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

from sqlalchemy import delete, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from quorate_service.access.cookies import LONGEST
from quorate_service.domain.learning import learn, steer
from quorate_service.domain.people import last_event, latest_people, people
from quorate_service.domain.projects import Projects
from quorate_service.domain.stats import Stats, stats
from quorate_service.domain.webhooks import announce
from quorate_service.store import Store, StoreBusy, StoreUnavailable
from quorate_service.store.schema import (
    attempts,
    browsers,
    deliveries,
    links,
    pending,
    projects,
    requests,
    sign_ins,
    tasks,
)

log = logging.getLogger("quorate_service.background")

HOLD_SECONDS = 6.0  # after which a dead worker's tasks are free
RENEWALS = 4  # per hold_seconds
SET_BACK_SECONDS = 60.0  # a hold that ends later than this was taken before the clock was set back; it is ignored
STATS_SECONDS = 3.0
STATS_SHARE = 0.05  # largest fraction of the time spent on computing numbers
PEOPLE_SECONDS, PEOPLE_SHARE = 30.0, 0.02  # the same for the figures of each person
EVERY = 3600.0
DAY = 86400.0
MONTH = 30 * DAY
KEYS_KEPT = 7 * DAY  # how long idempotency keys are kept


class BackgroundJobs:
    """Visits all active projects every `rhythm` seconds. `extra` jobs are called in each round, with the time."""

    def __init__(
        self,
        projects_: Projects,
        *,
        rhythm: float = 1.0,
        hold_seconds: float = HOLD_SECONDS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.projects = projects_
        self.rhythm = rhythm
        self.hold_seconds = hold_seconds
        self.clock = clock
        self.name = secrets.token_hex(8)
        self.extra: list[Callable[[float], object]] = []
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self._due: dict[tuple[str, str], float] = {}  # project and task -> when it may run again

    def start(self) -> None:
        """Start two threads: one does the work, one renews the holds, however long a job takes."""
        rounds = partial(self._again_and_again, self.round, self.rhythm)
        renewals = partial(self._again_and_again, self.renew, self.hold_seconds / RENEWALS)
        for name, target in (("quorate-jobs", rounds), ("quorate-jobs-holds", renewals)):
            self._threads.append(threading.Thread(target=target, name=name, daemon=True))
            self._threads[-1].start()

    def stop(self, *, timeout: float = 10.0) -> None:
        """Finish the current job, then release the tasks, so that other workers need not wait."""
        self._stop.set()
        for thread in self._threads:
            thread.join(timeout)
        try:
            with self.projects.store.write() as connection:
                connection.execute(update(tasks).where(tasks.c.holder == self.name).values(until=0.0))
        except StoreUnavailable as problem:
            log.info("could not release the tasks; they expire in %g seconds: %s", self.hold_seconds, problem)

    def _again_and_again(self, job: Callable[[], None], seconds: float) -> None:
        while not self._stop.is_set():
            try:
                job()
            except StoreUnavailable as problem:
                log.warning("waiting for the database: %s", problem)
            except Exception:  # the next round starts again; voters are not affected
                log.exception("a round of background jobs failed")
            self._stop.wait(seconds)

    def round(self) -> None:
        """Do everything that is due, once."""
        with self.projects.store.read() as connection:
            query = select(projects.c.id, projects.c.state).where(projects.c.state != "archived")
            rows = connection.execute(query).all()
        for project in rows:
            if self._stop.is_set():
                return
            self._safely(partial(self._tend if project.state == "active" else self._stats, project.id))
        for job in self.extra:
            self._safely(job)

    def _safely(self, job: Callable[[float], object]) -> None:
        """Do the job; a failure is logged and does not stop the other jobs."""
        try:
            job(self.clock())
        except StoreBusy as problem:  # a row of this project is locked; other projects are not affected
            log.info("a background job waits for the next round: %s", problem)
        except StoreUnavailable:
            raise
        except Exception:
            log.exception("a background job failed; it is tried again in the next round")

    def _tend(self, project_id: str, now: float) -> None:
        self._with_hold(project_id, "learn", lambda: learn(self.projects, project_id, now=now))
        self._with_hold(project_id, "control", lambda: steer(self.projects, project_id, now=now))
        self._stats(project_id)
        self._people(project_id)

    def _stats(self, project_id: str, _now: float = 0.0) -> None:
        """Compute the numbers for the dashboard."""
        self._in_pace(project_id, "stats", self._compute_stats, STATS_SECONDS, STATS_SHARE)

    def _in_pace(self, project_id: str, task: str, job: Callable[[str], None], seconds: float, share: float) -> None:
        """Do the job at most once in `seconds`, using at most this share of the time."""
        started = time.monotonic()
        if started < self._due.get((project_id, task), 0.0):
            return
        if self._with_hold(project_id, task, lambda: job(project_id)):
            took = time.monotonic() - started
            self._due[project_id, task] = started + max(seconds, took / share)

    def _compute_stats(self, project_id: str) -> None:
        """Store new numbers, unless another worker stored some in the meantime: those may be newer."""
        now = self.clock()
        task = (tasks.c.project_id == project_id, tasks.c.task == "stats")
        query = select(tasks.c.state).where(*task)
        with self.projects.store.read() as connection:
            version = _version(json.loads(connection.execute(query).scalar_one()))
            project = self.projects.get_in(connection, project_id)
            computed = stats(connection, project, now=now)
        with self.projects.store.write() as connection:
            before = json.loads(connection.execute(query.with_for_update()).scalar_one())
            if _version(before) != version:
                return
            done = is_completed(before, computed)
            announced = computed.num_items if done else _announced(before)
            state = {"stats": computed.as_json(), "announced": announced, "version": version + 1}
            connection.execute(update(tasks).where(*task).values(state=json.dumps(state)))
            if done:
                content = {"num_items": computed.num_items, "num_votes": computed.num_votes}
                announce(connection, project.id, [("project.completed", content)], now=now)

    def _people(self, project_id: str) -> None:
        """Compute the figures of each person if there are new events."""
        self._in_pace(project_id, "people", self.compute_people, PEOPLE_SECONDS, PEOPLE_SHARE)

    def compute_people(self, project_id: str) -> None:
        """Store new figures of the people, if there are events since the last ones."""
        with self.projects.store.read() as connection:
            project = self.projects.get_in(connection, project_id)
            before = latest_people(connection, project_id)
            if before is not None and before["last_event"] == last_event(connection, project):
                return
            figures = people(self.projects, connection, project, now=self.clock())
        mine = (tasks.c.project_id == project_id, tasks.c.task == "people")
        with self.projects.store.write() as connection:
            connection.execute(update(tasks).where(*mine).values(state=json.dumps(asdict(figures))))

    def _with_hold(self, project_id: str, task: str, job: Callable[[], object]) -> bool:
        """Do the job if no other worker holds the task; returns whether it was done."""
        if not self.hold(project_id, task):
            return False
        job()
        return True

    def hold(self, project_id: str, task: str) -> bool:
        """Take or keep the task for `hold_seconds`; False if another worker holds it."""
        now = self.clock()
        mine = (tasks.c.project_id == project_id, tasks.c.task == task)
        free = or_(
            tasks.c.holder == self.name,
            tasks.c.until < now,
            tasks.c.until > now + SET_BACK_SECONDS,
        )
        values = {"holder": self.name, "until": now + self.hold_seconds}
        with self.projects.store.read() as connection:
            held = connection.execute(select(tasks.c.holder, tasks.c.until).where(*mine)).one_or_none()
        if held is not None and now < held.until <= now + SET_BACK_SECONDS:
            return bool(held.holder == self.name)
        try:
            with self.projects.store.write() as connection:
                if connection.execute(update(tasks).where(*mine, free).values(values)).rowcount:
                    return True
                if held is None:
                    connection.execute(insert(tasks).values(project_id=project_id, task=task, **values))
                return held is None
        except IntegrityError:
            return False

    def release(self, project_id: str, task: str) -> None:
        """Release the task, so that another worker can take it at once."""
        mine = (
            tasks.c.project_id == project_id,
            tasks.c.task == task,
            tasks.c.holder == self.name,
        )
        with self.projects.store.write() as connection:
            connection.execute(update(tasks).where(*mine).values(until=0.0))

    def renew(self) -> None:
        """Extend the holds of this worker; tasks that another worker took in the meantime are left to it."""
        now = self.clock()
        ending = (
            tasks.c.holder == self.name,
            tasks.c.until > 0.0,
            tasks.c.until < now + self.hold_seconds / 2,
        )
        with self.projects.store.read() as connection:
            if connection.execute(select(tasks.c.task).where(*ending).limit(1)).first() is None:
                return
        with self.projects.store.write() as connection:
            held = update(tasks).where(tasks.c.holder == self.name, tasks.c.until > 0.0)
            connection.execute(held.values(until=now + self.hold_seconds))


def _version(state: Mapping[str, Any]) -> int:
    """How often a project's numbers were stored. Not a time: a clock can be set back."""
    return int(state.get("version", 0))


def is_completed(before: Mapping[str, Any], current: Stats) -> bool:
    """Whether the last open item of a project was closed since the state `before`; this is announced once.

    True if all items are closed and, since the last announcement, items were added (even if none was seen open) or one
    was seen open again.
    """
    was_open = before.get("stats", {}).get("num_open", 0) > 0
    return current.num_open == 0 and (was_open or current.num_items > _announced(before))


def _announced(before: Mapping[str, Any]) -> int:
    """The number of items when completion was last announced."""
    return int(before.get("announced", 0))


class Housekeeping:
    """Deletes old rows once in EVERY seconds; calls in between do nothing."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._due = 0.0
        self._lock = threading.Lock()

    def __call__(self, now: float) -> int:
        """Delete old rows if an hour has passed; returns how many."""
        with self._lock:
            if 0.0 <= self._due - now <= EVERY:
                return 0
            self._due = now + EVERY
        return sum(
            delete_old(self.store, now=now) for delete_old in (delete_access, delete_requests, delete_deliveries)
        )


def delete_access(store: Store, *, now: float) -> int:
    """Delete full rate-limit buckets, links and sign-ins that ended a month ago, expired browsers; returns how many."""
    old = (
        delete(attempts).where(attempts.c.time < now - DAY),
        delete(browsers).where(browsers.c.seen < now - LONGEST),
        delete(links).where(links.c.expires < now - MONTH),
        delete(sign_ins).where((sign_ins.c.expires < now - MONTH) | (sign_ins.c.revoked < now - MONTH)),
    )
    with store.write() as connection:
        return sum(connection.execute(statement).rowcount for statement in old)


def delete_requests(store: Store, *, now: float) -> int:
    """Delete idempotency keys that are too old to be sent again; returns how many."""
    with store.write() as connection:
        return connection.execute(delete(requests).where(requests.c.created < now - KEYS_KEPT)).rowcount


def delete_deliveries(store: Store, *, now: float) -> int:
    """Delete webhook deliveries that were accepted or given up a month ago; returns how many."""
    with store.write() as connection:
        return connection.execute(delete(deliveries).where(~pending, deliveries.c.created < now - MONTH)).rowcount
