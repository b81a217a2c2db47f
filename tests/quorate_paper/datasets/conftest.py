"""A real HTTP server on this machine."""

import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


@dataclass
class Site:
    """`files` by name; `asked`: the names asked for so far; `short`: bytes of each file that are not sent."""

    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    short: int = 0


def _handler(site):
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def do_GET(self):
            name = self.path.rsplit("/", 1)[-1]
            site.asked.append(name)
            content = site.files.get(name)
            if content is None:
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content[: len(content) - site.short])

    return Handler


@pytest.fixture
def site():
    """A server for one test."""
    facts = Site()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(facts))
    facts.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield facts
    server.shutdown()
    thread.join()
    server.server_close()
