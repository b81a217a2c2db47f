"""A store -> a transaction that sees one moment, however long it reads and whatever is written meanwhile.

Used by `backup` and by `checking`, which must not see an item without the event that made it what it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.engine import URL

from quorate.errors import InvalidInput
from quorate.service.store.store import Store, wait_as_long_as_it_takes

REPEATABLE: dict[str, Any] = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}


@contextmanager
def snapshot(store: Store) -> Iterator[Connection]:
    """The database as it is at the first query (SQLite in WAL mode does so by itself)."""
    with store.read() as connection:
        if not store.is_sqlite:
            connection.execution_options(**REPEATABLE)
        wait_as_long_as_it_takes(connection)  # whoever reads may do much between two batches
        yield connection


@contextmanager
def existing(database: str | URL) -> Iterator[Store]:
    """A store on a database that must be there already: a misspelt file is not created."""
    store = Store(database)
    if store.is_sqlite and not Path(str(store.url.database)).exists():
        raise InvalidInput(f"database={store.url.database!r}: there is no such file; name the service's database.")
    try:
        yield store
    finally:
        store.close()
