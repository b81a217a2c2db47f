"""Upgrades of empty, old, newer and foreign databases, on SQLite and PostgreSQL."""

import json
import multiprocessing
import re
import shutil
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import MetaData, inspect, text
from sqlalchemy.exc import DBAPIError

from quorate.errors import InvalidInput
from quorate.service.store import Store, StoreUnavailable, upgrade
from quorate.service.store.schema import metadata
from quorate.service.store.upgrade import Upgrade, prepare, revision_of
from tests.service.store.first_schema import FILES, load
from tests.service.store.rows import contents, fill

NEXT = """
import sqlalchemy as sa
from alembic import op

revision = "9999"
down_revision = "{newest}"


def upgrade():
    op.add_column("projects", sa.Column("colour", sa.Text(), nullable=False, server_default="red"))
    {then}
"""


@pytest.fixture
def store(database_url):
    store = Store(database_url)
    yield store
    store.close()


@pytest.fixture
def next_release(tmp_path, monkeypatch):
    """`next_release(then)`: simulates a program that is one revision newer; undone by `.undo()`."""

    def become(then: str = "pass") -> pytest.MonkeyPatch:
        folder = tmp_path / "migrations"
        shutil.copytree(upgrade.FOLDER, folder, ignore=shutil.ignore_patterns("__pycache__"))
        (folder / "r9999_colours.py").write_text(NEXT.format(then=then, newest=upgrade.newest()))
        monkeypatch.setattr(upgrade, "FOLDER", str(folder))
        return monkeypatch

    return become


def description(store: Store) -> dict[str, str]:
    """The database's own definitions of its tables, indexes, constraints and triggers."""
    queries = {
        "sqlite": [
            "SELECT type || ' ' || name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'",
            "SELECT 'column ' || m.name || ' ' || p.name, p.type || p.\"notnull\" || ifnull(p.dflt_value, '') || p.pk "
            "FROM sqlite_master m, pragma_table_info(m.name) p WHERE m.type = 'table'",
        ],
        "postgresql": [
            "SELECT 'index ' || indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'",
            "SELECT 'constraint ' || conname, pg_get_constraintdef(oid) FROM pg_constraint "
            "WHERE connamespace = 'public'::regnamespace",
            "SELECT 'trigger ' || tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal",
            "SELECT 'column ' || table_name || ' ' || column_name, concat_ws(' ', data_type, character_maximum_length, "
            "is_nullable, column_default) FROM information_schema.columns WHERE table_schema = 'public'",
        ],
    }
    with store.read() as connection:
        rows = [row for query in queries[connection.dialect.name] for row in connection.execute(text(query))]
    return {name: " ".join(str(sql).split()) for name, sql in rows}


def test_an_empty_database_gets_every_table_and_a_second_time_changes_nothing(store):
    assert prepare(store) == Upgrade(before=None, now=upgrade.newest())
    with store.read() as connection:
        assert set(inspect(connection).get_table_names()) == {*metadata.tables, upgrade.VERSION_TABLE}
    again = prepare(store)
    assert (again.before, again.changed) == (upgrade.newest(), False)


def test_the_migrated_database_is_what_the_schema_says(store):
    prepare(store)
    with store.read() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": upgrade.VERSION_TABLE})
        assert compare_metadata(context, metadata) == []


def test_columns_and_indexes_are_those_of_the_schema_word_for_word(store, database_url, tmp_path):
    """Alembic's own comparison ignores conditions and orders of indexes, and some defaults."""
    prepare(store)
    migrated = description(store)
    if store.is_sqlite:
        database_url = str(tmp_path / "made.db")
    else:
        with store.write() as connection:
            connection.execute(text("DROP SCHEMA public CASCADE"))
            connection.execute(text("CREATE SCHEMA public"))
    made = Store(database_url)
    with made.write() as connection:
        metadata.create_all(connection)
    expected = description(made)
    made.close()
    assert len(expected) > 150
    assert compared(migrated, is_sqlite=store.is_sqlite) == compared(expected, is_sqlite=store.is_sqlite)


