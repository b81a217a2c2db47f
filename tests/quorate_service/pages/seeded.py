"""A project in full swing, as after a day of work: real digits and predictions, simulated votes, learning, audits.

Used by the tests that look at every page, and for the pictures in the docs.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from quorate_service.access.accounts import add_member, create_account
from quorate_service.demo import SETTINGS, add_digits, digits
from quorate_service.domain.ballots import act
from quorate_service.domain.learning import learn
from quorate_service.domain.projects import Projects
from quorate_service.domain.votes import Request
from quorate_service.store import Store
from quorate_service.store.schema import items

NAMES = tuple(f"Expert {number}" for number in range(1, 8))
HOURS = 20.0


@dataclass(frozen=True)
class Seeded:
    """Who owns the project, who votes in it, and its id."""

    owner: str
    voters: tuple[str, ...]
    project: str


def seed(
    store: Store, projects: Projects, *, num_items: int = 60, num_done: int = 40,
    name: str = "Handwritten digits", person: str = "",
) -> Seeded:  # fmt: skip
    """Items of which the first `num_done` have been given to voters until they closed; the rest are untouched.

    `name` is the project's; `person` stands before the name of everybody in it.
    """
    now = time.time()
    start = now - HOURS * 3600
    owner = create_account(store, f"{person}Project lead", may_create=True, now=start).id
    settings = SETTINGS.model_copy(update={"pool_size": len(NAMES), "audit_rate": 0.25})
    project = projects.create(name, settings, now=start).id
    add_member(store, project, owner, role="owner", now=start)
    voters = tuple(create_account(store, f"{person}{each}", now=start).id for each in NAMES)
    for voter in voters:
        add_member(store, project, voter, role="voter", now=start)
    add_digits(store, project, num_items, now=start)
    times = np.sort(np.random.default_rng(3).beta(2.0, 1.6, size=num_done)) * (now - start - 600) + start
    for number, moment in enumerate(times):
        _voted(projects, project, voters, number, float(moment))
        if number % 8 == 7:
            learn(projects, project, now=float(moment) + 30)
    return Seeded(owner, voters, project)


def _voted(projects: Projects, project: str, voters: tuple[str, ...], number: int, moment: float) -> None:
    """Everybody who is asked votes, like people on this digit."""
    chance, name = np.random.default_rng(number), f"digit-{number:04d}"
    for place, index in enumerate(chance.permutation(len(voters))):
        with projects.store.read() as connection:
            row = connection.execute(items.select().where(items.c.project_id == project, items.c.name == name)).one()
        if not row.is_wanted:
            return
        label = str(int(chance.choice(10, p=digits().votes[number])))
        asked = Request(project, name, voters[index], "vote", label, served=False)
        if chance.random() < 0.02:
            asked = Request(project, name, voters[index], "abstain", served=False)
        act(projects, asked, now=moment + 9.0 * place)
