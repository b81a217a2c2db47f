"""Backups on SQLite and PostgreSQL, and from each to the other: every row of one snapshot, or nothing."""

import json
import sqlite3
import stat
import threading
import time
import tracemalloc
from itertools import count

import pytest
from sqlalchemy import func, select, text
from sqlalchemy.exc import IntegrityError

from quorate.errors import InvalidInput
from quorate.service.store import Store, schema
from quorate.service.store import backup as copying
from quorate.service.store.backup import backup, restore
from quorate.service.store.upgrade import newest, prepare, revision_of
from tests.service.store.first_schema import load
from tests.service.store.rows import contents, fill, row

NUMBERS = count(1)


@pytest.fixture
def full(database_url):
    """URL of a database with rows in every table, of each kind."""
    return filled(database_url)


@pytest.fixture
def sample(tmp_path):
    """A backup and its database, for tests that do not depend on the kind of database."""
    path = tmp_path / "backup"
    backup(filled(str(tmp_path / "sample.db")), path)
    return path


def filled(url):
    store = Store(url)
    prepare(store)
    with store.write() as connection:
        fill(connection)
    store.close()
    return url


def wait_for_more(written):
    """Wait until twenty more are written."""
    wanted, deadline = len(written) + 20, time.monotonic() + 60
    while len(written) < wanted:
        assert time.monotonic() < deadline, f"{len(written)} of {wanted} written"
        time.sleep(0.01)


@pytest.fixture(params=["to sqlite", "to postgresql"])
def empty(request, tmp_path):
    """URL of another database, empty, of each kind."""
    if request.param == "to sqlite":
        yield f"sqlite:///{tmp_path / 'restored.db'}"
        return
    server = request.getfixturevalue("postgres")
    name = f"restored_{next(NUMBERS)}"
    yield server.create_database(name)
    server.drop_database(name)


def contents_of(url):
    store = Store(url)
    try:
        with store.read() as connection:
            return contents(connection)
    finally:
        store.close()


def query(url, *statements):
    store = Store(url)
    try:
        with store.write() as connection:
            return [connection.execute(text(each)).scalar() for each in statements][-1]
    finally:
        store.close()


def test_every_row_is_restored_on_either_database_and_new_rows_can_be_added(full, empty, tmp_path):
    made = backup(full, tmp_path / "backup")
    assert made.num_rows == 3 * len(schema.metadata.tables)
    assert restore(tmp_path / "backup", empty).tables == made.tables
    assert contents_of(empty) == contents_of(full)
    assert backup(empty, tmp_path / "again").tables == made.tables
    new = "INSERT INTO events (project_id, kind, time, body) VALUES ('id0', 'learn', 0, '{}') RETURNING id"
    assert query(empty, new) == 4
    with pytest.raises(Exception, match="only ever appended"):
        query(empty, "DELETE FROM events")
    with pytest.raises(Exception, match="only ever appended"):
        query(empty, "DELETE FROM access_log")
    assert not list(tmp_path.glob("*unfinished*"))


def test_a_backup_is_a_snapshot_while_others_write(database_url, tmp_path, monkeypatch):
    """A writer adds an item and its event together; no backup contains one without the other."""
    monkeypatch.setattr(copying, "BATCH", 5)
    store = Store(database_url)
    prepare(store)
    with store.write() as connection:
        connection.execute(schema.projects.insert(), [row(schema.projects, 0)])
    stop, written = threading.Event(), []

    def write() -> None:
        for number in count(1):
            item = row(schema.items, number) | {"project_id": "id0"}
            with store.write() as connection:
                key = connection.execute(schema.items.insert().returning(schema.items.c.id), item).scalar_one()
                event = row(schema.events, number) | {"project_id": "id0", "item_id": key, "seq": 1}
                connection.execute(schema.events.insert(), event)
            written.append(number)
            if stop.is_set():
                return

    writer = threading.Thread(target=write)
    writer.start()
    made = []
    try:
        for number in range(3):
            wait_for_more(written)  # it goes on between backups, if not within
            made.append(backup(database_url, tmp_path / f"backup{number}"))
    finally:
        stop.set()
        writer.join()
    assert all(each.tables["items"].num_rows == each.tables["events"].num_rows for each in made)
    sizes = [each.num_rows for each in made]
    assert sizes == sorted(sizes)
    assert sizes[-1] > sizes[0]
    with store.read() as connection:
        assert connection.execute(select(func.count()).select_from(schema.items)).scalar_one() > 20
    store.close()
    restored = str(tmp_path / "restored.db")
    restore(tmp_path / "backup2", restored)
    assert query(restored, "SELECT count(*) FROM items i JOIN events e ON e.item_id = i.id") == (sizes[-1] - 1) / 2


def test_the_service_writes_on_during_a_backup_which_does_not_hold_what_came_later(full, tmp_path):
    store, written = Store(full), []

    def write(*_progress: object) -> None:
        with store.write() as connection:
            connection.execute(schema.projects.insert(), row(schema.projects, 100 + len(written)))
        written.append(100 + len(written))

    made = backup(full, tmp_path / "backup", progress=write)
    store.close()
    assert len(written) > 5
    assert made.tables["projects"].num_rows == 3
    assert query(full, "SELECT count(*) FROM projects") == 3 + len(written)


