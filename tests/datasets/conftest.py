"""A real HTTP server on this machine, with ranges, and with the faults a download can meet."""

import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


@dataclass
class Site:
    """`files` by name; `cuts[name]`: bytes after which each transfer in turn is cut; `asked`: (name, Range) so far."""

    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    cuts: dict[str, list[int]] = field(default_factory=dict)
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    ranges: bool = True
    announce: bool = True  # with Content-Length
    before: Callable[[str], object] = lambda name: None  # called with the file's name before each answer
    halfway: Callable[[str], object] = lambda name: None  # and when half of it is sent


def _handler(site):
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def do_GET(self):
            name = self.path.rsplit("/", 1)[-1]
            wanted = self.headers.get("Range")
            site.asked.append((name, wanted))
            site.before(name)
            content = site.files.get(name)
            if content is None:
                self.send_error(404)
                return
            start = int(re.match(r"bytes=(\d+)-", wanted).group(1)) if wanted and site.ranges else 0
            if start and start >= len(content):
                self.send_error(416)
                return
            body = content[start:]
            self.send_response(206 if start else 200)
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
            if site.announce:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            cut = site.cuts.get(name, [])
            body = body[: cut.pop(0)] if cut else body
            self.wfile.write(body[: len(body) // 2])
            self.wfile.flush()
            site.halfway(name)
            self.wfile.write(body[len(body) // 2 :])
            self.wfile.flush()

    return Handler


@pytest.fixture
def site():
    """A server for one test; it is gone after `site.server.shutdown()`-like teardown."""
    facts = Site()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(facts))
    facts.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield facts
    server.shutdown()
    thread.join()
    server.server_close()
