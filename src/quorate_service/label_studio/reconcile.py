"""Syncs one project: takes votes over from Label Studio, and changes its tasks according to our decisions.

What to do depends only on the current state of both sides (`connect.label_studio.plan`), so the work may stop at any
point and be continued by any worker. Called by the connector, one project at a time, and by `--undo`.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from quorate.errors import InvalidInput
from quorate.types import PredictionValue
from quorate_service.addresses import host_of, may_be_public
from quorate_service.domain.ballots import act
from quorate_service.domain.item_actions import change_item
from quorate_service.domain.items import ItemContent, NewItem, add_items
from quorate_service.domain.projects import Projects
from quorate_service.domain.votes import Request
from quorate_service.label_studio.client import Gone, LabelStudio, Refused
from quorate_service.label_studio.connections import (
    ConnectedProject,
    KnownItem,
    change_connection,
    clear_changed,
    forget_task,
    known_items,
    known_tasks,
    name_people,
    note_problem,
    remember_tasks,
    set_webhook,
)
from quorate_service.label_studio.plan import ballots_of, plan_restore, plan_task, plan_votes
from quorate_service.label_studio.tasks import (
    RemoteProject,
    SingleChoice,
    Task,
    UnexpectedAnswer,
    as_task,
    single_choice,
    unexpected,
)

log = logging.getLogger("quorate_service.connector")

SECRET = "X-Quorate-Secret"  # the header our webhook sends
PATH = "/hooks/label-studio/"
LONGEST_TEXT = 2000
BY = "label-studio"

PredictionOf = Callable[[Task], PredictionValue]


class Stopped(Exception):
    """The service is stopping, or another worker has taken the project."""


@dataclass(slots=True)
class Reconciler:
    """One connected project. `goes_on` is called between tasks; if it returns False, the work stops."""

    projects: Projects
    link: ConnectedProject
    client: LabelStudio
    prediction_of: PredictionOf = lambda task: task.prediction
    goes_on: Callable[[], bool] = lambda: True
    clock: Callable[[], float] = time.time
    remote: RemoteProject | None = None
    question: SingleChoice | None = None  # that of `remote`
    notes: dict[int, str] = field(default_factory=dict)  # task -> why part of it could not be used

    def read_all(self) -> int:
        """Read and sync every task; returns how many there are."""
        store, link = self.projects.store, self.link
        change_connection(store, link.project_id, reread=False)  # webhooks from now on ask for another read
        question = self._question(anew=True)
        self.ensure_webhook()
        seen: set[int] = set()
        for page in self.client.tasks(link.remote_id):
            seen |= {number for answer in page if (number := _number(answer)) is not None}
            self._take_in([task for answer in page if (task := self._readable(answer, question)) is not None])
        with store.read() as connection:
            tasks = known_tasks(connection, link.project_id)
        for number in sorted(tasks.keys() - seen):
            self._check()
            self.read_one(number)
        change_connection(store, link.project_id, read=self.clock())
        note_problem(store, link, self._told(question))
        return len(seen)

    def read_one(self, task: int) -> None:
        """Read and sync one task, or note why it cannot be used. The item of a deleted task is withdrawn."""
        clear_changed(self.projects.store, self.link.project_id, task)
        question = self._question()
        with self._noted(task):
            self._sync_one(task, question)

    def _sync_one(self, task: int, question: SingleChoice) -> None:
        try:
            remote = as_task(self.client.task(task), question, self._remote.model_version)
        except Gone:
            self._withdraw(task)
            return
        self._names(remote)
        item = self._known([task]).get(task)
        if item is None:
            self._take_in([remote])
            return
        if self._voted(remote, item):
            item = self._known([task])[task]
        change = plan_task(remote, item.view, skip_queue=self._remote.skip_queue)
        if change:
            self.client.change_task(task, change)

    def _take_in(self, tasks: list[Task]) -> None:
        """Add items for new tasks, then sync each task, those with annotations first."""
        link = self.link
        remember_tasks(self.projects.store, link.project_id, tasks)
        there = self._known(task.id for task in tasks)
        fresh = [self._new_item(task) for task in tasks if task.id not in there]
        if fresh:
            add_items(self.projects, link.project_id, fresh, now=self.clock())
            there = self._known(task.id for task in tasks)
        for task in sorted(tasks, key=lambda each: not each.annotations):
            self._check()
            self._in_line(task, there[task.id])

    def _in_line(self, task: Task, item: KnownItem) -> None:
        """Sync a task from a page of tasks; it is read again before votes or data change, as pages may be outdated.

        Pages have only the ids of people; their names are taken from the task itself.
        """
        with self._noted(task.id):
            if not {annotation.user for annotation in task.annotations} - {None} <= self.link.people.keys():
                self.read_one(task.id)
                return
            theirs = ballots_of(task.annotations, self.link.people)
            change = plan_task(task, item.view, skip_queue=self._remote.skip_queue)
            if plan_votes(theirs, item.ballots) or "data" in change:
                self.read_one(task.id)
            elif change:
                self.client.change_task(task.id, change)

    @contextmanager
    def _noted(self, task: int) -> Iterator[None]:
        """Note an error that concerns this task only, so that the others are still synced."""
        try:
            yield
        except (InvalidInput, UnexpectedAnswer) as problem:
            log.warning("task %d: %s", task, problem)
            self.notes[task] = str(problem)

    def _voted(self, task: Task, item: KnownItem) -> bool:
        """Add and retract votes until ours equal Label Studio's; returns whether there were any changes."""
        acts = plan_votes(ballots_of(task.annotations, self._names(task)), item.ballots)
        for number, change in enumerate(acts):
            key = f"annotation {change.annotation} after event {item.seq + number}"
            request = Request(
                self.link.project_id, str(task.id), change.voter, change.kind, change.label, request=key, served=False,
                signed_in_by=f"Label Studio, annotation {change.annotation or 'deleted'}",
            )  # fmt: skip
            act(self.projects, request, now=self.clock())
        for annotation in task.annotations:
            if annotation.unusable is not None:
                self.notes[task.id] = f"an answer that is not one of the classes ({annotation.unusable}) is not a vote"
        return bool(acts)

    def _withdraw(self, task: int) -> None:
        """Withdraw the item of a deleted task; its votes stay in the events."""
        if task in self._known([task]):
            change_item(self.projects, self.link.project_id, "withdraw", str(task), by=BY, now=self.clock())
        forget_task(self.projects.store, self.link.project_id, task)

    def ensure_webhook(self) -> None:
        """Make sure that we have exactly one active webhook. Without one, changes are found by polling only."""
        link, callback = self.link, self.link.how.callback
        if callback is None:
            return
        url = f"{callback.rstrip('/')}{PATH}{link.project_id}"
        try:
            if self._remove_webhooks(keep=url):
                return
            secret = secrets.token_urlsafe(32)
            number = self.client.add_webhook(link.remote_id, url, {SECRET: secret})
        except (Refused, UnexpectedAnswer) as problem:
            log.warning("no webhook: %s", problem)
            return
        set_webhook(self.projects.store, link.project_id, number, secret)
        self.link = replace(link, webhook_id=number)

    def _remove_webhooks(self, *, keep: str | None = None) -> bool:
        """Remove our webhooks except the active one to `keep` whose secret we have; returns whether there is one.

        There are others if the response to their creation was lost, or if our address has changed.
        """
        ours = f"{PATH}{self.link.project_id}"
        is_kept = False
        for hook in self.client.webhooks(self.link.remote_id):
            if hook.get("url") == keep and hook.get("id") == self.link.webhook_id and hook.get("is_active", True):
                is_kept = True
            elif str(hook.get("url")).endswith(ours):
                self.client.remove_webhook(_webhook_id(hook))
        return is_kept

    def undo(self) -> int:
        """Restore all tasks; returns how many were changed. Safe to repeat."""
        link, store = self.link, self.projects.store
        if link.webhook_id is not None:
            self.client.remove_webhook(link.webhook_id)
            set_webhook(store, link.project_id, None, None)
        try:
            self._remove_webhooks()
        except (Gone, Refused, UnexpectedAnswer) as problem:  # perhaps a user who may not see webhooks
            log.warning("webhooks could not be listed: %s", problem)
        try:
            question = self._question(anew=True)
        except Gone:  # the whole project
            question = None
        with store.read() as connection:
            originals = known_tasks(connection, link.project_id)
        changed = 0
        for number, original in originals.items():
            if question is not None:
                changed += self._undone(number, original, question)
            forget_task(store, link.project_id, number)
        return changed

    def _undone(self, number: int, original: Mapping[str, object], question: SingleChoice) -> bool:
        """Restore one task; returns whether it was changed. Keeps a maximum that was changed in the meantime."""
        try:
            task = as_task(self.client.task(number), question)
        except Gone:
            return False
        overlap, before = int(str(original["overlap"])), self.link.original.get("maximum_annotations")
        overlap = self._remote.maximum_annotations if overlap == before else overlap
        change = plan_restore(task, original, overlap=overlap, skip_queue=self._remote.skip_queue)
        if change:
            self.client.change_task(number, change)
        return bool(change)

    def _question(self, *, anew: bool = False) -> SingleChoice:
        """The question in Label Studio, with our classes, on which past decisions rely."""
        if anew or self.question is None:
            self.remote, self.question = self.client.project(self.link.remote_id), None
            question = single_choice(self.remote.label_config, choices=self.link.how.choices)
            classes = self.projects.get(self.link.project_id).settings.classes
            self.question = replace(question, classes=classes)
        return self.question

    @property
    def _remote(self) -> RemoteProject:
        if self.remote is None:
            self.remote = self.client.project(self.link.remote_id)
        return self.remote

    def _told(self, question: SingleChoice) -> str | None:
        """The problem to show on the dashboard after reading all tasks; None if there is none."""
        now = single_choice(self._remote.label_config, choices=self.link.how.choices).classes
        if set(now) != set(question.classes):
            names = ", ".join(sorted(set(now) ^ set(question.classes)))
            return f"The classes in Label Studio changed ({names}); answers with new classes are not counted as votes."
        if self.notes:
            task, note = next(iter(self.notes.items()))
            return f"{len(self.notes)} tasks could not be read completely, e.g. task {task}: {note}"
        return None

    def _readable(self, answer: object, question: SingleChoice) -> Task | None:
        try:
            return as_task(answer, question, self._remote.model_version)
        except UnexpectedAnswer as problem:
            log.warning("a task could not be read: %s", problem)
            self.notes[_number(answer) or 0] = str(problem)
            return None

    def _names(self, task: Task) -> dict[int, str]:
        """The names here of a task's annotators."""
        emails = {annotation.user: annotation.email for annotation in task.annotations if annotation.user is not None}
        names = name_people(self.projects.store, self.link, emails)
        if len(names) > len(self.link.people):
            self.link = replace(self.link, people=names)
        return names

    def _known(self, tasks: Iterable[int]) -> dict[int, KnownItem]:
        with self.projects.store.read() as connection:
            return known_items(connection, self.link, tasks)

    def _check(self) -> None:
        if not self.goes_on():
            raise Stopped

    def _new_item(self, task: Task) -> NewItem:
        return NewItem(str(task.id), self.prediction_of(task), self._shown(task))

    def _shown(self, task: Task) -> ItemContent:
        """What our pages show of a task: its text and a link to it."""
        value = task.data.get(self._question().source or "")
        text = value[:LONGEST_TEXT].replace("\0", "") if isinstance(value, str) and value else f"Task {task.id}"
        link = f"{self.link.address}?task={task.id}"
        host = host_of(link)
        is_safe = host is not None and (link.startswith("https:") or not may_be_public(host))
        return ItemContent(text=text, link=link if is_safe else None)


def _number(answer: object) -> int | None:
    """The id in an API response; None if there is none."""
    number = answer.get("id") if isinstance(answer, Mapping) else None
    return number if isinstance(number, int) else None


def _webhook_id(answer: object) -> int:
    number = _number(answer)
    if number is None:
        raise unexpected("webhook", answer, "the id of the webhook")
    return number
