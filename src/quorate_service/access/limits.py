"""Rate limits: token buckets, refilled over time. A request above the limit gets 429 and Retry-After.

Failed links, invitations and sign-ins are counted by client address in table `attempts`, which all workers share.
Successful ones do not count, so many people behind one address do not lock each other out. Votes are counted by
account in each worker's memory, so that a vote costs no further write. Called by `api` and pages.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from fastapi import Request
from sqlalchemy import Connection, case, literal, select, update

from quorate_service.access.request_context import client_address, config_of, kept, now_of, store_of
from quorate_service.problems import TooMany
from quorate_service.store import Store
from quorate_service.store.bulk import upsert
from quorate_service.store.schema import attempts

MOST_BUCKETS = 20_000  # in memory; full ones are dropped first, as they hold no information
VOTES_AT_ONCE = 2.0  # burst, in seconds of the rate


@dataclass(frozen=True, slots=True)
class Limit:
    """`burst` at once, and `rate` a second in the long run."""

    name: str
    rate: float
    burst: float


ENTRY = Limit("entry", rate=0.5, burst=30.0)  # a class of students behind one address can join at once


@dataclass(slots=True)
class Buckets:
    """Buckets in this process's memory, one for each key."""

    limit: Limit
    _held: dict[str, tuple[float, float]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, key: str, *, now: float) -> float:
        """Take a token: 0 if there was one, otherwise the seconds until there is.

        >>> buckets = Buckets(Limit("x", rate=2.0, burst=1.0))
        >>> [buckets.take(key, now=now) for key, now in (("a", 0.0), ("a", 0.0), ("b", 0.0), ("a", 0.5))]
        [0.0, 0.5, 0.0, 0.0]
        """
        with self._lock:
            tokens, since = self._held.get(key, (self.limit.burst, now))
            tokens = min(self.limit.burst, tokens + max(0.0, now - since) * self.limit.rate)
            wait = 0.0 if tokens >= 1 else (1 - tokens) / self.limit.rate
            self._held[key] = (tokens - 1 if wait == 0 else tokens, now)
            if len(self._held) > MOST_BUCKETS:
                self._forget(now)
            return wait

    def _forget(self, now: float) -> None:
        refill = self.limit.burst / self.limit.rate
        self._held = {key: held for key, held in self._held.items() if now - held[1] < refill}
        if len(self._held) > MOST_BUCKETS:  # still too many: reset all limits rather than grow
            self._held = {}


def _key(limit: Limit, who: str) -> str:
    """The key of a bucket in table `attempts`, cut to the column's length."""
    return f"{limit.name}:{who}"[:120]


def take(store: Store, limit: Limit, who: str, *, now: float) -> float:
    """Take a token from the bucket that all workers share: 0 if there was one, otherwise the seconds until there is."""
    key = _key(limit, who)
    elapsed = case((attempts.c.time < now, now - attempts.c.time), else_=0.0)
    refilled = attempts.c.tokens + elapsed * limit.rate
    held = case((refilled > limit.burst, literal(limit.burst)), else_=refilled)
    with store.write() as connection:
        statement = upsert(connection, attempts).values(key=key, tokens=limit.burst - 1, time=now)
        taken = statement.on_conflict_do_update(
            index_elements=[attempts.c.key], set_={"tokens": held - 1, "time": now}, where=held >= 1
        ).returning(attempts.c.tokens)
        if connection.execute(taken).one_or_none() is not None:
            return 0.0
        return _wait(connection, limit, key, now=now)


def _wait(connection: Connection, limit: Limit, key: str, *, now: float) -> float:
    # after the clock was set back, nobody must wait until it has caught up
    connection.execute(update(attempts).where(attempts.c.key == key, attempts.c.time > now).values(time=now))
    row = connection.execute(select(attempts).where(attempts.c.key == key)).one()
    return max(0.0, float((1 - row.tokens) / limit.rate - (now - row.time)))


def limit_entry(request: Request) -> None:
    """Raise 429 for a client address with too many failed links, keys and invitations; a dependency of their POSTs.

    Counted before the attempt is checked, so that concurrent attempts cannot get around the limit; a valid attempt is
    given back (`entered`).
    """
    wait = take(store_of(request), ENTRY, client_address(request), now=now_of(request))
    if wait > 0:
        raise _too_many("attempts from your address", ENTRY, wait)


def entered(request: Request) -> None:
    """Give back the token of an attempt with a valid key, link or invitation."""
    key = _key(ENTRY, client_address(request))
    more = case((attempts.c.tokens + 1 > ENTRY.burst, literal(ENTRY.burst)), else_=attempts.c.tokens + 1)
    with store_of(request).write() as connection:
        connection.execute(update(attempts).where(attempts.c.key == key).values(tokens=more))


def limit_votes(request: Request, account_id: str) -> None:
    """Raise 429 for an account that votes faster than a person can look. Costs no write."""
    rate = float(config_of(request.scope).votes_per_second)
    buckets = kept(request, "vote_buckets", lambda: Buckets(Limit("votes", rate, burst=VOTES_AT_ONCE * rate)))
    wait = buckets.take(account_id, now=now_of(request))
    if wait > 0:
        raise _too_many("votes from your account", buckets.limit, wait)


def _too_many(what: str, limit: Limit, wait: float) -> TooMany:
    rule = f"{limit.burst:g} {what} at once, then {60 * limit.rate:g} a minute"
    return TooMany(f"too many {what}", rule, retry_after=wait)
