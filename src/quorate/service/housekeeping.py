"""What nobody needs any more is deleted, once an hour, off the request path. Called by the steward on its rounds."""

from __future__ import annotations

import threading

from quorate.service.access import cleanup as access
from quorate.service.api import idempotency
from quorate.service.store.store import Store
from quorate.service.webhooks import queue

EVERY = 3600.0


class Housekeeping:
    """Call it as often as you like, with the time: it works once in EVERY seconds."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._due = 0.0
        self._lock = threading.Lock()

    def __call__(self, now: float) -> int:
        """Delete what is over; how many rows went."""
        with self._lock:
            if 0.0 <= self._due - now <= EVERY:
                return 0
            self._due = now + EVERY
        tasks = (access.sweep, idempotency.forget, queue.sweep)
        return sum(task(self.store, now=now) for task in tasks)
