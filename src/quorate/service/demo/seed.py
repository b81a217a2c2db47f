"""An empty database -> one with the demo's project, its owner and the accounts of the simulated colleagues.

Started a second time on the same file it changes nothing and gives a new link. Called by `quorate serve --demo`.
"""

from __future__ import annotations

import hashlib

from sqlalchemy import func, insert, select

from quorate.service.access.accounts import add_member, create_account
from quorate.service.access.links import sign_in_link
from quorate.service.demo.digits import digits
from quorate.service.domain.items import NewItem, Show, add_items
from quorate.service.domain.projects import Projects
from quorate.service.domain.settings import ProjectSettings
from quorate.service.store.schema import accounts, items, memberships, projects, uploads
from quorate.service.store.store import Store

PROJECT = "Demo: which digit is it?"
OWNER = "Demo owner"
COLLEAGUE = "Colleague {} (simulated)"
NUM_COLLEAGUES = 12
FIRST_BATCH = 200
SETTINGS = ProjectSettings(
    classes=tuple(str(digit) for digit in range(10)),
    pool_size=NUM_COLLEAGUES,
    models=("logistic regression",),
    price=0.08,
    currency="EUR",
    audit_rate=0.1,
    refit_every=15,
    seed=7,
    instructions="Which digit was written here? If nobody could say, choose “Cannot tell”.",
)


def seed(store: Store, base_url: str, *, now: float) -> str:
    """Fill the database if it is empty; a link that signs the demo's owner in, once."""
    with store.read() as connection:
        owner = connection.execute(select(accounts.c.id).where(accounts.c.name == OWNER)).scalar_one_or_none()
        made = connection.execute(select(projects.c.id).where(projects.c.name == PROJECT)).scalar_one_or_none()
    if owner is None:
        owner = create_account(store, OWNER, may_create=True, now=now).id
    if made is None:
        made = Projects(store).create(PROJECT, SETTINGS, now=now).id
    _people(store, made, owner, now)
    add_digits(store, made, FIRST_BATCH, now=now)
    return sign_in_link(store, owner, base_url, now=now)


def is_over(store: Store) -> bool:
    """Has every digit come in, and is none of them voted on any more, not even for an audit?"""
    mine = select(func.count()).select_from(items).join(projects).where(projects.c.name == PROJECT)
    with store.read() as connection:
        num_wanted = connection.execute(mine.where(items.c.is_wanted)).scalar_one()
        return num_wanted == 0 and connection.execute(mine).scalar_one() >= len(digits())


def _people(store: Store, project_id: str, owner: str, now: float) -> None:
    """The owner and the colleagues, those who are not there yet."""
    with store.read() as connection:
        query = select(accounts.c.name).join(memberships, memberships.c.account_id == accounts.c.id)
        there = set(connection.execute(query.where(memberships.c.project_id == project_id)).scalars())
    if OWNER not in there:
        add_member(store, project_id, owner, role="owner", now=now)
    for number in range(1, NUM_COLLEAGUES + 1):
        name = COLLEAGUE.format(number)
        if name not in there:
            add_member(store, project_id, create_account(store, name, now=now).id, role="voter", now=now)


def add_digits(store: Store, project_id: str, up_to: int, *, now: float) -> None:
    """The first `up_to` digits as items of the project; those that are there stay as they are."""
    known = digits()
    batch = []
    for number in range(min(up_to, len(known))):
        image = _upload(store, project_id, known.png(number), now)
        prediction = [float(value) for value in known.predictions[number]]
        batch.append(NewItem(f"digit-{number:04d}", prediction, Show(image=f"upload:{image}")))
    add_items(Projects(store), project_id, batch, now=now)


def _upload(store: Store, project_id: str, content: bytes, now: float) -> str:
    digest = hashlib.sha256(content).hexdigest()
    name = f"u_{digest[:24]}"
    with store.write() as connection:
        same = select(uploads.c.id).where(uploads.c.project_id == project_id, uploads.c.digest == digest)
        there = connection.execute(same).scalar_one_or_none()
        if there is not None:
            return str(there)
        row = {"id": name, "project_id": project_id, "media_type": "image/png", "digest": digest}
        connection.execute(insert(uploads).values(row | {"content": content, "created": now}))
    return name
