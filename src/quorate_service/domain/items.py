"""Adds items: checked, decided, stored with their first event, all of a batch or none.

Existing items stay unchanged, so that a batch can be sent again after a broken connection. An image is an upload of
the project (`upload:<id>`) or an address that the voter's browser loads; the server fetches neither images nor links.
Called by the API, the import page and the demo.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from sqlalchemy import Connection, insert, select, update

from quorate.session import Event, ParamsVersion, class_number, item_session
from quorate.validate import invalid, members, whole
from quorate_service.addresses import host_of, may_be_public, refuse_private
from quorate_service.domain.cost import check_pool
from quorate_service.domain.gold import gold_values
from quorate_service.domain.item_projection import after_event, audit_draw
from quorate_service.domain.projects import Project, Projects, not_archived
from quorate_service.domain.webhooks import announce, closed
from quorate_service.store.bulk import among, change_rows, encode
from quorate_service.store.schema import events, items, projects

UPLOAD = re.compile(r"upload:([a-z0-9_]{1,40})")
MOST_ITEMS = 5000  # in one batch
ONE_MODEL = ("classifier",)
MOST_NAME = 200
EQUAL = 1e-9  # "no prediction" is stored as equal probabilities
MOST_TEXT = 20_000
MOST_PRIORITY = 1_000_000


def checked_image(image: str, *, where: str, allow_private: bool = False) -> str:
    """An image's address: `upload:<id>`, or https outside this machine and its network.

    Browsers load it automatically, so it must not make a voter's browser send requests to its own network.
    `allow_private` permits that, also over http; the same setting applies to webhooks.

    >>> checked_image("https://example.org/cat.png", where="image")
    'https://example.org/cat.png'
    """
    if UPLOAD.fullmatch(image):
        return image
    address = checked_address(image, where=where)
    refuse_private(address, host_of(address) or "", where=where, allow_private=allow_private)
    return address


def checked_address(address: str, *, where: str) -> str:
    """An address that a browser may open: https, or http on this machine or its network; never a script."""
    if not _may_be_opened(address):
        fix = "pass e.g. 'https://example.org/cat.png'."
        raise invalid(where, address[:80], "an https address (or upload:<id> for an image)", fix)
    return address


def _may_be_opened(address: str) -> bool:
    host = host_of(address)
    return host is not None and (address.lower().startswith("https:") or not may_be_public(host))


def upload_of(show: Mapping[str, str]) -> str | None:
    """The id of the upload in an item's content; None without one."""
    match = UPLOAD.fullmatch(show.get("image", ""))
    return match[1] if match else None


def for_browser(project_id: str, show: Mapping[str, str]) -> dict[str, str | None]:
    """An item's content, None for what it has not, with the address of an upload instead of its id.

    >>> for_browser("p_1", {"text": "Which?", "image": "upload:u_7"})
    {'text': 'Which?', 'image': '/media/p_1/u_7', 'link': None}
    """
    upload = upload_of(show)
    image = {} if upload is None else {"image": media_address(project_id, upload)}
    return {"text": None, "image": None, "link": None, **show, **image}


def media_address(project_id: str, upload: str) -> str:
    """Where the project's members can open an upload."""
    return f"/media/{project_id}/{upload}"


@dataclass(frozen=True, slots=True)
class ItemContent:
    """What voters see: text, an image (an upload's id or an address that the browser loads), a link; all optional."""

    text: str | None = None
    image: str | None = None
    link: str | None = None

    def as_json(self) -> dict[str, str]:
        """The fields that are set."""
        fields = {"text": self.text, "image": self.image, "link": self.link}
        return {name: value for name, value in fields.items() if value is not None}


@dataclass(frozen=True, slots=True)
class NewItem:
    """One item to add: its id, one prediction per classifier (None: none), its content.

    `gold`: the known answer of a gold item; None: an ordinary item.
    """

    name: str
    prediction: Any = None
    show: ItemContent = field(default_factory=ItemContent)
    pool_size: int | None = None
    priority: int = 0
    gold: str | None = None


@dataclass(frozen=True, slots=True)
class Added:
    """The result for one item of a batch."""

    name: str
    status: Literal["open", "closed", "exists", "gold"]