def test_a_backup_of_an_older_revision_is_restored_and_upgraded(empty, tmp_path):
    old = f"sqlite:///{tmp_path / 'old.db'}"
    load(old)
    assert backup(old, tmp_path / "backup").revision == "0001"
    restore(tmp_path / "backup", empty)
    store = Store(empty)
    with store.read() as connection:
        assert revision_of(connection) == newest()
    store.close()
    assert contents_of(empty)["projects"]


def test_only_its_owner_can_read_a_backup(sample):
    assert stat.S_IMODE(sample.stat().st_mode) == 0o600


def test_a_backup_never_replaces_a_file(full, tmp_path):
    (tmp_path / "precious").write_text("mine")
    with pytest.raises(InvalidInput) as caught:
        backup(full, tmp_path / "precious")
    assert caught.value.field == "file"
    assert (tmp_path / "precious").read_text() == "mine"
    with pytest.raises(InvalidInput) as caught:
        backup(full, tmp_path / "nowhere" / "backup")
    assert caught.value.field == "file"


def test_nothing_is_left_of_a_backup_that_fails(full, tmp_path):
    def fails(*_: object) -> None:
        raise KeyboardInterrupt

    (tmp_path / "backups").mkdir()
    with pytest.raises(KeyboardInterrupt):
        backup(full, tmp_path / "backups" / "backup", progress=fails)
    assert list((tmp_path / "backups").iterdir()) == []


def test_there_is_nothing_to_back_up_in_an_empty_or_missing_database(database_url, tmp_path):
    query(database_url, "SELECT 1")
    with pytest.raises(InvalidInput) as caught:
        backup(database_url, tmp_path / "backup")
    assert caught.value.field == "database"
    with pytest.raises(InvalidInput) as caught:
        backup(str(tmp_path / "typo.db"), tmp_path / "backup")
    assert caught.value.field == "database"
    assert not (tmp_path / "typo.db").exists()


def test_a_database_with_anything_in_it_is_not_restored_into(full, tmp_path):
    backup(full, tmp_path / "backup")
    before = contents_of(full)
    with pytest.raises(InvalidInput) as caught:
        restore(tmp_path / "backup", full)
    assert caught.value.field == "database"
    assert contents_of(full) == before


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE events SET body = body || ' ' WHERE id = 2",
        "DELETE FROM accounts WHERE id = 'id1'",
        "UPDATE items SET confidence = confidence + 1e-6 WHERE id = 1",
    ],
)
def test_a_backup_that_was_changed_is_refused_and_nothing_is_kept(sample, empty, tmp_path, damage):
    file = sqlite3.connect(sample)
    file.execute(damage)
    file.commit()
    file.close()
    with pytest.raises((InvalidInput, IntegrityError)):
        restore(sample, empty)
    with pytest.raises(InvalidInput) as caught:
        backup(empty, tmp_path / "again")
    assert caught.value.field == "database"


def test_files_that_are_not_complete_backups_are_refused(sample, tmp_path):
    target = str(tmp_path / "new.db")
    (tmp_path / "letter").write_text("Dear all,\n" * 1000)
    with pytest.raises(InvalidInput) as caught:
        restore(tmp_path / "letter", target)
    assert caught.value.field == "file"
    whole = sample.read_bytes()
    (tmp_path / "half").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InvalidInput) as caught:
        restore(tmp_path / "half", target)
    assert caught.value.field == "file"
    sqlite3.connect(tmp_path / "other.db").execute("CREATE TABLE notes (text)").connection.close()
    with pytest.raises(InvalidInput) as caught:
        restore(tmp_path / "other.db", target)
    assert caught.value.field == "file"
    with pytest.raises(InvalidInput) as caught:
        restore(tmp_path / "typo", target)
    assert caught.value.field == "file"
    assert not (tmp_path / "new.db").exists()


def test_a_backup_of_a_newer_quorate_is_refused(sample, tmp_path):
    file = sqlite3.connect(sample)
    facts = json.loads(file.execute("SELECT facts FROM backup").fetchone()[0])
    file.execute("UPDATE backup SET facts = ?", (json.dumps(facts | {"revision": "0999", "quorate": "99.0"}),))
    file.commit()
    file.close()
    with pytest.raises(InvalidInput) as caught:
        restore(sample, str(tmp_path / "new.db"))
    assert caught.value.field == "file"


def test_progress_reaches_the_end(full, tmp_path):
    seen = []
    backup(full, tmp_path / "backup", progress=lambda *each: seen.append(each))
    assert seen[-1][0] == seen[-1][1] == 3 * len(schema.metadata.tables)
    seen.clear()
    restore(tmp_path / "backup", str(tmp_path / "new.db"), progress=lambda *each: seen.append(each))
    assert seen[-1][0] == seen[-1][1] == 6 * len(schema.metadata.tables)
    assert [each[0] for each in seen] == sorted(each[0] for each in seen)


def test_memory_does_not_grow_with_the_uploads(database_url, tmp_path):
    store = Store(database_url)
    prepare(store)
    size = 1 << 18
    with store.write() as connection:
        connection.execute(schema.projects.insert(), [row(schema.projects, 0)])
        for number in range(64):
            one = row(schema.uploads, number) | {"project_id": "id0", "content": bytes(size)}
            connection.execute(schema.uploads.insert(), one)
    store.close()
    tracemalloc.start()
    backup(database_url, tmp_path / "backup")
    restore(tmp_path / "backup", str(tmp_path / "new.db"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 32 * size
