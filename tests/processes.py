"""What a test of a running process needs: a free port, and to wait for what it asserts, not for a time."""

import socket
import time
from collections.abc import Callable


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(is_so: Callable[[], object], what: str, within: float = 60.0) -> None:
    """However slow the machine is; `what` says in a failure what did not come."""
    deadline = time.monotonic() + within
    while not is_so():
        assert time.monotonic() < deadline, f"not within {within} s: {what}"
        time.sleep(0.02)
