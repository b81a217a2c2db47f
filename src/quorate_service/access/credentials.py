"""Links that work once, and API keys for programs. Only digests are stored; a link or key is shown once.

There are links for the first owner (printed at the first start), and to sign in on another device. Opening a link
(`look_at_link`) changes nothing, so a chat preview does not use it up; only the form on its page does (`use_link`). A
key acts as its account, in all the account's projects or in one. `new_link` and `new_key` are for the command line,
whose user has access to the database anyway.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import Connection, Row, insert, or_, select, update

from quorate.validate import invalid
from quorate_service.access import digest, new_id, new_secret
from quorate_service.access.accounts import Account, checked_name, list_accounts, load_account
from quorate_service.access.cookies import end_links, open_sign_in
from quorate_service.access.log import OPERATORS_LINK, OWN_LINK, note
from quorate_service.problems import LinkOver, NotFound, UnknownLink
from quorate_service.store import Store
from quorate_service.store.bulk import upsert
from quorate_service.store.schema import accounts, api_keys, links, memberships, secrets

PATH = "/link/"
FIRST_OWNER = "first"  # the id of the first owner's account; being fixed, it cannot be created twice concurrently
FIRST_LASTS = 24 * 3600.0
SIGN_IN_LASTS = 15 * 60.0
ASK = "ask for a new one."
USED = ("this link was used already, and links work once", ASK)
PREFIX = "qk_"
ADDRESS = "address"  # in the table of secrets
SHOWN = 8  # first characters of a key, stored so that its owner recognises it
USED_EVERY = 60.0  # seconds between updates of a key's last use, so that requests seldom write


@dataclass(frozen=True, slots=True)
class Link:
    """A link that can still be used; `account_id` None: it creates the first owner."""

    account_id: str | None
    name: str | None
    expires: float


@dataclass(frozen=True, slots=True)
class SignedIn:
    """An account, and the id for its cookie (`cookies.set_cookie`)."""

    account_id: str
    session_id: str
    how: str  # how it signed in (`log`)
    project_id: str | None = None  # the project joined


def remember_address(store: Store, base_url: str, *, now: float) -> None:
    """Store the address of the service, for links made on the command line."""
    row = {"name": ADDRESS, "value": base_url, "created": now}
    with store.write() as connection:
        statement = upsert(connection, secrets).values(row)
        connection.execute(statement.on_conflict_do_update(index_elements=["name"], set_=row))


def address_of(store: Store) -> str | None:
    """The address at which the service was last started; None: it never was."""
    with store.read() as connection:
        return connection.scalar(select(secrets.c.value).where(secrets.c.name == ADDRESS))


def first_owner_link(store: Store, base_url: str, *, now: float) -> str | None:
    """A link that creates the first owner, who may create projects; None once there is any account."""
    with store.write() as connection:
        if _has_accounts(connection):
            return None
        return _new_link(connection, None, base_url, expires=now + FIRST_LASTS, now=now)


def sign_in_link(store: Store, account_id: str, base_url: str, *, by: str | None = None, now: float) -> str:
    """A link that signs this account in on another device; replaces earlier ones. Whoever has it can use the account.

    `by`: the account that makes it; None: the operator.
    """
    _refuse_disabled(load_account(store, account_id))
    with store.write() as connection:
        end_links(connection, account_id, now=now)
        return _new_link(connection, account_id, base_url, by=by, expires=now + SIGN_IN_LASTS, now=now)


def look_at_link(store: Store, token: str, *, now: float) -> Link:
    """What the link is for, without using it up; LinkOver or UnknownLink if it is not valid."""
    with store.read() as connection:
        row = _usable(connection, token, now=now)
        name = connection.scalar(select(accounts.c.name).where(accounts.c.id == row.account_id))
        return Link(row.account_id, name, row.expires)


def use_link(store: Store, token: str, *, name: str | None = None, now: float) -> SignedIn:
    """Use the link up and sign in; `name` is the first owner's name. Of concurrent attempts, one succeeds."""
    with store.write() as connection:
        row = _usable(connection, token, now=now, lock=True)
        connection.execute(update(links).where(links.c.digest == row.digest).values(used=now))
        account_id = row.account_id or _first_owner(connection, name or "", now=now)
        how = OWN_LINK if row.made_by == account_id else OPERATORS_LINK
        session_id = open_sign_in(connection, account_id, how=how, now=now)
        return SignedIn(account_id, session_id, how)


def _refuse_disabled(account: Account) -> None:
    if account.disabled is not None:
        raise invalid("account", account.id, "one that is not disabled", "enable it first.", error=NotFound)


def _first_owner(connection: Connection, name: str, *, now: float) -> str:
    row = {"id": FIRST_OWNER, "name": checked_name(name), "may_create": True, "created": now}
    made = upsert(connection, accounts).values(row).on_conflict_do_nothing().returning(accounts.c.id)
    if connection.scalar(made) is None:
        raise LinkOver(*USED)  # another first-owner link was used concurrently
    return FIRST_OWNER


def _new_link(
    connection: Connection,
    account_id: str | None,
    base_url: str,
    *,
    by: str | None = None,
    expires: float,
    now: float,
) -> str:
    token = new_secret()
    row = {"digest": digest(token), "account_id": account_id, "created": now, "expires": expires}
    connection.execute(insert(links).values(row | {"made_by": by}))
    note(connection, "link made", account_id=account_id, by=by, now=now, expires=expires)
    return base_url.rstrip("/") + PATH + token


