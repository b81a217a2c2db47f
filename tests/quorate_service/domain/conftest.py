"""A prepared store with one small project."""

from itertools import count
from types import SimpleNamespace

import pytest

from quorate_service.domain import projects as projects_module
from quorate_service.domain.items import NewItem, add_items
from quorate_service.domain.projects import Projects
from quorate_service.domain.settings import ProjectSettings


@pytest.fixture
def desk(store, monkeypatch):
    """Projects, and a helper to create one with items."""
    projects = Projects(store)

    keys = count(1)  # audit draws depend on a project's secret key: the same in every run
    drawn = SimpleNamespace(token_hex=lambda _: f"{next(keys):08x}", randbelow=lambda _: 0)
    monkeypatch.setattr(projects_module, "secrets", drawn)

    def project(items=(), **settings):
        usual = {"classes": ["cat", "dog", "bird"], "pool_size": 5, "audit_rate": 0.0}
        chosen = ProjectSettings.from_json(usual | settings)
        made = projects.create("pets", chosen, now=1000.0)
        batch = [NewItem(item) if isinstance(item, str) else item for item in items]
        if batch:
            add_items(projects, made.id, batch, now=1000.0)
        return made

    return SimpleNamespace(store=store, projects=projects, project=project)
