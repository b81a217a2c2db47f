"""Whose turn it is to export: each account one export at a time, and few in all, so that threads are left for voters.

An export reads a whole project in one thread. The turns are those of one worker. Made by `app`, taken by `decisions`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from quorate.service.problems import Problem
from quorate.service.store.store import POOL

MOST = POOL // 4
SECONDS = "5"  # to wait before another attempt


class Turns:
    """The accounts that are exporting now."""

    def __init__(self) -> None:
        self._busy: set[str] = set()
        self._lock = threading.Lock()

    @contextmanager
    def taken(self, account_id: str) -> Iterator[None]:
        """This account's turn, until the block ends; 429 if it has one already, or too many others have."""
        with self._lock:
            if account_id in self._busy or len(self._busy) >= MOST:
                raise _wait(mine=account_id in self._busy)
            self._busy.add(account_id)
        try:
            yield
        finally:
            with self._lock:
                self._busy.discard(account_id)


def _wait(*, mine: bool) -> Problem:
    who = "your account is exporting already" if mine else f"{MOST} exports are being made already"
    return Problem(
        429, "Too many requests", f"{who}; wait {SECONDS} s, then send this again.", field="request",
        rule=f"one export at a time for each account, {MOST} for all", fix=f"Wait {SECONDS} s.",
        headers={"Retry-After": SECONDS},
    )  # fmt: skip
