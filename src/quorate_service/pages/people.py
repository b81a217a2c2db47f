"""The people of a project: members and roles, invitations by link, the visitor's API keys; and the access log.

Secrets are shown once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from fastapi import APIRouter, Response

from quorate.errors import QuorateError
from quorate.validate import invalid
from quorate_service.access import accounts, cookies, credentials, invitations
from quorate_service.access.accounts import ROLES
from quorate_service.access.invitations import INVITED
from quorate_service.access.log import lines_of
from quorate_service.api.dependencies import base_url_of, once_per_form
from quorate_service.domain.listing import acts_by_voter
from quorate_service.domain.people import latest_people
from quorate_service.domain.stats import latest_stats
from quorate_service.pages.formats import Fields, in_words_of_the_form, number, whole_number
from quorate_service.pages.rendering import SENT_ALREADY, OwnerVisit, Visit, status_of
from quorate_service.pages.settings_form import LABELS, as_text
from quorate_service.problems import of_error

router = APIRouter(include_in_schema=False)
INVITATION = {"name": "For whom", "role": "They join as", "days": "Valid, days", "most_uses": "Most people"}
USUAL = {"name": "", "role": "voter", "days": "14", "most_uses": ""}
LEAST_DAYS, MOST_DAYS = 0.01, round(invitations.LONGEST / invitations.DAY)
KIND_WORDS = {"uniform": "looks like guesses", "habit": "looks like votes by habit"}
FEW_VOTES = 20  # people with fewer votes get a badge
LINES = 100  # per page
DETAILS = {"expires": "valid until", "how": "with", "url": "address", "most_uses": "most people", "uses": "joined"}


@router.get("/p/{project_id}/people")
def people_page(on: OwnerVisit) -> Response:
    """The people of the project."""
    return _page(on)


@router.post("/p/{project_id}/people/invite")
def invite(on: OwnerVisit, fields: Fields) -> Response:
    """Create an invitation; only this response shows its link."""
    try:
        lasts, limit, base = invitations.DAY * _days(fields), whole_number(fields, "most_uses"), base_url_of(on.request)
        role, name = fields.get("role", "voter"), fields.get("name", "")
        make = partial(invitations.create_invitation, role=role, name=name, lasts=lasts, most_uses=limit)
        make = partial(make, by=on.me, now=on.now)
        made = once_per_form(on.request, on.caller, fields, lambda store: make(store, on.project_id, base))
    except QuorateError as error:
        problem = in_words_of_the_form(of_error(error).body(), fields, INVITATION)
        return _page(on, problem=problem, invite=USUAL | fields, invite_problem=problem)
    return on.go("people", SENT_ALREADY) if made is None else _page(on, invitation_link=made[1])


def _days(fields: Mapping[str, str]) -> float:
    days = number(USUAL | dict(fields), "days", example="14")
    if days is None or not LEAST_DAYS <= days <= MOST_DAYS:
        raise invalid("days", fields.get("days", ""), f"{LEAST_DAYS} to {MOST_DAYS} days", "write e.g. 14.")
    return days


@router.post("/p/{project_id}/people/uninvite")
def end_invitation(on: OwnerVisit, fields: Fields) -> Response:
    """End an invitation; members who joined by it stay."""
    invitations.revoke_invitation(on.store, on.project_id, fields.get("id", ""), by=on.me, now=on.now)
    return on.go("people", "revoked")


@router.post("/p/{project_id}/people/role")
def change_role(on: OwnerVisit, fields: Fields) -> Response:
    """Give a member another role."""
    account, role = fields.get("account", ""), fields.get("role", "")
    with_role = partial(accounts.change_role, on.store, on.project_id, account, role=role, by=on.me, now=on.now)
    return _done(on, with_role, "role")


@router.post("/p/{project_id}/people/remove")
def remove(on: OwnerVisit, fields: Fields) -> Response:
    """End a membership; the votes stay."""
    account = fields.get("account", "")
    return _done(on, partial(accounts.remove_member, on.store, on.project_id, account, by=on.me, now=on.now), "removed")


@router.post("/p/{project_id}/people/key")
def make_key(on: OwnerVisit, fields: Fields) -> Response:
    """Create an API key of the visitor, for this project or for all of theirs; only this response shows it."""
    only, name = None if fields.get("reach") == "all" else on.project_id, fields.get("name", "")
    make = partial(credentials.create_key, name=name, project_id=only, by=on.me, now=on.now)

    def work() -> dict[str, object] | None:
        made = once_per_form(on.request, on.caller, fields, lambda store: make(store, on.me))
        return None if made is None else {"key": made[1]}

    return _done(on, work, SENT_ALREADY)


@router.post("/p/{project_id}/people/unkey")
def revoke_key(on: OwnerVisit, fields: Fields) -> Response:
    """Revoke one of the visitor's keys."""
    credentials.revoke_key(on.store, fields.get("id", ""), account_id=on.me, now=on.now)
    return on.go("people", "revoked")


