"""No statement of a request reads a whole table, according to SQLite's query plans."""

import pytest
from sqlalchemy.dialects import sqlite

from quorate_service.access import principal
from quorate_service.domain import gold, leases, queue, votes
from quorate_service.store import Store
from quorate_service.store.prepare import prepare

STATEMENTS = {
    name: found["sqlite"] if isinstance(found := getattr(module, name), dict) else found
    for module, names in {
        votes: ("LOCK", "BALLOTS", "LEASES", "REPEATS", "PAST"),
        gold: ("GOLD",),
        queue: ("START", "LINE"),
        leases: ("PLACES_TAKEN", "FREE", "RENEW", "HELD", "MET"),
        principal: ("OF_KEY", "OF_COOKIE"),
    }.items()
    for name in names
}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A SQLite file with the service's tables: PostgreSQL plans by what the tables hold, SQLite by their indexes."""
    store = Store(str(tmp_path_factory.mktemp("plans") / "service.db"))
    prepare(store)
    yield store
    store.close()


def plan_of(store, name):
    compiled = STATEMENTS[name].compile(dialect=sqlite.dialect())
    values = tuple("[]" for _ in compiled.positiontup)
    with store.read() as connection:
        return [row[-1] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {compiled}", values)]


@pytest.mark.parametrize("name", STATEMENTS)
def test_rows_are_found_by_an_index(prepared, name):
    plan = plan_of(prepared, name)
    scanned = {line.split()[1] for line in plan if line.startswith("SCAN")} - {"json_each", "one", "other", "(subquery"}
    assert plan and not scanned, plan
