"""Deletes rows that are no longer needed, once an hour, off the request path. Called by the steward on its rounds."""

from __future__ import annotations

import threading

from sqlalchemy import delete

from quorate.service.access.cookies import LONGEST
from quorate.service.store.schema import attempts, browsers, deliveries, links, pending, requests, sign_ins
from quorate.service.store.store import Store

EVERY = 3600.0
DAY = 86400.0
MONTH = 30 * DAY
KEYS_KEPT = 7 * DAY  # how long an idempotency key is remembered


class Housekeeping:
    """Call it as often as you like, with the time: it works once in EVERY seconds."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._due = 0.0
        self._lock = threading.Lock()

    def __call__(self, now: float) -> int:
        """Delete old rows if an hour has passed; returns how many."""
        with self._lock:
            if 0.0 <= self._due - now <= EVERY:
                return 0
            self._due = now + EVERY
        return sum(
            delete_old(self.store, now=now) for delete_old in (delete_access, delete_requests, delete_deliveries)
        )


def delete_access(store: Store, *, now: float) -> int:
    """Full rate-limit buckets, links and sign-ins that ended a month ago, forgotten browsers; returns how many."""
    old = (
        delete(attempts).where(attempts.c.time < now - DAY),
        delete(browsers).where(browsers.c.seen < now - LONGEST),
        delete(links).where(links.c.expires < now - MONTH),
        delete(sign_ins).where((sign_ins.c.expires < now - MONTH) | (sign_ins.c.revoked < now - MONTH)),
    )
    with store.write() as connection:
        return sum(connection.execute(statement).rowcount for statement in old)


def delete_requests(store: Store, *, now: float) -> int:
    """Idempotency keys that are too old to be sent again; returns how many."""
    with store.write() as connection:
        return connection.execute(delete(requests).where(requests.c.created < now - KEYS_KEPT)).rowcount


def delete_deliveries(store: Store, *, now: float) -> int:
    """Webhook deliveries that were accepted or given up a month ago; returns how many."""
    with store.write() as connection:
        return connection.execute(delete(deliveries).where(~pending, deliveries.c.created < now - MONTH)).rowcount
