"""Deliveries to a real receiver: signed, retried, repeated after a crash with the same id, never to private hosts."""

import json
import socket
import threading
import time
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random

import pytest
from sqlalchemy import select, update
from standardwebhooks import Webhook

from quorate_service.config import ServiceConfig
from quorate_service.domain import webhooks
from quorate_service.sender import Sender
from quorate_service.store.schema import deliveries
from tests.processes import wait_until
from tests.quorate_service.api.conftest import World
from tests.quorate_service.conftest import BOTH

ID = "webhook-id"


class Receiver(ThreadingHTTPServer):
    """Responds with the next of `statuses`, then 200; keeps the requests."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.got, self.statuses, self.location = [], [], None
        self.seconds, self.released = 0.0, threading.Event()  # how long an answer takes, unless it is released
        threading.Thread(target=self.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server_port}/hook"


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append((dict(self.headers), body))
        self.server.released.wait(self.server.seconds)
        self.send_response(self.server.statuses.pop(0) if self.server.statuses else 200)
        if self.server.location:
            self.send_header("Location", self.server.location)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture
def receiver():
    yield from running()


@pytest.fixture
def quick():
    yield from running()


def running():
    server = Receiver()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def telling(database_url, receiver):
    """A project with a webhook, and a sender whose clock is the world's."""
    world = World(database_url, ServiceConfig(allow_private_addresses=True))
    kinds = ["item.completed", "item.reopened", "project.changed"]
    body = {"url": receiver.url, "kinds": kinds}
    made = world.client("owner").api("POST", f"/projects/{world.here}/webhooks", 201, json=body).json()
    world.hook, world.secret = made["id"], made["secret"]
    world.sender = Sender(world.store, allow_private=True, clock=world.clock)
    yield world
    world.store.close()


def close(world, *names):
    world.items(*names)
    for name in names:
        world.client("owner").api("POST", f"/projects/{world.here}/item/close", 200, json={"id": name})


def rows(world):
    with world.store.read() as connection:
        return connection.execute(select(deliveries).order_by(deliveries.c.created, deliveries.c.id)).all()


def test_a_completed_item_is_reported_once_and_signed(telling, receiver):
    close(telling, "x")
    assert telling.sender.round() == 1
    assert telling.sender.round() == 0
    ((headers, body),) = receiver.got
    hook = Webhook(telling.secret)
    sent = datetime.fromtimestamp(int(telling.clock.now), UTC)
    assert headers["webhook-signature"] == hook.sign(headers[ID], sent, body.decode())
    assert headers["webhook-timestamp"] == str(int(telling.clock.now))
    told = json.loads(body)
    assert (told["type"], told["data"]["item"], told["id"]) == ("item.completed", "x", headers[ID])
    assert rows(telling)[0].delivered == telling.clock.now


def test_a_refused_delivery_is_retried_with_the_same_id(telling, receiver):
    receiver.statuses = [500, 302, 404]
    receiver.location = receiver.url + "/elsewhere"
    close(telling, "x")
    waits = []
    for _ in range(3):
        assert telling.sender.round() == 1
        (row,) = rows(telling)
        waits.append(row.due - telling.clock.now)
        assert telling.sender.round() == 0, "not before it is due"
        telling.clock.now = row.due
    assert telling.sender.round() == 1
    (row,) = rows(telling)
    assert row.delivered is not None and row.attempts == 4
    assert len({headers[ID] for headers, _ in receiver.got}) == 1 and len(receiver.got) == 4
    assert 4 <= waits[0] - 1 <= 6 and 8 <= waits[1] - 1 <= 12 and 16 <= waits[2] - 1 <= 24


def test_after_a_crash_before_it_is_marked_a_delivery_is_sent_again_with_the_same_id(telling, receiver, monkeypatch):
    close(telling, "x")
    with monkeypatch.context() as crash:
        crash.setattr("quorate_service.sender.delivered", lambda *_, **__: (_ for _ in ()).throw(SystemExit))
        with pytest.raises(SystemExit):
            telling.sender.round()
    other = Sender(telling.store, allow_private=True, clock=telling.clock)
    assert other.round() == 0, "held by the worker that died"
    telling.clock.now += webhooks.HOLD + 1
    assert other.round() == 1
    first, second = receiver.got
    assert first[0][ID] == second[0][ID] and first[1] == second[1]


