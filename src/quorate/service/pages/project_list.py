"""The projects of an account, as the start page shows them: to voters nothing but the name, to others how far it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from quorate.service.access.accounts import Role, memberships_of
from quorate.service.deciding.projects import Project, Projects
from quorate.service.deciding.stats import latest_stats


@dataclass(frozen=True, slots=True)
class Card:
    """One project of somebody; `numbers` of its dashboard unless they are a voter."""

    project: Project
    role: Role
    numbers: dict[str, Any] | None


def cards(projects_: Projects, account_id: str, *, now: float) -> list[Card]:
    """All projects of an account that are not archived first, by name."""
    mine = memberships_of(projects_.store, account_id, limit=500)
    found = []
    with projects_.store.read() as connection:
        for membership in mine:
            project = projects_.get_in(connection, membership.project_id)
            numbers = None if membership.role == "voter" else latest_stats(connection, project, now=now)
            found.append(Card(project, membership.role, numbers))
    return sorted(found, key=lambda card: (card.project.state == "archived", card.project.name.lower()))
