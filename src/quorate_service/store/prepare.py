"""Creates the tables in an empty database, and refuses a database of another version or of another program.

Several workers may start at once: one creates the tables, under a lock in the database, and the others wait. Called
before anything else uses a store.
"""

from __future__ import annotations

from sqlalchemy import Connection, insert, inspect, select, text
from sqlalchemy.exc import DatabaseError

from quorate.validate import invalid
from quorate.version import __version__
from quorate_service.store import Store, wait_as_long_as_it_takes
from quorate_service.store.schema import REVISION, metadata, revisions

LOCK = 0x71756F72617465  # "quorate": the number of PostgreSQL's advisory lock


def prepare(store: Store) -> bool:
    """Create the tables if the database is empty; returns whether it was."""
    try:
        with store.read() as connection:
            if revision_of(connection) == REVISION:
                return False
        with store.write() as connection:
            return create_tables(connection)
    except DatabaseError as cause:
        if "not a database" not in str(cause.orig):
            raise
        raise invalid("database", store.url.render_as_string(), "a SQLite database", "name another file.") from cause


def revision_of(connection: Connection) -> str | None:
    """The revision of the database's tables; None if it has none of quorate."""
    if not inspect(connection).has_table(revisions.name):
        return None
    return connection.scalar(select(revisions.c.version_num))


def create_tables(connection: Connection) -> bool:
    """Create them within the caller's transaction, under a lock (on SQLite the transaction already has it)."""
    wait_as_long_as_it_takes(connection)
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": LOCK})
    present = revision_of(connection)
    if present == REVISION:
        return False
    name, tables = connection.engine.url.render_as_string(), sorted(inspect(connection).get_table_names())
    if present is not None:
        rule = f"a database of quorate {__version__} (schema {REVISION}); this one has schema {present}"
        raise invalid("database", name, rule, "nothing was changed. Name another, or install the quorate that made it.")
    if tables:
        rule = f"an empty database; it has tables of another program ({', '.join(tables[:3])}, {len(tables)} in all)"
        fix = "nothing was changed. Name a new file, or create an empty database for quorate."
        raise invalid("database", name, rule, fix)
    metadata.create_all(connection)
    connection.execute(insert(revisions).values(version_num=REVISION))
    return True
