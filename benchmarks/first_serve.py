"""The first `quorate serve` on a machine: CPU seconds until it answers, decides a vote, and runs the demo."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import psutil

from fresh import empty_cache
from quorate.service.access.accounts import create_account
from quorate.service.access.credentials import create_key
from quorate.service.store import Store
from quorate.service.store.upgrade import prepare
from report import Row
from service_place import free_port

HEALTHY, DECIDED, MOVING = 5.0, 10.0, 15.0  # seconds
PATIENCE = 120.0


def serve_rows() -> list[Row]:
    """The time to /healthz, to a decided vote, and to the demo's third vote; kernels run interpreted."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        secret = _key(folder / "votes.db")
        with _served(folder, "--database", "votes.db") as (url, process):
            healthy = _cpu(process)
            _vote(url, secret)
            decided = _cpu(process)
        with _served(folder, "--demo") as (_, process):
            _until(lambda: _ballots(folder / "quorate-demo.db") >= 3)
            moving = _cpu(process)
    return [
        _row("first_serve", "first `quorate serve` ever: answers /healthz", healthy, HEALTHY),
        _row("first_serve_vote", "first `quorate serve` ever: a vote is stored and decided", decided, DECIDED),
        _row("first_serve_demo", "first `quorate serve --demo` ever: colleagues vote", moving, MOVING),
    ]


def _row(key: str, what: str, seconds: float, limit: float) -> Row:
    return Row(key, what, f"{limit:g} s of CPU", "empty NUMBA_CACHE_DIR, the server's process", seconds).under(limit)


@contextmanager
def _served(folder: Path, *options: str) -> Iterator[tuple[str, psutil.Process]]:
    """A running server; stopped together with its compiler process."""
    port = free_port()
    env = {name: value for name, value in os.environ.items() if not name.startswith("QUORATE_")}
    with empty_cache() as cache:
        command = [sys.executable, "-m", "quorate", "serve", "--port", str(port), *options]
        begun = subprocess.Popen(command, env=env | {"NUMBA_CACHE_DIR": cache}, cwd=folder, stdout=subprocess.DEVNULL)
        process, url = psutil.Process(begun.pid), f"http://127.0.0.1:{port}"
        _until(lambda: _is_healthy(url))
        yield url, process


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _is_healthy(url: str) -> bool:
    with suppress(OSError), urllib.request.urlopen(f"{url}/healthz", timeout=30.0) as answer:
        return bool(answer.status == 200)
    return False


def _until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not is_so():
        if time.monotonic() > end:
            raise SystemExit(f"the service did not start within {PATIENCE:g} s")
        time.sleep(0.05)


def _key(file: Path) -> str:
    store = Store(str(file))
    prepare(store)
    owner = create_account(store, "Ada", may_create=True, now=0.0).id
    secret = create_key(store, owner, name="k", now=0.0)[1]
    store.close()
    return secret


def _vote(url: str, secret: str) -> None:
    def post(path: str, content: object) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {secret}"}
        sent = urllib.request.Request(f"{url}/api/v1/projects{path}", json.dumps(content).encode(), headers)
        with urllib.request.urlopen(sent, timeout=60.0) as answer:
            found: dict[str, str] = json.loads(answer.read())
        return found

    made = post("", {"name": "x", "settings": {"classes": ["cat", "dog", "bird"], "pool_size": 6}})["id"]
    post(f"/{made}/items", {"items": [{"id": "a", "prediction": [0.7, 0.2, 0.1]}]})
    post(f"/{made}/votes", {"item": "a", "label": "cat", "voter": "ann"})


def _ballots(file: Path) -> int:
    with closing(sqlite3.connect(file)) as database:
        return int(database.execute("SELECT count(*) FROM ballots").fetchone()[0])
