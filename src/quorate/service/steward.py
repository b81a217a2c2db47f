"""Work off the request path: learning, steering, numbers for the dashboard, deleting old rows. One thread per worker.

Workers share the work through the table `stewards`: the worker that holds a project's task does it, the others skip it.
A worker renews its holds while it lives. If it dies they run out within `hold_seconds`, and another worker goes on from
what the database says. Old rows are deleted once an hour. Started by the app.
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

from quorate.compiled import will_be_compiled
from quorate.service.access.cookies import LONGEST
from quorate.service.domain.learning import learn, steer
from quorate.service.domain.people import last_event, latest_people, people
from quorate.service.domain.projects import Projects
from quorate.service.domain.stats import Stats, stats
from quorate.service.domain.webhooks import announce
from quorate.service.store.schema import (
    attempts,
    browsers,
    deliveries,
    links,
    pending,
    projects,
    requests,
    sign_ins,
    stewards,
)
from quorate.service.store.store import Store, StoreBusy, StoreUnavailable

log = logging.getLogger("quorate.service.steward")

HOLD_SECONDS = 6.0  # after which a dead worker's tasks are free
RENEWALS = 4  # of a hold, before it would end
SET_BACK_SECONDS = 60.0  # a hold that ends later than this was taken before the clock was set back
STATS_SECONDS = 3.0
STATS_SHARE = 0.05  # of the time, at most, that computing numbers may take
PEOPLE_SECONDS, PEOPLE_SHARE = 30.0, 0.02  # the same for what votes say of each person


class Steward:
    """Goes round all active projects every `rhythm` seconds. `extra` jobs are called on each round, with the time."""

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
        self._stats_due: dict[str, float] = {}
        self._people_due: dict[str, float] = {}

    def start(self) -> None:
        """Begin, in two threads: one does the work, one renews the holds, however long a job takes."""
        rounds = partial(self._again_and_again, self.round, self.rhythm)
        renewals = partial(self._again_and_again, self.renew, self.hold_seconds / RENEWALS)
        for name, target in (("quorate-steward", rounds), ("quorate-steward-holds", renewals)):
            self._threads.append(threading.Thread(target=target, name=name, daemon=True))
            self._threads[-1].start()

    def stop(self, *, timeout: float = 10.0) -> None:
        """End after the job at hand, and free the tasks, so that the next worker need not wait."""
        self._stop.set()
        for thread in self._threads:
            thread.join(timeout)
        try:
            with self.projects.store.write() as connection:
                connection.execute(update(stewards).where(stewards.c.holder == self.name).values(until=0.0))
        except StoreUnavailable as problem:
            log.info("the tasks are free in %g seconds: %s", self.hold_seconds, problem)

    def _again_and_again(self, job: Callable[[], None], seconds: float) -> None:
        while not self._stop.is_set():
            try:
                job()
            except StoreUnavailable as problem:
                log.warning("waiting for the database: %s", problem)
            except Exception:  # the next round starts afresh; a voter must never feel this
                log.exception("a round of the steward failed")
            self._stop.wait(seconds)

    def round(self) -> None:
        """Everything that is due, once."""
        with self.projects.store.read() as connection:
            query = select(projects.c.id, projects.c.state).where(projects.c.state != "archived")
            tended = connection.execute(query).all()
        for project in tended:
            if self._stop.is_set():
                return
            self._safely(partial(self._tend if project.state == "active" else self._stats, project.id))
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
        self._stats(project_id)
        self._people(project_id)

    def _stats(self, project_id: str, _now: float = 0.0) -> None:
        """Numbers for the dashboard, no more often than costs a small share of the time."""
        started = time.monotonic()
        if started < self._stats_due.get(project_id, 0.0):
            return
        if self._with_hold(project_id, "stats", lambda: self._compute_stats(project_id)):
            took = time.monotonic() - started
            self._stats_due[project_id] = started + max(STATS_SECONDS, took / STATS_SHARE)

    def _compute_stats(self, project_id: str) -> None:
        """Keep new numbers, unless another worker kept some since these were begun: its numbers may be newer."""
        now = self.clock()
        mine = (stewards.c.project_id == project_id, stewards.c.task == "stats")
        query = select(stewards.c.state).where(*mine)
        with self.projects.store.read() as connection:
            version = _version(json.loads(connection.execute(query).scalar_one()))
            project = self.projects.get_in(connection, project_id)
            told = stats(connection, project, now=now)
        with self.projects.store.write() as connection:
            before = json.loads(connection.execute(query.with_for_update()).scalar_one())
            if _version(before) != version:
                return
            done = is_completed(before, told)
            announced = told.num_items if done else _announced(before)
            state = {"stats": told.as_json(), "announced": announced, "version": version + 1}
            connection.execute(update(stewards).where(*mine).values(state=json.dumps(state)))
            if done:
                content = {"num_items": told.num_items, "num_votes": told.num_votes}
                announce(connection, project.id, [("project.completed", content)], now=now)

    def _people(self, project_id: str) -> None:
        """What the votes say of each person, where there are new ones; not before kernels are compiled."""
        started = time.monotonic()
        if started < self._people_due.get(project_id, 0.0) or will_be_compiled():
            return
        if self._with_hold(project_id, "people", lambda: self.compute_people(project_id)):
            took = time.monotonic() - started
            self._people_due[project_id] = started + max(PEOPLE_SECONDS, took / PEOPLE_SHARE)

    def compute_people(self, project_id: str) -> None:
        """Keep new figures of the people, if anything happened since the last ones."""
        with self.projects.store.read() as connection:
            project = self.projects.get_in(connection, project_id)
            before = latest_people(connection, project_id)
            if before is not None and before["last_event"] == last_event(connection, project):
                return
            found = people(self.projects, connection, project, now=self.clock())
        mine = (stewards.c.project_id == project_id, stewards.c.task == "people")
        with self.projects.store.write() as connection:
            connection.execute(update(stewards).where(*mine).values(state=json.dumps(asdict(found))))

    def _with_hold(self, project_id: str, task: str, job: Callable[[], object]) -> bool:
        """Do the job if no other worker is at it; whether it was done."""
        if not self.hold(project_id, task):
            return False
        job()
        return True

    def hold(self, project_id: str, task: str) -> bool:
        """Take or keep the task for a while; False if another worker has it."""
        now = self.clock()
        mine = (stewards.c.project_id == project_id, stewards.c.task == task)
        free = or_(stewards.c.holder == self.name, stewards.c.until < now, stewards.c.until > now + SET_BACK_SECONDS)
        values = {"holder": self.name, "until": now + self.hold_seconds}
        with self.projects.store.read() as connection:
            held = connection.execute(select(stewards.c.holder, stewards.c.until).where(*mine)).one_or_none()
        if held is not None and now < held.until <= now + SET_BACK_SECONDS:
            return bool(held.holder == self.name)
        try:
            with self.projects.store.write() as connection:
                if connection.execute(update(stewards).where(*mine, free).values(values)).rowcount:
                    return True
                if held is None:
                    connection.execute(insert(stewards).values(project_id=project_id, task=task, **values))
                return held is None
        except IntegrityError:
            return False

    def release(self, project_id: str, task: str) -> None:
        """Let another worker have the task at once."""
        mine = (stewards.c.project_id == project_id, stewards.c.task == task, stewards.c.holder == self.name)
        with self.projects.store.write() as connection:
            connection.execute(update(stewards).where(*mine).values(until=0.0))

    def renew(self) -> None:
        """Keep the tasks this worker has; those that another worker took meanwhile are that one's."""
        now = self.clock()
        ending = (
            stewards.c.holder == self.name,
            stewards.c.until > 0.0,
            stewards.c.until < now + self.hold_seconds / 2,
        )
        with self.projects.store.read() as connection:
            if connection.execute(select(stewards.c.task).where(*ending).limit(1)).first() is None:
                return
        with self.projects.store.write() as connection:
            whole = update(stewards).where(stewards.c.holder == self.name, stewards.c.until > 0.0)
            connection.execute(whole.values(until=now + self.hold_seconds))


