"""The people of a project: members and roles, invitations by link, the reader's API keys; and the project's access log.

Secrets are shown once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from fastapi import APIRouter, Request, Response
from sqlalchemy import Connection, select

from quorate.errors import QuorateError
from quorate.service.access import accounts, cookies, credentials, invitations
from quorate.service.access.log import LogEntry, lines_of, owner_of_link
from quorate.service.access.principal import Member
from quorate.service.access.request_context import now_of, store_of
from quorate.service.api.dependencies import Owner, ProjectId, base_url_of, projects_of
from quorate.service.pages.formats import Fields, in_words_of_the_form, number, whole_number
from quorate.service.pages.rendering import go, render, status_of
from quorate.service.problems import of_error
from quorate.service.store import schema
from quorate.validate import broken

router = APIRouter(include_in_schema=False)
INVITATION = {"name": "For whom", "role": "They join as", "days": "Valid, days", "most_uses": "Most people"}
USUAL = {"name": "", "role": "voter", "days": "14", "most_uses": ""}
LEAST_DAYS, MOST_DAYS = 0.01, round(invitations.LONGEST / invitations.DAY)
BATCH = 500
Listed = TypeVar("Listed")


@router.get("/p/{project_id}/people")
def people_page(request: Request, project_id: ProjectId, caller: Owner) -> Response:
    """Everybody of the project."""
    return _page(request, project_id, caller)


@router.post("/p/{project_id}/people/invite")
def invite(request: Request, project_id: ProjectId, caller: Owner, fields: Fields) -> Response:
    """A new invitation; its link is on the answer, and nowhere else ever again."""
    try:
        _, link = invitations.create_invitation(
            store_of(request), project_id, base_url_of(request), role=fields.get("role", "voter"),
            name=fields.get("name", ""), lasts=invitations.DAY * _days(fields),
            most_uses=whole_number(fields, "most_uses"), by=caller.account_id, now=now_of(request),
        )  # fmt: skip
    except QuorateError as error:
        problem = in_words_of_the_form(of_error(error).body(), fields, INVITATION)
        return _page(request, project_id, caller, problem=problem, invite=USUAL | fields, invite_problem=problem)
    return _page(request, project_id, caller, invitation_link=link)


def _days(fields: Mapping[str, str]) -> float:
    days = number(USUAL | dict(fields), "days", example="14")
    if days is None or not LEAST_DAYS <= days <= MOST_DAYS:
        raise broken("days", fields.get("days", ""), f"{LEAST_DAYS} to {MOST_DAYS} days", "write e.g. 14.")
    return days


@router.post("/p/{project_id}/people/uninvite")
def end_invitation(request: Request, project_id: ProjectId, caller: Owner, fields: Fields) -> Response:
    """End an invitation; who came by it stays."""
    me, store = caller.account_id, store_of(request)
    invitations.revoke_invitation(store, project_id, fields.get("id", ""), by=me, now=now_of(request))
    return go(f"/p/{project_id}/people", "revoked")


@router.post("/p/{project_id}/people/role")
def change_role(request: Request, project_id: ProjectId, caller: Owner, fields: Fields) -> Response:
    """Give a member another role."""
    account, role, me = fields.get("account", ""), fields.get("role", ""), caller.account_id
    try:
        accounts.change_role(store_of(request), project_id, account, role=role, by=me, now=now_of(request))
    except QuorateError as error:
        return _page(request, project_id, caller, problem=of_error(error).body())
    return go(f"/p/{project_id}/people", "role")


@router.post("/p/{project_id}/people/remove")
def remove(request: Request, project_id: ProjectId, caller: Owner, fields: Fields) -> Response:
    """End a membership; votes given stay."""
    me, store = caller.account_id, store_of(request)
    try:
        accounts.remove_member(store, project_id, fields.get("account", ""), by=me, now=now_of(request))
    except QuorateError as error:
        return _page(request, project_id, caller, problem=of_error(error).body())
    return go(f"/p/{project_id}/people", "removed")


@router.post("/p/{project_id}/people/link")
def make_link(request: Request, project_id: ProjectId, caller: Owner, fields: Fields) -> Response:
    """A link that lets a member into this project again; it is on the answer, and nowhere else ever again."""
    store, account, me = store_of(request), fields.get("account", ""), caller.account_id
    try:
        link, _ = credentials.member_link(store, project_id, account, base_url_of(request), by=me, now=now_of(request))
    except QuorateError as error:
        return _page(request, project_id, caller, problem=of_error(error).body())
    return _page(request, project_id, caller, member_link=link)


@router.post("/p/{project_id}/people/key")
def make_key(request: Request, project_id: ProjectId, caller: Owner, fields: Fields) -> Response:
    """A new API key of the reader, for this project or for all of theirs; shown on the answer only."""
    only = None if fields.get("reach") == "all" else project_id
    me, name = caller.account_id, fields.get("name", "")
    try:
        _, secret = credentials.create_key(
            store_of(request), me, name=name, project_id=only, by=me, now=now_of(request)
        )
    except QuorateError as error:
        return _page(request, project_id, caller, problem=of_error(error).body())
    return _page(request, project_id, caller, key=secret)


@router.post("/p/{project_id}/people/unkey")
def revoke_key(request: Request, project_id: ProjectId, caller: Owner, fields: Fields) -> Response:
    """Make one of the reader's keys worthless."""
    me = caller.account_id
    credentials.revoke_key(store_of(request), fields.get("id", ""), account_id=me, now=now_of(request))
    return go(f"/p/{project_id}/people", "revoked")


