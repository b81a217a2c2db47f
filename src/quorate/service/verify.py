"""A store -> whether every decision in it follows from its events, by making each of them again.

Called by `quorate service check`; the comparing itself is in `deciding.trail`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, func, select

from quorate.service.domain.listing import all_items
from quorate.service.domain.projects import Projects
from quorate.service.domain.trail import Disagreement, item_disagreements
from quorate.service.store.schema import events, items, projects
from quorate.service.store.snapshot import snapshot
from quorate.service.store.store import Store

Progress = Callable[[int, int, str], None]
MOST_KEPT = 100  # of what disagrees; the rest is counted


@dataclass(frozen=True, slots=True)
class Checked:
    """How much was checked, how much disagrees, and the first of those, each with its project's id."""

    num_projects: int
    num_items: int
    num_events: int
    num_votes: int
    num_disagreements: int
    first: tuple[tuple[str, Disagreement], ...]


def check(store: Store, *, progress: Progress | None = None) -> Checked:
    """Decide every item of every project again, from its events alone, as of one moment."""
    cache = Projects(store)
    found: list[tuple[str, Disagreement]] = []
    num_items = num_wrong = 0
    with snapshot(store) as connection:
        everything = [cache.of_row(row) for row in connection.execute(select(projects).order_by(projects.c.id))]
        total = _count(connection, items)
        for project in everything:
            for row in all_items(connection, project.id):
                for each in item_disagreements(cache, connection, project, row):
                    num_wrong += 1
                    found += [(project.id, each)] if len(found) < MOST_KEPT else []
                num_items += 1
                if progress is not None:
                    progress(num_items, total, project.name)
        return Checked(
            num_projects=len(everything),
            num_items=num_items,
            num_events=_count(connection, events),
            num_votes=_count(connection, events, events.c.kind == "vote"),
            num_disagreements=num_wrong,
            first=tuple(found),
        )


def _count(connection: Connection, table: Any, *conditions: Any) -> int:  # noqa: ANN401
    return int(connection.execute(select(func.count()).select_from(table).where(*conditions)).scalar_one())
