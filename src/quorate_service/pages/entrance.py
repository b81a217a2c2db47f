"""Signing in and out: the start page with an account's projects, one-time links, invitations."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from anyio import from_thread
from fastapi import APIRouter, Depends, Form, Request, Response

from quorate.errors import InvalidInput
from quorate_service.access import cookies, credentials, invitations
from quorate_service.access.accounts import Role, memberships_of
from quorate_service.access.credentials import SignedIn
from quorate_service.access.limits import entered, limit_entry
from quorate_service.access.principal import Principal, current
from quorate_service.access.request_context import now_of, store_of
from quorate_service.api.dependencies import Caller, Unrestricted, base_url_of, once_per_form, projects_of
from quorate_service.domain.projects import Project, Projects
from quorate_service.domain.stats import LatestStats, latest_stats
from quorate_service.pages.formats import Fields
from quorate_service.pages.rendering import SENT_ALREADY, go, render
from quorate_service.problems import NotSignedIn, of_error

ENTRY = [Depends(cookies.same_origin), Depends(limit_entry)]


@dataclass(frozen=True, slots=True)
class ProjectCard:
    """A project of an account; `numbers` of its dashboard, None if the account may not see it."""

    project: Project
    role: Role
    numbers: LatestStats | None


def cards(projects_: Projects, me: Principal, *, now: float) -> list[ProjectCard]:
    """All projects of the visitor by name, archived ones last."""
    memberships = memberships_of(projects_.store, me.account_id)
    all_cards = []
    with projects_.store.read() as connection:
        for membership in memberships:
            project = projects_.get_in(connection, membership.project_id)
            sees_numbers = membership.role in ("owner", "reader")
            numbers = latest_stats(connection, project, now=now) if sees_numbers else None
            all_cards.append(ProjectCard(project, membership.role, numbers))
    return sorted(all_cards, key=lambda card: (card.project.state == "archived", card.project.name.lower()))


router = APIRouter(include_in_schema=False)
Text = Annotated[str, Form()]


@router.get("/")
def start(request: Request) -> Response:
    """The visitor's projects, or how to sign in."""
    me = signed_in(request)
    if me is None:
        return render(request, "sign_in.html")
    return _projects(request, me)


def _projects(request: Request, me: Principal, *, link: str | None = None) -> Response:
    shown = {"me": me, "cards": cards(projects_of(request), me, now=now_of(request)), "link": link}
    return render(request, "projects.html", **shown, form_id=invitations.form_id())


def signed_in(request: Request) -> Principal | None:
    """The signed-in visitor, or None. Only for showing pages: the origin is not checked."""
    try:
        return from_thread.run(current, Request({**request.scope, "method": "GET"}))
    except NotSignedIn:
        return None


def _come_in(request: Request, path: str, signed: SignedIn, *, note: str | None = None) -> Response:
    """Redirect, with the cookies of the sign-in and of the browser."""
    response = go(path, note)
    cookies.set_cookie(request, response, signed.session_id)
    cookies.remember(request, response, signed.account_id, how=signed.how)
    return response


@router.post("/sign-out")
def sign_out(request: Request, caller: Caller) -> Response:
    """End this browser's sign-in. The browser remembers the account, so that an invitation link signs it in again."""
    session_id = cookies.session_id_of(request)
    if session_id is not None:
        cookies.sign_out(store_of(request), session_id, now=now_of(request))
    response = go("/", "left")
    cookies.clear_cookie(request, response)
    cookies.remember(request, response, caller.account_id, how=caller.signed_in_by)
    return response


@router.post("/sign-out-everywhere")
def sign_out_everywhere(request: Request, caller: Unrestricted) -> Response:
    """End all sign-ins of the account, including this one, and its unused links."""
    cookies.sign_out_everywhere(store_of(request), caller.account_id, now=now_of(request))
    response = go("/", "left-everywhere")
    cookies.clear_cookie(request, response)
    return response


