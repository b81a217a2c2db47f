"""A project with hostile names everywhere, one person of each role, and a headless client for each."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fastapi.testclient import TestClient

from quorate_service.access import accounts, cookies
from quorate_service.access.cookies import sign, signing_key
from quorate_service.app import create_app
from quorate_service.config import ServiceConfig
from quorate_service.domain.ballots import act
from quorate_service.domain.items import ItemContent, NewItem, add_items
from quorate_service.domain.settings import ProjectSettings
from quorate_service.domain.votes import Request
from quorate_service.store import Store
from quorate_service.store.prepare import prepare

SAME = {"Sec-Fetch-Site": "same-origin"}  # as browsers send it with our own forms
NASTY = "<script>alert(1)</script>\"'&{{7*7}}"


class World:
    def __init__(self, app, store, project, people):
        self.app, self.store, self.project, self.people = app, store, project, people

    def browser(self, role):
        browser = TestClient(self.app, raise_server_exceptions=False, follow_redirects=False, headers=SAME)
        if role != "nobody":
            now = time.time()
            with self.store.write() as connection:
                session_id = cookies.open_sign_in(connection, self.people[role], how="test", now=now)
            browser.cookies.set(cookies.NAME, sign(signing_key(self.store, now=now), session_id))
        return browser

    def address(self, end):
        return f"/p/{self.project}{end}"


@contextmanager
def made_world(folder: Path) -> Iterator[World]:
    store = Store(f"sqlite:///{folder / 'service.db'}")
    prepare(store)
    app = create_app(store, ServiceConfig())
    now = time.time()
    projects = app.state.projects
    settings = ProjectSettings(classes=(NASTY, "dog"), pool_size=3, instructions=NASTY, currency="€", price=1.0)
    project = projects.create(NASTY, settings, now=now).id
    people = {}
    for role in ("owner", "reader", "voter", "senior", "stranger"):
        people[role] = accounts.create_account(store, f"{role} {NASTY}", may_create=role == "owner", now=now).id
        if role != "stranger":
            accounts.add_member(store, project, people[role], role=role, now=now)
    show = ItemContent(text=NASTY, link="https://example.org/?a=1&b=2")
    add_items(projects, project, [NewItem("a", [0.612, 0.388], show), NewItem(NASTY)], now=now)
    act(projects, Request(project, "a", people["voter"], "vote", NASTY, served=False), now=now)
    yield World(app, store, project, people)
    store.close()
