"""Backups of SQLite, and copies from each kind of database to the other: every row of one snapshot, or nothing."""

import stat
import threading
from itertools import count

import pytest
from sqlalchemy import text

from quorate.errors import InvalidInput
from quorate_service.store import Store, schema
from quorate_service.store.backup import backup, copy
from quorate_service.store.prepare import prepare
from tests.quorate_service.store.rows import contents, fill, row
from tests.refusals import refused

NUMBERS = count(1)


def filled(url):
    store = Store(url)
    prepare(store)
    with store.write() as connection:
        fill(connection)
    store.close()
    return url


@pytest.fixture
def full(database_url):
    """URL of a database with rows in every table, of each kind."""
    return filled(database_url)


@pytest.fixture
def sample(tmp_path):
    return filled(str(tmp_path / "sample.db"))


@pytest.fixture(params=["to sqlite", "to postgresql"])
def empty(request, tmp_path):
    """URL of another database, empty, of each kind."""
    if request.param == "to sqlite":
        yield f"sqlite:///{tmp_path / 'copied.db'}"
        return
    server = request.getfixturevalue("postgres")
    name = f"copied_{next(NUMBERS)}"
    yield server.create_database(name)
    server.drop_database(name)


def contents_of(url):
    store = Store(url)
    try:
        with store.read() as connection:
            return contents(connection)
    finally:
        store.close()


def query(url, statement):
    store = Store(url)
    try:
        with store.write() as connection:
            return connection.execute(text(statement)).scalar()
    finally:
        store.close()


def test_every_row_is_copied_to_either_database_and_new_rows_can_be_added(full, empty):
    seen = []
    assert copy(full, empty, progress=lambda *each: seen.append(each)) == seen[-1][0] == seen[-1][1]
    assert contents_of(empty) == contents_of(full)
    new = "INSERT INTO events (project_id, kind, time, body) VALUES ('id0', 'learn', 0, '{}') RETURNING id"
    assert query(empty, new) == 4
    with pytest.raises(Exception, match="only ever appended"):
        query(empty, "DELETE FROM events")


def test_a_backup_is_a_database_of_one_snapshot_while_others_write(sample, tmp_path):
    """A writer adds an item and its event together; no backup contains one without the other."""
    store, stop, written = Store(sample), threading.Event(), threading.Semaphore(0)

    def write() -> None:
        for number in count(100):
            item = row(schema.items, number) | {"project_id": "id0"}
            with store.write() as connection:
                key = connection.execute(schema.items.insert().returning(schema.items.c.id), item).scalar_one()
                event = row(schema.events, number) | {"project_id": "id0", "item_id": key, "seq": 1}
                connection.execute(schema.events.insert(), event)
            written.release()
            if stop.is_set():
                return

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for number in range(3):
            for _ in range(5):
                assert written.acquire(timeout=60)
            backup(sample, tmp_path / f"backup{number}")
    finally:
        stop.set()
        writer.join()
        store.close()
    sizes = []
    for number in range(3):
        found = contents_of(str(tmp_path / f"backup{number}"))
        assert len(found["items"]) == len(found["events"])
        sizes.append(len(found["items"]))
    assert sizes == sorted(sizes) and sizes[-1] > sizes[0]


def test_a_backup_is_one_private_file_that_the_service_can_use(sample, tmp_path):
    folder = tmp_path / "backups"
    folder.mkdir()
    backup(sample, folder / "monday")
    assert [each.name for each in folder.iterdir()] == ["monday"]
    assert stat.S_IMODE((folder / "monday").stat().st_mode) == 0o600
    store = Store(str(folder / "monday"))
    assert prepare(store) is False
    store.close()


def test_a_backup_never_replaces_a_file(sample, tmp_path):
    (tmp_path / "precious").write_text("mine")
    for path in (tmp_path / "precious", tmp_path / "nowhere" / "backup"):
        with refused("file"):
            backup(sample, path)
    assert (tmp_path / "precious").read_text() == "mine"


def test_postgresql_is_backed_up_by_its_own_program(postgres, tmp_path):
    url = postgres.create_database("dumped")
    try:
        with pytest.raises(InvalidInput, match="pg_dump"):
            backup(url, tmp_path / "backup")
    finally:
        postgres.drop_database("dumped")


@pytest.mark.parametrize("act", [backup, copy])
def test_an_empty_or_missing_database_is_not_copied(act, tmp_path):
    query(str(tmp_path / "empty.db"), "SELECT 1")
    for name in ("empty.db", "typo.db"):
        with refused("database"):
            act(str(tmp_path / name), str(tmp_path / "new"))
    assert {each.name for each in tmp_path.iterdir() if not each.name.endswith(("-wal", "-shm"))} == {"empty.db"}


def test_nothing_is_copied_into_a_database_with_anything_in_it(sample, full):
    before = contents_of(full)
    with refused("target"):
        copy(sample, full)
    assert contents_of(full) == before


def test_a_copy_that_fails_leaves_nothing(sample, empty):
    def fails(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        copy(sample, empty, progress=fails)
    assert copy(sample, empty) > 0  # it is still empty
