"""Copies a database, which may be in use, to one file (`backup`), and back (`restore`).

The file is a SQLite database with the service's tables, whichever database they come from, and a table `backup` with
the revision, the counts and the digests. SQLite and PostgreSQL give the same plain values for a row, so their digests
are equal: every restored row is checked before the transaction is committed. This is also how to move from SQLite to
PostgreSQL. Called by `quorate service backup` and `restore`.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import (
    Boolean,
    Connection,
    Float,
    Integer,
    LargeBinary,
    MetaData,
    Numeric,
    Table,
    func,
    inspect,
    select,
    text,
)
from sqlalchemy.engine import URL

from quorate.files import atomic_file
from quorate.service.store import Store, existing, snapshot
from quorate.service.store.upgrade import VERSION_TABLE, bring_to, newest, revision_of, revisions
from quorate.validate import invalid
from quorate.version import __version__

Row = tuple[Any, ...]
Progress = Callable[[int, int, str], None]

BATCH = 1000  # rows in memory
LARGE_BATCH = 4  # rows in memory of tables with files
_MODULUS = 1 << 256


@dataclass(frozen=True, slots=True)
class TableDigest:
    """How many rows a table has, and a digest of them: the sum of the rows' SHA-256, modulo 2^256."""

    num_rows: int
    digest: str


class TableCounter:
    """Counts rows and computes their digest."""

    def __init__(self, table: Table) -> None:
        names = [column.name for column in table.c]
        self._order = sorted(range(len(names)), key=names.__getitem__)
        self.num_rows, self._sum = 0, 0

    def add(self, rows: Sequence[Row]) -> None:
        """Add these rows."""
        for row in rows:
            text = json.dumps([row[place] for place in self._order], default=_digest)
            self._sum += int.from_bytes(hashlib.sha256(text.encode()).digest(), "big")
        self._sum %= _MODULUS
        self.num_rows += len(rows)

    @property
    def tally(self) -> TableDigest:
        """Count and digest of the rows so far."""
        return TableDigest(self.num_rows, f"{self._sum:064x}")


def tables_of(connection: Connection) -> list[Table]:
    """The database's current tables, at any revision; each after those it refers to."""
    reflected = MetaData()
    reflected.reflect(connection)
    return [table for table in reflected.sorted_tables if table.name != VERSION_TABLE]


def batch_size(table: Table) -> int:
    """Rows to hold in memory at a time."""
    return LARGE_BATCH if any(isinstance(column.type, LargeBinary) for column in table.c) else BATCH


@contextmanager
def plain_rows(connection: Connection, table: Table) -> Iterator[Iterator[list[Row]]]:
    """The table's rows in batches, as plain values, streamed while the block lasts."""
    converters = [_plain(column.type) for column in table.c]
    options = {"yield_per": batch_size(table)}
    with connection.execute(table.select(), execution_options=options) as result:
        yield ([_converted(converters, row) for row in batch] for batch in result.partitions())


def insert_rows(connection: Connection, table: Table, rows: Iterable[Row]) -> None:
    """Write plain values into the table."""
    names = [column.name for column in table.c]
    converters = [bool if isinstance(column.type, Boolean) else _as_is for column in table.c]
    values: list[Mapping[str, Any]] = [dict(zip(names, _converted(converters, row), strict=True)) for row in rows]
    connection.execute(table.insert(), values)


def storage(table: Table) -> list[tuple[str, str]]:
    """Name and SQLite type of each column in a backup."""
    return [(column.name, _storage(column.type)) for column in table.c]


def _storage(kind: object) -> str:
    if isinstance(kind, (Boolean, Integer)):
        return "INTEGER"
    if isinstance(kind, (Float, Numeric)):  # Double is a Float
        return "REAL"
    return "BLOB" if isinstance(kind, LargeBinary) else "TEXT"


def _converted(converters: Sequence[Callable[[Any], Any]], row: Sequence[Any]) -> Row:
    return tuple(None if value is None else convert(value) for convert, value in zip(converters, row, strict=True))


