"""A backup -> a database of either kind with the same rows, checked row by row before anything is kept.

The way back after a loss, and the way from SQLite to PostgreSQL. One transaction: all of it or nothing. Called by
`quorate service restore`.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from sqlalchemy import Connection, Table, inspect, text
from sqlalchemy.engine import URL

from quorate.errors import InvalidInput
from quorate.service.store.backup import APPLICATION, FORMAT, Copied
from quorate.service.store.copying import Counter, Progress, Row, Tally, batch_size, insert_rows, plain_rows, tables_of
from quorate.service.store.store import Store
from quorate.service.store.upgrade import bring_to, newest, revisions
from quorate.version import __version__


def restore(path: str | os.PathLike[str], database: str | URL, *, progress: Progress | None = None) -> Copied:
    """Fill an empty database from the backup `path`, and upgrade it to this program's revision.

    Every row is read back and its digest compared with the backup's before the transaction is committed. Refuses a
    database that holds anything, a file that is no whole backup, and a backup of a newer quorate.
    """
    source = Path(path).absolute()
    with closing(_opened(source)) as file:
        copied = _described(file, source)
        store = Store(database)
        try:
            with store.write() as connection:
                _refuse_full(connection)
                bring_to(connection, copied.revision)
                _fill(connection, file, copied, progress)
                bring_to(connection, newest())
        finally:
            store.close()
    return copied


def _opened(path: Path) -> sqlite3.Connection:
    if not path.is_file():
        raise InvalidInput(f"path={str(path)!r}: there is no such file; name a backup.")
    return sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)


def _described(file: sqlite3.Connection, path: Path) -> Copied:
    """What the backup says of itself."""
    try:
        is_ours = file.execute("PRAGMA application_id").fetchone() == (APPLICATION,)
        is_sound = is_ours and file.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        facts = json.loads(file.execute("SELECT facts FROM backup").fetchone()[0]) if is_sound else {}
    except sqlite3.DatabaseError as cause:
        raise InvalidInput(f"path={str(path)!r} is no whole backup ({cause}); use another one.") from cause
    if not facts:
        wrong = "is damaged" if is_ours else "was not written by `quorate service backup`"
        raise InvalidInput(f"path={str(path)!r} {wrong}; use another one.")
    if facts["format"] != FORMAT or facts["revision"] not in revisions():
        raise InvalidInput(
            f"path={str(path)!r} was written by quorate {facts['quorate']} (revision {facts['revision']}), which is "
            f"newer than this one ({__version__}): pip install --upgrade 'quorate[service]'."
        )
    return Copied(path, facts["revision"], {name: Tally(**each) for name, each in facts["tables"].items()})


def _refuse_full(connection: Connection) -> None:
    tables = inspect(connection).get_table_names()
    if tables:
        raise InvalidInput(
            f"database={connection.engine.url.render_as_string()!r} is not empty ({len(tables)} tables); a backup is "
            "restored into a new database only. Name a file that does not exist, or create an empty database."
        )


def _fill(connection: Connection, file: sqlite3.Connection, copied: Copied, progress: Progress | None) -> None:
    """Write every row, then read each back."""
    tables = tables_of(connection)
    if {table.name for table in tables} != set(copied.tables):
        raise InvalidInput(f"path={str(copied.path)!r} lacks tables of its revision; use another backup.")
    report = _counting(progress, total=2 * max(copied.num_rows, 1))
    for table in tables:
        for rows in _kept_rows(file, table):
            insert_rows(connection, table, rows)
            report(len(rows), f"{table.name}, writing")
        _go_on_counting(connection, table)
    for table in tables:
        found, expected = _tally(connection, table, report), copied.tables[table.name]
        if found != expected:
            raise InvalidInput(
                f"path={str(copied.path)!r}: the rows of {table.name} did not come back as they were backed up "
                f"({found.num_rows} of {expected.num_rows}); nothing was kept. Use another backup."
            )


def _tally(connection: Connection, table: Table, report: Callable[[int, str], None]) -> Tally:
    counter = Counter(table)
    with plain_rows(connection, table) as batches:
        for rows in batches:
            counter.add(rows)
            report(len(rows), f"{table.name}, checking")
    return counter.tally


def _counting(progress: Progress | None, *, total: int) -> Callable[[int, str], None]:
    """Tells `progress` how many there were so far."""
    done = 0

    def report(more: int, what: str) -> None:
        nonlocal done
        done += more
        if progress is not None:
            progress(done, total, what)

    return report


def _kept_rows(file: sqlite3.Connection, table: Table) -> Iterator[list[Row]]:
    names = ", ".join(f'"{column.name}"' for column in table.c)
    cursor = file.execute(f'SELECT {names} FROM "{table.name}"')
    while rows := cursor.fetchmany(batch_size(table)):
        yield rows


def _go_on_counting(connection: Connection, table: Table) -> None:
    """The next number drawn is above those restored (SQLite sees to it by itself)."""
    column = table.autoincrement_column
    if column is None or connection.dialect.name != "postgresql":
        return
    query = f"SELECT setval(pg_get_serial_sequence(:table, :column), max({column.name})) FROM {table.name}"
    connection.execute(text(query), {"table": table.name, "column": column.name})
