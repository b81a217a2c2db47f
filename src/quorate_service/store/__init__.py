"""The database: `Store` has `read()` and `write()` transactions, with the same behaviour on SQLite and PostgreSQL.

A write is committed durably when its `with` block ends, or not at all. On SQLite writers queue in the process before
they queue in the database, so that none starves. After `StoreUnavailable` a write may or may not have happened; sending
the same request again with the same idempotency key is safe either way.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from quorate.errors import InvalidInput, MissingExtra, QuorateError
from quorate.validate import invalid

FULL = ("disk is full", "no space left", "could not extend file", "disk i/o error", "readonly database")
BUSY = ("database is locked", "deadlock detected", "could not serialize", "canceling statement")
BUSY_CODES = ("40001", "40P01", "55P03", "57014")  # PostgreSQL's, whatever its language; 55P03: lock_timeout
BUSY_SECONDS = 15.0
WAL = "journal_mode=WAL"
PRAGMAS = (
    "synchronous=FULL",
    "foreign_keys=ON",
    "recursive_triggers=ON",  # so that INSERT OR REPLACE cannot bypass the triggers that protect the events
    "temp_store=MEMORY",
)
POOL = 16  # connections a worker holds; more threads than these wait
REACHED: dict[str, int] = {  # libpq's parameters: do not wait long for an unreachable machine
    "connect_timeout": 10,  # seconds
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,  # milliseconds
}
PATIENCE = {"lock_timeout": "5s", "idle_in_transaction_session_timeout": "60s"}  # parameters of the server
REPEATABLE: dict[str, Any] = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}


class StoreUnavailable(QuorateError):
    """The database is not available now; send the same request again."""

    def __init__(self, message: str, *, retry_after: float = 1.0, in_shell: str | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.in_shell = in_shell  # message for users of the command line, who may see the database's address


class StoreBusy(StoreUnavailable):
    """The transaction conflicted with another one; nothing was changed, and it can be tried again."""


def failure(problem: DBAPIError) -> StoreUnavailable | None:
    """The error for the caller; None for an error that is a bug in this program."""
    words = str(problem.orig).lower()
    if any(phrase in words for phrase in FULL):
        return StoreUnavailable(
            "the database's disk is full or cannot be written; nothing was changed. Free space, then send this again.",
            retry_after=30.0,
        )
    if any(phrase in words for phrase in BUSY) or getattr(problem.orig, "sqlstate", None) in BUSY_CODES:
        return StoreBusy("the database is busy; nothing was changed. Send this again.", retry_after=1.0)
    if getattr(problem.orig, "sqlite_errorname", "") == "SQLITE_ERROR":  # an invalid statement, not a broken disk
        return None
    if problem.connection_invalidated or isinstance(problem, (OperationalError, InterfaceError)):
        reason = " ".join(str(problem.orig).split("\n")[0].split())
        return StoreUnavailable(
            "the database cannot be reached; send this again with the same idempotency key.",
            retry_after=2.0,
            in_shell=f"the database cannot be reached ({reason}); check --database{_and_its_server(problem)}.",
        )
    return None


def _and_its_server(problem: DBAPIError) -> str:
    """A hint about the server; SQLite has none."""
    return "" if type(problem.orig).__module__.startswith("sqlite3") else ", and whether its server runs"


class Store:
    """A database, shared by many threads. `close` closes the connections."""

    def __init__(self, url: str | URL) -> None:
        self.url = as_url(url)
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        self.engine = _sqlite(self.url) if self.is_sqlite else _postgresql(self.url)
        self._turn = threading.Lock()
        alone = {} if self.is_sqlite else {"isolation_level": "AUTOCOMMIT"}
        self._alone = self.engine.execution_options(**alone)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction that only reads."""
        with _named_failures(), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def look(self) -> Iterator[Connection]:
        """A connection without a transaction, for single statements that only read: saves round trips."""
        with _named_failures(), self._alone.connect() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction that writes; committed at the end of the block, rolled back if the block raises."""
        with _named_failures():
            if not self.is_sqlite:
                with self.engine.begin() as connection:
                    yield connection
                return
            with self._turn, self.engine.connect() as plain:
                connection = plain.execution_options(writes=True)
                with connection.begin():
                    yield connection

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def as_url(url: str | URL) -> URL:
    """A database URL; a bare path is a SQLite file, `postgresql://` uses psycopg. Errors never quote it."""
    if isinstance(url, str) and "://" not in url and not url.startswith(("postgres:", "postgresql:", "postgresql+")):
        return URL.create("sqlite", database=url)
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):  # not chained: both quote the URL, which may contain a password
        rule = "a file, e.g. quorate.db, or postgresql://user@host:port/name with a port of digits"
        wrong = "`database` is not a database URL (it is not shown, as it may contain a password)"
        raise InvalidInput(
            f"{wrong}; expected {rule}; correct it.", field="database", rule=rule, fix="correct it."
        ) from None
    if parsed.drivername in ("postgres", "postgresql"):
        parsed = parsed.set(drivername="postgresql+psycopg")
    if parsed.get_backend_name() not in ("sqlite", "postgresql"):
        rule = "SQLite (a file) or PostgreSQL (postgresql://user@host/name)"
        raise invalid("database", f"{parsed.get_backend_name()[:20]}://...", rule, "choose one.")
    return parsed


def _sqlite(url: URL) -> Engine:
    if url.database in (None, "", ":memory:"):
        rule = "a file: a database in memory would lose every vote"
        raise invalid("database", url.database or "", rule, "pass e.g. `database=quorate.db`.")
    folder = Path(str(url.database)).absolute().parent
    if not folder.is_dir():
        rule = f"a file in a folder that exists; {str(folder)!r} does not"
        raise invalid("database", url.database, rule, "create the folder first.")
    engine = create_engine(url, pool_size=POOL, max_overflow=POOL, connect_args={"timeout": BUSY_SECONDS})

    @event.listens_for(engine, "do_connect")
    def _create(_dialect: object, _record: object, names: list[str], given: dict[str, object]) -> None:
        if not given.get("uri"):
            _create_private(names[0])

    @event.listens_for(engine, "connect")
    def _prepare(dbapi: sqlite3.Connection, _record: object) -> None:
        dbapi.isolation_level = None  # BEGIN is sent below
        _into_wal(dbapi)
        for pragma in PRAGMAS:
            dbapi.execute(f"PRAGMA {pragma}").close()

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        immediate = connection.get_execution_options().get("writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if immediate else "BEGIN")

    return engine


def _into_wal(dbapi: sqlite3.Connection) -> None:
    """Switch to WAL mode. Several processes may do so at once on a new file, and SQLite does not wait for this lock."""
    give_up = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            dbapi.execute(f"PRAGMA {WAL}").close()
            return
        except sqlite3.OperationalError as problem:
            if "locked" not in str(problem) or time.monotonic() > give_up:
                raise
            time.sleep(0.01)


def _create_private(file: str) -> None:
    """Create the file, readable by its owner only, if it is missing: it will contain the key that signs cookies.

    An existing file is not opened: closing it would release the locks that SQLite has on it in this process.
    """
    try:
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except OSError:  # it exists, and its mode is kept; or it cannot be created, which SQLite reports
        return


def _postgresql(url: URL) -> Engine:
    sizes = {"pool_size": POOL, "max_overflow": POOL}
    try:
        return create_engine(url, **sizes, pool_pre_ping=False, pool_recycle=3600, connect_args=_limits(url))
    except ModuleNotFoundError as cause:
        raise MissingExtra("PostgreSQL needs its driver: pip install 'quorate[postgres]'.") from cause


def _limits(url: URL) -> dict[str, Any]:
    """Timeouts of the connection: a lock of a client that vanished must not block a worker.

    The URL and libpq's own variables take precedence: of two settings of one name the server uses the last.

    >>> _limits(as_url("postgresql://host/name?connect_timeout=3&options=-c lock_timeout=9s"))["options"]
    '-c lock_timeout=5s -c idle_in_transaction_session_timeout=60s -c lock_timeout=9s'
    """
    query = url.normalized_query
    options_set = query.get("options") or tuple(filter(None, [os.environ.get("PGOPTIONS")]))
    options = " ".join([*(f"-c {name}={value}" for name, value in PATIENCE.items()), *options_set])
    set_by_user = {*query, *(["connect_timeout"] if os.environ.get("PGCONNECT_TIMEOUT") else [])}
    return {name: value for name, value in REACHED.items() if name not in set_by_user} | {"options": options}


def wait_as_long_as_it_takes(connection: Connection) -> None:
    """Lift PostgreSQL's timeouts until the end of the transaction, for long work."""
    if connection.dialect.name == "postgresql":
        for name in PATIENCE:
            connection.execute(text(f"SET LOCAL {name} = 0"))


@contextmanager
def _named_failures() -> Iterator[None]:
    try:
        yield
    except StoreUnavailable:
        raise
    except PoolTimeout as cause:
        raise StoreUnavailable("all connections to the database are in use; send this again.") from cause
    except DBAPIError as cause:
        named = failure(cause)
        if named is None:
            raise
        raise named from cause


@contextmanager
def snapshot(store: Store) -> Iterator[Connection]:
    """A consistent snapshot of the database as of the first query (SQLite in WAL mode does this by itself)."""
    with store.read() as connection:
        if not store.is_sqlite:
            connection.execution_options(**REPEATABLE)
        wait_as_long_as_it_takes(connection)  # the reader may work for long between two batches
        yield connection


@contextmanager
def existing(database: str | URL) -> Iterator[Store]:
    """A store on a database that must exist: a misspelt file name does not create one."""
    store = Store(database)
    if store.is_sqlite and not Path(str(store.url.database)).exists():
        rule = "the database of a service; there is no such file"
        raise invalid("database", store.url.database, rule, "correct the name.")
    try:
        yield store
    finally:
        store.close()