def _plain(kind: object) -> Callable[[Any], Any]:
    converters: dict[str, Callable[[Any], Any]] = {"INTEGER": int, "REAL": _real, "BLOB": bytes, "TEXT": _as_is}
    return converters[_storage(kind)]


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _real(value: float) -> float:
    return float(value) + 0.0  # SQLite does not store -0.0


def _as_is(value: object) -> object:
    return value


FORMAT = 1
ANOTHER = "use another backup."
APPLICATION = 0x71756F72  # SQLite's application_id, by which `file` and we recognise a backup


@dataclass(frozen=True, slots=True)
class Copied:
    """What was copied: the revision of the tables, and count and digest of each."""

    path: Path
    revision: str
    tables: dict[str, TableDigest]

    @property
    def num_rows(self) -> int:
        """Rows of all tables."""
        return sum(each.num_rows for each in self.tables.values())


def backup(database: str | URL, path: str | os.PathLike[str], *, progress: Progress | None = None) -> Copied:
    """Write a snapshot of every row to the new file `path`; the service may keep running.

    The file appears under its name only when it is complete, checked and on disk. It contains digests of keys and the
    key that signs cookies, and is readable by its owner only. Memory use does not grow with the database.
    """
    target = Path(path).absolute()
    _refuse_existing(target)
    with existing(database) as store, snapshot(store) as connection:
        revision = revision_of(connection)
        if revision is None:
            name = connection.engine.url.render_as_string()
            raise invalid("database", name, "a database of quorate", "name another: there is nothing to back up.")
        with atomic_file(target, private=True) as unfinished:
            with closing(sqlite3.connect(unfinished)) as file:
                tables = _write(connection, file, progress)
                _describe(file, revision, tables)
            _refuse_existing(target)  # it may have been created in the meantime
    return Copied(target, revision, tables)


def _write(connection: Connection, file: sqlite3.Connection, progress: Progress | None) -> dict[str, TableDigest]:
    """Copy all tables."""
    for pragma in ("journal_mode=OFF", "synchronous=OFF", f"application_id={APPLICATION}"):  # synced once, at the end
        file.execute(f"PRAGMA {pragma}")
    tables = tables_of(connection)
    total = sum(connection.execute(select(func.count()).select_from(table)).scalar_one() for table in tables)
    tallies: dict[str, TableDigest] = {}
    for table in tables:
        counter = TableCounter(table)
        columns = ", ".join(f'"{name}" {kind}' for name, kind in storage(table))
        file.execute(f'CREATE TABLE "{table.name}" ({columns})')
        insert = f'INSERT INTO "{table.name}" VALUES ({", ".join("?" * len(table.c))})'
        done = sum(each.num_rows for each in tallies.values())
        with plain_rows(connection, table) as batches:
            for rows in batches:
                file.executemany(insert, rows)
                counter.add(rows)
                if progress is not None:
                    progress(done + counter.num_rows, max(total, 1), table.name)
        tallies[table.name] = counter.tally
    file.commit()
    return tallies


def _describe(file: sqlite3.Connection, revision: str, tables: dict[str, TableDigest]) -> None:
    """Write the facts of the backup. They come last: a file without them is not a complete backup."""
    facts = {
        "format": FORMAT,
        "revision": revision,
        "quorate": __version__,
        "time": time.time(),
        "tables": {name: asdict(tally) for name, tally in tables.items()},
    }
    file.execute("CREATE TABLE backup (facts TEXT NOT NULL)")
    file.execute("INSERT INTO backup VALUES (?)", (json.dumps(facts),))
    file.commit()
    if file.execute("PRAGMA integrity_check").fetchone() != ("ok",):
        rule = "a folder on a working disk: the backup is damaged"
        raise invalid("file", None, rule, "try another folder; the file was deleted.")


def _refuse_existing(target: Path) -> None:
    if target.exists():
        raise invalid("file", str(target), "a new file: a backup never replaces one", "choose another name.")
    if not target.parent.is_dir():
        raise invalid("file", str(target), "a file in a folder that exists", "create the folder first.")