def _page(request: Request, project_id: str, caller: Member, **more: object) -> Response:
    store, now, me = store_of(request), now_of(request), caller
    members = _all(partial(accounts.list_members, store, project_id), lambda each: each.account_id)
    invited = _all(partial(invitations.list_invitations, store, project_id), lambda each: each.id)
    mine = _all(partial(credentials.list_keys, store, me.account_id), lambda each: each.id)
    with store.read() as connection:
        shared = cookies.sharing_browsers(connection, project_id)
    shown = {
        "shared": shared, "same_name": same_names(members),
        "me": me, "role": caller.role, "tab": "people", "project": projects_of(request).get(project_id),
        "members": sorted(members, key=lambda each: each.name.lower()),
        "invitations": [each for each in invited if each.revoked is None and each.expires > now],
        "keys": [each for each in mine if each.revoked is None and each.project_id in (None, project_id)],
        "invitation_link": None, "member_link": None, "key": None, "labels": INVITATION,
        "invite": USUAL, "invite_problem": None,
    }  # fmt: skip
    return render(request, "people.html", status_of(more.get("problem")), **(shown | more))


def same_names(members: Sequence[accounts.Membership]) -> set[str]:
    """The accounts whose name another member has too, in whatever case: perhaps one person, who could vote twice."""
    names = Counter(each.name.casefold() for each in members)
    return {each.account_id for each in members if names[each.name.casefold()] > 1}


def _all(page: Callable[..., list[Listed]], place: Callable[[Listed], str]) -> list[Listed]:
    """Every page of a list, one after another."""
    found: list[Listed] = []
    while more := page(after=place(found[-1]) if found else "", limit=BATCH):
        found += more
    return found


LINES = 100  # of a page


@router.get("/p/{project_id}/access")
def access_page(request: Request, project_id: ProjectId, caller: Owner, before: int | None = None) -> Response:
    """The newest lines, or those before a line."""
    with store_of(request).read() as connection:
        project = projects_of(request).get_in(connection, project_id)
        found = lines_of(connection, project_id, before=before, limit=LINES + 1)
        owners = _link_makers(connection, found)
    lines = found[:LINES]
    shown: dict[str, Any] = {"project": project, "lines": lines, "owners": owners}
    shown["older"] = lines[-1].id if len(found) > LINES else None
    return render(request, "access_log.html", me=caller, role=caller.role, tab="people", before=before, **shown)


def _link_makers(connection: Connection, lines: list[LogEntry]) -> dict[str, str]:
    """By how somebody was signed in: the name of the owner who made the link."""
    ways = {line.details["how"] for line in lines if "how" in line.details}
    makers = {way: owner for way in ways if (owner := owner_of_link(way))}
    query = select(schema.accounts.c.id, schema.accounts.c.name).where(schema.accounts.c.id.in_(makers.values()))
    names = {row.id: row.name for row in connection.execute(query)}
    return {way: names[owner] for way, owner in makers.items() if owner in names}
