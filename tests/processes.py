"""What a test of a running process needs: a free port, and to wait for what it asserts, not for a time."""

import random
import socket
import time
from collections.abc import Callable
from contextlib import suppress

LISTENING = range(15_000, 32_000)  # below those that systems give to whoever connects: none of them takes it meanwhile


def free_port() -> int:
    """A port to listen on, of which nobody else makes use before a server has started there."""
    while True:
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", random.choice(LISTENING)))
            return probe.getsockname()[1]


def wait_until(is_so: Callable[[], object], what: str, within: float = 60.0) -> None:
    """However slow the machine is; `what` says in a failure what did not come."""
    deadline = time.monotonic() + within
    while not is_so():
        assert time.monotonic() < deadline, f"not within {within} s: {what}"
        time.sleep(0.02)