def _done(on: Visit, work: Callable[[], dict[str, object] | None], note: str | None = None) -> Response:
    """The page with what `work` returns or with its error; a redirect, with a note, if it returns None."""
    try:
        result = work()
    except QuorateError as error:
        return _page(on, problem=of_error(error).body())
    return on.go("people", note) if result is None else _page(on, **result)


def _page(on: Visit, **more: object) -> Response:
    store, project_id = on.store, on.project_id
    members, mine = accounts.list_members(store, project_id), credentials.list_keys(store, on.me)
    invited = invitations.list_invitations(store, project_id)
    with store.read() as connection:
        shared, acts = cookies.sharing_browsers(connection, project_id), acts_by_voter(connection, project_id)
    shown = {
        "shared": shared, "acts": acts, "roles": ROLES, "invited": INVITED, "form_id": invitations.form_id(),
        "same_name": same_names(members), "tab": "people", "project": on.projects.get(project_id),
        "members": sorted(members, key=lambda person: person.name.lower()),
        "invitations": [link for link in invited if link.revoked is None and link.expires > on.now],
        "keys": [key for key in mine if key.revoked is None and key.project_id in (None, project_id)],
        "invitation_link": None, "key": None, "labels": INVITATION,
        "invite": USUAL, "invite_problem": None,
    }  # fmt: skip
    return on.render("people.html", status_of(more.get("problem")), **shown | more)


def same_names(members: Sequence[accounts.Membership]) -> set[str]:
    """The accounts whose name, ignoring case, another member has, too: perhaps one person, who could vote twice."""
    names = Counter(person.name.casefold() for person in members)
    return {person.account_id for person in members if names[person.name.casefold()] > 1}


@router.get("/p/{project_id}/voters")
def voters_page(on: OwnerVisit) -> Response:
    """Figures of each voter, with their uncertainty; for owners only."""
    with on.store.read() as connection:
        project = on.projects.get_in(connection, on.project_id)
        figures = latest_people(connection, on.project_id)
        num_gold = latest_stats(connection, project, now=on.now).num_gold
    careless = [person for person in (figures or {}).get("people", []) if person["kind"] != "careful"]
    shown = {"project": project, "found": figures, "careless": careless, "kinds": KIND_WORDS, "few": FEW_VOTES}
    return on.render("voters.html", **shown, num_gold=num_gold, settings=project.settings, tab="people")


@router.get("/p/{project_id}/access")
def access_page(on: OwnerVisit, before: int | None = None) -> Response:
    """The newest lines of the access log, or those before a line."""
    with on.store.read() as connection:
        project = on.projects.get_in(connection, on.project_id)
        lines = lines_of(connection, on.project_id, before=before, limit=LINES + 1)
    older = lines[LINES - 1].id if len(lines) > LINES else None
    told = [(line, _told(line.details)) for line in lines[:LINES]]
    shown = {"project": project, "lines": told, "older": older, "before": before}
    return on.render("access_log.html", tab="people", **shown)


def _told(details: Mapping[str, Any]) -> dict[str, Any]:
    """A line's details in the words of the pages; of a key or an invitation its name, if it has one, not its id."""
    changed = details.get("changed")
    if isinstance(changed, Mapping):
        return {str(LABELS.get(name, name)): as_text(name, new) for name, new in changed.items()}
    ids = [name for name in ("key", "invitation") if name in details and details.get("name")]
    return {DETAILS.get(name, name): value for name, value in details.items() if value is not None and name not in ids}
