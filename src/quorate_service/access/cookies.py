"""Two signed cookies (the sign-in, and the browser's record of who signed in with it), their key, and the origin check.

A sign-in is a random id in a signed cookie; table `sign_ins` holds its digest. Both must match: somebody who reads the
database (a backup) has the signing key but no id, somebody who forges an id has no signature. A sign-in lasts IDLE
after its last use, at most LONGEST. This is long because there are no passwords, and a voter who joined again would
count as a second person.

The browser's id stays after signing out; table `browsers` holds its digest and the accounts that signed in there. By
itself it signs nobody in. With an invitation it does, but never owners or accounts that may create projects.

Against cross-site request forgery, `principal` calls `same_origin` for every unsafe request that is signed in by a
cookie. Requests with an API key are exempt, because browsers do not add one by themselves. Forms that need no sign-in
(links, invitations) depend on it, too.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from hashlib import sha256
from typing import NamedTuple
from urllib.parse import urlsplit

from fastapi import Request, Response
from itsdangerous import BadSignature, Signer
from sqlalchemy import ColumnElement, Connection, insert, select, update

from quorate.validate import invalid
from quorate_service.access import LONGEST_SECRET, digest, new_secret
from quorate_service.access.log import note
from quorate_service.access.request_context import config_of, is_secure, kept, last_value, now_of, store_of
from quorate_service.problems import NotOurPage
from quorate_service.store import Store
from quorate_service.store.bulk import upsert
from quorate_service.store.schema import accounts, browsers, links, memberships, secrets, sign_ins

ENVIRONMENT = "QUORATE_SECRET"
SHORTEST_KEY = 32
NAME = "quorate"  # behind the prefix __Host- when secure
DAY = 86400.0
IDLE = 90 * DAY
LONGEST = 400 * DAY  # browsers keep cookies no longer
OWNERS = select(memberships.c.account_id).where(memberships.c.role == "owner", memberships.c.removed.is_(None))
SAFE = ("GET", "HEAD", "OPTIONS")


def signing_key(store: Store, *, now: float, environment: Mapping[str, str] = os.environ) -> bytes:
    """The key that signs cookies: QUORATE_SECRET, or the one stored in the database, made if there is none."""
    key = environment.get(ENVIRONMENT)
    if key is None:
        return _stored_key(store, now=now).encode()
    if len(key) < SHORTEST_KEY:
        rule = f"at least {SHORTEST_KEY} characters"
        fix = 'Make one: python -c "import secrets; print(secrets.token_urlsafe(32))"; or unset it.'
        raise invalid(ENVIRONMENT, f"{len(key)} characters", rule, fix)
    return key.encode("utf-8", "surrogateescape")


def _stored_key(store: Store, *, now: float) -> str:
    query = select(secrets.c.value).where(secrets.c.name == "cookies")
    with store.read() as connection:
        value = connection.scalar(query)
    if value is None:
        with store.write() as connection:
            fresh = {"name": "cookies", "value": new_secret(), "created": now}
            connection.execute(upsert(connection, secrets).values(fresh).on_conflict_do_nothing())
            value = connection.scalar(query)  # another worker's, if it was first
    return str(value)


def sign(key: bytes, text: str) -> str:
    """The text with its signature.

    >>> signed = sign(b"k" * 32, "id")
    >>> signed[:3], unsign(b"k" * 32, signed), unsign(b"x" * 32, signed), unsign(b"k" * 32, "id.forged")
    ('id.', 'id', None, None)
    """
    return _signer(key).sign(text).decode()


def unsign(key: bytes, signed: str) -> str | None:
    """The text that was signed; None if this key did not sign it."""
    try:
        return _signer(key).unsign(signed[: 2 * LONGEST_SECRET].encode("utf-8", "replace")).decode()
    except (BadSignature, UnicodeDecodeError):
        return None


def _signer(key: bytes) -> Signer:
    return Signer(key, salt="quorate.sign-in", key_derivation="hmac", digest_method=sha256)


def open_sign_in(connection: Connection, account_id: str, *, how: str, joined: str | None = None, now: float) -> str:
    """Sign an account in, within a write transaction; returns the id for the cookie (`set_cookie`).

    `how` they signed in (`log`) is stored with the sign-in, with every event made by it, and in the access log: of the
    project `joined`, else of the account.
    """
    session_id = new_secret()
    row = {"digest": digest(session_id), "account_id": account_id, "created": now, "expires": now + IDLE}
    connection.execute(insert(sign_ins).values(row | {"signed_in_by": how}))
    note(connection, "sign-in", project_id=joined, account_id=account_id, by=account_id, now=now, how=how)
    return session_id


def extend(store: Store, session_id: str, *, created: float, now: float) -> None:
    """Extend a sign-in: IDLE from now, at most LONGEST in all."""
    until = min(now + IDLE, created + LONGEST)
    with store.write() as connection:
        connection.execute(update(sign_ins).where(sign_ins.c.digest == digest(session_id)).values(expires=until))


def is_to_extend(created: float, expires: float, now: float) -> bool:
    """Whether to extend a sign-in: at most once a day, so that requests seldom write.

    >>> is_to_extend(0.0, IDLE, 0.5 * DAY), is_to_extend(0.0, IDLE, 2 * DAY), is_to_extend(0.0, LONGEST, 399 * DAY)
    (False, True, False)
    """
    return min(now + IDLE, created + LONGEST) - expires > DAY


def sign_out(store: Store, session_id: str, *, now: float) -> None:
    """Revoke this sign-in."""
    with store.write() as connection:
        _revoke(connection, sign_ins.c.digest == digest(session_id), now=now)


def sign_out_everywhere(store: Store, account_id: str, *, now: float) -> None:
    """Revoke every sign-in and every sign-in link of an account: after a lost phone, for example."""
    with store.write() as connection:
        end_sign_ins(connection, account_id, now=now)


def end_sign_ins(connection: Connection, account_id: str, *, now: float) -> None:
    """The same, within a write transaction; browsers forget the account, too."""
    _revoke(connection, sign_ins.c.account_id == account_id, now=now)
    end_links(connection, account_id, now=now)
    remembering = (browsers.c.account_id == account_id, browsers.c.ended.is_(None))
    connection.execute(update(browsers).where(*remembering).values(ended=now))


def end_links(connection: Connection, account_id: str, *, now: float) -> None:
    """Expire the unused sign-in links of an account, within a write transaction."""
    unused = (links.c.account_id == account_id, links.c.used.is_(None), links.c.expires > now)
    connection.execute(update(links).where(*unused).values(expires=now))


def _revoke(connection: Connection, which: ColumnElement[bool], *, now: float) -> None:
    connection.execute(update(sign_ins).where(which, sign_ins.c.revoked.is_(None)).values(revoked=now))


def cookie_name(request: Request) -> str:
    """The cookie's name; with `__Host-`, browsers refuse a cookie set by another host or over plain http."""
    return f"__Host-{NAME}" if is_secure(request.scope) else NAME