def compared(description: dict[str, str], *, is_sqlite: bool) -> dict[str, str]:
    """Columns and indexes. SQLAlchemy writes a lone condition bare in an index but `= 1` in queries, and SQLite takes
    an index only for the very words it was made with: the migration has those of the queries."""
    left_out = ("trigger", "table", f"column {upgrade.VERSION_TABLE}", f"constraint {upgrade.VERSION_TABLE}", "index q")
    kept = {name: sql for name, sql in description.items() if not name.startswith(left_out)}
    return {name: re.sub(r"WHERE (is_\w+)$", r"WHERE \1 = 1", sql) if is_sqlite else sql for name, sql in kept.items()}


def test_numbers_of_events_are_never_used_twice(store):
    prepare(store)
    if store.is_sqlite:
        assert "PRIMARY KEY AUTOINCREMENT" in description(store)["table events"]
    else:
        assert "nextval" in description(store)["column events id"]


@pytest.mark.parametrize("statement", ["UPDATE {} SET time = 0", "DELETE FROM {}", "DELETE FROM {} WHERE id = 1"])
@pytest.mark.parametrize("table", ["events", "access_log"])
def test_events_and_the_access_log_are_neither_changed_nor_deleted(store, statement, table):
    prepare(store)
    with store.write() as connection:
        fill(connection)
    before = _contents(store)
    with pytest.raises(DBAPIError, match="only ever appended"), store.write() as connection:
        connection.execute(text(statement.format(table)))
    assert _contents(store) == before


@pytest.mark.parametrize("table", ["events", "access_log"])
def test_postgresql_does_not_truncate_them_either(store, table):
    if store.is_sqlite:
        pytest.skip("SQLite has no TRUNCATE")
    prepare(store)
    with pytest.raises(DBAPIError, match="only ever appended"), store.write() as connection:
        connection.execute(text(f"TRUNCATE {table} CASCADE"))


def _contents(store):
    with store.read() as connection:
        return contents(connection)


# -- from the first released schema on -------------------------------------------------------------------------------


def test_the_first_revision_still_makes_the_first_released_schema(store, database_url, tmp_path, postgres):
    load(database_url)
    released = description(store)
    other = Store(str(tmp_path / "x.db") if store.is_sqlite else postgres.create_database("fresh"))
    try:
        with other.write() as connection:
            upgrade.bring_to(connection, "0001")
        assert description(other) == released
    finally:
        other.close()
        if not store.is_sqlite:
            postgres.drop_database("fresh")


def test_the_first_released_schema_is_upgraded_and_keeps_its_rows(store, database_url, next_release):
    load(database_url)
    with store.read() as connection:
        old = MetaData()
        old.reflect(connection)
        old.remove(old.tables[upgrade.VERSION_TABLE])
        if "sqlite_sequence" in old.tables:
            old.remove(old.tables["sqlite_sequence"])
        before = contents(connection, old.sorted_tables)
    assert sum(map(len, before.values())) == FILES[store.url.get_backend_name()].read_text().count("INSERT INTO") - (
        1 + 1 * store.is_sqlite  # quorate_revision, sqlite_sequence
    )
    next_release()
    assert prepare(store) == Upgrade("0001", "9999")
    with store.read() as connection:
        assert contents(connection, old.sorted_tables) == before
        assert set(connection.execute(text("SELECT colour FROM projects")).scalars()) == {"red"}


def test_the_first_released_schema_takes_new_rows_after_the_upgrade(store, database_url):
    load(database_url)
    prepare(store)
    with store.write() as connection:
        query = text("INSERT INTO events (project_id, kind, time, body) VALUES ('id0', 'learn', 0, '{}') RETURNING id")
        assert connection.execute(query).scalar_one() == 4


def test_sign_ins_of_the_first_schema_say_whether_an_owner_made_the_link(store, database_url):
    load(database_url)
    prepare(store)
    with store.read() as connection:
        rows = connection.execute(text("SELECT project_id, signed_in_by FROM sign_ins")).all()
    assert {(project is None, how) for project, how in rows} == {(True, None), (False, "link by an owner")}


