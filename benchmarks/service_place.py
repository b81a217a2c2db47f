"""The setup of the service's benchmarks: databases, a project with items and voters, and `quorate serve`.

Called by `service.py` and `service_million.py`. PostgreSQL is a private server with default settings, with its data
next to the SQLite file, or an existing one.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from common import ROOT, np

sys.path.insert(0, str(ROOT))  # for the private PostgreSQL, which is in the tests

import psutil

from quorate.service.access.accounts import add_member, create_account
from quorate.service.access.credentials import create_key
from quorate.service.domain.items import MOST_ITEMS, ItemContent, NewItem, add_items
from quorate.service.domain.projects import Projects
from quorate.service.domain.settings import ProjectSettings
from quorate.service.store import Store
from quorate.service.store.prepare import prepare

CLASSES = [f"class-{k}" for k in range(10)]
POOL_SIZE = 6
READY_WITHIN = 120.0
NO_LIMIT = "1000000"  # votes per second of one account: effectively no limit
DEFAULTS = {"shared_buffers": "128MB", "max_connections": "100"}  # PostgreSQL's defaults


@dataclass(frozen=True)
class Place:
    """A project in a database, and the keys of its voters."""

    url: str
    project_id: str
    keys: list[str]


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """A folder for databases that PostgreSQL's user may also access."""
    folder = Path(tempfile.mkdtemp(prefix="quorate-bench-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def postgresql(folder: Path) -> Iterator[tuple[str, int]]:
    """A private server: the URL of its first database, and the server's process id."""
    from tests.service import postgres  # noqa: PLC0415  # needs psycopg

    binaries = postgres.find_binaries()
    if binaries is None:
        raise SystemExit("PostgreSQL's server is not installed; on Debian or Ubuntu: apt-get install postgresql")
    postgres.SETTINGS.update(DEFAULTS)
    home = folder / "pg"
    home.mkdir()
    server = postgres.Postgres(home, binaries)
    server.start()
    try:
        yield server.url(), server._process.pid
    finally:
        server.stop()


def new_database(url: str, name: str) -> str:
    """The URL of an empty database: on the PostgreSQL server of `url`, otherwise a file in the folder `url`."""
    if "://" not in url:
        return str(Path(url) / f"{name}.db")
    store = Store(url)
    with store.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
    store.close()
    return store.url.set(database=name).render_as_string(hide_password=False)


def furnish(url: str, *, num_items: int, num_voters: int) -> Place:
    """A project of `num_items` open items, created through the library, and a key for each voter."""
    store = Store(url)
    prepare(store)
    projects, now = Projects(store), time.time()
    project_id = new_project(projects)
    add_batches(projects, project_id, start=0, count=num_items)
    keys = []
    for number in range(num_voters):
        account = create_account(store, f"Voter {number}", now=now)
        add_member(store, project_id, account.id, role="voter", now=now)
        _, key = create_key(store, account.id, name="load", project_id=project_id, now=now)
        keys.append(key)
    _tidy(store)
    store.close()
    return Place(url, project_id, keys)


def new_project(projects: Projects) -> str:
    """A project with default settings except for its classes and its pool."""
    return projects.create("load", ProjectSettings(classes=CLASSES, pool_size=POOL_SIZE), now=time.time()).id


def add_batches(projects: Projects, project_id: str, *, start: int, count: int) -> None:
    """Add `count` items, numbered from `start`."""
    for first in range(start, start + count, MOST_ITEMS):
        batch = _batch(first, min(MOST_ITEMS, start + count - first))
        add_items(projects, project_id, batch, now=time.time())


def _batch(start: int, count: int) -> list[NewItem]:
    """Items with uncertain predictions: two or three votes each."""
    probs = np.random.default_rng(start).dirichlet(np.full(len(CLASSES), 0.3), size=count).round(4) + 1e-4
    probs /= probs.sum(axis=1, keepdims=True)
    show = "A sentence such as an expert may have to judge, with a number: {}."
    return [
        NewItem(f"item-{start + n}", probs[n].tolist(), ItemContent(text=show.format(start + n))) for n in range(count)
    ]


def _tidy(store: Store) -> None:
    """Update the database's statistics, which it does by itself within minutes of a bulk load."""
    filled = ("items", "events", "accounts", "memberships", "api_keys")
    with store.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("ANALYZE" if store.is_sqlite else f"VACUUM ANALYZE {', '.join(filled)}")


def free_port() -> int:
    """An unused port."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class Server:
    """`quorate serve` with its workers."""

    def __init__(self, url: str, workers: int, *, fast_path: bool = True) -> None:
        self.port = free_port()
        command = [sys.executable, "-m", "quorate", "serve", "--port", str(self.port), "--workers", str(workers)]
        surroundings = {**os.environ, "QUORATE_DATABASE": url, "QUORATE_VOTES_PER_SECOND": NO_LIMIT}
        surroundings["QUORATE_FAST_PATH"] = str(int(fast_path))
        quiet = {"stdout": subprocess.DEVNULL, "start_new_session": True}
        self.process = subprocess.Popen(command, env=surroundings, **quiet)
        self._wait()

    def _wait(self) -> None:
        deadline = time.monotonic() + READY_WITHIN
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise SystemExit("the server ended while starting")
            if self._is_ready():
                return
            time.sleep(0.1)
        self.stop()
        raise SystemExit(f"the server was not ready within {READY_WITHIN:.0f} s")

    def _is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=2.0):
                return True
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return False

    def stop(self) -> None:
        """Stop the server and its workers."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()


def cpu_and_memory(pid: int) -> tuple[float, int]:
    """CPU seconds (also of ended children) and resident bytes of a process and its children."""
    processes = [psutil.Process(pid)]
    processes += processes[0].children(recursive=True)
    used, resident = 0.0, 0
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            used += times.user + times.system + times.children_user + times.children_system
            resident += process.memory_info().rss
    return used, resident
