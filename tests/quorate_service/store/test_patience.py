"""Timeouts on PostgreSQL: a lock that is held too long affects only those who need it."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import text

from quorate_service.store import PATIENCE, Store, snapshot
from quorate_service.store.prepare import LOCK, create_tables
from tests.quorate_service.api.conftest import World

SETTINGS = ("lock_timeout", "idle_in_transaction_session_timeout")
LOCKED = text("SELECT id FROM items WHERE name = 'i2' FOR UPDATE")


@pytest.fixture
def address(postgres):
    """An empty database's URL, to which settings can be added."""
    postgres.start()
    url = postgres.create_database("patience")
    yield url + ("&" if "?" in url else "?")
    postgres.drop_database("patience")


def options(**settings):
    return "options=" + "%20".join(f"-c%20{name}%3D{value}" for name, value in settings.items())


def told(connection):
    return [connection.execute(text(f"SHOW {name}")).scalar_one() for name in SETTINGS]


def test_one_locked_item_delays_one_voter_only(address, monkeypatch):
    monkeypatch.setitem(PATIENCE, "lock_timeout", "300ms")
    world = World(address)
    world.items(*(f"i{n}" for n in range(5)))
    owner, path = world.client("owner"), f"/projects/{world.here}/votes"

    def vote(number):
        return owner.api("POST", path, json={"item": f"i{number}", "label": "cat", "voter": f"v{number}"})

    with world.store.engine.connect() as vanished:
        vanished.execute(LOCKED)
        begun = time.monotonic()
        with ThreadPoolExecutor(5) as pool:
            answers = list(pool.map(vote, range(5)))
        assert time.monotonic() - begun < 5.0
    assert [answer.status_code for answer in answers] == [200, 200, 503, 200, 200]
    assert answers[2].headers["Retry-After"] and "nothing was changed" in answers[2].json()["detail"]
    assert vote(2).status_code == 200
    world.store.close()


def test_what_reads_a_whole_database_may_take_its_time(address):
    store = Store(address + options(lock_timeout="300ms", idle_in_transaction_session_timeout="100ms"))
    with snapshot(store) as connection:
        assert told(connection) == ["0", "0"]
        time.sleep(0.3)
        connection.execute(text("SELECT 1"))
    with store.read() as connection:
        assert told(connection) == ["300ms", "100ms"]  # only for that transaction
    store.close()


def test_a_worker_waits_while_another_creates_the_tables(address):
    store, done = Store(address + options(lock_timeout="100ms")), []

    def start():
        with store.write() as connection:
            done.append(create_tables(connection))

    second = threading.Thread(target=start)
    with store.write() as connection:
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": LOCK})
        second.start()
        second.join(0.5)
        assert second.is_alive()
    second.join(20.0)
    assert done == [True]
    store.close()
