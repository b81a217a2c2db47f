"""The PostgreSQL server of the other tests: private, durable, and complete after being killed and restarted."""

from pathlib import Path

import psutil
import psycopg
import pytest
from sqlalchemy import create_engine, text

from tests.missing import missing


def run(url, *statements):
    """Each statement in one transaction; the rows of the last."""
    engine = create_engine(url)
    try:
        with engine.begin() as connection:
            results = [connection.execute(text(statement)) for statement in statements]
            return results[-1].fetchall() if results[-1].returns_rows else None
    finally:
        engine.dispose()


@pytest.fixture
def table(postgres, request):
    """URL of a database with `votes (n)`, one row committed; the server is started again whatever the test did."""
    name = request.node.name
    url = postgres.create_database(name)
    run(url, "CREATE TABLE votes (n integer)", "INSERT INTO votes VALUES (1)")
    yield url
    postgres.start()
    postgres.drop_database(name)


def test_it_writes_through_to_the_disk_and_listens_on_its_own_socket_only(postgres):
    settings = dict(run(postgres.url(), "SELECT name, setting FROM pg_settings"))
    assert (settings["fsync"], settings["synchronous_commit"], settings["full_page_writes"]) == ("on", "on", "on")
    assert settings["listen_addresses"] == ""
    assert settings["unix_socket_directories"] == str(postgres.folder)
    assert settings["server_encoding"] == "UTF8"
    assert Path(postgres.folder).stat().st_mode & 0o077 == 0  # trust is for whoever may enter the folder


def test_databases_are_apart(postgres, table):
    other = postgres.create_database("other 'one'")
    try:
        run(other, "CREATE TABLE votes (n integer)")
        assert run(other, "SELECT count(*) FROM votes") == [(0,)]
        assert run(table, "SELECT count(*) FROM votes") == [(1,)]
    finally:
        postgres.drop_database("other 'one'")


def test_a_committed_row_survives_kill_9_and_an_uncommitted_one_does_not(postgres, table):
    run(table, "INSERT INTO votes VALUES (2)")
    family = [psutil.Process(postgres._process.pid), *psutil.Process(postgres._process.pid).children()]
    with pytest.raises(psycopg.OperationalError), psycopg.connect(table.replace("+psycopg", "")) as open_one:
        open_one.execute("INSERT INTO votes VALUES (3)")
        postgres.kill()
        open_one.execute("SELECT 1")
    assert not postgres.running
    assert len(family) > 3
    assert not any(process.is_running() for process in family)
    with pytest.raises(psycopg.OperationalError):
        postgres.connect()
    before = len(postgres.logs)
    postgres.start()
    assert run(table, "SELECT n FROM votes ORDER BY n") == [(1,), (2,)]
    assert "automatic recovery in progress" in postgres.logs[before:]


def test_a_stop_in_good_order_needs_no_recovery_and_both_may_be_said_twice(postgres, table):
    before = len(postgres.logs)
    postgres.stop()
    postgres.stop()
    postgres.kill()
    assert not postgres.running
    postgres.start()
    postgres.start()
    assert run(table, "SELECT n FROM votes") == [(1,)]
    assert "recovery" not in postgres.logs[before:]


def test_each_database_url_is_fresh_and_of_its_kind(database_url, request):
    kind = request.node.callspec.params["database_url"]
    assert database_url.startswith(kind)
    run(database_url, "CREATE TABLE first_here (n integer)", "INSERT INTO first_here VALUES (1)")
    assert run(database_url, "SELECT n FROM first_here") == [(1,)]


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
@pytest.mark.parametrize("left", ["running", "killed"])
def test_a_test_may_leave_the_server_killed(database_url, postgres, left):
    assert run(database_url, "SELECT 1") == [(1,)]
    if left == "killed":
        postgres.kill()


def test_what_is_missing_skips_by_hand_and_fails_where_everything_must_be_there(monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="apt-get install postgresql"):
        missing("PostgreSQL", "apt-get install postgresql")
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="apt-get install postgresql"):
        missing("PostgreSQL", "apt-get install postgresql")
