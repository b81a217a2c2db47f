"""Accounts, the names people give, and each account's role in a project: owner, voter or reader. No passwords."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Literal, get_args

from sqlalchemy import ColumnElement, Connection, insert, select, update

from quorate.validate import invalid
from quorate_service.access import new_id
from quorate_service.access.cookies import end_sign_ins
from quorate_service.access.log import note
from quorate_service.problems import NotAllowed, NotFound
from quorate_service.store import Store
from quorate_service.store.bulk import upsert
from quorate_service.store.schema import accounts, memberships, projects

LONGEST = 80
BIDI = set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")  # would change how the text around a name is shown
Role = Literal["owner", "senior", "voter", "reader"]
ROLES: tuple[Role, ...] = get_args(Role)
VOTING: tuple[Role, ...] = ("owner", "senior", "voter")
ADJUDICATING: tuple[Role, ...] = ("owner", "senior")


def checked_name(name: str, *, where: str = "name") -> str:
    """The name, trimmed and in normal form: 1 to LONGEST characters, none invisible.

    >>> checked_name("  Robin Reader ")
    'Robin Reader'
    """
    if not isinstance(name, str):
        raise invalid(where, name, "text", "pass a name.")
    trimmed = unicodedata.normalize("NFC", " ".join(name.split()))
    if not 1 <= len(trimmed) <= LONGEST:
        fix = f"choose another: this one has {len(trimmed)}." if trimmed else "write one."
        raise invalid(where, trimmed, f"1 to {LONGEST} characters", fix)
    odd = next((char for char in trimmed if unicodedata.category(char) in ("Cc", "Cs") or char in BIDI), None)
    if odd is not None:
        raise invalid(where, trimmed, f"visible characters only, not {odd!a}", "leave it out.")
    if all(unicodedata.category(char) in ("Cf", "Mn", "Zs") for char in trimmed):
        raise invalid(where, trimmed, "at least one visible character", "write a name.")
    return trimmed


@dataclass(frozen=True, slots=True)
class Account:
    """A person or program; `may_create`: projects."""

    id: str
    name: str
    may_create: bool
    created: float
    disabled: float | None


@dataclass(frozen=True, slots=True)
class Membership:
    """An account's role in a project."""

    project_id: str
    account_id: str
    name: str
    role: Role
    created: float


def checked_role(role: str) -> Role:
    """The role, or an error that lists the valid ones.

    >>> checked_role("voter")
    'voter'
    """
    if role not in ROLES:
        raise invalid("role", str(role)[:40], f"one of {', '.join(ROLES)}", "choose one.")
    return role


def create_account(store: Store, name: str, *, may_create: bool = False, now: float) -> Account:
    """Create an account, without any project."""
    with store.write() as connection:
        return insert_account(connection, name, may_create=may_create, now=now)


def insert_account(
    connection: Connection, name: str, *, may_create: bool = False, account_id: str | None = None, now: float
) -> Account:
    """Create an account, within a write transaction."""
    account = Account(account_id or new_id(), checked_name(name), may_create, now, None)
    connection.execute(insert(accounts).values(id=account.id, name=account.name, may_create=may_create, created=now))
    return account


def load_account(store: Store, account_id: str) -> Account:
    """An account by its id."""
    with store.read() as connection:
        return _account(connection, account_id)


def list_accounts(store: Store) -> list[Account]:
    """All accounts in order of their ids, for the operator."""
    with store.read() as connection:
        return [Account(*row) for row in connection.execute(select(accounts).order_by(accounts.c.id))]


def disable_account(store: Store, account_id: str, *, now: float) -> Account:
    """Disable an account at once: its sign-ins end and its keys are refused; its votes stay."""
    with store.write() as connection:
        end_sign_ins(connection, account_id, now=now)
        account = _set_disabled(connection, account_id, now)
        note(connection, "account disabled", account_id=account_id, by=None, now=now)
        return account


def enable_account(store: Store, account_id: str, *, now: float) -> Account:
    """Enable an account again: its keys work, and a new link can be made."""
    with store.write() as connection:
        account = _set_disabled(connection, account_id, None)
        note(connection, "account enabled", account_id=account_id, by=None, now=now)
        return account


def enrol(
    connection: Connection,
    project_id: str,
    account_id: str,
    *,
    role: Role,
    by: str | None = None,
    now: float,
    **details: object,
) -> None:
    """Make an account a member, or change the role of a current or former member, within a write transaction.

    `by`: the account that does it; None: the operator. `details` are written to the access log.
    """
    before = role_in(connection, project_id, account_id)
    row = {"project_id": project_id, "account_id": account_id, "role": role, "created": now, "removed": None}
    statement = upsert(connection, memberships).values(row)
    keys = [memberships.c.project_id, memberships.c.account_id]
    connection.execute(statement.on_conflict_do_update(index_elements=keys, set_={"role": role, "removed": None}))
    details |= {"role": role, "before": before}
    note(connection, "role", project_id=project_id, account_id=account_id, by=by, now=now, **details)


