"""A real server process, and voters who send real votes to it and do not give up: what the fault tests break.

`Server` is `quorate serve`, started as a user does or forked. `Voters` vote, cannot tell, skip and undo, as the page
does, and send each act with an idempotency key until it is acknowledged. `account` compares what was sent, what was
acknowledged and what the database holds.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field

import httpx
from sqlalchemy import func, select

from quorate_service.access.accounts import add_member, create_account
from quorate_service.access.credentials import create_key
from quorate_service.domain.items import NewItem, add_items
from quorate_service.domain.projects import Projects
from quorate_service.domain.settings import ProjectSettings
from quorate_service.domain.trail import disagreements
from quorate_service.store import Store
from quorate_service.store.prepare import prepare
from quorate_service.store.schema import ballots, events, items
from tests.forked import Forked
from tests.processes import free_port, wait_until

CLASSES = ["cat", "dog", "bird"]
READY_WITHIN = 90.0
CLOSED = select(func.count()).select_from(items).where(~items.c.is_open)
FITS = select(func.count()).select_from(events).where(events.c.kind == "learn")


class Server:
    """`quorate serve` on a database, to be killed and started again."""

    def __init__(self, url: str, *, workers: int = 1, environment: dict[str, str] | None = None) -> None:
        self.url, self.port, self.workers = url, free_port(), workers
        self.environment = environment or {}
        self.process: subprocess.Popen | Forked | None = None
        self._log = tempfile.NamedTemporaryFile()  # noqa: SIM115 - what it prints, told if it does not start

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        command = ["serve", "--database", self.url, "--port", str(self.port), "--workers", str(self.workers)]
        if self.workers == 1 and not self.environment:
            self.process = Forked(command, log=self._log.name, environment=os.environ)
        else:  # workers, and a clock of its own, need an interpreter of their own
            surroundings = {**os.environ, "OMP_NUM_THREADS": "1", **self.environment}
            logged = {"stdout": self._log, "stderr": self._log, "start_new_session": True}
            self.process = subprocess.Popen([sys.executable, "-m", "quorate", *command], env=surroundings, **logged)
        with httpx.Client(timeout=2.0) as client:
            wait_until(lambda: self._is_ready(client), "the server is ready", READY_WITHIN)

    def _is_ready(self, client: httpx.Client) -> bool:
        ended = self.process.poll()
        assert ended is None, f"the server ended with {ended} while starting: {self.printed}"
        try:
            return client.get(f"{self.address}/readyz").status_code == 200
        except httpx.HTTPError:
            return False

    @property
    def printed(self) -> str:
        """The end of what it printed."""
        self._log.seek(0)
        return self._log.read()[-2000:].decode(errors="replace")

    def kill(self) -> None:
        """SIGKILL to the server and its workers."""
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.kill()
        self._log.close()


@dataclass(frozen=True)
class Place:
    """A project with items, and a key for each voter."""

    project_id: str
    keys: dict[str, str]  # account -> key


def furnish(url: str, *, num_items: int = 200, num_voters: int = 6, **settings) -> Place:
    """A project in an empty database, created through the library."""
    store = Store(url)
    prepare(store)
    projects = Projects(store)
    now = time.time()
    chosen = {"classes": CLASSES, "pool_size": 7, "audit_rate": 0.1} | settings
    project = projects.create("faults", ProjectSettings(**chosen), now=now)
    chance = random.Random(3)
    batch = [NewItem(f"i{n}", {chance.choice(CLASSES): 0.7}) for n in range(num_items)]
    add_items(projects, project.id, batch, now=now)
    keys = {}
    for number in range(num_voters):
        account = create_account(store, f"Voter {number}", now=now)
        add_member(store, project.id, account.id, role="voter", now=now)
        _, keys[account.id] = create_key(store, account.id, name="test", project_id=project.id, now=now)
    store.close()
    return Place(project.id, keys)


Act = tuple[str, str, str | None]  # item, kind, label
KINDS = ["vote"] * 16 + ["abstain", "skip"]
UNDONE = 0.1  # of the acts


@dataclass
class Log:
    """What one voter sent, and what was acknowledged: idempotency key -> (item, kind, label)."""

    sent: dict[str, Act] = field(default_factory=dict)
    acknowledged: dict[str, Act] = field(default_factory=dict)
    retries: int = 0
    answers: dict[int, int] = field(default_factory=dict)


class Voters:
    """One thread per voter: next item, vote, next item ... until stopped. Every act is sent until acknowledged."""

    def __init__(self, address: str, place: Place, *, only_votes: bool = False) -> None:
        self.address, self.place = address, place
        self.kinds, self.undone = (["vote"], 0.0) if only_votes else (KINDS, UNDONE)
        self.logs = {account: Log() for account in place.keys}
        self._stop, self._threads = threading.Event(), []
        self.problems: list[str] = []

    def start(self) -> None:
        for number, (account, key) in enumerate(self.place.keys.items()):
            thread = threading.Thread(target=self._vote, args=(number, account, key), daemon=True)
            self._threads.append(thread)
            thread.start()

    def finish(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(60)
        assert not any(thread.is_alive() for thread in self._threads), "a voter did not come to an end"
        assert self.problems == []

    @property
    def num_acknowledged(self) -> int:
        return sum(len(log.acknowledged) for log in self.logs.values())

    def num_answered(self, status: int) -> int:
        return sum(log.answers.get(status, 0) for log in self.logs.values())

    def wait_for(self, more: int, within: float = 60.0) -> int:
        """Wait until this many more votes are acknowledged; returns the total."""
        wanted = self.num_acknowledged + more
        wait_until(lambda: self.num_acknowledged >= wanted, f"{wanted} votes are acknowledged", within)
        return wanted

    def _vote(self, number: int, account: str, key: str) -> None:
        chance, log, held = random.Random(number), self.logs[account], []
        path = f"{self.address}/api/v1/projects/{self.place.project_id}"
        with httpx.Client(headers={"Authorization": f"Bearer {key}"}, timeout=10.0) as client:
            while not self._stop.is_set():
                if not held:
                    answer = self._send(client, log, f"{path}/next", {"count": 1}, None, give_up=True)
                    held = [] if answer is None else answer.json()["items"]
                    time.sleep(0.0 if held else 0.02)
                    continue
                kind = chance.choice(self.kinds)
                act = (held.pop()["item"], kind, chance.choice(CLASSES) if kind == "vote" else None)
                answer = self._act(client, log, f"{path}/votes", act, chance.randint(0, 1))
                if chance.random() < self.undone and answer is not None:
                    answer = self._act(client, log, f"{path}/undo", (act[0], "retract", None), 1) or answer
                held = [] if answer is None else answer.json()["next"] or []

    def _act(self, client, log, url, act, count) -> httpx.Response | None:
        """Send an act, and request this many next items."""
        request = f"{len(log.sent)}"
        log.sent[request] = act
        item, kind, label = act
        told = {"vote": {"label": label}, "abstain": {"abstain": True}, "skip": {"skip": True}, "retract": {}}[kind]
        body = {"item": item, "next": count} | told
        answer = self._send(client, log, url, body, request, give_up=False, may_refuse=kind == "retract")
        if answer is not None:
            log.acknowledged[request] = act
        return answer

    def _send(self, client, log, url, body, request, *, give_up, may_refuse=False) -> httpx.Response | None:
        """Send until there is a response; acts also for ten seconds after the end. An undo may come too late."""
        headers = {"Idempotency-Key": request} if request else {}
        patience = None
        while True:
            try:
                answer = client.post(url, json=body, headers=headers)
            except httpx.HTTPError:
                answer = None
            if answer is not None:
                log.answers[answer.status_code] = log.answers.get(answer.status_code, 0) + 1
                if answer.status_code == 200:
                    return answer
                if answer.status_code < 500 and answer.status_code != 429:
                    self.problems += [] if may_refuse else [f"{answer.status_code}: {answer.text}"]
                    return None
            log.retries += 1
            if self._stop.is_set():
                patience = patience or time.monotonic() + 10.0
                if give_up or time.monotonic() > patience:
                    return None
            time.sleep(0.05)


def account(url: str, place: Place, voters: Voters) -> dict[str, int]:
    """What was sent, acknowledged and stored, and what is lost, duplicated, invented or decided differently."""
    store = Store(url)
    projects = Projects(store)
    sent = {(who, key): vote for who, log in voters.logs.items() for key, vote in log.sent.items()}
    acknowledged = {(who, key): vote for who, log in voters.logs.items() for key, vote in log.acknowledged.items()}
    with store.read() as connection:
        project = projects.get_in(connection, place.project_id)
        query = select(events.c.voter, events.c.request, items.c.name, events.c.kind, events.c.body)
        query = query.join(items, items.c.id == events.c.item_id).where(events.c.voter.is_not(None))
        stored = [((row.voter, row.request), _act_of(row)) for row in connection.execute(query.order_by(events.c.id))]
        given = select(ballots.c.voter, items.c.name).join(items, items.c.id == ballots.c.item_id)
        in_force = Counter((row.voter, row.name) for row in connection.execute(given))
        differing = list(disagreements(projects, connection, project))
        num_learned = connection.execute(FITS).scalar_one()
        closed = connection.execute(CLOSED).scalar_one()
    store.close()
    held, standing = dict(stored), Counter()
    for (voter, _), (item, kind, _) in stored:
        standing[voter, item] += -1 if kind == "retract" else 1
    twice = sum(count > 1 for count in standing.values()) + sum(count < 0 for count in standing.values())
    return {
        "acknowledged": len(acknowledged),
        "stored": len(stored),
        "lost": sum(held.get(key) != vote for key, vote in acknowledged.items()),
        "doubled": twice + len(stored) - len(held) + len((+standing - in_force) + (in_force - +standing)),
        "invented": sum(sent.get(key) != vote for key, vote in held.items()),
        "decided differently": len(differing),
        "retries": sum(log.retries for log in voters.logs.values()),
        "closed": closed,
        "fits": num_learned,
    }


def num_closed(url: str) -> int:
    """Items closed so far, according to the database."""
    return _counted(url, CLOSED)


def num_fits(url: str) -> int:
    """How often something was learned so far."""
    return _counted(url, FITS)


def span_of_votes(url: str) -> tuple[float, float]:
    """The earliest and the latest time of a vote, by the server's clock."""
    earliest, latest = (select(each(events.c.time)).where(events.c.kind == "vote") for each in (func.min, func.max))
    return _counted(url, earliest), _counted(url, latest)


def _counted(url: str, query) -> float:
    store = Store(url)
    with store.read() as connection:
        number = connection.execute(query).scalar_one()
    store.close()
    return number


def _act_of(row) -> Act:
    body = json.loads(row.body)
    return row.name, "retract" if body.get("undone") else row.kind, body.get("label")