OpenedItem = tuple[dict[str, Any], Event]
"""The row and the first event of a new item."""


@dataclass(frozen=True, slots=True)
class DecidedBatch:
    """Items that are checked and decided, but not stored. `fresh` are the new ones, numbered from `first`.

    The numbers stay reserved for this batch; `project` is the state of the project under which they were decided.
    """

    names: list[str]
    project: Project
    fresh: list[NewItem]
    first: int
    opened: list[OpenedItem]


def add_items(
    projects_: Projects,
    project_id: str,
    batch: Sequence[NewItem],
    *,
    models: Sequence[str] = ONE_MODEL,
    now: float,
) -> list[Added]:
    """Open and store every new item of the batch; an invalid one refuses the whole batch."""
    return store_items(projects_, decide_items(projects_, project_id, batch, models=models, now=now), now=now)


def decide_items(
    projects_: Projects,
    project_id: str,
    batch: Sequence[NewItem],
    *,
    models: Sequence[str] = ONE_MODEL,
    now: float,
) -> DecidedBatch:
    """Check and decide a batch. This can take long and holds no lock; do not call it within a transaction.

    `models`: the classifiers of a project without items.
    """
    if len(batch) > MOST_ITEMS:
        raise invalid("items", f"{len(batch)} entries", f"at most {MOST_ITEMS} in one batch", "send several.")
    names = [checked_name(item.name, where=f"items[{index}].id") for index, item in enumerate(batch)]
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise invalid("items", twice, "a different id for every item; this one occurs twice", "remove one.")
    project, version, fresh, first = _begin(projects_, project_id, batch, models)
    return DecidedBatch(names, project, fresh, first, _opened_all(project, version, fresh, first, now))


def _check_cost(project: Project, version: ParamsVersion, fresh: Sequence[NewItem]) -> None:
    """Raise unless a decision about each pool is fast enough."""
    num_classes, usual = len(project.settings.classes), project.settings.pool_size
    for item in fresh:
        size = usual if item.pool_size is None else members(item.pool_size)
        check_pool(version.method, num_classes, size, where=f"pool_size of {item.name!r}")


def store_items(projects_: Projects, batch: DecidedBatch, *, now: float) -> list[Added]:
    """Store the items that are still new, in one transaction."""
    status = _store(projects_, batch, now) if batch.opened else {}
    return [Added(name, status.get(name, "exists")) for name in batch.names]


def _begin(
    projects_: Projects, project_id: str, batch: Sequence[NewItem], models: Sequence[str]
) -> tuple[Project, ParamsVersion, list[NewItem], int]:
    """The new items of the batch, their reserved numbers, and the project and parameters to decide under; no lock is
    held afterwards."""
    with projects_.store.write() as connection:
        project = not_archived(projects_.get_in(connection, project_id))
        project = project if project.models else project.with_models(models)
        present = names_there(connection, project_id, [item.name for item in batch])
        fresh = [item for item in batch if item.name not in present]
        first = _take_numbers(connection, project_id, len(fresh)) if fresh else 0
        return project, projects_.version_now(connection, project), fresh, first


NewStatus = Literal["open", "closed", "gold"]


def _store(projects_: Projects, batch: DecidedBatch, now: float) -> dict[str, NewStatus]:
    """Store the batch. If the project's settings changed in the meantime, decide again here; newly learned parameters
    apply to later acts only, as each decision names the parameters it was made under."""
    with projects_.store.write() as connection:
        project = projects_.locked(connection, batch.project.id)  # one batch of a project at a time
        project, opened = _with_models(connection, project, batch.project.models), batch.opened
        if project.version != batch.project.version:
            version = projects_.version_now(connection, not_archived(project))
            opened = _opened_all(project, version, batch.fresh, batch.first, now)
        present = names_there(connection, project.id, [row["name"] for row, _ in opened])
        new = [pair for pair in opened if pair[0]["name"] not in present]
        return _insert(connection, project, new, now) if new else {}


