"""API keys of an account, for programs: made, listed, revoked. Only the digest is kept; the key is shown once.

A key acts as its account, in all the account's projects or in one. Called by `api`; `principal` looks keys up.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import ColumnElement, insert, or_, select, update

from quorate.service.access.accounts import checked_name
from quorate.service.access.log import note
from quorate.service.access.refusals import NotFound
from quorate.service.access.tokens import digest, new_id, new_secret
from quorate.service.store.schema import accounts, api_keys, memberships
from quorate.service.store.store import Store
from quorate.validate import broken

PREFIX = "qk_"
SHOWN = 8  # first characters that are kept, to recognise a key by
USED_EVERY = 60.0  # seconds between notes of a key's use: requests seldom write


@dataclass(frozen=True, slots=True)
class ApiKey:
    """What is known of a key, for ever without the key itself."""

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
    """A new key of an account, in all its projects or in one: what is known of it, and the key, shown this once.

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
            raise NotFound(
                f"account={account_id!r} is not there, or no member of project={project_id!r}; check both ids.",
                field="project_id", value=project_id, rule="a project that the account is a member of",
                fix="check both ids.",
            )  # fmt: skip
        row = {column: getattr(key, column) for column in ApiKey.__dataclass_fields__}
        connection.execute(insert(api_keys).values(row | {"digest": digest(secret)}))
        # owners of other projects read of a key for all: its name is not for them
        told = {"key": key.id} | ({"name": key.name} if project_id is not None else {})
        note(connection, "key made", project_id=project_id, account_id=account_id, by=by, now=now, **told)
    return key, secret


def list_keys(store: Store, account_id: str, *, after: str = "", limit: int = 100) -> list[ApiKey]:
    """The account's keys in order of their ids, revoked ones too; `after` is the last id of the page before."""
    query = select(*COLUMNS).where(api_keys.c.account_id == account_id, api_keys.c.id > after)
    with store.read() as connection:
        return [ApiKey(*row) for row in connection.execute(query.order_by(api_keys.c.id).limit(limit))]


def revoke_key(store: Store, key_id: str, *, account_id: str, now: float) -> None:
    """Make a key worthless, for ever; twice is as good as once."""
    mine = (api_keys.c.id == key_id) & (api_keys.c.account_id == account_id)
    with store.write() as connection:
        row = connection.execute(select(api_keys.c.project_id).where(mine)).one_or_none()
        if row is None:
            raise broken("key", key_id, "the id of one of your own keys", "list them to see it.", error=NotFound)
        ended = update(api_keys).where(mine, api_keys.c.revoked.is_(None)).values(revoked=now)
        if connection.execute(ended).rowcount:
            where = row.project_id
            note(connection, "key revoked", project_id=where, account_id=account_id, by=account_id, now=now, key=key_id)


def note_use(store: Store, key_id: str, *, now: float) -> None:
    """Remember that the key was used; written once in USED_EVERY seconds, however many requests come at once."""
    with store.write() as connection:
        connection.execute(update(api_keys).where(api_keys.c.id == key_id, _is_stale(now)).values(used=now))


def is_use_to_note(used: float | None, now: float) -> bool:
    """Whether `note_use` has anything to write.

    >>> is_use_to_note(None, 5.0), is_use_to_note(5.0, 64.0), is_use_to_note(5.0, 66.0)
    (True, False, True)
    """
    return used is None or used <= now - USED_EVERY


def _is_stale(now: float) -> ColumnElement[bool]:
    return or_(api_keys.c.used.is_(None), api_keys.c.used <= now - USED_EVERY)