def restore(path: str | os.PathLike[str], database: str | URL, *, progress: Progress | None = None) -> Copied:
    """Fill an empty database from the backup `path`, and upgrade it to this program's revision.

    Every row is read back and its digest compared with the backup's before the transaction is committed. Refuses a
    database that is not empty, a file that is not a complete backup, and a backup of a newer quorate.
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
        raise invalid("file", str(path), "a backup; there is no such file", "correct the name.")
    return sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)


def _described(file: sqlite3.Connection, path: Path) -> Copied:
    """The facts of the backup."""
    try:
        is_ours = file.execute("PRAGMA application_id").fetchone() == (APPLICATION,)
        is_sound = is_ours and file.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        facts = json.loads(file.execute("SELECT facts FROM backup").fetchone()[0]) if is_sound else {}
    except sqlite3.DatabaseError as cause:
        raise invalid("file", str(path), f"a complete backup ({cause})", ANOTHER) from cause
    if not facts:
        rule = "an undamaged backup" if is_ours else "a file that `quorate service backup` wrote"
        raise invalid("file", str(path), rule, ANOTHER)
    if facts["format"] != FORMAT or facts["revision"] not in revisions():
        newer = f"quorate {facts['quorate']} (revision {facts['revision']}) wrote it"
        rule = f"a backup of quorate {__version__} or older; {newer}"
        raise invalid("file", str(path), rule, "pip install --upgrade 'quorate[service]'.")
    return Copied(path, facts["revision"], {name: TableDigest(**each) for name, each in facts["tables"].items()})


def _refuse_full(connection: Connection) -> None:
    tables = inspect(connection).get_table_names()
    if tables:
        rule = f"a new, empty database; this one has {len(tables)} tables"
        fix = "name a file that does not exist, or create an empty database."
        raise invalid("database", connection.engine.url.render_as_string(), rule, fix)


def _fill(connection: Connection, file: sqlite3.Connection, copied: Copied, progress: Progress | None) -> None:
    """Write every row, then read each back and compare digests."""
    tables = tables_of(connection)
    if {table.name for table in tables} != set(copied.tables):
        raise invalid("file", str(copied.path), "a backup with all tables of its revision", ANOTHER)
    report = _counting(progress, total=2 * max(copied.num_rows, 1))
    for table in tables:
        for rows in _backup_rows(file, table):
            insert_rows(connection, table, rows)
            report(len(rows), f"{table.name}, writing")
        _advance_sequence(connection, table)
    for table in tables:
        restored, expected = _tally(connection, table, report), copied.tables[table.name]
        if restored != expected:
            counts = f"{restored.num_rows} of {expected.num_rows} rows of {table.name} were restored"
            rule = f"a backup whose rows match their digest; {counts}, and the digest differs"
            raise invalid("file", str(copied.path), rule, f"nothing was changed; {ANOTHER}")


def _tally(connection: Connection, table: Table, report: Callable[[int, str], None]) -> TableDigest:
    counter = TableCounter(table)
    with plain_rows(connection, table) as batches:
        for rows in batches:
            counter.add(rows)
            report(len(rows), f"{table.name}, checking")
    return counter.tally


def _counting(progress: Progress | None, *, total: int) -> Callable[[int, str], None]:
    """A function that adds to the count and passes the sum to `progress`."""
    done = 0

    def report(more: int, what: str) -> None:
        nonlocal done
        done += more
        if progress is not None:
            progress(done, total, what)

    return report


def _backup_rows(file: sqlite3.Connection, table: Table) -> Iterator[list[Row]]:
    names = ", ".join(f'"{column.name}"' for column in table.c)
    cursor = file.execute(f'SELECT {names} FROM "{table.name}"')
    while rows := cursor.fetchmany(batch_size(table)):
        yield rows


def _advance_sequence(connection: Connection, table: Table) -> None:
    """Make PostgreSQL's next id larger than those restored (SQLite does this by itself)."""
    column = table.autoincrement_column
    if column is None or connection.dialect.name != "postgresql":
        return
    query = f"SELECT setval(pg_get_serial_sequence(:table, :column), max({column.name})) FROM {table.name}"
    connection.execute(text(query), {"table": table.name, "column": column.name})
