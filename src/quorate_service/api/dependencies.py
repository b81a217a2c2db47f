"""Dependencies of endpoints: projects, store and time of a request, the caller and their role, idempotent writes.

Every endpoint of a project depends on one of `Owner`, `Viewer` (owner or reader), `Voter` (all but readers), `Senior`
(senior or owner) and `Anyone`. `Write` performs a write once per idempotency key. Used by every router.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated, TypeVar, cast

from anyio import CapacityLimiter, to_thread
from fastapi import Depends, Path, Request, Response
from fastapi.routing import APIRoute
from sqlalchemy import Connection, select, update

from quorate.validate import invalid
from quorate_service.access.accounts import ADJUDICATING, VOTING
from quorate_service.access.principal import Member, Principal, creator, current, member, unrestricted
from quorate_service.access.request_context import config_of, is_secure, kept, now_of, store_of
from quorate_service.api.fields import Key
from quorate_service.domain.projects import Projects
from quorate_service.domain.votes import reused
from quorate_service.store import Store
from quorate_service.store.bulk import upsert
from quorate_service.store.schema import requests

Found = TypeVar("Found")
HOST = re.compile(r"[A-Za-z0-9.\-_\[\]:]{1,255}")
AT_ONCE = 2  # batches that a worker processes concurrently; others wait
REPEATED = {"Idempotency-Replayed": "true"}


def projects_of(request: Request) -> Projects:
    """The projects of the app this request came to."""
    return cast(Projects, request.app.state.projects)


def base_url_of(request: Request) -> str:
    """The public address of the service: as configured, else from this request."""
    configured = config_of(request.scope).base_url
    if configured is not None:
        return configured
    host = request.headers.get("host", "")
    if not HOST.fullmatch(host):
        rule = "a host name, with a port if needed"
        raise invalid("Host", host[:80], rule, "set the service's base URL.")
    return f"{'https' if is_secure(request.scope) else 'http'}://{host}"


async def _the_store(request: Request) -> Store:
    return store_of(request)


async def _the_projects(request: Request) -> Projects:
    return projects_of(request)


async def _the_time(request: Request) -> float:
    return now_of(request)


# coroutines, although they never wait: FastAPI would run a plain function in a thread
ProjectId = Annotated[str, Path(description="The project's id.", examples=["p_0123456789abcdef"], max_length=40)]
TheStore = Annotated[Store, Depends(_the_store)]
TheProjects = Annotated[Projects, Depends(_the_projects)]
Now = Annotated[float, Depends(_the_time)]

Caller = Annotated[Principal, Depends(current)]
Creator = Annotated[Principal, Depends(creator)]
Unrestricted = Annotated[Principal, Depends(unrestricted)]
Owner = Annotated[Member, Depends(member("owner"))]
Viewer = Annotated[Member, Depends(member("owner", "reader"))]
Voter = Annotated[Member, Depends(member(*VOTING))]
Senior = Annotated[Member, Depends(member(*ADJUDICATING))]
Anyone = Annotated[Member, Depends(member())]


async def in_batch_thread(request: Request, work: Callable[[], Found]) -> Found:
    """Run `work` in a thread reserved for batches."""
    return await to_thread.run_sync(work, limiter=kept(request, "batch_threads", lambda: CapacityLimiter(AT_ONCE)))


@dataclass(frozen=True, slots=True)
class Work:
    """What a write uses; all of it is one transaction."""

    store: Store
    projects: Projects
    now: float


class OneTransaction(Store):
    """A store whose transactions are all part of one that has begun; its creator commits it."""

    def __init__(self, store: Store, connection: Connection) -> None:
        self.url, self.is_sqlite, self.engine = store.url, store.is_sqlite, store.engine
        self._connection = connection

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """The shared connection."""
        yield self._connection

    look = write = read


class Once:
    """Performs a write once per idempotency key and repeats its response. (Votes are idempotent by their events.)

    The write and the stored response are one transaction: after a broken connection the same request either performs
    the write or repeats the response. The route gives the response's status and model.
    """

    def __init__(self, request: Request, key: str | None) -> None:
        self.request, self.key = request, key
        self.store, self.now = store_of(request), now_of(request)

    def __call__(self, caller: Principal, work: Callable[[Work], object], *, secrets: Sequence[str] = ()) -> Response:
        """The response for what `work` returns. `secrets` are not stored: a repeated response has null instead."""
        route = cast(APIRoute, self.request.scope["route"])
        status, key = route.status_code or 200, self.key
        with self.store.write() as connection:
            past = None if key is None else _claimed(connection, caller.account_id, key, self._content(), self.now)
            if past is not None:
                return past
            joined = Projects(OneTransaction(self.store, connection))  # with its own cache: it may be rolled back
            result = work(Work(joined.store, joined, self.now))
            body = "" if result is None else route.response_model.model_validate(result).model_dump_json()
            if key is not None:
                stored = json.dumps(json.loads(body) | dict.fromkeys(secrets)) if secrets else body
                this = (requests.c.principal == caller.account_id, requests.c.key == key)
                connection.execute(update(requests).where(*this).values(status=status, body=stored))
        return _response(body, status)

    async def in_parts(self, caller: Principal, work: Callable[[Projects], object]) -> Response:
        """The response for a write of many items, in a batch thread; `work` uses its own transactions.

        Only the stored response is in the last transaction. After a broken connection the same request continues with
        what is left, so `work` must be safe to repeat.
        """
        return await self.prepared(caller, work, lambda done, _: done)

    async def prepared(
        self, caller: Principal, prepare: Callable[[Projects], Found], store: Callable[[Found, Work], object]
    ) -> Response:
        """The response for what `store` returns for the result of `prepare`, in a batch thread. `prepare` is slow and
        runs before the transaction begins, because on SQLite no other write can run during a transaction."""

        def run() -> Response:
            ahead = None if self._is_known(caller) else prepare(projects_of(self.request))
            return self(caller, lambda on: store(prepare(on.projects) if ahead is None else ahead, on))

        return await in_batch_thread(self.request, run)

    def _is_known(self, caller: Principal) -> bool:
        """Whether the key was used before: then nothing needs preparing, the response is repeated or refused."""
        if self.key is None:
            return False
        query = select(requests.c.key).where(requests.c.principal == caller.account_id, requests.c.key == self.key)
        with self.store.read() as connection:
            return connection.execute(query).one_or_none() is not None

    def _content(self) -> str:
        """Digest of the request: method, address, body."""
        request, body = self.request, getattr(self.request.state, "content", "")
        text = f"{request.method} {request.url.path}?{request.url.query} {body}"
        return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def once_per_form(
    request: Request, caller: Principal, fields: Mapping[str, str], work: Callable[[Store], Found]
) -> Found | None:
    """What `work` returns; None if the form, known by its field `form`, was sent before. One transaction."""
    store, key, now = store_of(request), f"form:{fields.get('form', '')[:100]}", now_of(request)
    with store.write() as connection:
        if key != "form:" and _claimed(connection, caller.account_id, key, "form", now) is not None:
            return None
        return work(OneTransaction(store, connection))


def _claimed(connection: Connection, account_id: str, key: str, content: str, now: float) -> Response | None:
    """The stored response of the key; None if it is new and now taken by this request. Concurrent requests wait."""
    row = {"principal": account_id, "key": key, "content": content, "status": 0, "body": "", "created": now}
    fresh = upsert(connection, requests).values(row).on_conflict_do_nothing().returning(requests.c.key)
    if connection.execute(fresh).one_or_none() is not None:
        return None
    this = (requests.c.principal == account_id, requests.c.key == key)
    past = connection.execute(select(requests).where(*this)).one()
    if past.content != content:
        raise reused(key)
    return _response(past.body, past.status, REPEATED)


def _response(body: str, status: int, headers: dict[str, str] | None = None) -> Response:
    if not body:
        return Response(status_code=204, headers=headers)
    return Response(body, status, headers, "application/json")


async def _once(request: Request, key: Key = None) -> Once:
    if not request.headers.get("content-type", "").lower().startswith("multipart/"):  # a form's file: `sent_file`
        request.state.content = sha256(await request.body()).hexdigest()
    return Once(request, key)


Write = Annotated[Once, Depends(_once)]
