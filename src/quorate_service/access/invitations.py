"""Invitations: links with which anybody can join a project as voter, senior or reader, until they end.

Opening one (`look`) does not count as a use; the form on the page does (`accept` creates an account, `join` takes a
signed-in one, `come_back` one that the browser remembers).
Uses are counted in the transaction that adds the member, so the limit holds exactly. Called by `api` and pages.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from sqlalchemy import Connection, Row, insert, select, update

from quorate.validate import bounded, invalid, whole
from quorate_service.access import digest, new_id, new_secret
from quorate_service.access.accounts import Role, checked_name, enrol, insert_account
from quorate_service.access.cookies import Remembered, open_sign_in, remembered
from quorate_service.access.credentials import SignedIn
from quorate_service.access.log import note
from quorate_service.problems import LinkOver, NotAllowed, NotFound, UnknownLink
from quorate_service.store import Store
from quorate_service.store.schema import accounts, invitations, memberships, projects

PATH = "/join/"
DAY = 86400.0
LASTS = 14 * DAY
LONGEST = 366 * DAY
INVITED: tuple[Role, ...] = ("voter", "senior", "reader")  # an owner makes a member an owner by changing the role
ASK_SENDER = "ask the person who sent it for a new one."
AGAIN = 600.0  # seconds within which the same form, sent again, is the same person


@dataclass(frozen=True, slots=True)
class Invitation:
    """What is stored of an invitation; not its link, which is shown only once."""

    id: str
    project_id: str
    role: Role
    name: str
    most_uses: int | None
    uses: int
    created: float
    expires: float
    revoked: float | None


COLUMNS = tuple(invitations.c[name] for name in Invitation.__dataclass_fields__)


def create_invitation(
    store: Store,
    project_id: str,
    base_url: str,
    *,
    role: str,
    name: str,
    lasts: float = LASTS,
    most_uses: int | None = None,
    by: str | None = None,
    now: float,
) -> tuple[Invitation, str]:
    """Create an invitation to a project; returns its record and the link, shown only once."""
    if role not in INVITED:
        raise invalid("role", str(role)[:40], f"one of {', '.join(INVITED)}", "choose one.")
    limit = None if most_uses is None else whole(most_uses, where="most_uses", most=100_000)
    expires = now + bounded(lasts, where="lasts", least=1.0, most=LONGEST)
    made = Invitation(new_id(), project_id, role, checked_name(name), limit, 0, now, expires, None)
    token = new_secret()
    with store.write() as connection:
        connection.execute(insert(invitations).values(asdict(made) | {"digest": digest(token)}))
        note(
            connection, "invitation made", project_id=project_id, by=by, now=now,
            invitation=made.id, name=made.name, role=role, most_uses=limit, expires=expires,
        )  # fmt: skip
    return made, base_url.rstrip("/") + PATH + token


def list_invitations(store: Store, project_id: str, *, after: str = "", limit: int | None = None) -> list[Invitation]:
    """The project's invitations in order of their ids, including ended ones."""
    query = select(*COLUMNS).where(invitations.c.project_id == project_id, invitations.c.id > after)
    with store.read() as connection:
        return [Invitation(*row) for row in connection.execute(query.order_by(invitations.c.id).limit(limit))]


def revoke_invitation(store: Store, project_id: str, invitation_id: str, *, by: str | None = None, now: float) -> None:
    """End an invitation; members who joined by it stay. Revoking it again does nothing."""
    which = (invitations.c.id == invitation_id) & (invitations.c.project_id == project_id)
    with store.write() as connection:
        if connection.scalar(select(invitations.c.id).where(which)) is None:
            fix = "list them to see it."
            raise invalid("invitation", invitation_id[:40], "one of this project's", fix, error=NotFound)
        ended = update(invitations).where(which, invitations.c.revoked.is_(None)).values(revoked=now)
        if connection.execute(ended).rowcount:
            note(connection, "invitation revoked", project_id=project_id, by=by, now=now, invitation=invitation_id)


@dataclass(frozen=True, slots=True)
class InvitationView:
    """A valid invitation, its project's name, and the accounts of this browser that may sign in again with it."""

    invitation: Invitation
    project_name: str
    known: tuple[Remembered, ...]


def look(store: Store, token: str, *, browser: str | None = None, now: float) -> InvitationView:
    """What the invitation is for, without counting a use; LinkOver or UnknownLink if it is not valid."""
    with store.read() as connection:
        row = _row(connection, token)
        accounts_here = [account for account in remembered(connection, browser) if account.may_return]
        members = [one for one in accounts_here if _membership(connection, row, one.account_id) == "member"]
        _refuse_ended(row, now=now, counted=not members)
        name = connection.scalar(select(projects.c.name).where(projects.c.id == row.project_id))
        invitation = Invitation(*(row._mapping[column] for column in Invitation.__dataclass_fields__))
        return InvitationView(invitation, str(name), tuple(members or accounts_here))


def form_id() -> str:
    """A random form field: the same form sent twice (a lost response, a double click) creates one account."""
    return new_secret()