def add_member(
    store: Store, project_id: str, account_id: str, *, role: str, by: str | None = None, now: float
) -> Membership:
    """Make an account a member of a project, or change its role; the last owner cannot be demoted."""
    role = checked_role(role)
    with store.write() as connection:
        _lock(connection, project_id)
        account = _account(connection, account_id)
        if role != "owner":
            _keep_an_owner(connection, project_id, account_id)
        enrol(connection, project_id, account_id, role=role, by=by, now=now)
        return Membership(project_id, account_id, account.name, role, now)


def change_role(
    store: Store, project_id: str, account_id: str, *, role: str, by: str | None = None, now: float
) -> None:
    """Change the role of a member; NotFound for others. The last owner cannot be demoted."""
    role = checked_role(role)
    with store.write() as connection:
        _lock(connection, project_id)
        member_in(connection, project_id, account_id)
        if role != "owner":
            _keep_an_owner(connection, project_id, account_id)
        enrol(connection, project_id, account_id, role=role, by=by, now=now)


def remove_member(store: Store, project_id: str, account_id: str, *, by: str | None = None, now: float) -> None:
    """End a membership: the account no longer sees the project; its votes stay. The last owner cannot be removed."""
    with store.write() as connection:
        _lock(connection, project_id)
        _keep_an_owner(connection, project_id, account_id)
        here = (memberships.c.project_id == project_id) & (memberships.c.account_id == account_id)
        active = here & memberships.c.removed.is_(None)
        done = connection.execute(update(memberships).where(active).values(removed=now))
        if done.rowcount == 0:
            raise _no_member(account_id)
        note(connection, "member removed", project_id=project_id, account_id=account_id, by=by, now=now)


def list_members(store: Store, project_id: str, *, after: str = "", limit: int | None = None) -> list[Membership]:
    """The project's members in order of their ids; `after` is the last id of the page before."""
    return _memberships(
        store, memberships.c.project_id == project_id, memberships.c.account_id, after=after, limit=limit
    )


def memberships_of(
    store: Store, account_id: str, *, only: str | None = None, after: str = "", limit: int | None = None
) -> list[Membership]:
    """The projects an account is in (`only` this one, if given), in order of their ids."""
    mine = memberships.c.account_id == account_id
    which = mine if only is None else mine & (memberships.c.project_id == only)
    return _memberships(store, which, memberships.c.project_id, after=after, limit=limit)


def role_in(connection: Connection, project_id: str, account_id: str) -> Role | None:
    """The current role of an account in a project; None if it is not a member."""
    here = (memberships.c.project_id == project_id) & (memberships.c.account_id == account_id)
    role = connection.scalar(select(memberships.c.role).where(here, memberships.c.removed.is_(None)))
    return None if role is None else checked_role(role)


def member_in(connection: Connection, project_id: str, account_id: str) -> tuple[Account, Role]:
    """A member of a project and their role; NotFound for others."""
    role = role_in(connection, project_id, account_id)
    if role is None:
        raise _no_member(account_id)
    return _account(connection, account_id), role


def _memberships(
    store: Store, whose: ColumnElement[bool], by: ColumnElement[str], *, after: str, limit: int | None
) -> list[Membership]:
    columns = (memberships.c.project_id, memberships.c.account_id, accounts.c.name)
    query = select(*columns, memberships.c.role, memberships.c.created).join(accounts)
    page = query.where(whose, memberships.c.removed.is_(None), by > after).order_by(by).limit(limit)
    with store.read() as connection:
        return [Membership(*row) for row in connection.execute(page)]


def _account(connection: Connection, account_id: str) -> Account:
    row = connection.execute(select(accounts).where(accounts.c.id == account_id)).one_or_none()
    if row is None:
        raise invalid("account", account_id[:40], "the id of an account", "list them to see it.", error=NotFound)
    return Account(*row)


def _no_member(account_id: str) -> NotFound:
    return invalid("account", account_id[:40], "a member of this project", "list its members.", error=NotFound)


def _set_disabled(connection: Connection, account_id: str, when: float | None) -> Account:
    connection.execute(update(accounts).where(accounts.c.id == account_id).values(disabled=when))
    return _account(connection, account_id)


def _lock(connection: Connection, project_id: str) -> None:
    """Serialise changes to a project's members; votes, which refer to the project's row, do not wait for it."""
    query = select(projects.c.id).where(projects.c.id == project_id).with_for_update(key_share=True)
    if connection.scalar(query) is None:
        raise invalid("project_id", project_id[:40], "the id of a project", "list them to see it.", error=NotFound)


def _keep_an_owner(connection: Connection, project_id: str, account_id: str) -> None:
    """Raise NotAllowed if the account is the project's only owner."""
    owns = (memberships.c.project_id == project_id) & (memberships.c.role == "owner") & memberships.c.removed.is_(None)
    owners = set(connection.scalars(select(memberships.c.account_id).where(owns)))
    if owners == {account_id}:
        raise NotAllowed(
            "this is the project's only owner", "make somebody else an owner first.", field="account",
            value=account_id, rule="every project has an owner",
        )  # fmt: skip
