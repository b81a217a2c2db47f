"""Who is calling (by key or cookie), and their role in a project: FastAPI dependencies for every endpoint."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple

from fastapi import Depends, Request
from fastapi.security import APIKeyCookie, HTTPBearer
from sqlalchemy import ColumnElement, Connection, Row, Select, Table, select
from starlette.concurrency import run_in_threadpool

from quorate.service.access import cookies, credentials, digest
from quorate.service.access.accounts import Role
from quorate.service.access.request_context import kept, now_of, store_of
from quorate.service.microbatch import MicroBatcher
from quorate.service.problems import NotAllowed, NotFound, NotSignedIn
from quorate.service.store import Store, StoreUnavailable
from quorate.service.store.bulk import among
from quorate.service.store.schema import accounts, api_keys, memberships, sign_ins
from quorate.validate import invalid


@dataclass(frozen=True, slots=True)
class Credential:
    """The credential of a request. `project_id`: where its role is needed. `key_id`: the key a cookie was made with."""

    kind: Literal["key", "cookie"]
    digest: str
    project_id: str
    key_id: str = ""


def _statement(table: Table, *columns: ColumnElement[Any]) -> Select[Any]:
    here = (memberships.c.account_id == accounts.c.id) & among(memberships.c.project_id, "projects")
    joined = table.join(accounts).outerjoin(memberships, here & memberships.c.removed.is_(None))
    who = (accounts.c.id, accounts.c.name, accounts.c.may_create, memberships.c.role)
    credential = (among(table.c.digest, "digests"), table.c.revoked.is_(None), accounts.c.disabled.is_(None))
    where = memberships.c.project_id.label("member_of")
    return select(table.c.digest, where, *who, *columns).select_from(joined).where(*credential)


STATEMENTS = {
    "key": _statement(api_keys, api_keys.c.id.label("key_id"), api_keys.c.project_id, api_keys.c.used),
    "cookie": _statement(
        sign_ins, sign_ins.c.project_id, sign_ins.c.created, sign_ins.c.expires, sign_ins.c.signed_in_by
    ),
}
REVOKED = select(api_keys.c.id).where(among(api_keys.c.id, "ids"))
REVOKED = REVOKED.where(api_keys.c.revoked.is_not(None))


class KnownCaller(NamedTuple):
    """The account of a credential, as read, and its role in the credential's project: None if it is not a member
    there, or if the credential is restricted to another project (`row.project_id`)."""

    row: Row[Any]
    role: Role | None


def look_up(store: Store, credentials: Sequence[Credential]) -> list[KnownCaller | None]:
    """For each credential, the account it belongs to; None if it is not valid."""
    found: dict[tuple[str, str], list[Row[Any]]] = {}
    with store.look() as connection:
        for kind, statement in STATEMENTS.items():
            of_kind = [credential for credential in credentials if credential.kind == kind]
            if of_kind:
                digests = sorted({credential.digest for credential in of_kind})
                values = {"digests": digests, "projects": sorted({credential.project_id for credential in of_kind})}
                for row in connection.execute(statement, values).all():
                    found.setdefault((kind, row.digest), []).append(row)
        revoked = _revoked(connection, credentials)
    return [
        None
        if credential.key_id in revoked
        else _known_caller(credential, found.get((credential.kind, credential.digest), []))
        for credential in credentials
    ]


def _revoked(connection: Connection, credentials: Sequence[Credential]) -> set[str]:
    """The revoked keys among those that cookies were made with."""
    ids = sorted({credential.key_id for credential in credentials if credential.key_id})
    return set(connection.execute(REVOKED, {"ids": ids}).scalars()) if ids else set()


def _known_caller(credential: Credential, rows: Sequence[Row[Any]]) -> KnownCaller | None:
    """`rows`: one for each requested project that the account is a member of; one without a role if there is none."""
    if not rows:
        return None
    here = [row for row in rows if row.member_of == credential.project_id and row.project_id in (None, row.member_of)]
    return KnownCaller(here[0], here[0].role) if here else KnownCaller(rows[0], None)


PROJECT_ID = re.compile(r"[A-Za-z0-9_-]{1,40}")
BEARER = HTTPBearer(auto_error=False, scheme_name="key", description="An API key: Authorization: Bearer qk_...")
COOKIE = APIKeyCookie(name=cookies.NAME, auto_error=False, scheme_name="cookie", description="Set by signing in.")


@dataclass(frozen=True, slots=True)
class Principal:
    """The calling account, and how it authenticated."""

    account_id: str
    name: str
    may_create: bool
    via: Literal["cookie", "key"]
    only_project: str | None = None  # the only one that the key or the owner's link gives access to
    signed_in_by: str = ""  # how they signed in (`log`); stored with every event they make


@dataclass(frozen=True, slots=True, kw_only=True)
class Member(Principal):
    """A principal with a role in the project of the request."""

    role: Role


async def _schemes(_key: Annotated[object, Depends(BEARER)], _cookie: Annotated[object, Depends(COOKIE)]) -> None:
    """Declares the authentication schemes in OpenAPI; does nothing else."""


Token = Annotated[str | None, Depends(cookies.sent_token)]
Schemes = Annotated[None, Depends(_schemes)]


async def current(request: Request, token: Token, _schemes: Schemes = None) -> Principal:
    """The caller; 401 if nobody is signed in. A dependency."""
    return (await _identify(request, "", token))[0]


def member(*roles: Role) -> Callable[..., Coroutine[Any, Any, Member]]:
    """A dependency of paths with `project_id`: the caller, who must have one of `roles` (any if none are given)."""

    async def caller(request: Request, project_id: str, token: Token, _schemes: Schemes = None) -> Member:
        return await as_member(request, project_id, *roles, token=token)

    return caller


async def as_member(request: Request, project_id: str, *roles: Role, token: str | None = None) -> Member:
    """The caller as a member of this project: 401 if not signed in, 404 for non-members, 403 for another role.

    A sign-in to one project comes from a link that another owner has seen (`credentials.member_link`). It was made for
    a voter or reader, and is refused while the account is an owner there.
    """
    is_id = PROJECT_ID.fullmatch(project_id) is not None  # anything else is not looked up
    principal, role = await _identify(request, project_id if is_id else "", token)
    if role is None:
        rule = "the id of a project you are a member of"
        raise invalid("project_id", project_id[:40], rule, "List your projects to see it.", error=NotFound)
    if role == "owner" and principal.via == "cookie" and principal.only_project is not None:
        wrong = "you are an owner of this project now, and signed in by a link that was made for a voter or reader"
        fix = "ask the operator of the service for a link of your own: quorate service owner-link --account <id>."
        rule = "an owner signs in by a link that no other owner has seen"
        raise NotAllowed(wrong, fix, field="role", value=role, rule=rule)
    if roles and role not in roles:
        rule = " or ".join(sorted(roles))
        wrong, fix = f"this is for the role {rule}; you are {role} in this project", "ask an owner for another role."
        raise NotAllowed(wrong, fix, field="role", value=role, rule=rule)
    return Member(**asdict(principal), role=role)


async def creator(caller: Annotated[Principal, Depends(current)]) -> Principal:
    """The caller, if they may create projects; 403 otherwise. A dependency."""
    if not caller.may_create or caller.only_project is not None:
        wrong, fix = "this account or key may not create projects", "ask the operator of the service."
        rule = "an account that may create projects, and a key or sign-in for all its projects"
        raise NotAllowed(wrong, fix, field="account", value=caller.account_id, rule=rule)
    return caller


async def unrestricted(caller: Annotated[Principal, Depends(current)]) -> Principal:
    """The caller, if the credential is for all projects; 403 otherwise: one for a single project must not gain more."""
    if caller.only_project is not None:
        wrong, fix = "this key is for one project only", "sign in, or use a key without a project."
        if caller.via == "cookie":
            wrong = "you are signed in to one project only, by a link that its owner made"
            fix = "use a link of your own."
        rule = "a key or sign-in for all the account's projects"
        raise NotAllowed(wrong, fix, field="project_id", value=caller.only_project, rule=rule)
    return caller


def has_key(request: Request) -> bool:
    """Whether a request has an API key; any other scheme is meant for a proxy in front."""
    return request.headers.get("authorization", "").partition(" ")[0].lower() == "bearer"


async def _identify(request: Request, project_id: str, token: str | None) -> tuple[Principal, Role | None]:
    if has_key(request):
        key = request.headers["authorization"].partition(" ")[2].strip()
        return await _by_key(request, Credential("key", digest(key), project_id))
    session_id = cookies.session_id_of(request)
    if session_id is None:
        raise _not_signed_in("nobody is signed in", "sign in, or send an API key: Authorization: Bearer qk_...")
    return await _by_cookie(request, session_id, project_id, token)


async def _by_key(request: Request, credential: Credential) -> tuple[Principal, Role | None]:
    store, now = store_of(request), now_of(request)
    known = await _caller_batcher_of(request).submit(credential)
    if known is None:
        raise _not_signed_in("this API key is unknown or was revoked", "make a new one.")
    row = known.row
    if credentials.is_use_to_note(row.used, now):
        with suppress(StoreUnavailable):  # a full disk must not prevent reading
            await run_in_threadpool(credentials.note_use, store, row.key_id, now=now)
    who = Principal(row.id, row.name, row.may_create, "key", row.project_id, f"key {row.key_id}")
    return who, known.role


async def _by_cookie(
    request: Request, session_id: str, project_id: str, token: str | None
) -> tuple[Principal, Role | None]:
    store, now = store_of(request), now_of(request)
    credential = Credential("cookie", digest(session_id), project_id, cookies.key_of(session_id))
    known = await _caller_batcher_of(request).submit(credential)
    if known is None or known.row.expires <= now:
        raise _not_signed_in("you were signed out, or your sign-in has expired", "use a new link.")
    cookies.check_csrf(request, session_id, token)
    row = known.row
    if cookies.is_to_extend(row.created, row.expires, now):
        with suppress(StoreUnavailable):
            await run_in_threadpool(cookies.extend, store, session_id, created=row.created, now=now)
    may_create = row.may_create and row.project_id is None
    how = row.signed_in_by or "cookie"
    return Principal(row.id, row.name, may_create, "cookie", row.project_id, how), known.role


def _caller_batcher_of(request: Request) -> MicroBatcher[Credential, KnownCaller | None]:
    """Looks up the callers of concurrent requests together."""
    return kept(request, "callers", lambda: MicroBatcher(partial(look_up, store_of(request))))


def _not_signed_in(wrong: str, fix: str) -> NotSignedIn:
    return NotSignedIn(wrong, fix, field="Authorization", rule="the cookie of a valid sign-in, or a valid API key")