def accept(
    store: Store, token: str, *, name: str, form: str | None = None, browser: str | None = None,
    me: str | None = None, now: float,
) -> SignedIn:  # fmt: skip
    """Join as a new account called `name`: creates the account, its membership and its sign-in, and counts a use.

    Refused if an owner removed, since the invitation was made, an account that this `browser` remembers or that is
    signed in (`me`).
    """
    with store.write() as connection:
        row = _row(connection, token, lock=True)
        account_id = digest(f"{digest(token)}:{form}")[:24] if form else new_id()
        if form and _just_made(connection, account_id, row.project_id, now=now):
            return _signed_in(connection, row, account_id, now=now)
        _refuse_ended(row, now=now)
        here = {account.account_id for account in remembered(connection, browser)} | ({me} if me else set())
        if any(_membership(connection, row, account_here) == "removed" for account_here in here):
            raise _removed()
        if connection.scalar(select(accounts.c.id).where(accounts.c.id == account_id)) is not None:
            account_id = new_id()  # the form was left open for longer than AGAIN: another person
        insert_account(connection, name, account_id=account_id, now=now)
        _count_in(connection, row, account_id, now=now)
        return _signed_in(connection, row, account_id, now=now)


def _signed_in(connection: Connection, row: Row[Any], account_id: str, *, now: float) -> SignedIn:
    how = f"invitation {row.id}"
    session_id = open_sign_in(connection, account_id, how=how, joined=row.project_id, now=now)
    return SignedIn(account_id, session_id, how, row.project_id)


def come_back(store: Store, token: str, account_id: str, *, browser: str | None, now: float) -> SignedIn:
    """Sign in again an account that this browser remembers; members of the project do not count as a use.

    The new sign-in keeps how the browser first signed in.
    """
    with store.write() as connection:
        row = _row(connection, token, lock=True)
        may_return = {account.account_id: account for account in remembered(connection, browser) if account.may_return}
        if account_id not in may_return:
            raise NotAllowed(
                "this browser no longer remembers you", "ask the project's owner for a new link.", field="account",
                rule="an account that signed in with this browser",
            )  # fmt: skip
        _refuse_ended(row, now=now, counted=_membership(connection, row, account_id) != "member")
        _enter(connection, row, account_id, now=now)
        how = may_return[account_id].signed_in_by
        return SignedIn(account_id, open_sign_in(connection, account_id, how=how, now=now), how, row.project_id)


def join(store: Store, token: str, account_id: str, *, now: float) -> str:
    """Join with the signed-in account; returns the project's id. A member keeps their role, and no use is counted.

    A removed member cannot return by an older invitation.
    """
    with store.write() as connection:
        row = _row(connection, token, lock=True)
        if _membership(connection, row, account_id) != "member":
            _refuse_ended(row, now=now)
        _enter(connection, row, account_id, now=now)
        return str(row.project_id)


def _enter(connection: Connection, row: Row[Any], account_id: str, *, now: float) -> None:
    """Make an account a member, unless it is one; a removed one needs an invitation made after its removal."""
    before = _membership(connection, row, account_id)
    if before == "removed":
        raise _removed()
    if before is None:
        _count_in(connection, row, account_id, now=now)


def _removed() -> NotAllowed:
    return NotAllowed(
        "an owner removed you from this project", "ask for a new invitation.", field="invitation",
        rule="an invitation that was made after you were removed",
    )  # fmt: skip


def _membership(connection: Connection, row: Row[Any], account_id: str) -> Literal["member", "removed"] | None:
    """Whether an account is a member, or was removed after the invitation was made."""
    here = (memberships.c.project_id == row.project_id) & (memberships.c.account_id == account_id)
    before = connection.execute(select(memberships.c.removed).where(here)).one_or_none()
    if before is None or (before.removed is not None and before.removed < row.created):
        return None
    return "member" if before.removed is None else "removed"


def _count_in(connection: Connection, row: Row[Any], account_id: str, *, now: float) -> None:
    enrol(connection, row.project_id, account_id, role=row.role, by=account_id, invitation=row.id, now=now)
    connection.execute(update(invitations).where(invitations.c.id == row.id).values(uses=invitations.c.uses + 1))


def _just_made(connection: Connection, account_id: str, project_id: str, *, now: float) -> bool:
    here = (memberships.c.account_id == accounts.c.id) & (memberships.c.project_id == project_id)
    recent = (accounts.c.created > now - AGAIN, accounts.c.disabled.is_(None), memberships.c.removed.is_(None))
    query = select(accounts.c.id).join(memberships, here).where(accounts.c.id == account_id, *recent)
    return connection.scalar(query) is not None


def _row(connection: Connection, token: str, *, lock: bool = False) -> Row[Any]:
    """The invitation's row; locked until the transaction ends, uses are counted one at a time."""
    query = select(invitations).where(invitations.c.digest == digest(token))
    row = connection.execute(query.with_for_update() if lock else query).one_or_none()
    if row is None:
        raise UnknownLink(
            "this invitation is not one of this service", "copy the whole link, from the first character to the last."
        )
    return row


def _refuse_ended(row: Row[Any], *, now: float, counted: bool = True) -> None:
    """Raise LinkOver for an invitation that has ended, or, if `counted`, whose uses are exhausted."""
    if row.revoked is not None:
        raise LinkOver("this invitation was withdrawn", ASK_SENDER)
    if row.expires <= now:
        raise LinkOver("this invitation has expired", ASK_SENDER)
    if counted and row.most_uses is not None and row.uses >= row.most_uses:
        raise LinkOver("this invitation has reached its maximum number of uses", ASK_SENDER)
