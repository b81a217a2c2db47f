"""Connects a Label Studio project (`attach`), keeps it in sync in a thread (`Connector`), disconnects it (`undo`).

`attach` changes nothing in Label Studio: the connector reads the tasks, stores their original state, and only then
changes them. It is called by `quorate connect`, `undo` by its `--undo`; the app starts the connector.

Webhooks only say which task to read; what is done depends on the state read. All tasks are read at the start and every
`poll_seconds`, so that webhooks may be lost. With several workers, the one that holds a project's task in `tasks`
does its work.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from sqlalchemy import select

from quorate.errors import QuorateError
from quorate.tables import probabilities_by_id, read_predictions
from quorate.validate import invalid
from quorate_service.access.accounts import create_account, enrol
from quorate_service.background import BackgroundJobs
from quorate_service.domain.projects import Projects
from quorate_service.domain.settings import ProjectSettings
from quorate_service.label_studio.client import LabelStudio
from quorate_service.label_studio.connections import (
    ConnectedProject,
    change_connection,
    changed_tasks,
    connection_of,
    insert_connection,
    list_connections,
    note_problem,
)
from quorate_service.label_studio.reconcile import PredictionOf, Reconciler, Stopped
from quorate_service.label_studio.settings import ConnectSettings, token_of
from quorate_service.label_studio.tasks import RemoteProject, single_choice
from quorate_service.store import Store, StoreUnavailable
from quorate_service.store.schema import accounts

log = logging.getLogger("quorate_service.connector")

TASK = "connect"  # in `tasks`
RHYTHM = 0.5  # seconds between checks for webhooks that other workers received
READ_SHARE = 0.25  # largest fraction of the time spent on reading all tasks
FIRST_PAUSE, LONGEST_PAUSE = 2.0, 15.0  # seconds to wait after a failure
LONGEST_TITLE = 200


class Connector:
    """The background thread of the app; `wake` it when a webhook arrives."""

    def __init__(
        self,
        projects_: Projects,
        jobs: BackgroundJobs,
        *,
        clock: Callable[[], float] = time.time,
        client_of: Callable[[ConnectedProject], LabelStudio] | None = None,
    ) -> None:
        self.projects, self.jobs, self.clock = projects_, jobs, clock
        self._client_of = client_of or (lambda link: LabelStudio(link.url, token_of(link.how), sleep=self._pause))
        self._stop, self._awake = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None
        self._open: dict[str, _Open] = {}
        self._troubles: dict[str, _Trouble] = {}

    def start(self) -> None:
        """Start the thread."""
        self._thread = threading.Thread(target=self._run, name="quorate-connector", daemon=True)
        self._thread.start()

    def stop(self, *, timeout: float = 15.0) -> None:
        """Finish the current task, then stop."""
        self._stop.set()
        self._awake.set()
        if self._thread is not None:
            self._thread.join(timeout)
        for reading in self._open.values():
            reading.reconciler.client.close()

    def wake(self) -> None:
        """Start the next round at once."""
        self._awake.set()

    def _pause(self, seconds: float) -> None:
        self._stop.wait(seconds)

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self.round()
            except StoreUnavailable as problem:
                log.warning("waiting for the database: %s", problem)
            except Exception:  # the next round tries again
                log.exception("a round of the connector failed")
            self._awake.wait(RHYTHM)
            self._awake.clear()

    def round(self) -> None:
        """Do what is due, once, for every connected project whose task this worker holds."""
        with self.projects.store.read() as connection:
            links = list_connections(connection)
        for link in links:
            if self._stop.is_set():
                return
            if link.ended is not None or link.state != "active":
                self._forget(link.project_id)
            elif self.jobs.hold(link.project_id, TASK):
                self._tend(link)

    def _tend(self, link: ConnectedProject) -> None:
        """Sync one project; a failure is stored and does not affect other projects."""
        opened = self._open.get(link.project_id)
        if opened is not None and opened.how != link.how:
            self._forget(link.project_id)
            opened = None
        trouble = self._troubles.get(link.project_id)
        if trouble is not None and trouble.how == link.how and time.monotonic() < trouble.not_before:
            return
        try:
            if opened is None:
                opened = self._open[link.project_id] = _Open(self._reconciler(link), link.how)
            self._read(opened, link)
            self._troubles.pop(link.project_id, None)
        except Stopped:
            return
        except StoreUnavailable:
            raise
        except QuorateError as problem:
            log.warning("project %s waits: %s", link.project_id, problem)
            self._wait(link, problem.render())
        except Exception as problem:
            log.exception("project %s waits", link.project_id)
            self._wait(link, f"Reading the tasks failed ({type(problem).__name__}); see the log of the service.")

    def _wait(self, link: ConnectedProject, told: str) -> None:
        """Skip the project for some time, longer after each failure; then read all of it again."""
        before = self._troubles.get(link.project_id)
        pause = FIRST_PAUSE if before is None or before.how != link.how else min(2 * before.pause, LONGEST_PAUSE)
        self._troubles[link.project_id] = _Trouble(link.how, pause, time.monotonic() + pause)
        if link.project_id in self._open:
            self._open[link.project_id].due = 0.0
        note_problem(self.projects.store, link, told)

    def _read(self, opened: _Open, link: ConnectedProject) -> None:
        begun = time.monotonic()
        with self.projects.store.read() as connection:
            changed = changed_tasks(connection, link.project_id)
        for task in changed:
            if not self._goes_on(link.project_id):
                raise Stopped
            opened.reconciler.read_one(task)
        if begun >= opened.due or link.reread:
            opened.reconciler.link = link
            opened.reconciler.notes.clear()
            opened.reconciler.read_all()
            took = time.monotonic() - begun
            opened.due = time.monotonic() + max(link.how.poll_seconds, took / READ_SHARE)

    def _reconciler(self, link: ConnectedProject) -> Reconciler:
        classes = self.projects.get(link.project_id).settings.classes
        goes_on = partial(self._goes_on, link.project_id)
        predictions = prediction_table(link.how, classes)
        return Reconciler(self.projects, link, self._client_of(link), predictions, goes_on, self.clock)

    def _goes_on(self, project_id: str) -> bool:
        """Whether to continue: not stopped, not disconnected, and this worker still holds the task."""
        if self._stop.is_set() or not self.jobs.hold(project_id, TASK):
            return False
        with self.projects.store.read() as connection:
            return connection_of(connection, project_id) is not None

    def _forget(self, project_id: str) -> None:
        """Stop working on the project and release its task for other workers."""
        opened, trouble = self._open.pop(project_id, None), self._troubles.pop(project_id, None)
        if opened is not None:
            opened.reconciler.client.close()
        if opened is not None or trouble is not None:
            self.jobs.release(project_id, TASK)


class _Open:
    """A project that this worker syncs. `due`: when all tasks are read again."""

    def __init__(self, reconciler: Reconciler, how: ConnectSettings) -> None:
        self.reconciler, self.how = reconciler, how
        self.due = 0.0


@dataclass(frozen=True, slots=True)
class _Trouble:
    """A failure to read a project with the settings `how`, and when to try again."""

    how: ConnectSettings
    pause: float
    not_before: float


def prediction_table(how: ConnectSettings, classes: tuple[str, ...]) -> PredictionOf:
    """A function from a task to its prediction: from a table, if one is given, else from the task itself."""
    if how.predictions is None:
        return lambda task: task.prediction
    read = read_predictions(how.predictions, classes=list(classes), id_column=how.id_column)
    by_id = probabilities_by_id(read, classes)
    return lambda task: by_id.get(str(task.id if how.id_field is None else task.data.get(how.id_field)))


@dataclass(frozen=True, slots=True)
class Attached:
    """The project here; `owner`: an account that owns it; `is_new`: whether it was created now."""

    project_id: str
    title: str
    classes: tuple[str, ...]
    pool_size: int
    owner: str
    is_new: bool


def attach(
    store: Store, client: LabelStudio, remote_id: int, how: ConnectSettings, settings: Mapping[str, Any], *, now: float
) -> Attached:
    """Connect the project; one that was connected before keeps its settings.

    A table of predictions that cannot be read is refused before anything is stored.
    """
    remote = client.project(remote_id)
    question = single_choice(remote.label_config, choices=how.choices)
    how = replace(how, choices=question.name)  # so that a second question can be added later
    projects_, owner = Projects(store), _owner(store, client, now)
    before = _known(store, client.url, remote_id)
    if before is not None:
        kept = projects_.get(before).settings
        prediction_table(how, kept.classes)
        change_connection(store, before, ended=None, options=how.dumps(), problem=None)
        return Attached(before, remote.title, kept.classes, kept.pool_size, owner, is_new=False)
    chosen = ProjectSettings.from_json(
        {"classes": list(question.classes), "pool_size": _pool(remote, settings), **settings}
    )
    prediction_table(how, chosen.classes)
    with store.write() as connection:
        title = " ".join(remote.title.split())[:LONGEST_TITLE] or f"Label Studio {remote_id}"
        made = projects_.create_in(connection, title, chosen, by=owner, now=now)
        enrol(connection, made.id, owner, role="owner", now=now)
        original = {"maximum_annotations": remote.maximum_annotations}
        insert_connection(connection, made.id, client.url, remote_id, how, original, now=now)
    return Attached(made.id, title, chosen.classes, chosen.pool_size, owner, is_new=True)


def _known(store: Store, url: str, remote_id: int) -> str | None:
    with store.read() as connection:
        for connected in list_connections(connection):
            if (connected.url, connected.remote_id) == (url, remote_id):
                return connected.project_id
    return None


def _pool(remote: RemoteProject, settings: Mapping[str, Any]) -> int:
    """The pool size: by default the number of annotations per task in Label Studio."""
    if "pool_size" in settings:
        return int(settings["pool_size"])
    if remote.maximum_annotations < 2:
        rule = "how many people could be asked about each task; the project's own setting is 1"
        raise invalid("pool_size", None, rule, "pass e.g. `pool_size=3`.")
    return remote.maximum_annotations


def _owner(store: Store, client: LabelStudio, now: float) -> str:
    """An account that may create projects: the first one, or a new one, named like the user in Label Studio."""
    query = select(accounts.c.id).where(accounts.c.may_create, accounts.c.disabled.is_(None))
    with store.read() as connection:
        account_id = connection.execute(query.order_by(accounts.c.created).limit(1)).scalar_one_or_none()
    return account_id or create_account(store, client.me()[:60] or "owner", may_create=True, now=now).id


def undo(projects_: Projects, link: ConnectedProject, client: LabelStudio, *, now: float, wait: float = 30.0) -> int:
    """Disconnect: wait until no worker syncs the project, then restore its tasks; returns how many were changed."""
    change_connection(projects_.store, link.project_id, ended=now)
    jobs = BackgroundJobs(projects_)
    until = time.monotonic() + wait
    while not jobs.hold(link.project_id, TASK):  # the holder stops at its next task, and its hold expires
        if time.monotonic() >= until:
            rule = "a project that no service is working on; a service still holds this one"
            raise invalid("project", link.project_id, rule, "try again in a moment, or stop the service.")
        time.sleep(0.2)
    try:
        return Reconciler(projects_, link, client).undo()
    finally:
        jobs.stop()
