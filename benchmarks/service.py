"""Votes per second and waiting times of the service: `python benchmarks/service.py` (make bench-service).

Starts `quorate serve` on SQLite and on a private PostgreSQL (default settings, fsync on) and lets 50 people vote:
without a pause, then one vote a second each. Server, database and voters share this machine. Exits 1 if a requirement
is missed.
"""

from __future__ import annotations

import argparse
import contextlib
import heapq
import json
import os
import random
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from common import ROOT, np, say

sys.path.insert(0, str(ROOT))  # for the private PostgreSQL, which is in the tests

from quorate_service.access.accounts import add_member, create_account
from quorate_service.access.credentials import create_key
from quorate_service.domain.items import MOST_ITEMS, ItemContent, NewItem, add_items
from quorate_service.domain.projects import Projects
from quorate_service.domain.settings import ProjectSettings
from quorate_service.store import Store
from quorate_service.store.prepare import prepare

CLASSES = [f"class-{k}" for k in range(10)]
LOADS = {"without a pause": 0.0, "a vote every second": 1.0}  # seconds between two votes of one person
LEAST_VOTES = 200.0  # acknowledged votes per second, without a pause
MOST_MS = {"without a pause": 700.0, "a vote every second": 150.0}  # 99 % of votes
READY_WITHIN, PATIENCE, IDLE = 120.0, 60.0, 0.05  # seconds


