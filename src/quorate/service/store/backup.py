"""A database, in use or not -> one file with every row of it, as of one moment.

The file is a SQLite database with a table for each of the service's, whatever database they come from, and a table
`backup` with the revision, the counts and the digests: `restore` makes of it a database of either kind. Called by
`quorate service backup`.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

from sqlalchemy import Connection, Table, func, select
from sqlalchemy.engine import URL

from quorate.errors import InvalidInput
from quorate.files import atomic_file
from quorate.service.store.copying import Counter, Progress, Tally, plain_rows, storage, tables_of
from quorate.service.store.snapshot import existing, snapshot
from quorate.service.store.upgrade import revision_of
from quorate.version import __version__

FORMAT = 1
APPLICATION = 0x71756F72  # SQLite's application_id: `file` and we recognise a backup by it


@dataclass(frozen=True, slots=True)
class Copied:
    """What was copied: the revision of the tables and the rows of each."""

    path: Path
    revision: str
    tables: dict[str, Tally]

    @property
    def num_rows(self) -> int:
        """Rows in all."""
        return sum(each.num_rows for each in self.tables.values())


def backup(database: str | URL, path: str | os.PathLike[str], *, progress: Progress | None = None) -> Copied:
    """Write every row to the new file `path`, as of one moment; the service may go on all the while.

    The file appears under its name only when it is whole, checked and on disk. It holds hashes of keys and the key
    that signs cookies, and is readable by its owner only. Memory does not grow with the database.
    """
    target = Path(path).absolute()
    _refuse_existing(target)
    with existing(database) as store, snapshot(store) as connection:
        revision = revision_of(connection)
        if revision is None:
            name = connection.engine.url.render_as_string()
            raise InvalidInput(f"database={name!r} holds nothing of quorate's; there is nothing to back up.")
        with atomic_file(target, private=True) as unfinished:
            with closing(sqlite3.connect(unfinished)) as file:
                tables = _write(connection, file, progress)
                _describe(file, revision, tables)
            _refuse_existing(target)  # somebody may have made it meanwhile
    return Copied(target, revision, tables)


def _write(connection: Connection, file: sqlite3.Connection, progress: Progress | None) -> dict[str, Tally]:
    """Copy table by table."""
    for pragma in ("journal_mode=OFF", "synchronous=OFF", f"application_id={APPLICATION}"):  # synced once, at the end
        file.execute(f"PRAGMA {pragma}")
    tables = tables_of(connection)
    total = sum(connection.execute(select(func.count()).select_from(table)).scalar_one() for table in tables)
    tallies: dict[str, Tally] = {}
    for table in tables:
        counter = Counter(table)
        columns = ", ".join(f'"{name}" {kind}' for name, kind in storage(table))
        file.execute(f'CREATE TABLE "{table.name}" ({columns})')
        done = sum(each.num_rows for each in tallies.values())
        with plain_rows(connection, table) as batches:
            for rows in batches:
                file.executemany(_insert(table), rows)
                counter.add(rows)
                if progress is not None:
                    progress(done + counter.num_rows, max(total, 1), table.name)
        tallies[table.name] = counter.tally
    file.commit()
    return tallies


def _insert(table: Table) -> str:
    return f'INSERT INTO "{table.name}" VALUES ({", ".join("?" * len(table.c))})'


def _describe(file: sqlite3.Connection, revision: str, tables: dict[str, Tally]) -> None:
    """The last thing written: a file without it is no backup."""
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
        raise InvalidInput("the backup came out damaged: is its disk sound? Nothing was kept; try another folder.")


def _refuse_existing(target: Path) -> None:
    if target.exists():
        raise InvalidInput(f"path={str(target)!r} exists; a backup never replaces a file. Choose another name.")
    if not target.parent.is_dir():
        raise InvalidInput(f"path={str(target)!r}: there is no folder {str(target.parent)!r}; create it first.")
