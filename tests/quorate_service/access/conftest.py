"""A store with its tables, three accounts in two projects, and a tiny app that uses the dependencies."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Barrier
from typing import Annotated

import pytest
from fastapi import Depends, FastAPI, Form, Request, Response
from fastapi.testclient import TestClient
from sqlalchemy import delete, insert

from quorate_service import problems
from quorate_service.access import accounts, cookies, limits
from quorate_service.access.principal import Member, Principal, current, member
from quorate_service.access.request_context import SecurityHeaders, allow_images
from quorate_service.store import Store, schema
from quorate_service.store.prepare import prepare
from quorate_service.store.schema import (
    api_keys,
    attempts,
    invitations,
    links,
    memberships,
    projects,
    secrets,
    sign_ins,
)
from tests.quorate_service.conftest import NUMBERS

NOW = 1_700_000_000.0


@dataclass
class Config:
    secure: bool | None = None
    trust_proxy: bool = False
    base_url: str | None = None
    votes_per_second: int = 20


class Clock:
    def __init__(self):
        self.now = NOW

    def __call__(self):
        return self.now


BOTH = pytest.mark.parametrize("shared_store", ["sqlite", "postgresql"], indirect=True)  # where locks matter


@pytest.fixture(scope="module")
def shared_store(request, tmp_path_factory):
    """A database with its tables, one per test file: creating one for each test would take most of the time."""
    if getattr(request, "param", "sqlite") == "sqlite":
        url, drop = f"sqlite:///{tmp_path_factory.mktemp('access') / 'service.db'}", None
    else:
        server = request.getfixturevalue("postgres")
        server.start()
        name = f"access_{next(NUMBERS)}"
        url, drop = server.create_database(name), lambda: server.drop_database(name)
    store = Store(url)
    prepare(store)
    yield store
    store.close()
    if drop:
        drop()


@pytest.fixture
def empty(shared_store):
    """A store with tables and no accounts."""
    with shared_store.write() as connection:
        for table in (
            attempts,
            secrets,
            sign_ins,
            invitations,
            links,
            api_keys,
            memberships,
            schema.accounts,
            projects,
        ):
            connection.execute(delete(table))
    return shared_store


def add_project(store, name):
    with store.write() as connection:
        connection.execute(insert(projects).values(id=name, name=name, settings="{}", created=NOW))
    return name


@dataclass
class World:
    """Project "here" with one of each role, project "there" with an owner of its own."""

    store: Store
    owner: str
    voter: str
    reader: str
    stranger: str


@pytest.fixture
def world(empty):
    ids = [accounts.create_account(empty, name, now=NOW).id for name in ("owner", "voter", "reader", "stranger")]
    for project in ("here", "there"):
        add_project(empty, project)
    for account, role in zip(ids, ("owner", "voter", "reader"), strict=False):
        accounts.add_member(empty, "here", account, role=role, now=NOW)
    accounts.add_member(empty, "there", ids[3], role="owner", now=NOW)
    return World(empty, *ids)


def tiny_app(store, config=None, clock=None):
    """Each dependency behind an endpoint, which returns its value as JSON."""
    app = FastAPI()
    app.state.store, app.state.config, app.state.clock = store, config or Config(), clock or Clock()
    problems.install(app)
    app.add_middleware(SecurityHeaders)

    def shown(who: Principal):
        return {"account": who.account_id, "name": who.name, "via": who.via, "key_project": who.only_project}

    @app.get("/me")
    @app.post("/me")
    @app.put("/me")
    @app.delete("/me")
    def me(who: Annotated[Principal, Depends(current)]):
        return shown(who)

    @app.post("/form")
    def form(who: Annotated[Principal, Depends(current)], word: Annotated[str, Form()]):
        return shown(who) | {"word": word}

    @app.get("/projects/{project_id}/any")
    def members(who: Annotated[Member, Depends(member())]):
        return {"role": who.role, "account": who.account_id}

    @app.post("/sign-in/{account}", dependencies=[Depends(cookies.same_origin)])
    def sign_in(request: Request, response: Response, account: str):
        with store.write() as connection:
            session_id = cookies.open_sign_in(connection, account, how="test", now=app.state.clock())
        cookies.set_cookie(request, response, session_id)

    @app.post("/enter", dependencies=[Depends(limits.limit_entry)])
    def enter():
        return {}

    @app.post("/vote")
    def vote(request: Request, who: Annotated[Principal, Depends(current)]):
        limits.limit_votes(request, who.account_id)

    @app.get("/picture")
    def picture(request: Request):
        allow_images(request, "https:")

    @app.get("/own-headers")
    def own_headers():
        return Response(headers={"Cache-Control": "private, max-age=60", "Content-Security-Policy": "sandbox"})

    @app.get("/broken")
    def invalid():
        raise RuntimeError("the secret reason")

    @app.get("/static/style.css")
    def static():
        return Response("", media_type="text/css")

    return app


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def app(world, clock):
    return tiny_app(world.store, clock=clock)


@pytest.fixture
def client(app):
    return TestClient(app, raise_server_exceptions=False)


SAME = {"Sec-Fetch-Site": "same-origin"}


def signed_in(app, account, **options):
    """A browser with a sign-in of this account, on our own page."""
    browser = TestClient(app, raise_server_exceptions=False, headers=SAME, **options)
    assert browser.post(f"/sign-in/{account}").status_code == 200
    return browser


def at_once(call, arguments):
    """Run `call` on each argument, in concurrent threads; returns what each returned or raised."""
    barrier = Barrier(len(arguments))

    def run(argument):
        barrier.wait()
        try:
            return call(argument)
        except Exception as problem:
            return problem

    with ThreadPoolExecutor(len(arguments)) as pool:
        return list(pool.map(run, arguments))


def bearer(secret):
    return {"Authorization": f"Bearer {secret}"}
