"""An app on a prepared store, a project with items, and a client for each role."""

import json

import pytest
from fastapi.testclient import TestClient

from quorate_service.access import accounts, credentials
from quorate_service.app import create_app
from quorate_service.config import ServiceConfig
from quorate_service.domain.items import ItemContent, NewItem, add_items
from quorate_service.domain.settings import ProjectSettings
from quorate_service.store import Store
from quorate_service.store.prepare import prepare

NOW = 1_700_000_000.0
API = "/api/v1"
CLASSES = ["cat", "dog", "bird"]


class Clock:
    def __init__(self):
        self.now = NOW

    def __call__(self):
        return self.now


class Caller(TestClient):
    """A client that sends its key with every request; paths are those below /api/v1."""

    def __init__(self, app, secret=None):
        headers = {"Authorization": f"Bearer {secret}"} if secret else {}
        super().__init__(app, raise_server_exceptions=False, headers=headers)

    def api(self, method, path, status=None, **rest):
        answer = self.request(method, API + path, **rest)
        if status is not None:
            assert answer.status_code == status, answer.text
        return answer


class World:
    """A store with one project, `here`, and one account for each role; `stranger` owns another project."""

    def __init__(self, url, config=None, **settings):
        self.store = Store(url)
        prepare(self.store)
        self.config, self.clock = config or ServiceConfig(), Clock()
        self.app = create_app(self.store, self.config)
        self.app.state.clock = self.clock
        self.projects = self.app.state.projects
        people = ("owner", "voter", "reader", "stranger", "other", "senior")
        self.ids = {
            name: accounts.create_account(self.store, name, may_create=name == "owner", now=NOW).id for name in people
        }
        self.keys = {
            name: credentials.create_key(self.store, account, name="k", now=NOW)[1]
            for name, account in self.ids.items()
        }
        self.here = self.project(
            "pets", owner="owner", voter="voter", reader="reader", other="voter", senior="senior", **settings
        )
        self.there = self.project("theirs", stranger="owner")

    def project(self, name, owner=None, voter=None, reader=None, other=None, stranger=None, senior=None, **settings):
        chosen = ProjectSettings(**{"classes": CLASSES, "pool_size": 5, "audit_rate": 0.0} | settings)
        made = self.projects.create(name, chosen, now=NOW).id
        given = {"owner": owner and "owner", "voter": voter, "reader": reader, "other": other, "stranger": stranger}
        given["senior"] = senior
        for person, role in given.items():
            if role:
                accounts.add_member(self.store, made, self.ids[person], role=role, now=NOW)
        return made

    def items(self, *names, project=None, prediction=None):
        batch = [NewItem(name, prediction, ItemContent(text=f"Look at {name}")) for name in names]
        return add_items(self.projects, project or self.here, batch, now=NOW)

    def client(self, name=None):
        return Caller(self.app, self.keys[name] if name else None)


def rows_of(answer):
    """The rows of an export as JSON lines."""
    return [json.loads(line) for line in answer.text.splitlines()]


@pytest.fixture
def world(database_url):
    """On a fresh database."""
    made = World(database_url)
    yield made
    made.store.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """One for all tests of a file, for those that leave nothing behind."""
    made = World(f"sqlite:///{tmp_path_factory.mktemp('shared') / 'service.db'}")
    yield made
    made.store.close()
