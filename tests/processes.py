"""Helpers for tests of running processes: a free port, and waiting for a condition instead of a fixed time."""

import random
import socket
import time
from collections.abc import Callable
from contextlib import suppress

LISTENING = range(15_000, 32_000)  # below those that systems give to whoever connects: none of them takes it meanwhile


def free_port() -> int:
    """A port to listen on that no other process uses before the server has started."""
    while True:
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", random.choice(LISTENING)))
            return probe.getsockname()[1]


def wait_until(is_so: Callable[[], object], what: str, within: float = 60.0) -> None:
    """Wait, even on a slow machine; `what` names the condition in a failure. A check that takes long is made seldom."""
    deadline = time.monotonic() + within
    while True:
        begun = time.monotonic()
        if is_so():
            return
        assert time.monotonic() < deadline, f"not within {within} s: {what}"
        time.sleep(min(0.02 + 4 * (time.monotonic() - begun), 1.0))
