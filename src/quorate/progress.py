"""How far long work is, as lines on stderr, and the time left. Called by `compare` and the command line."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # `quorate --help` needs no NumPy
    from quorate.types import Progress

LEAST_SHARE, LEAST_SECONDS = 0.03, 2.0  # of the work and its time, before the time left is estimated


def time_left() -> Callable[[int, int], str]:
    """A function that estimates the time left: "about 2 min left: ", or "" while unknown.

    The clock starts when the first part is done, and again when the total changes. There is no estimate before 3 % and
    2 seconds more.
    """
    start, first, of = 0.0, 0, -1

    def left(done: int, total: int) -> str:
        nonlocal start, first, of
        if total != of or not first:
            start, first, of = time.monotonic(), done, total
        elapsed, more = time.monotonic() - start, done - first
        if done >= total or more < LEAST_SHARE * total or elapsed < LEAST_SECONDS:
            return ""
        seconds = elapsed * (total - done) / more
        return f"about {seconds / 60:.0f} min left: " if seconds >= 90 else f"about {max(seconds, 1):.0f} s left: "

    return left


def lines(*, first_after: float = 2.0, every: float = 10.0) -> Progress:
    """A line after two seconds, then one every ten."""
    due, left = time.monotonic() + first_after, time_left()

    def report(done: int, total: int, what: str) -> None:
        nonlocal due
        remaining = left(done, total)
        if time.monotonic() >= due:
            due = time.monotonic() + every
            print(f"quorate: {100 * done / total:.0f} % done ({remaining}{what})", file=sys.stderr, flush=True)

    return report