def _with_models(connection: Connection, project: Project, models: Sequence[str]) -> Project:
    """The locked project with the classifiers of this batch, which are stored with the first one."""
    if not project.models:
        stored = update(projects).where(projects.c.id == project.id).values(models=json.dumps(models))
        connection.execute(stored)
        return project.with_models(models)
    if project.models != tuple(models):
        rule = f"those of the project's first items: {', '.join(project.models)}"
        raise invalid("predictions", list(models), rule, "name the same classifiers.")
    return project


def _insert(connection: Connection, project: Project, opened: Sequence[OpenedItem], now: float) -> dict[str, NewStatus]:
    rows = [row for row, _ in opened]
    statement = insert(items).returning(items.c.id, sort_by_parameter_order=True)
    ids = connection.execute(statement, rows).scalars().all()
    written = [
        {
            "project_id": project.id, "item_id": item_id, "seq": event["seq"], "kind": event["type"],
            "time": event["time"], "body": encode(event),
        }
        for item_id, (_, event) in zip(ids, opened, strict=True)
    ]  # fmt: skip
    numbers = connection.execute(insert(events).returning(events.c.id, sort_by_parameter_order=True), written)
    stored = zip(ids, numbers.scalars().all(), rows, strict=True)
    at_once = [{"id": item_id, "closed_event": number} for item_id, number, row in stored if _status(row) == "closed"]
    change_rows(connection, items, at_once)
    announce(connection, project.id, [closed(row) for row in rows if _status(row) == "closed"], now=now)
    return {row["name"]: _status(row) for row in rows}


def _status(row: Mapping[str, Any]) -> NewStatus:
    return "gold" if row["gold"] is not None else "open" if row["is_open"] else "closed"


def _opened_all(
    project: Project, version: ParamsVersion, fresh: Sequence[NewItem], first: int, now: float
) -> list[OpenedItem]:
    _check_cost(project, version, fresh)
    return [_opened(project, version, item, first + offset, now) for offset, item in enumerate(fresh)]


def _opened(project: Project, version: ParamsVersion, item: NewItem, number: int, now: float) -> OpenedItem:
    session, outbox = item_session(project.session, [], number=number, now=version, version_of=lambda *_: version)
    size = None if item.pool_size is None else members(item.pool_size)
    decision = session.open(item.name, item.prediction, size, time=now)
    (event,) = outbox.written
    row = {
        "project_id": project.id,
        "name": item.name,
        "number": number,
        "is_predicted": any(max(shares) - min(shares) > EQUAL for shares in event["prediction"]),
        "show": json.dumps(item.show.as_json()),
        "priority": whole(item.priority, where=f"priority of {item.name!r}", least=-MOST_PRIORITY, most=MOST_PRIORITY),
        "pool_size": event["pool_size"],
        "created": now,
        "seq": event["seq"],
        "closed": None if decision.ask else now,
        "closed_event": None,
    }
    values = after_event(project, session, item.name, decision, leases_out=0, row=None) | {"gold": None}
    if item.gold is not None:
        class_number(item.gold, project.session.classes, where=f"gold of {item.name!r}")
        values |= gold_values(item.gold)
    draw = audit_draw(values)
    return row | values, event if draw is None else event | {"audit": draw}


def names_there(connection: Connection, project_id: str, names: Sequence[str]) -> set[str]:
    """The names that exist already as items of the project."""
    query = select(items.c.name).where(items.c.project_id == project_id, among(items.c.name, "names"))
    return set(connection.execute(query, {"names": names}).scalars())


def _take_numbers(connection: Connection, project_id: str, count: int) -> int:
    """Reserve `count` numbers; returns the first."""
    counter = projects.c.next_number
    statement = update(projects).where(projects.c.id == project_id).values(next_number=counter + count)
    return int(connection.execute(statement.returning(counter)).scalar_one()) - count


def checked_name(name: object, *, where: str) -> str:
    """An item's id: 1 to 200 printable characters, no space at either end."""
    if not isinstance(name, str) or not 0 < len(name) <= MOST_NAME or not name.isprintable() or name != name.strip():
        raise invalid(where, name, f"1 to {MOST_NAME} printable characters without surrounding spaces", "rename it.")
    return name
