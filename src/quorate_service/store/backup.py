"""Backs up a SQLite database while it is in use (`backup`), and copies a database to another, empty one (`copy`).

PostgreSQL has `pg_dump` for backups. `copy` moves a service between SQLite and PostgreSQL. Called by `quorate service`.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from sqlalchemy import Connection, LargeBinary, Table, func, inspect, select, text
from sqlalchemy.engine import URL

from quorate.files import atomic_file
from quorate.validate import invalid
from quorate_service.store import Store, existing, snapshot
from quorate_service.store.prepare import create_tables, revision_of
from quorate_service.store.schema import REVISION, metadata, revisions

Progress = Callable[[int, int, str], None]

BATCH = 1000  # rows in memory
LARGE_BATCH = 4  # rows in memory of tables with files
TABLES = [table for table in metadata.sorted_tables if table is not revisions]  # each after those it refers to


def backup(database: str | URL, path: str | os.PathLike[str]) -> None:
    """Write a snapshot of a SQLite database to the new file `path`, which is a database again.

    The service may keep running. The file appears under its name only when it is complete and on disk. It contains
    digests of keys and the key that signs cookies, and is readable by its owner only.
    """
    target = Path(path).absolute()
    with existing(database) as store:
        if not store.is_sqlite:
            rule = "a SQLite file; PostgreSQL makes its own backups"
            raise invalid("database", store.url.render_as_string(), rule, "use pg_dump and pg_restore.")
        with store.read() as connection:
            _check_revision(connection)
        _refuse_existing(target)
        with (
            atomic_file(target, private=True) as unfinished,
            closing(sqlite3.connect(str(store.url.database))) as source,
            closing(sqlite3.connect(unfinished)) as copied,
        ):
            source.backup(copied, pages=1000)
            copied.execute("PRAGMA journal_mode=DELETE")  # one file, without -wal
            _refuse_existing(target)  # it may have been created in the meantime


def copy(database: str | URL, target: str | URL, *, progress: Progress | None = None) -> int:
    """Copy every row of a database to an empty one, of either kind; returns how many.

    The source may be in use: what is copied is one snapshot. All or nothing is committed.
    """
    with existing(database) as source, snapshot(source) as rows:
        _check_revision(rows)
        counts = {table.name: rows.execute(select(func.count()).select_from(table)).scalar_one() for table in TABLES}
        total, done = max(sum(counts.values()), 1), 0
        store = Store(target)
        try:
            with store.write() as connection:
                if inspect(connection).get_table_names():
                    fix = "name a file that does not exist, or create an empty database."
                    raise invalid("target", store.url.render_as_string(), "a new, empty database", fix)
                create_tables(connection)
                for table in TABLES:
                    done += _copy_table(rows, connection, table)
                    if progress is not None:
                        progress(done, total, table.name)
        finally:
            store.close()
    return done


def _copy_table(rows: Connection, connection: Connection, table: Table) -> int:
    size = LARGE_BATCH if any(isinstance(column.type, LargeBinary) for column in table.c) else BATCH
    done = 0
    with rows.execute(table.select(), execution_options={"yield_per": size}) as result:
        for batch in result.mappings().partitions():
            connection.execute(table.insert(), [dict(row) for row in batch])
            done += len(batch)
    column = table.autoincrement_column
    if column is not None and connection.dialect.name == "postgresql":  # its next id must be larger than those copied
        query = f"SELECT setval(pg_get_serial_sequence(:table, :column), max({column.name})) FROM {table.name}"
        connection.execute(text(query), {"table": table.name, "column": column.name})
    return done


def _check_revision(connection: Connection) -> None:
    present = revision_of(connection)
    if present != REVISION:
        rule = (
            f"a database of this version of quorate (schema {REVISION}); this one has {present or 'none of its tables'}"
        )
        raise invalid("database", connection.engine.url.render_as_string(), rule, "name another.")


def _refuse_existing(target: Path) -> None:
    if target.exists():
        raise invalid("file", str(target), "a new file: a backup never replaces one", "choose another name.")
    if not target.parent.is_dir():
        raise invalid("file", str(target), "a file in a folder that exists", "create the folder first.")
