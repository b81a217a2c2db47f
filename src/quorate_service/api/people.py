"""Endpoints for people: members, invitations and access log of a project; the caller's own API keys and sign-in."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request, Response
from pydantic import Field

from quorate_service.access import accounts, cookies, credentials, invitations
from quorate_service.access.log import lines_of
from quorate_service.api.dependencies import (
    Caller,
    Now,
    Owner,
    ProjectId,
    TheProjects,
    TheStore,
    Unrestricted,
    Work,
    Write,
    base_url_of,
)
from quorate_service.api.fields import NOTHING, In, Out, Page, Text, Time, Wanted, problems
from quorate_service.domain.gold import GoldCalibration
from quorate_service.domain.people import PersonFigures, latest_people

router = APIRouter(prefix="/api/v1", tags=["people"])

Id = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,40}$")]
Name = Annotated[Text, Field(min_length=1, max_length=80)]
When = Annotated[float | None, Field(description="Seconds since 1970; null: not.")]


class MemberOut(Out):
    """An account in the project."""

    account_id: str
    name: str
    role: accounts.Role
    created: Time


class MemberIn(In):
    """Who becomes a member, or gets another role."""

    account_id: Id
    role: accounts.Role


class InvitationIn(In):
    """A link by which people join."""

    name: Annotated[Name, Field(description="A name for the invitation, not for the people who join.")]
    role: Literal["voter", "senior", "reader"] = "voter"
    lasts: Annotated[float, Field(ge=1, le=invitations.LONGEST, description="Seconds.")] = invitations.LASTS
    most_uses: Annotated[int, Field(ge=1, le=100_000)] | None = None


class InvitationOut(Out):
    """An invitation, without its link."""

    id: str
    role: Literal["voter", "senior", "reader"]
    name: str
    most_uses: int | None
    uses: int
    created: Time
    expires: Time
    revoked: When


class InvitationMade(InvitationOut):
    """A new invitation. Its link is shown once: null in a repeated response."""

    link: str | None


class KeyIn(In):
    """A new API key."""

    name: Name
    project_id: Annotated[Id | None, Field(description="The only project it is for; null: all the account's.")] = None


class KeyOut(Out):
    """An API key, without its secret."""

    id: str
    name: str
    start: Annotated[str, Field(description="Its first characters, to recognise it by.")]
    project_id: str | None
    created: Time
    used: When
    revoked: When


class KeyMade(KeyOut):
    """A new key. `secret` is shown once: null in a repeated response."""

    secret: str | None


class MeOut(Out):
    """The caller."""

    account_id: str
    name: str
    may_create: bool
    via: Literal["cookie", "key"]
    key_project: Annotated[
        str | None,
        Field(validation_alias="only_project", description="The only project of the key; null: all."),
    ]


@router.get("/me", summary="The caller", responses=problems())
def show_me(caller: Caller) -> MeOut:
    """The account of the key or cookie."""
    return MeOut.model_validate(caller)


@router.get("/projects/{project_id}/members", summary="List members", responses=problems(403, 404))
def list_members(project_id: ProjectId, _caller: Owner, store: TheStore, wanted: Wanted) -> Page[MemberOut]:
    """In order of their ids."""
    members = accounts.list_members(store, project_id, after=wanted.name, limit=wanted.most)
    return wanted.page(members, lambda member: member.account_id)


@router.put(
    "/projects/{project_id}/members",
    summary="Add a member, or change a role",
    response_model=MemberOut,
    responses=problems(403, 404, 409),
)
def put_member(once: Write, project_id: ProjectId, caller: Owner, body: MemberIn) -> Response:
    """The project's last owner cannot be demoted."""
    change = {"role": body.role, "by": caller.account_id}
    return once(caller, lambda on: accounts.add_member(on.store, project_id, body.account_id, **change, now=on.now))


@router.delete(
    "/projects/{project_id}/members/{account_id}",
    summary="Remove a member",
    **NOTHING,
    responses=problems(403, 404, 409),
)
def remove_member(once: Write, project_id: ProjectId, account_id: Id, caller: Owner) -> Response:
    """The account no longer sees the project; its votes stay."""
    me = caller.account_id
    return once(caller, lambda on: accounts.remove_member(on.store, project_id, account_id, by=me, now=on.now))


class PeopleOut(Out):
    """Figures of each person as of `time`, from the latest `num_votes` votes."""

    time: Annotated[float | None, Field(description="Seconds since 1970; null: nothing is computed yet.")] = None
    num_votes: int = 0
    is_partial: Annotated[
        bool, Field(description="Some votes were not used: earlier ones, or those of people with few votes.")
    ] = False
    people: list[PersonFigures] = Field(default_factory=list)
    calibration: GoldCalibration | None = None


