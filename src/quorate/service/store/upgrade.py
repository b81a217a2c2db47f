"""Upgrades an empty or old database to the newest tables; its rows are kept.

Several workers may start at once: one upgrades, under a lock in the database, and the others wait. The upgrade is one
transaction. Called before anything else uses a store.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext, MigrationStep
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect, text
from sqlalchemy.exc import DatabaseError

from quorate.service.store import Store, migrations, wait_as_long_as_it_takes
from quorate.service.store.schema import metadata
from quorate.validate import invalid
from quorate.version import __version__

FOLDER = str(Path(migrations.__file__).parent)
VERSION_TABLE = "quorate_revision"
LOCK = 0x71756F72617465  # "quorate": the number of PostgreSQL's advisory lock

_one_at_a_time = threading.Lock()  # alembic's `op` is global


@dataclass(frozen=True, slots=True)
class Upgrade:
    """The revision `before` (None: the database was empty) and `now`."""

    before: str | None
    now: str

    @property
    def changed(self) -> bool:
        """Whether anything was done."""
        return self.before != self.now


def prepare(store: Store) -> Upgrade:
    """Upgrade the database to the newest revision, if it is older.

    Refuses a database that is newer than this program or not one of quorate.
    """
    try:
        with store.read() as connection:
            before = revision_of(connection)
            if before == newest():
                return Upgrade(before, before)
        with store.write() as connection:
            return bring_to(connection, newest())
    except DatabaseError as cause:
        if "not a database" not in str(cause.orig):
            raise
        raise invalid("database", store.url.render_as_string(), "a SQLite database", "name another file.") from cause


def newest() -> str:
    """The revision this program works with."""
    return _newest_in(FOLDER)


def revision_of(connection: Connection) -> str | None:
    """The revision of the database; None if it has no tables of quorate."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    rows = connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalars().all()
    return str(rows[0]) if rows else None


def bring_to(connection: Connection, revision: str) -> Upgrade:
    """Upgrade within the caller's transaction, under a lock (on SQLite the transaction already has it)."""
    wait_as_long_as_it_takes(connection)
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": LOCK})
    before = revision_of(connection)
    if before == revision:
        return Upgrade(before, revision)
    scripts = _scripts()
    _refuse_what_is_not_ours(connection, before)
    missing = reversed(list(scripts.iterate_revisions(revision, before or "base")))
    steps = [MigrationStep.upgrade_from_script(scripts.revision_map, script) for script in missing]
    options = {"version_table": VERSION_TABLE, "target_metadata": metadata, "fn": lambda _heads, _context: steps}
    context = MigrationContext.configure(connection, opts=options)
    with _one_at_a_time, Operations.context(context):
        context.run_migrations()
    return Upgrade(before, revision)


def revisions() -> list[str]:
    """Every revision that this program knows, the newest first."""
    return [script.revision for script in _scripts().walk_revisions()]


def _refuse_what_is_not_ours(connection: Connection, before: str | None) -> None:
    name = connection.engine.url.render_as_string()
    if before is None:
        tables = sorted(set(inspect(connection).get_table_names()) - {VERSION_TABLE})
        if tables:
            others = f"{', '.join(tables[:3])}, {len(tables)} in all"
            rule = f"an empty database; it has tables of another program ({others})"
            fix = "nothing was changed. Name a new file, or create an empty database for quorate."
            raise invalid("database", name, rule, fix)
    elif before not in revisions():
        rule = (
            f"revision {newest()} or older; it is at {before}, written by a newer quorate than this one ({__version__})"
        )
        fix = (
            "nothing was changed. Install the newer one: pip install --upgrade 'quorate[service]'; or restore a backup "
            "that was made before the upgrade."
        )
        raise invalid("database", name, rule, fix)


def _scripts() -> ScriptDirectory:
    return ScriptDirectory(FOLDER, version_locations=[FOLDER])


@cache
def _newest_in(folder: str) -> str:
    head = ScriptDirectory(folder, version_locations=[folder]).get_current_head()
    assert head is not None, "no migrations in the package"
    return head
