"""A write and its idempotency key -> carried out once, answered alike each time. Votes do the same by their event.

The work and the note that it was done are one transaction: after a broken connection the same request either does it
or repeats the answer. Secrets that are shown once are not kept, so a repeated answer leaves them out. Called by every
router that writes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256

from fastapi import Request, Response
from sqlalchemy import Connection, select, update

from quorate.service.access.principal import Principal
from quorate.service.access.request_context import now_of, store_of
from quorate.service.api.bodies import in_batch_thread
from quorate.service.api.dependencies import projects_of
from quorate.service.api.fields import Out
from quorate.service.domain.projects import Projects
from quorate.service.domain.vote_types import reused
from quorate.service.store.bulk import upsert
from quorate.service.store.schema import requests
from quorate.service.store.store import Store

REPEATED = {"Idempotency-Replayed": "true"}


@dataclass(frozen=True, slots=True)
class Work:
    """What a write works with: all of it is one transaction."""

    store: Store
    projects: Projects
    now: float


class OneTransaction(Store):
    """A store whose every transaction is part of one that has begun: it is committed by whoever began it."""

    def __init__(self, store: Store, connection: Connection) -> None:
        self.url, self.is_sqlite, self.engine = store.url, store.is_sqlite, store.engine
        self._connection = connection

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """The one connection."""
        yield self._connection

    look = write = read


def carried_out(
    request: Request,
    caller: Principal,
    key: str | None,
    work: Callable[[Work], Out | None],
    *,
    status: int = 200,
    secrets: Sequence[str] = (),
) -> Response:
    """The answer to a write: done now, or repeated. `secrets` names what of the answer is never kept."""
    store, now = store_of(request), now_of(request)
    with store.write() as connection:
        past = None if key is None else _claimed(connection, caller.account_id, key, _content(request), now)
        if past is not None:
            return past
        joined = Projects(OneTransaction(store, connection))  # a cache of its own: what is undone must not be held
        body = _as_json(work(Work(joined.store, joined, now)))
        if key is not None:
            kept = json.dumps(json.loads(body) | dict.fromkeys(secrets)) if secrets else body
            mine = (requests.c.principal == caller.account_id, requests.c.key == key)
            connection.execute(update(requests).where(*mine).values(status=status, body=kept))
    return _response(body, status)


async def carried_out_in_parts(
    request: Request, caller: Principal, key: str | None, work: Callable[[Projects], Out]
) -> Response:
    """The answer to a write of many items, from a thread for batches: `work` has transactions of its own.

    Only the note of the answer is in the last one. After a broken connection the same request goes on with what is
    left to do, so `work` must be one that may be begun again.
    """

    def run() -> Response:
        ahead = None if is_known(request, caller, key) else work(projects_of(request))
        return carried_out(request, caller, key, lambda on: ahead or work(on.projects))

    return await in_batch_thread(request, run)


def is_known(request: Request, caller: Principal, key: str | None) -> bool:
    """Whether the key was used before: then there is nothing to prepare, `carried_out` repeats or refuses."""
    if key is None:
        return False
    query = select(requests.c.key).where(requests.c.principal == caller.account_id, requests.c.key == key)
    with store_of(request).read() as connection:
        return connection.execute(query).one_or_none() is not None


def _claimed(connection: Connection, account_id: str, key: str, content: str, now: float) -> Response | None:
    """What was answered before; None if the key is this request's from now on. Who comes second waits for the first."""
    row = {"principal": account_id, "key": key, "content": content, "status": 0, "body": "", "created": now}
    fresh = upsert(connection, requests).values(row).on_conflict_do_nothing().returning(requests.c.key)
    if connection.execute(fresh).one_or_none() is not None:
        return None
    mine = (requests.c.principal == account_id, requests.c.key == key)
    past = connection.execute(select(requests).where(*mine)).one()
    if past.content != content:
        raise reused(key)
    return _response(past.body, past.status, REPEATED)


def _content(request: Request) -> str:
    """Digest of what is asked for: method, address, body."""
    body = getattr(request.state, "content", "")
    asked = f"{request.method} {request.url.path}?{request.url.query} {body}"
    return sha256(asked.encode("utf-8", "surrogatepass")).hexdigest()


def _as_json(answer: Out | None) -> str:
    return "" if answer is None else answer.model_dump_json()


def _response(body: str, status: int, headers: dict[str, str] | None = None) -> Response:
    if not body:
        return Response(status_code=204, headers=headers)
    return Response(body, status, headers, "application/json")
