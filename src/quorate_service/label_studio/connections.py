"""The stored state of projects whose front end is Label Studio: its address, its people, its tasks' original state.

Only our database; `reconcile` reads and changes Label Studio. The token is not stored here
(connect/label_studio/settings.py), and of the webhook's secret only the digest is. Called by the connector, the hooks,
the dashboard and the commands.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hmac import compare_digest
from typing import Any

from sqlalchemy import Connection, Row, Select, insert, select, update

from quorate.validate import invalid
from quorate_service.access import digest
from quorate_service.label_studio.plan import LOST, OUTSIDE, ItemView, original_of
from quorate_service.label_studio.settings import ConnectSettings
from quorate_service.label_studio.tasks import Task
from quorate_service.store import Store
from quorate_service.store.bulk import among, upsert
from quorate_service.store.schema import ballots, connections, items, projects, remote_tasks

LABEL_STUDIO = "label-studio"
LONGEST_NAME = 50
LONGEST_PROBLEM = 500


@dataclass(frozen=True, slots=True)
class ConnectedProject:
    """A project here and its Label Studio project. `people`: user id -> the voter's name here, which never changes."""

    project_id: str
    state: str
    url: str
    remote_id: int
    how: ConnectSettings
    original: Mapping[str, Any]
    people: Mapping[int, str]
    webhook_id: int | None
    ended: float | None
    read: float | None
    reread: bool
    problem: str | None

    @property
    def address(self) -> str:
        """The page of its tasks."""
        return f"{self.url}/projects/{self.remote_id}/data"


def _query() -> Select[Any]:
    query = select(connections, projects.c.state).join(projects, projects.c.id == connections.c.project_id)
    return query.order_by(connections.c.created)


def list_connections(connection: Connection) -> list[ConnectedProject]:
    """All connections, including ended ones."""
    return [_connected(row) for row in connection.execute(_query())]


def connection_of(connection: Connection, project_id: str) -> ConnectedProject | None:
    """The connection of one project; None if it has none or it ended."""
    mine = (connections.c.project_id == project_id, connections.c.ended.is_(None))
    row = connection.execute(_query().where(*mine)).one_or_none()
    return None if row is None else _connected(row)


def _connected(row: Row[Any]) -> ConnectedProject:
    return ConnectedProject(
        project_id=row.project_id,
        state=row.state,
        url=row.url,
        remote_id=row.remote_id,
        how=ConnectSettings.of(json.loads(row.options)),
        original=json.loads(row.original),
        people={int(user): name for user, name in json.loads(row.people).items()},
        webhook_id=row.webhook_id,
        ended=row.ended,
        read=row.read,
        reread=row.reread,
        problem=row.problem,
    )


def insert_connection(
    connection: Connection,
    project_id: str,
    url: str,
    remote_id: int,
    how: ConnectSettings,
    original: Mapping[str, Any],
    *,
    now: float,
) -> None:
    """Store the connection of a project."""
    row = {"project_id": project_id, "kind": LABEL_STUDIO, "url": url, "remote_id": remote_id, "created": now}
    row |= {"options": how.dumps(), "original": json.dumps(dict(original))}
    connection.execute(insert(connections).values(row))


def change_connection(store: Store, project_id: str, **values: object) -> None:
    """Set columns of a connection's row."""
    with store.write() as connection:
        connection.execute(update(connections).where(connections.c.project_id == project_id).values(values))


def set_webhook(store: Store, project_id: str, webhook_id: int | None, secret: str | None) -> None:
    """Store the id of our webhook in Label Studio and the digest of its secret."""
    kept = None if secret is None else digest(secret)
    change_connection(store, project_id, webhook_id=webhook_id, secret=kept)


def is_secret(connection: Connection, project_id: str, secret: str) -> bool:
    """Whether this is the secret of our webhook."""
    query = select(connections.c.secret).where(connections.c.project_id == project_id, connections.c.ended.is_(None))
    kept = connection.execute(query).scalar_one_or_none()
    return kept is not None and compare_digest(kept, digest(secret))


def note_problem(store: Store, link: ConnectedProject, problem: str | None) -> None:
    """Store the problem that the dashboard shows; None: none."""
    text = None if problem is None else " ".join(problem.split())[:LONGEST_PROBLEM]
    if text != link.problem:
        change_connection(store, link.project_id, problem=text)


def name_people(store: Store, link: ConnectedProject, found: Mapping[int, str]) -> dict[int, str]:
    """The names of these users here, by their ids (`found`: with their e-mail addresses); new names are stored.

    A name never changes, even if the user is renamed: otherwise their votes would be attributed to somebody else.
    """
    if found.keys() <= link.people.keys():
        return dict(link.people)
    with store.write() as connection:
        mine = connections.c.project_id == link.project_id
        text = connection.execute(select(connections.c.people).where(mine).with_for_update()).scalar_one()
        names = {int(user): name for user, name in json.loads(text).items()}
        for user, email in found.items():
            names.setdefault(user, _new_name(user, email, names.values()))
        kept = json.dumps({str(user): name for user, name in names.items()})
        connection.execute(update(connections).where(mine).values(people=kept))
    return names


