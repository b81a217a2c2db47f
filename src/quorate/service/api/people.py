"""People of a project: members and invitations, for its owners; and the caller's own API keys and sign-in."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Literal

from fastapi import APIRouter, Request, Response
from pydantic import Field

from quorate.service.access import accounts, cookies, credentials, invitations
from quorate.service.api.bodies import StrictRoute
from quorate.service.api.dependencies import (
    Caller,
    Now,
    Owner,
    ProjectId,
    TheStore,
    Unrestricted,
    Work,
    Write,
    base_url_of,
)
from quorate.service.api.fields import NOTHING, In, Out, Page, Text, Time, Wanted, problems

router = APIRouter(prefix="/api/v1", tags=["people"], route_class=StrictRoute)

Id = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,40}$")]
Name = Annotated[Text, Field(min_length=1, max_length=80)]
When = Annotated[float | None, Field(description="Seconds since 1970; null: not.")]


class MemberOut(Out):
    """An account in the project."""

    account_id: str
    name: str
    role: Literal["owner", "voter", "reader"]
    created: Time


class MemberLinkMade(Out):
    """A link that signs a member in to this project. It is shown this once; null where the answer is a repeated one."""

    link: str | None
    expires: Time


class MemberIn(In):
    """Who becomes a member, or gets another role."""

    account_id: Id
    role: Literal["owner", "voter", "reader"]


class InvitationIn(In):
    """A link by which people join."""

    name: Annotated[Name, Field(description="To tell it from others; who joins says their own.")]
    role: Literal["voter", "reader"] = "voter"
    lasts: Annotated[float, Field(ge=1, le=invitations.LONGEST, description="Seconds.")] = invitations.LASTS
    most_uses: Annotated[int, Field(ge=1, le=100_000)] | None = None


class InvitationOut(Out):
    """What is known of an invitation."""

    id: str
    role: Literal["voter", "reader"]
    name: str
    most_uses: int | None
    uses: int
    created: Time
    expires: Time
    revoked: When


class InvitationMade(InvitationOut):
    """A new invitation. Its link is shown this once; null where the answer is a repeated one."""

    link: str | None


class KeyIn(In):
    """A new API key."""

    name: Name
    project_id: Annotated[Id | None, Field(description="The only project it is for; null: all the account's.")] = None


class KeyOut(Out):
    """What is known of a key."""

    id: str
    name: str
    start: Annotated[str, Field(description="Its first characters, to recognise it by.")]
    project_id: str | None
    created: Time
    used: When
    revoked: When


class KeyMade(KeyOut):
    """A new key. `secret` is shown this once; null where the answer is a repeated one."""

    secret: str | None


class MeOut(Out):
    """Who is calling."""

    account_id: str
    name: str
    may_create: bool
    via: Literal["cookie", "key"]
    key_project: Annotated[
        str | None,
        Field(validation_alias="only_project", description="The only project that the key, or the sign-in, opens."),
    ]


@router.get("/me", summary="Who is calling", responses=problems())
def show_me(caller: Caller) -> MeOut:
    """The account that the key or the cookie stands for."""
    return MeOut.model_validate(caller)


@router.get("/projects/{project_id}/members", summary="List members", responses=problems(403, 404))
def list_members(project_id: ProjectId, _caller: Owner, store: TheStore, wanted: Wanted) -> Page[MemberOut]:
    """In order of their ids."""
    found = accounts.list_members(store, project_id, after=wanted.name, limit=wanted.most)
    return wanted.page(found, lambda each: each.account_id)


@router.put(
    "/projects/{project_id}/members",
    summary="Add a member, or change a role",
    response_model=MemberOut,
    responses=problems(403, 404, 409),
)
def put_member(once: Write, project_id: ProjectId, caller: Owner, body: MemberIn) -> Response:
    """The project's only owner stays one."""
    made = {"role": body.role, "by": caller.account_id}
    return once(caller, lambda on: accounts.add_member(on.store, project_id, body.account_id, **made, now=on.now))