def main() -> int:
    """Measure each database, print a row for each load, and return 1 if a requirement is missed."""
    options = _options()
    if options.crowd:
        json.dump(Crowd(json.load(sys.stdin)).run(), sys.stdout)
        return 0
    missed = 0
    print(f"load average before: {os.getloadavg()[0]:.1f}; CPU: of the server, for each vote")
    print(f"{'database':<12}{'load':<22}{'votes/s':>8}{'p50 ms':>9}{'p99 ms':>9}{'CPU ms':>9}")
    for name in options.databases:
        with tempfile.TemporaryDirectory(prefix="quorate-bench-") as folder, _database(name, Path(folder)) as url:
            project, keys = furnish(url, num_items=options.items, num_voters=options.voters)
            with _server(url) as (port, pid):
                _load(port, project, keys, pause=0.0, seconds=min(5.0, options.seconds))  # warm-up
                for load, pause in LOADS.items():
                    before = _cpu_seconds(pid)
                    found = _load(port, project, keys, pause=pause, seconds=options.seconds)
                    missed += _show(name, load, found, _cpu_seconds(pid) - before)
    return 1 if missed and not options.quick else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--databases", nargs="+", default=["sqlite", "postgresql"], choices=["sqlite", "postgresql"])
    parser.add_argument("--items", type=int, default=20_000)
    parser.add_argument("--voters", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=20.0, help="duration of each load")
    parser.add_argument("--quick", action="store_true", help="a few seconds, to test that it runs")
    parser.add_argument("--crowd", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.quick:
        options.items, options.voters, options.seconds = 300, 5, 1.5
    return options


def _show(database: str, load: str, found: dict[str, Any], cpu_seconds: float) -> bool:
    """Print a row; returns whether a requirement is missed."""
    times, problems = 1e3 * np.array(found["times"] or [float("nan")]), found["problems"]
    rate, (p50, p99) = len(found["times"]) / found["seconds"], np.percentile(times, [50, 99])
    cpu = 1e3 * cpu_seconds / len(times)
    print(f"{database:<12}{load:<22}{rate:>8.0f}{p50:>9.0f}{p99:>9.0f}{cpu:>9.2f}   {problems or ''}", flush=True)
    return bool(problems) or not p99 <= MOST_MS[load] or (not LOADS[load] and rate < LEAST_VOTES)


def _cpu_seconds(pid: int) -> float:
    """User and system time of the server so far, without that of the database."""
    used = psutil.Process(pid).cpu_times()
    return float(used.user + used.system)


@contextlib.contextmanager
def _database(name: str, folder: Path) -> Iterator[str]:
    """The URL of a new database."""
    if name == "sqlite":
        yield str(folder / "load.db")
        return
    from tests.quorate_service import postgres  # noqa: PLC0415  # needs psycopg

    binaries = postgres.find_binaries()
    if binaries is None:
        raise SystemExit("PostgreSQL's server is not installed; on Debian or Ubuntu: apt-get install postgresql")
    postgres.SETTINGS |= {"shared_buffers": "128MB", "max_connections": "100"}  # its defaults
    folder.chmod(0o755)
    (folder / "pg").mkdir()
    server = postgres.Postgres(folder / "pg", binaries)
    server.start()
    try:
        yield server.create_database("load")
    finally:
        server.stop()


def furnish(url: str, *, num_items: int, num_voters: int) -> tuple[str, list[str]]:
    """A project with open items that need two or three votes each, and a key for each voter."""
    say(f"making {num_items:,} items")
    store = Store(url)
    prepare(store)
    projects, now = Projects(store), time.time()
    project_id = projects.create("load", ProjectSettings(classes=CLASSES, pool_size=6), now=now).id
    probs = np.random.default_rng(1).dirichlet(np.full(len(CLASSES), 0.3), size=num_items).round(4) + 1e-4
    probs /= probs.sum(axis=1, keepdims=True)
    show = ItemContent(text="A sentence such as an expert may have to judge.")
    rows = [NewItem(f"item-{n}", probs[n].tolist(), show) for n in range(num_items)]
    for first in range(0, num_items, MOST_ITEMS):
        add_items(projects, project_id, rows[first : first + MOST_ITEMS], now=now)
    keys = []
    for number in range(num_voters):
        account = create_account(store, f"Voter {number}", now=now)
        add_member(store, project_id, account.id, role="voter", now=now)
        keys.append(create_key(store, account.id, name="load", project_id=project_id, now=now)[1])
    with store.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("ANALYZE")  # databases do so within minutes of a bulk load
    store.close()
    return project_id, keys


@contextlib.contextmanager
def _server(url: str) -> Iterator[tuple[int, int]]:
    """`quorate serve` with one worker; gives its port and process id."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = int(listener.getsockname()[1])
    command = [sys.executable, "-m", "quorate", "serve", "--port", str(port)]
    unlimited = {**os.environ, "QUORATE_DATABASE": url, "QUORATE_VOTES_PER_SECOND": "1000000"}
    process = subprocess.Popen(command, env=unlimited, stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        _wait(process, f"http://127.0.0.1:{port}/readyz")
        yield port, process.pid
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(30)


def _wait(process: subprocess.Popen[bytes], address: str) -> None:
    deadline = time.monotonic() + READY_WITHIN
    while time.monotonic() < deadline and process.poll() is None:
        with (
            contextlib.suppress(urllib.error.URLError, ConnectionError, TimeoutError),
            urllib.request.urlopen(address, timeout=2.0),
        ):
            return
        time.sleep(0.1)
    raise SystemExit("the server did not start")


def _load(port: int, project: str, keys: list[str], *, pause: float, seconds: float) -> dict[str, Any]:
    """What voters in another process measured."""
    plan = {"port": port, "project": project, "keys": keys, "pause": pause, "seconds": seconds, "name": time.time()}
    command = [sys.executable, __file__, "--crowd"]
    done = subprocess.run(command, input=json.dumps(plan), capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@dataclass
class Voter:
    """One person with one connection and one request at a time."""

    key: str
    link: socket.socket
    chance: random.Random
    count: int = 0
    held: list[str] = field(default_factory=list)
    is_voting: bool = False
    sent: float = 0.0
    received: bytearray = field(default_factory=bytearray)


class Crowd:
    """All voters, in one thread and without an HTTP library: they share the machine with the server."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self.plan, self.times, self.problems = plan, list[float](), dict[str, int]()
        self.selector = selectors.DefaultSelector()
        self.due: list[tuple[float, int]] = []  # end of the pause, and voter
        self.voters = [self._join(number, key) for number, key in enumerate(plan["keys"])]

    def _join(self, number: int, key: str) -> Voter:
        link = socket.create_connection(("127.0.0.1", self.plan["port"]), timeout=PATIENCE)
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.selector.register(link, selectors.EVENT_READ, number)
        return Voter(key, link, random.Random(f"{self.plan['name']}:{number}"))

    def run(self) -> dict[str, Any]:
        """Vote until the time is up."""
        begin = time.perf_counter()
        end = begin + self.plan["seconds"]
        for number, voter in enumerate(self.voters):
            heapq.heappush(self.due, (begin + voter.chance.random() * self.plan["pause"], number))
        while (now := time.perf_counter()) < end:
            while self.due and self.due[0][0] <= now:
                self._act(self.voters[heapq.heappop(self.due)[1]])
            wait = min(end, self.due[0][0] if self.due else end) - time.perf_counter()
            for key, _ in self.selector.select(max(0.0, wait)):
                self._hear(key.data)
        return {"seconds": time.perf_counter() - begin, "times": self.times, "problems": self.problems}

    def _act(self, voter: Voter) -> None:
        """Vote on an item that is held, and ask for the next ones, as the page does."""
        voter.is_voting = bool(voter.held)
        if not voter.held:
            self._send(voter, "next", {"count": 2}, "")
            return
        voter.count += 1
        vote = {"item": voter.held.pop(0), "label": voter.chance.choice(CLASSES), "next": 2}
        self._send(voter, "votes", vote, f"Idempotency-Key: {self.plan['name']}:{voter.count}\r\n")

    def _send(self, voter: Voter, path: str, body: dict[str, Any], once: str) -> None:
        content = json.dumps(body)
        head = (
            f"POST /api/v1/projects/{self.plan['project']}/{path} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            f"Authorization: Bearer {voter.key}\r\n{once}"
            f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        )
        voter.sent = time.perf_counter()
        voter.link.sendall((head + content).encode())

    def _hear(self, number: int) -> None:
        """Handle one answer, once it is complete."""
        voter = self.voters[number]
        part = voter.link.recv(65536)
        if not part:
            raise ConnectionError("the server closed a connection")
        voter.received += part
        head, found, body = bytes(voter.received).partition(b"\r\n\r\n")
        if not found or len(body) < _length(head):
            return
        voter.received.clear()
        now, status = time.perf_counter(), head[9:12].decode()
        if status == "200":
            answer = json.loads(body)
            voter.held = [item["item"] for item in (answer["next"] if voter.is_voting else answer["items"]) or []]
            if voter.is_voting:
                self.times.append(now - voter.sent)
        else:
            self.problems[status] = self.problems.get(status, 0) + 1
            voter.held.clear()
        pause = max(self.plan["pause"] - (now - voter.sent), 0.0) if voter.is_voting else 0.0
        heapq.heappush(self.due, (now + (pause if voter.held else max(pause, IDLE)), number))


def _length(head: bytes) -> int:
    low = head.lower()
    start = low.index(b"content-length:") + 15
    end = low.find(b"\r", start)
    return int(low[start : end if end > 0 else None])


if __name__ == "__main__":
    sys.exit(main())
