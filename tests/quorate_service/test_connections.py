"""Requests that are sent slowly, over real sockets to a real server on this machine, are ended."""

import socket
import threading
import time
from contextlib import contextmanager

import pytest
import uvicorn

from quorate_service import app as connections
from quorate_service.api import bodies as body_limit
from quorate_service.app import create_app
from quorate_service.cli.serve import CONNECTION
from quorate_service.config import ServiceConfig
from quorate_service.store import Store
from quorate_service.store.prepare import prepare

GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
POST = b"POST /api/v1/projects HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999\r\n\r\n"
GIVEN_UP = 15.0  # seconds after which a connection counts as held


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    store = Store(f"sqlite:///{tmp_path_factory.mktemp('slow') / 'service.db'}")
    prepare(store)
    app = create_app(store, ServiceConfig())
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning", ws="none", http=CONNECTION)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
        assert thread.is_alive(), "the server did not start"
    yield server.servers[0].sockets[0].getsockname()[1]
    server.should_exit = True
    thread.join(15)
    store.close()


@contextmanager
def connected(port):
    with socket.create_connection(("127.0.0.1", port), timeout=5) as made:
        made.settimeout(0.05)
        yield made


def answer_to(client, piece):
    """The response while `piece` is sent repeatedly, until the server closes; None if it never does."""
    until, got = time.monotonic() + GIVEN_UP, b""
    while time.monotonic() < until:
        try:
            if piece:
                client.sendall(piece)
            more = client.recv(65536)
        except TimeoutError:
            continue
        except OSError:  # reset: closed, too
            return got
        if not more:
            return got
        got += more
    return None


@pytest.mark.parametrize(
    ("start", "piece"),
    [(b"", b""), (GET, b""), (GET, b"X-More: 1\r\n"), (GET + b"\r\n", b"\r\n"), (GET + b"\r\n", b"G")],
    ids=["nothing", "half a header", "ever more headers", "empty lines after an answer", "a second request by bytes"],
)
def test_headers_that_do_not_end_end_the_connection(port, monkeypatch, start, piece):
    monkeypatch.setattr(connections, "HEADER_SECONDS", 0.4)
    with connected(port) as client:
        client.sendall(start)
        got = answer_to(client, piece)
    assert got is not None, "held"
    assert got.startswith(b"HTTP/1.1 200") == start.endswith(b"\r\n\r\n")


def test_a_body_sent_a_byte_at_a_time_ends_the_request(port, monkeypatch):
    monkeypatch.setattr(body_limit, "SMALL_SECONDS", 0.4)
    with connected(port) as client:
        client.sendall(POST)
        got = answer_to(client, b" ")
    assert got is not None and got.startswith(b"HTTP/1.1 408")


def test_a_plain_request_and_a_second_one_on_the_same_connection_are_answered(port, monkeypatch):
    monkeypatch.setattr(connections, "HEADER_SECONDS", 5.0)
    with connected(port) as client:
        client.settimeout(5)
        for _ in range(2):
            client.sendall(GET)
            time.sleep(0.05)
            client.sendall(b"\r\n")
            assert client.recv(65536).startswith(b"HTTP/1.1 200")
