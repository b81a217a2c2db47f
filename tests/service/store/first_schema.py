"""Dumps of the first released schema, with a few rows, one for each kind of database.

`python -m tests.service.store.first_schema` wrote `first_schema.sqlite.sql` and `first_schema.postgresql.sql`, before
that release. They are never written again: a test says that revision 0001 still makes what they hold.
"""

import sqlite3
import subprocess
import tempfile
from pathlib import Path

import psycopg

from quorate.service.store import Store, as_url
from quorate.service.store.upgrade import prepare
from tests.service.postgres import SUPERUSER, Postgres, find_binaries
from tests.service.store.rows import fill

FILES = {kind: Path(__file__).with_name(f"first_schema.{kind}.sql") for kind in ("sqlite", "postgresql")}


def load(url: str) -> None:
    """Load the dump into an empty database."""
    parsed = as_url(url)
    kind = parsed.get_backend_name()
    script = FILES[kind].read_text(encoding="utf-8")
    if kind == "sqlite":
        connection = sqlite3.connect(parsed.database)
        connection.executescript(script)
        connection.close()
    else:
        with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
            connection.execute(script)


def _made(url: str) -> None:
    store = Store(url)
    prepare(store)
    with store.write() as connection:
        fill(connection)
    store.close()


def _write_sqlite(folder: Path) -> None:
    _made(str(folder / "first.db"))
    connection = sqlite3.connect(folder / "first.db")
    FILES["sqlite"].write_text("\n".join(connection.iterdump()) + "\n", encoding="utf-8")
    connection.close()


def _write_postgresql(folder: Path) -> None:
    binaries = find_binaries()
    server = Postgres(folder, binaries)
    server.start()
    try:
        _made(server.create_database("first"))
        facts = ["--host", str(folder), "--username", SUPERUSER, "--inserts", "--no-owner", "first"]
        command = [str(binaries / "pg_dump"), *facts]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    finally:
        server.stop()
    kept = [line for line in text.splitlines() if line and not line.startswith(("--", "\\"))]  # \: commands of psql
    FILES["postgresql"].write_text("\n".join(kept) + "\n", encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory(prefix="quorate-pg-") as other:
        _write_sqlite(Path(one))
        _write_postgresql(Path(other))
