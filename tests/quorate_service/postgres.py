"""A real PostgreSQL server of the tests' own: started in a folder of its own, killed, started again, thrown away.

Takes a folder; gives `Postgres`, whose `url(name)` SQLAlchemy opens. It listens on a Unix socket in that folder and
on nothing else, and writes through to the disk as a server in use does. Used by the fixtures in `conftest`.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import sys
import time
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psutil
import psycopg
from psycopg import sql

READY_WITHIN = 60  # seconds; recovery after a kill included
SUPERUSER = "quorate"
SETTINGS = {
    "listen_addresses": "",
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "shared_buffers": "16MB",
    "max_connections": "60",
    "log_min_messages": "warning",
}
if sys.platform == "linux":  # from PostgreSQL 14; seconds less after each kill than a sync of every file
    SETTINGS["recovery_init_sync_method"] = "syncfs"


class PostgresFailed(AssertionError):
    """The server failed; includes its log."""


def find_binaries() -> Path | None:
    """The folder with `initdb` and `postgres`: where PATH says, or the newest of Debian's; None if there is none."""
    found = [Path(path).resolve().parent for path in (shutil.which("postgres"), shutil.which("initdb")) if path]
    debian = Path("/usr/lib/postgresql").glob("*/bin")
    found += sorted(debian, key=lambda folder: [int(part) for part in folder.parent.name.split(".")], reverse=True)
    return next((folder for folder in found if (folder / "postgres").exists() and (folder / "initdb").exists()), None)


def unprivileged() -> dict[str, Any]:
    """As whom to run, for `subprocess`: PostgreSQL refuses root, so root hands over to `postgres` or `nobody`."""
    if os.geteuid() != 0:
        return {}
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    entry = names.get("postgres") or names["nobody"]
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


class Postgres:
    """One cluster in `folder`, which must be new, empty and short enough for a socket's path (about 90 bytes)."""

    def __init__(self, folder: Path, binaries: Path) -> None:
        self.folder, self._binaries = folder, binaries
        self._process: subprocess.Popen[bytes] | None = None
        if identity := self._identity:
            os.chown(folder, identity["user"], identity["group"])
        options = ["--username", SUPERUSER, "--auth", "trust", "--encoding", "UTF8", "--locale", "C", "--no-sync"]
        command = [str(binaries / "initdb"), "--pgdata", str(folder / "data"), *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False, **self._surroundings)
        if done.returncode:
            raise PostgresFailed(f"initdb: {done.stdout}{done.stderr}")

    @cached_property
    def _identity(self) -> dict[str, Any]:
        return unprivileged()

    @property
    def _surroundings(self) -> dict[str, Any]:
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "LC_"))}
        return {"env": environment | {"LC_ALL": "C"}, "cwd": self.folder, **self._identity}

    @property
    def running(self) -> bool:
        """Whether the postmaster is running."""
        return self._process is not None and self._process.poll() is None

    @property
    def logs(self) -> str:
        """The server's whole log, over all starts."""
        file = self.folder / "log"
        return file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""

    def url(self, database: str = "postgres") -> str:
        """The URL for SQLAlchemy: the psycopg driver, this cluster's socket, no password."""
        return f"postgresql+psycopg://{SUPERUSER}@/{quote(database)}?host={quote(str(self.folder))}"

    def connect(self, database: str = "postgres") -> psycopg.Connection:
        """A plain connection that commits each statement, beside SQLAlchemy."""
        facts = {"host": str(self.folder), "user": SUPERUSER, "dbname": database, "connect_timeout": 10}
        return psycopg.connect(**facts, autocommit=True)

    def create_database(self, name: str, *, like: str | None = None) -> str:
        """A new database, empty or a copy of another; its URL."""
        statement = sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name))
        if like is not None:
            statement += sql.SQL(" TEMPLATE {}").format(sql.Identifier(like))
        with self.connect() as connection:
            if like is not None and connection.info.server_version >= 150_000:
                statement += sql.SQL(" STRATEGY file_copy")  # a third less work than through the log
            connection.execute(statement)
        return self.url(name)

    def drop_database(self, name: str) -> None:
        """Drop the database, even if somebody is connected."""
        with self.connect() as connection:
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))

    def start(self) -> None:
        """Start the server, unless it is running; returns when it has recovered and accepts connections."""
        if self.running:
            return
        settings = SETTINGS | {"unix_socket_directories": str(self.folder)}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        command = [str(self._binaries / "postgres"), "-D", str(self.folder / "data"), *options]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, **self._surroundings)
        self._wait_until_it_answers()

    def _wait_until_it_answers(self) -> None:
        deadline = time.monotonic() + READY_WITHIN
        while self.running:
            try:
                self.connect().close()
            except psycopg.OperationalError as problem:
                if time.monotonic() > deadline:
                    raise PostgresFailed(f"no answer within {READY_WITHIN} s ({problem}):\n{self.logs}") from problem
                time.sleep(0.1)
            else:
                return
        raise PostgresFailed(f"the server went away while starting:\n{self.logs}")

    def stop(self) -> None:
        """Stop cleanly: open connections are closed, everything is written. Does nothing if it is not running."""
        if self.running:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(READY_WITHIN)

    def kill(self) -> None:
        """SIGKILL to the postmaster and all its children at once, as when the machine's memory runs out."""
        if not self.running:
            return
        postmaster = psutil.Process(self._process.pid)
        postmaster.suspend()  # it would start new children in place of the killed ones
        everyone = [*postmaster.children(recursive=True), postmaster]
        for process in everyone:
            try:
                process.kill()
            except psutil.NoSuchProcess:  # it ended by itself in between
                continue
        self._process.wait(READY_WITHIN)
        psutil.wait_procs(everyone[:-1], timeout=READY_WITHIN)
