"""`quorate serve` on a machine that never ran it: it answers and decides at once.

Processor time of the server is measured, which other work on the machine does not stretch.
"""

import contextlib
import json
import os
import subprocess
import sys
import urllib.request

import psutil
import pytest

from quorate import Session
from quorate_service.access.accounts import create_account
from quorate_service.access.credentials import create_key
from quorate_service.store import Store
from quorate_service.store.prepare import prepare
from tests.processes import free_port, wait_until

HEALTHY, DECIDED, MOVING = 5.0, 6.0, 15.0  # seconds
CLASSES, PREDICTION = ["cat", "dog", "bird"], [0.7, 0.2, 0.1]


class FirstStart:
    """A server in an empty folder."""

    def __init__(self, folder, *options):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        command = [sys.executable, "-m", "quorate", "serve", "--port", str(self.port), *options]
        env = {name: value for name, value in os.environ.items() if not name.startswith("QUORATE_")}
        env["TMPDIR"] = str(folder)
        self.process = subprocess.Popen(command, env=env, cwd=folder, stdout=subprocess.DEVNULL)

    @property
    def cpu(self):
        """Seconds of processor time of the server."""
        times = psutil.Process(self.process.pid).cpu_times()
        return times.user + times.system

    def is_healthy(self):
        assert self.process.poll() is None
        with contextlib.suppress(OSError):
            return self.ask("/healthz") == {"status": "ok"}

    def ask(self, path, content=None, **headers):
        data = None if content is None else json.dumps(content).encode()
        sent = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json", **headers})
        with urllib.request.urlopen(sent, timeout=60) as answer:
            return json.loads(answer.read())


@pytest.fixture
def serve(tmp_path):
    """Starts servers, and stops them."""
    begun = []

    def start(*options):
        begun.append(FirstStart(tmp_path, *options))
        wait_until(begun[-1].is_healthy, "the service answers")
        return begun[-1]

    yield start
    for each in begun:
        each.process.kill()
        each.process.wait()


def key_in(folder):
    store = Store(str(folder / "votes.db"))
    prepare(store)
    secret = create_key(store, create_account(store, "Ada", may_create=True, now=0.0).id, name="k", now=0.0)[1]
    store.close()
    return secret


def decide(server, secret):
    """The decisions after each of three votes."""
    key = {"Authorization": f"Bearer {secret}"}
    settings = {"classes": CLASSES, "pool_size": 6}
    path = "/api/v1/projects/" + server.ask("/api/v1/projects", {"name": "x", "settings": settings}, **key)["id"]
    server.ask(f"{path}/items", {"items": [{"id": "a", "prediction": PREDICTION}]}, **key)
    votes = [{"item": "a", "label": "cat", "voter": voter} for voter in "uvw"]
    return [server.ask(f"{path}/votes", vote, **key)["decision"] for vote in votes]


def as_session():
    session = Session("value", classes=CLASSES, pool_size=6)
    session.open("a", PREDICTION)
    return [session.vote("a", "cat", voter) for voter in "uvw"]


def assert_right(told):
    right = as_session()
    names = ("ask", "label", "confidence", "num_votes", "reason")
    assert [[each[name] for name in names] for each in told] == [[getattr(d, name) for name in names] for d in right]


def test_a_first_start_answers_within_5_seconds_and_decides_at_once(serve, tmp_path):
    secret = key_in(tmp_path)
    server = serve("--database", "votes.db")
    assert server.cpu < HEALTHY
    told = decide(server, secret)
    assert server.cpu < DECIDED
    assert_right(told)


def test_the_demo_moves_within_15_seconds_of_its_first_start(serve, tmp_path):
    server = serve("--demo")
    store = Store(str(tmp_path / "quorate-demo.db"))

    def votes():
        with store.read() as connection:
            return connection.exec_driver_sql("SELECT count(*) FROM ballots").scalar_one()

    wait_until(lambda: votes() >= 3, "colleagues vote")
    assert server.cpu < MOVING
    store.close()