def set_cookie(request: Request, response: Response, session_id: str) -> None:
    """Set the sign-in cookie."""
    _set_signed(request, response, cookie_name(request), session_id)


def _set_signed(request: Request, response: Response, name: str, text: str) -> None:
    value, secure = sign(signing_key_of(request), text), is_secure(request.scope)
    response.set_cookie(name, value, max_age=int(LONGEST), path="/", secure=secure, httponly=True, samesite="lax")


def _signed_text(request: Request, name: str) -> str | None:
    """The text in a cookie; None if it is missing or not signed by us."""
    value = request.cookies.get(name)
    return unsign(signing_key_of(request), value) if value else None


def clear_cookie(request: Request, response: Response) -> None:
    """Delete the sign-in cookie."""
    secure = is_secure(request.scope)
    response.delete_cookie(cookie_name(request), path="/", secure=secure, httponly=True, samesite="lax")


def session_id_of(request: Request) -> str | None:
    """The id in the request's cookie; None if it is missing or not signed by us. The database is not read."""
    return _signed_text(request, cookie_name(request))


def signing_key_of(request: Request) -> bytes:
    """The signing key of the app; read once by each worker."""
    return kept(request, "signing_key", lambda: signing_key(store_of(request), now=now_of(request)))


class Remembered(NamedTuple):
    """An account that signed in with a browser before. `may_return`: an invitation suffices to sign it in again."""

    account_id: str
    name: str
    signed_in_by: str
    may_return: bool


def browser_cookie_name(request: Request) -> str:
    """The name of the browser's cookie, prefixed like that of the sign-in."""
    return f"{cookie_name(request)}-browser"