@router.post("/sign-in-link")
def make_sign_in_link(request: Request, caller: Unrestricted, fields: Fields) -> Response:
    """Make a link that signs the account in once, on another device."""
    me, base, now = caller.account_id, base_url_of(request), now_of(request)
    make = partial(credentials.sign_in_link, by=me, now=now)
    link = once_per_form(request, caller, fields, lambda store: make(store, me, base))
    return go("/", SENT_ALREADY) if link is None else _projects(request, caller, link=link)


@router.get("/link/{token}")
def link_page(request: Request, token: str) -> Response:
    """What the link is for, with a button to use it."""
    link = credentials.look_at_link(store_of(request), token, now=now_of(request))
    return render(request, "link.html", link=link, name="")


@router.post("/link/{token}", dependencies=ENTRY)
def use_link(request: Request, token: str, name: Text = "") -> Response:
    """Use the link: create the first owner, or sign in."""
    store, now = store_of(request), now_of(request)
    link = credentials.look_at_link(store, token, now=now)
    entered(request)
    try:
        signed = credentials.use_link(store, token, name=name, now=now)
    except InvalidInput as error:  # an invalid name: the link is not used up
        return render(request, "link.html", 422, link=link, name=name, problem=of_error(error).body())
    return _come_in(request, "/", signed, note="joined")


@router.get("/join/{token}")
def invitation_page(request: Request, token: str, other: str = "") -> Response:
    """The project of the invitation; asks for a name, or offers the account that is signed in or remembered."""
    return _invitation(request, token, other=bool(other))


@router.post("/join/{token}", dependencies=ENTRY)
def join(
    request: Request, token: str,
    name: Text = "", form: Text = "", as_me: Text = "", account: Text = "", other: Text = "",
) -> Response:  # fmt: skip
    """Join the project with the signed-in account, with one that the browser remembers, or with a new one.

    If the browser remembers an account, a new one is created only if the visitor says that they are somebody else
    (`other`).
    """
    store, now, browser = store_of(request), now_of(request), cookies.browser_of(request)
    if as_me:
        me = from_thread.run(current, request)
        project_id = invitations.join(store, token, me.account_id, now=now)
        entered(request)
        return go(f"/p/{project_id}")
    if account:
        return _back(request, token, account)
    accounts = () if other else invitations.look(store, token, browser=browser, now=now).known
    wanted = name.strip().casefold()
    same = next((remembered for remembered in accounts if remembered.name.casefold() == wanted), None)
    if same is not None:
        return _back(request, token, same.account_id)
    if accounts:
        entered(request)
        return _invitation(request, token, name=name)
    me_now = signed_in(request)
    try:
        signed = invitations.accept(
            store, token, name=name, form=form or None, browser=browser,
            me=None if me_now is None else me_now.account_id,
            now=now,
        )  # fmt: skip
    except InvalidInput as error:
        entered(request)
        return _invitation(request, token, problem=of_error(error).body(), name=name, other=bool(other))
    entered(request)
    return _come_in(request, f"/p/{signed.project_id}", signed)


def _back(request: Request, token: str, account_id: str) -> Response:
    """Sign in again an account that the browser remembers."""
    store, browser = store_of(request), cookies.browser_of(request)
    signed = invitations.come_back(store, token, account_id, browser=browser, now=now_of(request))
    entered(request)
    return _come_in(request, f"/p/{signed.project_id}", signed)


def _invitation(
    request: Request, token: str, problem: object = None, name: str = "", *, other: bool = False
) -> Response:
    browser = cookies.browser_of(request)
    view = invitations.look(store_of(request), token, browser=None if other else browser, now=now_of(request))
    me = signed_in(request) if request.method != "POST" else None
    shown: dict[str, Any] = {"me": me, "form": invitations.form_id(), "known": view.known, "other": other}
    shown |= {"invitation": view.invitation, "project_name": view.project_name, "problem": problem, "name": name}
    return render(request, "join.html", 422 if problem else 200, **shown)