def test_an_upgrade_that_fails_leaves_everything_as_it_was(store, next_release):
    prepare(store)
    before, now = description(store), upgrade.newest()
    next_release('op.execute("no such statement")')
    with pytest.raises((DBAPIError, StoreUnavailable)):
        prepare(store)
    assert description(store) == before
    with store.read() as connection:
        assert revision_of(connection) == now


# -- what is refused -------------------------------------------------------------------------------------------------


def test_a_database_newer_than_the_program_is_refused_with_what_to_do(store, next_release):
    released = next_release()
    prepare(store)
    released.undo()
    before = description(store)
    with pytest.raises(InvalidInput) as caught:
        prepare(store)
    assert caught.value.field == "database" and "9999" in caught.value.rule
    assert description(store) == before


def test_a_database_of_somebody_else_is_refused_and_not_touched(store):
    with store.write() as connection:
        connection.execute(text("CREATE TABLE patients (name text)"))
    before = description(store)
    with pytest.raises(InvalidInput) as caught:
        prepare(store)
    assert caught.value.field == "database" and "patients, 1 in all" in caught.value.rule
    assert description(store) == before


def test_a_file_that_is_no_database_is_refused_and_not_touched(tmp_path):
    file = tmp_path / "letter.txt"
    file.write_text("Dear all,\n" * 100)
    store = Store(str(file))
    with pytest.raises(InvalidInput) as caught:
        prepare(store)
    assert caught.value.field == "database"
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


# -- several at once -------------------------------------------------------------------------------------------------


def _start(url: str, ready: object, results: object) -> None:
    ready.wait()
    try:
        store = Store(url)
        results.put(prepare(store))
        store.close()
    except BaseException as problem:
        results.put(problem)


def test_workers_that_start_at_once_upgrade_once(database_url):
    context = multiprocessing.get_context("fork")
    ready, results = context.Barrier(4), context.Queue()
    workers = [context.Process(target=_start, args=(database_url, ready, results)) for _ in range(4)]
    for worker in workers:
        worker.start()
    outcomes = [results.get(timeout=60) for _ in workers]
    for worker in workers:
        worker.join()
    assert [each for each in outcomes if not isinstance(each, Upgrade)] == []
    assert sum(each.changed for each in outcomes) == 1
    assert {each.now for each in outcomes} == {upgrade.newest()}


def test_the_migrations_come_with_the_package():
    names = {path.name for path in Path(upgrade.FOLDER).glob("r*.py")}
    assert "r0001_first_schema.py" in names


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"method": "value", "threshold": None}, "value:hyperprior=default,fits=regular,rule=optimistic"),
        ({"method": "value:min_gain=0.01"}, "value:hyperprior=default,fits=regular,rule=optimistic,min_gain=0.01"),
        ({"method": "value", "threshold": 0.9}, "value:hyperprior=default,fits=regular"),
        ({"method": "value:threshold=0.9"}, "value:hyperprior=default,fits=regular,threshold=0.9"),
        (
            {"method": "value:rule=blended,min_gain=0.01"},
            "value:hyperprior=default,fits=regular,rule=blended,min_gain=0.01",
        ),
        ({"method": "value:hyperprior=paper,threshold=0.9"}, "value:fits=regular,hyperprior=paper,threshold=0.9"),
        ({"method": "finexp:threshold=0.9"}, "finexp:threshold=0.9"),
    ],
)
def test_projects_from_before_rules_and_hyperpriors_had_names_keep_theirs(store, settings, named):
    with store.write() as connection:
        upgrade.bring_to(connection, "0004")
        row = {"settings": json.dumps(settings)}
        connection.execute(
            text("INSERT INTO projects (id, name, settings, created) VALUES ('p', 'pets', :settings, 0)"), row
        )
    prepare(store)
    with store.read() as connection:
        stored = connection.execute(text("SELECT settings FROM projects")).scalar_one()
    assert json.loads(stored) == settings | {"method": named}