@router.get("/projects/{project_id}/people", summary="Figures of each person", responses=problems(403, 404))
def list_people(project_id: ProjectId, _caller: Owner, store: TheStore) -> PeopleOut:
    """For owners only. Computed in the background after new votes; see `time`. Interpret with care: people were given
    different items, and somebody who is right against the majority looks wrong."""
    with store.read() as connection:
        return PeopleOut.model_validate(latest_people(connection, project_id) or {})


@router.get("/projects/{project_id}/invitations", summary="List invitations", responses=problems(403, 404))
def list_invitations(project_id: ProjectId, _caller: Owner, store: TheStore, wanted: Wanted) -> Page[InvitationOut]:
    """Including ended ones."""
    rows = invitations.list_invitations(store, project_id, after=wanted.name, limit=wanted.most)
    return wanted.page(rows, lambda row: row.id)


@router.post(
    "/projects/{project_id}/invitations",
    summary="Invite people",
    status_code=201,
    response_model=InvitationMade,
    responses=problems(403, 404, 409),
)
def create_invitation(once: Write, project_id: ProjectId, caller: Owner, body: InvitationIn) -> Response:
    """Anybody with the link can join, until it expires, is revoked or was used `most_uses` times."""

    def work(on: Work) -> dict[str, object]:
        base, me = base_url_of(once.request), caller.account_id
        made, link = invitations.create_invitation(on.store, project_id, base, **body.model_dump(), by=me, now=on.now)
        return asdict(made) | {"link": link}

    return once(caller, work, secrets=("link",))


@router.delete(
    "/projects/{project_id}/invitations/{invitation_id}",
    summary="Revoke an invitation",
    **NOTHING,
    responses=problems(403, 404, 409),
)
def revoke_invitation(once: Write, project_id: ProjectId, invitation_id: Id, caller: Owner) -> Response:
    """People who joined with it stay members."""
    end, me = invitations.revoke_invitation, caller.account_id
    return once(caller, lambda on: end(on.store, project_id, invitation_id, by=me, now=on.now))


class LineOut(Out):
    """A line of the access log."""

    id: int
    time: Time
    kind: str
    account_id: Annotated[str | None, Field(description="Who it is about; null: nobody in particular.")]
    account_name: str | None
    made_by: Annotated[str | None, Field(description="The account that did it; null: the operator.")]
    made_by_name: str | None
    details: Annotated[dict[str, Any], Field(description="More information, depending on the kind.")]


@router.get("/projects/{project_id}/access-log", summary="Read the access log", responses=problems(403, 404))
def read_access_log(project_id: ProjectId, _caller: Owner, projects_: TheProjects, wanted: Wanted) -> Page[LineOut]:
    """Sign-ins, roles, keys, links, invitations, exports, settings and webhooks, the newest first. It cannot be
    changed."""
    before = None if wanted.cursor is None else wanted.number()
    with projects_.store.read() as connection:
        lines = lines_of(connection, project_id, before=before, limit=wanted.most)
    return wanted.page(lines, lambda line: line.id)


@router.get("/keys", summary="List the caller's API keys", responses=problems(403))
def list_keys(caller: Unrestricted, store: TheStore, wanted: Wanted) -> Page[KeyOut]:
    """Without their secrets."""
    keys = credentials.list_keys(store, caller.account_id, after=wanted.name, limit=wanted.most)
    return wanted.page(keys, lambda key: key.id)


@router.post(
    "/keys", summary="Make an API key", status_code=201, response_model=KeyMade, responses=problems(403, 404, 409)
)
def create_key(once: Write, caller: Unrestricted, body: KeyIn) -> Response:
    """It acts as the caller, in all the caller's projects or in one. Shown once; only its digest is stored."""

    def work(on: Work) -> dict[str, object]:
        me = caller.account_id
        made, secret = credentials.create_key(on.store, me, **body.model_dump(), by=me, now=on.now)
        return asdict(made) | {"secret": secret}

    return once(caller, work, secrets=("secret",))


@router.delete("/keys/{key_id}", summary="Revoke an API key", **NOTHING, responses=problems(403, 404, 409))
def revoke_key(once: Write, key_id: Id, caller: Unrestricted) -> Response:
    """Takes effect immediately and cannot be undone."""
    me = caller.account_id
    return once(caller, lambda on: credentials.revoke_key(on.store, key_id, account_id=me, now=on.now))


@router.post("/sign-out", summary="Sign out", **NOTHING, responses=problems(403))
def sign_out(request: Request, caller: Caller, store: TheStore, now: Now) -> Response:
    """Ends the caller's sign-in; API keys stay valid. May be repeated: the response is then 401."""
    answer = Response(status_code=204)
    session_id = cookies.session_id_of(request)
    if caller.via == "cookie" and session_id is not None:
        cookies.sign_out(store, session_id, now=now)
        cookies.clear_cookie(request, answer)
    return answer
