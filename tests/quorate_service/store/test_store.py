"""Transactions are atomic; errors say whether they are the caller's."""

import os
import sqlite3
import stat

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from quorate_service.store import Store, StoreUnavailable, as_url
from quorate_service.store.prepare import prepare
from tests.refusals import refused

ADD = text("INSERT INTO secrets VALUES (:name, 'value', 1.0)")


def names(store):
    with store.read() as connection:
        return sorted(connection.execute(text("SELECT name FROM secrets")).scalars())


def test_a_block_that_raises_leaves_nothing(store):
    with pytest.raises(ZeroDivisionError), store.write() as connection:
        connection.execute(ADD, {"name": "a"})
        raise ZeroDivisionError
    with store.write() as connection:
        connection.execute(ADD, {"name": "b"})
    assert names(store) == ["b"]


def test_an_invalid_statement_is_a_bug_and_not_an_outage(store):
    with pytest.raises(DBAPIError), store.read() as connection:
        connection.execute(text("SELECT * FROM nothing_of_that_name"))


def test_a_locked_database_is_unavailable_and_nothing_is_changed(tmp_path, monkeypatch):
    monkeypatch.setattr("quorate_service.store.BUSY_SECONDS", 0.1)
    store = Store(str(tmp_path / "q.db"))
    prepare(store)
    other = sqlite3.connect(tmp_path / "q.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnavailable, match="busy"), store.write() as connection:
        connection.execute(ADD, {"name": "a"})
    other.execute("ROLLBACK")
    other.close()
    assert names(store) == []
    store.close()


@pytest.fixture
def usual_mask():
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.usefixtures("usual_mask")
def test_a_new_file_is_its_owners_alone_and_a_mode_that_was_chosen_stays(tmp_path):
    file = tmp_path / "q.db"
    for mode in (0o600, 0o640):
        store = Store(str(file))
        prepare(store)
        with store.write() as connection:
            connection.execute(ADD, {"name": f"{mode:o}"})
            assert {stat.S_IMODE(each.stat().st_mode) for each in tmp_path.iterdir()} == {mode}  # -wal and -shm, too
        store.close()
        file.chmod(0o640)


def test_an_unused_store_creates_no_file(tmp_path):
    Store(str(tmp_path / "q.db")).close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("url", "words"),
    [(":memory:", "lose every vote"), ("mysql://x/y", "SQLite"), ("no/such/folder/q.db", "folder")],
)
def test_a_database_that_cannot_keep_events_is_refused(url, words):
    with refused("database") as caught:
        Store(url)
    assert words in caught.value.rule


def test_postgresql_is_reached_by_psycopg():
    assert as_url("postgresql://me@host/name").drivername == "postgresql+psycopg"


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:pass-word@host:54x/name",
        "postgresql:/me:pass-word@host/name",
        "postgresql:/:pass-word@://",
        "postgresql://me:pass-word@[::host/name",
        "mysql://me:pass-word@host/name?password=pass-word",
    ],
)
def test_an_error_says_the_rule_and_never_the_password(url):
    with refused("database") as caught:
        as_url(url)
    assert "pass-word" not in str(caught.value) and caught.value.__suppress_context__ | (not caught.value.__context__)
