"""Tables of an empty database; databases of another version or program are refused. On SQLite and PostgreSQL."""

import multiprocessing

import pytest
from sqlalchemy import inspect, text
from sqlalchemy.exc import DBAPIError

from quorate.errors import InvalidInput
from quorate_service.store import Store
from quorate_service.store.prepare import prepare
from quorate_service.store.schema import metadata
from tests.quorate_service.store.rows import contents, fill
from tests.refusals import refused


@pytest.fixture
def store(database_url):
    store = Store(database_url)
    yield store
    store.close()


def stored(store):
    with store.read() as connection:
        return contents(connection)


def names(store):
    with store.read() as connection:
        return set(inspect(connection).get_table_names())


def test_an_empty_database_gets_every_table_and_a_second_time_changes_nothing(store):
    assert prepare(store) is True
    assert names(store) == set(metadata.tables)
    assert prepare(store) is False


@pytest.mark.parametrize("statement", ["UPDATE {} SET time = 0", "DELETE FROM {}", "DELETE FROM {} WHERE id = 1"])
@pytest.mark.parametrize("table", ["events", "access_log", "owner_actions"])
def test_what_is_only_appended_is_neither_changed_nor_deleted(store, statement, table):
    prepare(store)
    with store.write() as connection:
        fill(connection)
    before = stored(store)
    whole = "REPLACE INTO {0} SELECT * FROM {0}" if store.is_sqlite else "TRUNCATE {} CASCADE"
    for each in (statement.format(table), whole.format(table)):
        with pytest.raises(DBAPIError, match="only ever appended"), store.write() as connection:
            connection.execute(text(each))
    assert stored(store) == before


def test_a_database_of_another_version_is_refused_in_one_sentence_and_not_touched(store):
    prepare(store)
    with store.write() as connection:
        connection.execute(text("UPDATE quorate_revision SET version_num = '0009'"))
        connection.execute(text("DROP TABLE uploads"))
    with refused("database") as caught:
        prepare(store)
    assert caught.value.rule.endswith("this one has schema 0009")
    assert "uploads" not in names(store)


def test_a_database_of_somebody_else_is_refused_and_not_touched(store):
    with store.write() as connection:
        connection.execute(text("CREATE TABLE patients (name text)"))
    with refused("database") as caught:
        prepare(store)
    assert "patients, 1 in all" in caught.value.rule
    assert names(store) == {"patients"}


def test_a_file_that_is_no_database_is_refused_and_not_touched(tmp_path):
    file = tmp_path / "letter.txt"
    file.write_text("Dear all,\n" * 100)
    store = Store(str(file))
    with refused("database"):
        prepare(store)
    store.close()
    assert file.read_text() == "Dear all,\n" * 100


def test_a_password_is_not_shown(postgres):
    store = Store(postgres.create_database("secretive").replace("quorate@", "quorate:hunter2@"))
    try:
        with store.write() as connection:
            connection.execute(text("CREATE TABLE patients (name text)"))
        with pytest.raises(InvalidInput) as problem:
            prepare(store)
        assert "hunter2" not in str(problem.value)
    finally:
        store.close()
        postgres.drop_database("secretive")


def _start(url: str, ready: object, results: object) -> None:
    ready.wait()
    try:
        store = Store(url)
        results.put(prepare(store))
        store.close()
    except BaseException as problem:
        results.put(problem)


def test_of_workers_that_start_at_once_one_creates_the_tables(database_url):
    context = multiprocessing.get_context("fork")
    ready, results = context.Barrier(4), context.Queue()
    workers = [context.Process(target=_start, args=(database_url, ready, results)) for _ in range(4)]
    for worker in workers:
        worker.start()
    outcomes = [results.get(timeout=60) for _ in workers]
    for worker in workers:
        worker.join()
    assert sorted(outcomes) == [False, False, False, True]
