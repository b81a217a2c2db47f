"""Browsers that remember who signed in with them, so that who comes back by an invitation is the same person.

A second signed cookie holds a random id, which stays when its owner signs out; its digest is in table `browsers` with
the accounts that signed in there. It lets nobody in by itself: only together with an invitation (`invitations`), and
never an account that owns or may create projects. Called by `cookies`, `invitations` and pages.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from fastapi import Request, Response
from sqlalchemy import Connection, case, select

from quorate.service.access.cookies import LONGEST, NAME, signing_key_of
from quorate.service.access.request_context import is_secure, now_of, store_of
from quorate.service.access.tokens import digest, new_secret, sign, unsign
from quorate.service.store.bulk import upsert
from quorate.service.store.schema import accounts, browsers, memberships

OWNERS = select(memberships.c.account_id).where(memberships.c.role == "owner", memberships.c.removed.is_(None))


class Remembered(NamedTuple):
    """An account that signed in with a browser before. `may_return`: an invitation is enough to sign it in again."""

    account_id: str
    name: str
    only_project: str | None
    signed_in_by: str
    may_return: bool


def cookie_name(request: Request) -> str:
    """The cookie's name; prefixed as the sign-in's is."""
    return f"__Host-{NAME}-browser" if is_secure(request.scope) else f"{NAME}-browser"


def browser_of(request: Request) -> str | None:
    """The id of the request's browser; None if it has none, or we did not sign it."""
    value = request.cookies.get(cookie_name(request))
    found = unsign(signing_key_of(request), value) if value else None
    return found.removeprefix("browser:") if found and found.startswith("browser:") else None


def remember(
    request: Request, response: Response, account_id: str, *, how: str, only_project: str | None = None
) -> None:
    """Note that this account signed in with the browser, and give the browser its cookie.

    The first `how` is kept. A sign-in to all projects replaces that of one to a single project.
    """
    browser, now = browser_of(request) or new_secret(), now_of(request)
    row: dict[str, Any] = {"digest": digest(browser), "account_id": account_id, "project_id": only_project}
    row |= {"signed_in_by": how, "seen": now, "ended": None}
    with store_of(request).write() as connection:
        statement = upsert(connection, browsers).values(row)
        change: dict[str, Any] = {"seen": now, "ended": None}
        if only_project is None:
            first = case((browsers.c.project_id.is_(None), browsers.c.signed_in_by), else_=how)
            change |= {"project_id": None, "signed_in_by": first}
        keys = [browsers.c.digest, browsers.c.account_id]
        connection.execute(statement.on_conflict_do_update(index_elements=keys, set_=change))
    response.set_cookie(
        cookie_name(request), sign(signing_key_of(request), f"browser:{browser}"), max_age=int(LONGEST), path="/",
        secure=is_secure(request.scope), httponly=True, samesite="lax",
    )  # fmt: skip


def remembered(connection: Connection, browser: str | None) -> list[Remembered]:
    """Every account that signed in with this browser, the last one first."""
    if browser is None:
        return []
    may = (browsers.c.ended.is_(None), accounts.c.disabled.is_(None), ~accounts.c.may_create)
    told = (accounts.c.id, accounts.c.name, browsers.c.project_id, browsers.c.signed_in_by)
    query = select(*told, *may, accounts.c.id.not_in(OWNERS))
    query = query.join(browsers, browsers.c.account_id == accounts.c.id).where(browsers.c.digest == digest(browser))
    rows = connection.execute(query.order_by(browsers.c.seen.desc(), accounts.c.id)).all()
    return [Remembered(row[0], row[1], row[2], row[3], all(row[4:])) for row in rows]


def sharing_browsers(connection: Connection, project_id: str) -> dict[str, list[str]]:
    """For each member of the project, the names of other members, former ones too, who used the same browser."""
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
    found: dict[str, list[str]] = {}
    for account_id, name in connection.execute(query.order_by(accounts.c.name)):
        found.setdefault(account_id, []).append(name)
    return found