def _usable(connection: Connection, token: str, *, now: float, lock: bool = False) -> Row[Any]:
    query = select(links).where(links.c.digest == digest(token))
    row = connection.execute(query.with_for_update() if lock else query).one_or_none()
    if row is None:
        raise UnknownLink("this link is not one of this service", "copy it from the first character to the last.")
    if row.used is not None or (row.account_id is None and _has_accounts(connection)):
        raise LinkOver(*USED)
    if row.expires <= now:
        raise LinkOver("this link has expired, or was replaced by a newer one", ASK)
    return row


def _has_accounts(connection: Connection) -> bool:
    return connection.scalar(select(accounts.c.id).limit(1)) is not None


def new_link(store: Store, base_url: str, *, account: str | None = None, now: float) -> str:
    """A link for the account with this id, by default the only one that may create projects, or the first owner's."""
    first = first_owner_link(store, base_url, now=now) if account is None else None
    return first or sign_in_link(store, account or _only_owner(store), base_url, now=now)


def new_key(store: Store, name: str, *, account: str | None = None, now: float) -> str:
    """An API key for all projects of the account with this id, by default the only one that may create projects."""
    return create_key(store, account or _only_owner(store), name=name, now=now)[1]


def _only_owner(store: Store) -> str:
    owners = [account for account in list_accounts(store) if account.may_create and account.disabled is None]
    if len(owners) == 1:
        return owners[0].id
    if not owners:
        fix = (
            "open the link that `quorate serve` prints first, or, without a browser, send a name to it: "
            "curl --data 'name=Ada' LINK. `quorate service owner-link` prints a new one."
        )
        raise invalid("account", None, "the id of an account that may create projects; there is none yet", fix)
    names = ", ".join(f"{owner.id} ({owner.name})" for owner in owners[:20])
    rule, fix = f"one of the {len(owners)} accounts that may create projects: {names}", "say which with `account`."
    raise invalid("account", None, rule, fix)


@dataclass(frozen=True, slots=True)
class ApiKey:
    """What is stored of a key; not the key itself."""

    id: str
    account_id: str
    project_id: str | None
    name: str
    start: str
    created: float
    used: float | None
    revoked: float | None


COLUMNS = tuple(api_keys.c[name] for name in ApiKey.__dataclass_fields__)


def create_key(
    store: Store, account_id: str, *, name: str, project_id: str | None = None, by: str | None = None, now: float
) -> tuple[ApiKey, str]:
    """Create a key of an account, for all its projects or for one; returns its record and the key, shown only once.

    `by`: the account that makes it; None: the operator.
    """
    secret = new_secret(PREFIX)
    key = ApiKey(new_id(), account_id, project_id, checked_name(name), secret[:SHOWN], now, None, None)
    with store.write() as connection:
        may = select(accounts.c.id).where(accounts.c.id == account_id, accounts.c.disabled.is_(None))
        if project_id is not None:
            here = (memberships.c.account_id == accounts.c.id) & (memberships.c.project_id == project_id)
            may = may.join(memberships, here).where(memberships.c.removed.is_(None))
        if connection.scalar(may) is None:
            rule = "a project that the account is a member of"
            where = f"account {account_id}"
            raise invalid("project_id", project_id, rule, "check both ids.", place=where, error=NotFound)
        connection.execute(insert(api_keys).values(asdict(key) | {"digest": digest(secret)}))
        details = _told(key.id, key.name, project_id)
        note(connection, "key made", project_id=project_id, account_id=account_id, by=by, now=now, **details)
    return key, secret


def list_keys(store: Store, account_id: str, *, after: str = "", limit: int | None = None) -> list[ApiKey]:
    """The account's keys in order of their ids, including revoked ones; `after` is the last id of the page before."""
    query = select(*COLUMNS).where(api_keys.c.account_id == account_id, api_keys.c.id > after)
    with store.read() as connection:
        return [ApiKey(*row) for row in connection.execute(query.order_by(api_keys.c.id).limit(limit))]


def revoke_key(store: Store, key_id: str, *, account_id: str, now: float) -> None:
    """Revoke a key for good; revoking it again does nothing."""
    mine = (api_keys.c.id == key_id) & (api_keys.c.account_id == account_id)
    with store.write() as connection:
        row = connection.execute(select(api_keys.c.project_id, api_keys.c.name).where(mine)).one_or_none()
        if row is None:
            raise invalid("key", key_id, "the id of one of your own keys", "list them to see it.", error=NotFound)
        ended = update(api_keys).where(mine, api_keys.c.revoked.is_(None)).values(revoked=now)
        if connection.execute(ended).rowcount:
            whose = {"project_id": row.project_id, "account_id": account_id, "by": account_id}
            note(connection, "key revoked", **whose, now=now, **_told(key_id, row.name, row.project_id))


def _told(key_id: str, name: str, project_id: str | None) -> dict[str, str]:
    """What the log says about a key; that of one for all projects is in the log of each, so its name stays private."""
    return {"key": key_id} | ({} if project_id is None else {"name": name})


def note_use(store: Store, key_id: str, *, now: float) -> None:
    """Store when the key was last used; at most once in USED_EVERY seconds, also with concurrent requests."""
    with store.write() as connection:
        connection.execute(
            update(api_keys)
            .where(api_keys.c.id == key_id, or_(api_keys.c.used.is_(None), api_keys.c.used <= now - USED_EVERY))
            .values(used=now)
        )


def is_use_to_note(used: float | None, now: float) -> bool:
    """Whether `note_use` has anything to write.

    >>> is_use_to_note(None, 5.0), is_use_to_note(5.0, 64.0), is_use_to_note(5.0, 66.0)
    (True, False, True)
    """
    return used is None or used <= now - USED_EVERY
