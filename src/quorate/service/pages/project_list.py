"""The projects of an account, as the start page shows them: to voters nothing but the name, to others how far it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from quorate.service.access.accounts import Role, memberships_of
from quorate.service.access.principal import Principal
from quorate.service.deciding.projects import Project, Projects
from quorate.service.deciding.stats import latest_stats


@dataclass(frozen=True, slots=True)
class Card:
    """One project of somebody; `numbers` of its dashboard if that opens to them."""

    project: Project
    role: Role
    numbers: dict[str, Any] | None


def cards(projects_: Projects, me: Principal, *, now: float) -> list[Card]:
    """All projects that are opened to somebody, those that are not archived first, by name."""
    mine = memberships_of(projects_.store, me.account_id, only=me.only_project, limit=500)
    found = []
    with projects_.store.read() as connection:
        for membership in mine:
            project = projects_.get_in(connection, membership.project_id)
            is_told = membership.role == "reader" or (membership.role == "owner" and me.only_project is None)
            numbers = latest_stats(connection, project, now=now) if is_told else None
            found.append(Card(project, membership.role, numbers))
    return sorted(found, key=lambda card: (card.project.state == "archived", card.project.name.lower()))