@BOTH
def test_two_workers_never_send_the_same_delivery(telling, receiver):
    close(telling, *(f"i{n}" for n in range(24)))
    senders = [Sender(telling.store, allow_private=True, clock=telling.clock) for _ in range(2)]

    def work(sender):
        while sender.round():
            pass

    threads = [threading.Thread(target=work, args=(sender,)) for sender in senders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    telling.clock.now += 1
    work(senders[0])
    ids = [headers[ID] for headers, _ in receiver.got]
    assert len(ids) == len(set(ids)) == 24


def test_it_gives_up_after_three_days(telling, receiver):
    close(telling, "x")
    telling.clock.now += webhooks.GIVE_UP + 1
    receiver.statuses = [500]
    telling.sender.round()
    (row,) = rows(telling)
    assert row.failed == telling.clock.now and "500" in row.problem
    telling.clock.now += 86400
    assert telling.sender.round() == 0
    assert webhooks.delay(50, Random(1)) <= 1.2 * webhooks.LONGEST_DELAY


def test_a_removed_webhook_gets_no_more_deliveries(telling, receiver):
    close(telling, "x")
    telling.client("owner").api("DELETE", f"/projects/{telling.here}/webhooks/{telling.hook}", 204)
    assert telling.sender.round() == 0 and receiver.got == []
    assert rows(telling)[0].problem == "the webhook was removed"


def test_addresses_of_this_machine_are_refused_when_chosen_and_when_sent(telling, receiver):
    strict = Sender(telling.store, clock=telling.clock)
    for url in (receiver.url, receiver.url.replace("127.0.0.1", "localhost"), "http://169.254.169.254/latest"):
        with telling.store.write() as connection:  # as a name that led elsewhere when it was chosen
            connection.execute(update(webhooks.webhooks).values(url=url))
        telling.client("owner").api("POST", f"/projects/{telling.here}/webhooks/{telling.hook}/ping", 202)
        assert strict.round() >= 1
        assert receiver.got == []
        assert "this machine or its network" in next(row.problem for row in rows(telling) if row.problem)
        telling.clock.now += 7200


def test_a_ping_arrives_and_deliveries_are_listed_newest_first(telling, receiver):
    owner, path = telling.client("owner"), f"/projects/{telling.here}/webhooks"
    made = []
    for _ in range(3):
        made.append(owner.api("POST", f"{path}/{telling.hook}/ping", 202).json()["delivery_id"])
        telling.clock.now += 1
    telling.sender.round()
    assert json.loads(receiver.got[0][1])["type"] == "ping"
    first = owner.api("GET", f"{path}/{telling.hook}/deliveries", 200, params={"limit": 2}).json()
    rest = {"limit": 2, "cursor": first["next"]}
    last = owner.api("GET", f"{path}/{telling.hook}/deliveries", 200, params=rest).json()
    assert [each["id"] for each in first["items"] + last["items"]] == made[::-1] and last["next"] is None
    assert all(each["delivered"] for each in first["items"])
    listed = owner.api("GET", path, 200)
    assert telling.secret not in listed.text and listed.json()["items"][0]["id"] == telling.hook


def test_a_receiver_that_never_answers_costs_no_more_than_its_time(telling, monkeypatch):
    monkeypatch.setattr("quorate_service.sender.TOTAL", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        with telling.store.write() as connection:
            url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
            connection.execute(update(webhooks.webhooks).values(url=url))
        close(telling, "x")
        begin = time.monotonic()
        assert telling.sender.round() == 1
        assert time.monotonic() - begin < 8  # not the ten seconds that others have
    assert "no answer" in rows(telling)[0].problem


def test_a_slow_receiver_delays_nobody_else(telling, receiver, quick):
    """Both get every item; the slow one is busy with the first while the fast one has received all."""
    receiver.seconds = 9.0
    webhooks.create_webhook(
        telling.store, telling.here, quick.url, ["item.completed"], allow_private=True, now=telling.clock.now
    )
    telling.sender.rhythm = 0.05
    close(telling, "a", "b")
    telling.sender.start()
    wait_until(lambda: receiver.got, "the slow receiver's first delivery")
    close(telling, "c", "d")
    wait_until(lambda: len(quick.got) == 4, "all four at the quick receiver")
    assert len(receiver.got) == 1
    receiver.released.set()
    telling.sender.stop()
