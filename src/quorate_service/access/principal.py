"""Who is calling (by key or cookie), and their role in a project: FastAPI dependencies for every endpoint."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

from fastapi import Depends, Request
from fastapi.security import APIKeyCookie, HTTPBearer
from sqlalchemy import ColumnElement, Row, Select, Table, bindparam, select
from starlette.concurrency import run_in_threadpool

from quorate.validate import invalid
from quorate_service.access import cookies, credentials, digest
from quorate_service.access.accounts import Role
from quorate_service.access.request_context import now_of, store_of
from quorate_service.problems import NotAllowed, NotFound, NotSignedIn
from quorate_service.store import Store, StoreUnavailable
from quorate_service.store.schema import accounts, api_keys, memberships, sign_ins

ACCOUNT = "X-Account"  # pages send their account, so that an earlier page never acts for who signed in since
PROJECT_ID = re.compile(r"[A-Za-z0-9_-]{1,40}")
BEARER = HTTPBearer(auto_error=False, scheme_name="key", description="An API key: Authorization: Bearer qk_...")
COOKIE = APIKeyCookie(name=cookies.NAME, auto_error=False, scheme_name="cookie", description="Set by signing in.")


def _statement(table: Table, *columns: ColumnElement[Any]) -> Select[Any]:
    """The account of a valid credential, and its role in the project, if it is a member there."""
    here = (memberships.c.account_id == accounts.c.id) & (memberships.c.project_id == bindparam("project_id"))
    joined = table.join(accounts).outerjoin(memberships, here & memberships.c.removed.is_(None))
    who = (accounts.c.id, accounts.c.name, accounts.c.may_create, memberships.c.role)
    is_valid = (table.c.digest == bindparam("digest"), table.c.revoked.is_(None), accounts.c.disabled.is_(None))
    return select(*who, *columns).select_from(joined).where(*is_valid)


OF_KEY = _statement(api_keys, api_keys.c.id.label("key_id"), api_keys.c.project_id, api_keys.c.used)
OF_COOKIE = _statement(sign_ins, sign_ins.c.created, sign_ins.c.expires, sign_ins.c.signed_in_by)


def _known(store: Store, statement: Select[Any], secret: str, project_id: str) -> Row[Any] | None:
    """The row of a credential; None if it is not valid."""
    with store.look() as connection:
        return connection.execute(statement, {"digest": digest(secret), "project_id": project_id}).one_or_none()


@dataclass(frozen=True, slots=True)
class Principal:
    """The calling account, and how it authenticated."""

    account_id: str
    name: str
    may_create: bool
    via: Literal["cookie", "key"]
    only_project: str | None = None  # the only one that the key gives access to
    signed_in_by: str = ""  # how they signed in (`log`); stored with every event they make


@dataclass(frozen=True, slots=True, kw_only=True)
class Member(Principal):
    """A principal with a role in the project of the request."""

    role: Role


async def _schemes(_key: Annotated[object, Depends(BEARER)], _cookie: Annotated[object, Depends(COOKIE)]) -> None:
    """Declares the authentication schemes in OpenAPI; does nothing else."""


Schemes = Annotated[None, Depends(_schemes)]


async def current(request: Request, _schemes: Schemes = None) -> Principal:
    """The caller; 401 if nobody is signed in. A dependency."""
    return (await _identify(request, ""))[0]


def member(*roles: Role) -> Callable[..., Coroutine[Any, Any, Member]]:
    """A dependency of paths with `project_id`: the caller, who must have one of `roles` (any if none are given)."""

    async def caller(request: Request, project_id: str, _schemes: Schemes = None) -> Member:
        return await as_member(request, project_id, *roles)

    return caller


async def as_member(request: Request, project_id: str, *roles: Role) -> Member:
    """The caller as a member of this project: 401 if not signed in, 404 for non-members, 403 for another role."""
    is_id = PROJECT_ID.fullmatch(project_id) is not None  # anything else is not looked up
    principal, role = await _identify(request, project_id if is_id else "")
    if role is None:
        rule = "the id of a project you are a member of"
        raise invalid("project_id", project_id[:40], rule, "List your projects to see it.", error=NotFound)
    if roles and role not in roles:
        rule = " or ".join(sorted(roles))
        who = " and ".join(f"{name}s" for name in sorted(roles))
        wrong, fix = f"this is for {who}, and your role in this project is {role}", "ask an owner for another role."
        raise NotAllowed(wrong, fix, field="role", value=role, rule=rule)
    return Member(**asdict(principal), role=role)


async def creator(caller: Annotated[Principal, Depends(current)]) -> Principal:
    """The caller, if they may create projects; 403 otherwise. A dependency."""
    if not caller.may_create or caller.only_project is not None:
        wrong, fix = "this account or key may not create projects", "ask the operator of the service."
        rule = "an account that may create projects, and no key for one project"
        raise NotAllowed(wrong, fix, field="account", value=caller.account_id, rule=rule)
    return caller


async def unrestricted(caller: Annotated[Principal, Depends(current)]) -> Principal:
    """The caller, if the credential is for all projects; 403 otherwise: one for a single project must not gain more."""
    if caller.only_project is not None:
        wrong, fix = "this key is for one project only", "sign in, or use a key without a project."
        rule = "a sign-in, or a key for all the account's projects"
        raise NotAllowed(wrong, fix, field="project_id", value=caller.only_project, rule=rule)
    return caller


def has_key(request: Request) -> bool:
    """Whether a request has an API key; any other scheme is meant for a proxy in front."""
    return request.headers.get("authorization", "").partition(" ")[0].lower() == "bearer"


async def _identify(request: Request, project_id: str) -> tuple[Principal, Role | None]:
    if has_key(request):
        key = request.headers["authorization"].partition(" ")[2].strip()
        return await _by_key(request, key, project_id)
    session_id = cookies.session_id_of(request)
    if session_id is None:
        raise _not_signed_in("nobody is signed in", "sign in, or send an API key: Authorization: Bearer qk_...")
    return await _by_cookie(request, session_id, project_id)


async def _by_key(request: Request, key: str, project_id: str) -> tuple[Principal, Role | None]:
    store, now = store_of(request), now_of(request)
    row = await run_in_threadpool(_known, store, OF_KEY, key, project_id)
    if row is None:
        raise _not_signed_in("this API key is unknown or was revoked", "make a new one.")
    if credentials.is_use_to_note(row.used, now):
        with suppress(StoreUnavailable):  # a full disk must not prevent reading
            await run_in_threadpool(credentials.note_use, store, row.key_id, now=now)
    who = Principal(row.id, row.name, row.may_create, "key", row.project_id, f"key {row.key_id}")
    return who, row.role if row.project_id in (None, project_id) else None


async def _by_cookie(request: Request, session_id: str, project_id: str) -> tuple[Principal, Role | None]:
    store, now = store_of(request), now_of(request)
    row = await run_in_threadpool(_known, store, OF_COOKIE, session_id, project_id)
    if row is None or row.expires <= now:
        raise _not_signed_in("you were signed out, or your sign-in has expired", "use a new link.")
    cookies.same_origin(request)
    if request.headers.get(ACCOUNT, row.id) != row.id:
        raise _not_signed_in("somebody else has signed in since this page was opened", "reload the page.")
    if cookies.is_to_extend(row.created, row.expires, now):
        with suppress(StoreUnavailable):
            await run_in_threadpool(cookies.extend, store, session_id, created=row.created, now=now)
    return Principal(row.id, row.name, row.may_create, "cookie", signed_in_by=row.signed_in_by), row.role


def _not_signed_in(wrong: str, fix: str) -> NotSignedIn:
    return NotSignedIn(wrong, fix, field="Authorization", rule="the cookie of a valid sign-in, or a valid API key")