def _new_name(user: int, email: str, taken: Iterable[str]) -> str:
    """A readable name that nobody else has.

    >>> _new_name(7, "ada@example.org", []), _new_name(7, "", []), _new_name(7, "ada", ["ext:ada"])
    ('ext:ada@example.org', 'ext:user-7', 'ext:user-7')
    """
    name = f"{OUTSIDE}{email}"
    is_plain = 0 < len(email) <= LONGEST_NAME and email.isprintable() and not name.startswith(LOST)
    return name if is_plain and name not in taken else f"{OUTSIDE}user-{user}"


def mark_changed(store: Store, project_id: str, tasks: Sequence[int], *, now: float) -> None:
    """Mark the tasks of a webhook to be read soon; all tasks, if it names none or unknown ones."""
    with store.write() as connection:
        mine = (remote_tasks.c.project_id == project_id, among(remote_tasks.c.task_id, "ids"))
        changed = update(remote_tasks).where(*mine).values(changed=now).returning(remote_tasks.c.task_id)
        present = set(connection.execute(changed, {"ids": list(tasks)}).scalars()) if tasks else set()
        if not tasks or set(tasks) - present:
            connection.execute(update(connections).where(connections.c.project_id == project_id).values(reread=True))


def changed_tasks(connection: Connection, project_id: str) -> list[int]:
    """The tasks marked by webhooks, in order."""
    query = select(remote_tasks.c.task_id).where(remote_tasks.c.project_id == project_id)
    return list(
        connection.execute(query.where(remote_tasks.c.changed.is_not(None)).order_by(remote_tasks.c.changed)).scalars()
    )


def clear_changed(store: Store, project_id: str, task: int) -> None:
    """Remove the mark, before the task is read; later changes mark it again."""
    with store.write() as connection:
        mine = (remote_tasks.c.project_id == project_id, remote_tasks.c.task_id == task)
        connection.execute(update(remote_tasks).where(*mine).values(changed=None))


def known_tasks(connection: Connection, project_id: str) -> dict[int, dict[str, Any]]:
    """Every task that we may have changed, with its original state."""
    query = select(remote_tasks.c.task_id, remote_tasks.c.original).where(remote_tasks.c.project_id == project_id)
    return {row.task_id: json.loads(row.original) for row in connection.execute(query)}


def remember_tasks(store: Store, project_id: str, tasks: Sequence[Task]) -> None:
    """Store the original state of these tasks before they are changed; known tasks are left alone."""
    query = select(remote_tasks.c.task_id).where(remote_tasks.c.project_id == project_id)
    with store.read() as connection:
        ids = {"ids": [task.id for task in tasks]}
        present = set(connection.execute(query.where(among(remote_tasks.c.task_id, "ids")), ids).scalars())
    rows = [
        {"project_id": project_id, "task_id": task.id, "original": json.dumps(original_of(task))}
        for task in tasks
        if task.id not in present
    ]
    if rows:
        with store.write() as connection:
            connection.execute(upsert(connection, remote_tasks).on_conflict_do_nothing(), rows)


def forget_task(store: Store, project_id: str, task: int) -> None:
    """Delete the task's original state: it was restored, or the task is gone."""
    with store.write() as connection:
        mine = (remote_tasks.c.project_id == project_id, remote_tasks.c.task_id == task)
        connection.execute(remote_tasks.delete().where(*mine))


@dataclass(frozen=True, slots=True)
class KnownItem:
    """The item of a task: its state, its ballots, and the number of its last event."""

    view: ItemView
    ballots: Mapping[str, str | None]
    seq: int


def known_items(connection: Connection, link: ConnectedProject, tasks: Iterable[int]) -> dict[int, KnownItem]:
    """The items of these tasks, with the ballots of Label Studio users."""
    names = [str(task) for task in tasks]
    query = select(items).where(items.c.project_id == link.project_id, among(items.c.name, "names"))
    rows = connection.execute(query, {"names": names}).all()
    cast = select(ballots.c.item_id, ballots.c.voter, ballots.c.label).where(among(ballots.c.item_id, "ids"))
    theirs = set(link.people.values())
    labels: dict[int, dict[str, str | None]] = {row.id: {} for row in rows}
    for ballot in connection.execute(cast.order_by(ballots.c.time), {"ids": list(labels)}):
        if ballot.voter in theirs or ballot.voter.startswith(LOST):
            labels[ballot.item_id][ballot.voter] = ballot.label
    return {int(row.name): KnownItem(as_view(row._asdict()), labels[row.id], row.seq) for row in rows}


def as_view(row: Mapping[str, Any]) -> ItemView:
    """An item's row as `plan` needs it."""
    if not row["is_wanted"]:
        wants = 0
    elif row["is_open"]:
        wants = max(row["to_close"], 1)
    else:  # an audit asks the whole pool
        wants = max(row["pool_size"] - row["num_votes"] - row["num_abstained"], 1)
    is_closed = not row["is_open"] and row["withdrawn"] is None
    answer = row["verdict"] or row["panel"] or row["label"]
    confidence = row["confidence"] if answer is not None and answer == row["label"] else None  # it is of the label
    return ItemView(is_closed, wants, answer, confidence, row["reason"], row["decided_votes"] or 0)


def connection_to(store: Store, url: str, remote_id: int) -> ConnectedProject:
    """The connection to this project of Label Studio."""
    with store.read() as connection:
        connections = list_connections(connection)
    for connected in connections:
        if (connected.url, connected.remote_id) == (url, remote_id):
            return connected
    others = ", ".join(f"{connected.remote_id} at {connected.url}" for connected in connections) or "none"
    raise invalid("project", remote_id, f"a project connected before: {others}", "pass its --url and --project.")