def browser_of(request: Request) -> str | None:
    """The id of the request's browser; None if it is missing or not signed by us."""
    text = _signed_text(request, browser_cookie_name(request))
    return text.removeprefix("browser:") if text and text.startswith("browser:") else None


def remember(request: Request, response: Response, account_id: str, *, how: str) -> None:
    """Store that this account signed in with the browser, and set the browser's cookie. The first `how` is kept."""
    browser, now = browser_of(request) or new_secret(), now_of(request)
    row = {"digest": digest(browser), "account_id": account_id, "signed_in_by": how, "seen": now, "ended": None}
    with store_of(request).write() as connection:
        statement = upsert(connection, browsers).values(row)
        keys = [browsers.c.digest, browsers.c.account_id]
        connection.execute(statement.on_conflict_do_update(index_elements=keys, set_={"seen": now, "ended": None}))
    _set_signed(request, response, browser_cookie_name(request), f"browser:{browser}")


def remembered(connection: Connection, browser: str | None) -> list[Remembered]:
    """Every account that signed in with this browser, the latest first."""
    if browser is None:
        return []
    may = (browsers.c.ended.is_(None), accounts.c.disabled.is_(None), ~accounts.c.may_create)
    columns = (accounts.c.id, accounts.c.name, browsers.c.signed_in_by)
    query = select(*columns, *may, accounts.c.id.not_in(OWNERS))
    query = query.join(browsers, browsers.c.account_id == accounts.c.id).where(browsers.c.digest == digest(browser))
    rows = connection.execute(query.order_by(browsers.c.seen.desc(), accounts.c.id)).all()
    return [Remembered(row[0], row[1], row[2], all(row[3:])) for row in rows]


def sharing_browsers(connection: Connection, project_id: str) -> dict[str, list[str]]:
    """For each member of the project, the names of other current or former members who used the same browser."""
    other, theirs = browsers.alias(), memberships.alias()
    query = (
        select(browsers.c.account_id, accounts.c.name)
        .distinct()
        .join(other, (other.c.digest == browsers.c.digest) & (other.c.account_id != browsers.c.account_id))
        .join(memberships, memberships.c.account_id == browsers.c.account_id)
        .join(theirs, theirs.c.account_id == other.c.account_id)
        .join(accounts, accounts.c.id == other.c.account_id)
        .where(memberships.c.project_id == project_id, theirs.c.project_id == project_id)
        .where(memberships.c.removed.is_(None))
    )
    sharing: dict[str, list[str]] = {}
    for account_id, name in connection.execute(query.order_by(accounts.c.name)):
        sharing.setdefault(account_id, []).append(name)
    return sharing


def same_origin(request: Request) -> None:
    """Raise 403 for an unsafe request that does not come from one of our own pages; a dependency of forms.

    Browsers send Sec-Fetch-Site, or over plain http Origin. A request with neither is accepted only without a cookie:
    it is from a program, e.g. `curl --data 'name=Ada' LINK`.
    """
    if request.method in SAFE:
        return
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is not None:
        if site not in ("same-origin", "none"):
            raise _elsewhere("Sec-Fetch-Site", site)
    elif origin is not None:
        if not _is_ours(request, origin):
            raise _elsewhere("Origin", origin[:200])
    elif cookie_name(request) in request.cookies:
        wrong, rule = (
            "a request with a cookie has neither Sec-Fetch-Site nor Origin",
            "one of them, as browsers send it",
        )
        raise NotOurPage(wrong, "programs send an API key instead of a cookie.", field="Origin", rule=rule)


def _is_ours(request: Request, origin: str) -> bool:
    config = config_of(request.scope)
    try:
        scheme, host = urlsplit(origin)[:2]
    except ValueError:
        return False
    if not host or (is_secure(request.scope) and scheme != "https"):
        return False
    forwarded = last_value(request.scope, b"x-forwarded-host") if config.trust_proxy else None
    ours = {request.headers.get("host"), forwarded, urlsplit(config.base_url or "").netloc}
    return host.lower() in {name.lower() for name in ours if name}


def _elsewhere(header: str, value: str) -> NotOurPage:
    wrong = f"the browser says that this request comes from another site ({header}: {value})"
    rule = "requests that change something come from this service's own pages"
    fix = "open the service's page and try again; behind a proxy, set the service's base URL."
    return NotOurPage(wrong, fix, field=header, value=value, rule=rule)
