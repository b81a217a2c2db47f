"""Connects a Label Studio project, for the first time or again: creates a project here with its classes and pool size.

This changes nothing in Label Studio: the connector reads the tasks, stores their original state, and only then changes
them. Called by `quorate connect`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import select

from quorate.connect.label_studio.client import LabelStudio
from quorate.connect.label_studio.settings import ConnectSettings
from quorate.connect.label_studio.tasks import RemoteProject, single_choice
from quorate.service.access.accounts import create_account, enrol
from quorate.service.domain.projects import Projects
from quorate.service.domain.settings import ProjectSettings
from quorate.service.label_studio.connections import change_connection, insert_connection, list_connections
from quorate.service.label_studio.connector import prediction_table
from quorate.service.store.schema import accounts
from quorate.service.store.store import Store
from quorate.validate import broken

LONGEST_TITLE = 200


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
    known = _known(store, client.url, remote_id)
    if known is not None:
        kept = projects_.get(known).settings
        prediction_table(how, kept.classes)
        change_connection(store, known, ended=None, options=how.dumps(), problem=None)
        return Attached(known, remote.title, kept.classes, kept.pool_size, owner, is_new=False)
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
        for each in list_connections(connection):
            if (each.url, each.remote_id) == (url, remote_id):
                return each.project_id
    return None


def _pool(remote: RemoteProject, settings: Mapping[str, Any]) -> int:
    """The pool size: by default the number of annotations per task in Label Studio."""
    if "pool_size" in settings:
        return int(settings["pool_size"])
    if remote.maximum_annotations < 2:
        rule = "how many people could be asked about each task; the project's own setting is 1"
        raise broken("pool_size", None, rule, "pass e.g. `pool_size=3`.")
    return remote.maximum_annotations


def _owner(store: Store, client: LabelStudio, now: float) -> str:
    """An account that may create projects: the first one, or a new one, named like the user in Label Studio."""
    query = select(accounts.c.id).where(accounts.c.may_create, accounts.c.disabled.is_(None))
    with store.read() as connection:
        found = connection.execute(query.order_by(accounts.c.created).limit(1)).scalar_one_or_none()
    return found or create_account(store, client.me()[:60] or "owner", may_create=True, now=now).id