@router.delete(
    "/projects/{project_id}/members/{account_id}",
    summary="Remove a member",
    **NOTHING,
    responses=problems(403, 404, 409),
)
def remove_member(once: Write, project_id: ProjectId, account_id: Id, caller: Owner) -> Response:
    """Votes given stay; the account sees nothing of the project any more."""
    me = caller.account_id
    return once(caller, lambda on: accounts.remove_member(on.store, project_id, account_id, by=me, now=on.now))


@router.post(
    "/projects/{project_id}/members/{account_id}/link",
    summary="Let a member in again",
    status_code=201,
    response_model=MemberLinkMade,
    responses=problems(403, 404, 409),
)
def create_member_link(once: Write, project_id: ProjectId, account_id: Id, caller: Owner) -> Response:
    """For a voter or reader who lost the browser they joined with: it works once, for a day, and ends older ones.

    Whoever opens it is that account in this project, and in no other.
    """

    def work(on: Work) -> dict[str, object]:
        base, me = base_url_of(once.request), caller.account_id
        made, expires = credentials.member_link(on.store, project_id, account_id, base, by=me, now=on.now)
        return {"link": made, "expires": expires}

    return once(caller, work, secrets=("link",))


@router.get("/projects/{project_id}/invitations", summary="List invitations", responses=problems(403, 404))
def list_invitations(project_id: ProjectId, _caller: Owner, store: TheStore, wanted: Wanted) -> Page[InvitationOut]:
    """Ended ones too."""
    found = invitations.list_invitations(store, project_id, after=wanted.name, limit=wanted.most)
    return wanted.page(found, lambda each: each.id)


@router.post(
    "/projects/{project_id}/invitations",
    summary="Invite people",
    status_code=201,
    response_model=InvitationMade,
    responses=problems(403, 404, 409),
)
def create_invitation(once: Write, project_id: ProjectId, caller: Owner, body: InvitationIn) -> Response:
    """Whoever opens the link joins, until it expires, is revoked or was used `most_uses` times."""

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
    """Who came in by it stays."""
    end, me = invitations.revoke_invitation, caller.account_id
    return once(caller, lambda on: end(on.store, project_id, invitation_id, by=me, now=on.now))


@router.get("/keys", summary="List one's API keys", responses=problems(403))
def list_keys(caller: Unrestricted, store: TheStore, wanted: Wanted) -> Page[KeyOut]:
    """Never the keys themselves."""
    found = credentials.list_keys(store, caller.account_id, after=wanted.name, limit=wanted.most)
    return wanted.page(found, lambda each: each.id)


@router.post(
    "/keys", summary="Make an API key", status_code=201, response_model=KeyMade, responses=problems(403, 404, 409)
)
def create_key(once: Write, caller: Unrestricted, body: KeyIn) -> Response:
    """It acts as the caller, in all the caller's projects or in one. Shown once; only its digest is kept."""

    def work(on: Work) -> dict[str, object]:
        me = caller.account_id
        made, secret = credentials.create_key(on.store, me, **body.model_dump(), by=me, now=on.now)
        return asdict(made) | {"secret": secret}

    return once(caller, work, secrets=("secret",))


@router.delete("/keys/{key_id}", summary="Revoke an API key", **NOTHING, responses=problems(403, 404, 409))
def revoke_key(once: Write, key_id: Id, caller: Unrestricted) -> Response:
    """At once, and for ever."""
    me = caller.account_id
    return once(caller, lambda on: credentials.revoke_key(on.store, key_id, account_id=me, now=on.now))


@router.post("/sign-out", summary="Sign out", **NOTHING, responses=problems(403))
def sign_out(request: Request, caller: Caller, store: TheStore, now: Now) -> Response:
    """Makes the caller's cookie worthless; a key stays as it is. May be repeated: then nobody is signed in (401)."""
    answer = Response(status_code=204)
    session_id = cookies.session_id_of(request)
    if caller.via == "cookie" and session_id is not None:
        cookies.sign_out(store, session_id, now=now)
        cookies.clear_cookie(request, answer)
    return answer