def _version(state: Mapping[str, Any]) -> int:
    """How often a project's numbers were kept: a clock can be set back, this cannot."""
    return int(state.get("version", 0))


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


EVERY = 3600.0
DAY = 86400.0
MONTH = 30 * DAY
KEYS_KEPT = 7 * DAY  # how long an idempotency key is remembered


class Housekeeping:
    """Call it as often as you like, with the time: it works once in EVERY seconds."""

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
    """Full rate-limit buckets, links and sign-ins that ended a month ago, forgotten browsers; returns how many."""
    old = (
        delete(attempts).where(attempts.c.time < now - DAY),
        delete(browsers).where(browsers.c.seen < now - LONGEST),
        delete(links).where(links.c.expires < now - MONTH),
        delete(sign_ins).where((sign_ins.c.expires < now - MONTH) | (sign_ins.c.revoked < now - MONTH)),
    )
    with store.write() as connection:
        return sum(connection.execute(statement).rowcount for statement in old)


def delete_requests(store: Store, *, now: float) -> int:
    """Idempotency keys that are too old to be sent again; returns how many."""
    with store.write() as connection:
        return connection.execute(delete(requests).where(requests.c.created < now - KEYS_KEPT)).rowcount


def delete_deliveries(store: Store, *, now: float) -> int:
    """Webhook deliveries that were accepted or given up a month ago; returns how many."""
    with store.write() as connection:
        return connection.execute(delete(deliveries).where(~pending, deliveries.c.created < now - MONTH)).rowcount
