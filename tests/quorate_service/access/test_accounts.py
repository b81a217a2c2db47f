"""Accounts and memberships: added, changed, removed, listed; a project never loses its last owner."""

import pytest

from quorate_service.access import accounts, credentials
from quorate_service.problems import LinkOver, NotAllowed, NotFound
from tests.quorate_service.access.conftest import BOTH, NOW, add_project, at_once, bearer, signed_in
from tests.refusals import refused


def roles(store, project="here"):
    return {member.name: member.role for member in accounts.list_members(store, project)}


def test_the_last_owner_cannot_be_demoted(world):
    for act in (
        lambda: accounts.remove_member(world.store, "here", world.owner, now=NOW),
        lambda: accounts.add_member(world.store, "here", world.owner, role="voter", now=NOW),
    ):
        with refused("account", NotAllowed):
            act()
    accounts.add_member(world.store, "here", world.voter, role="owner", now=NOW)
    accounts.remove_member(world.store, "here", world.owner, now=NOW)
    assert roles(world.store)["voter"] == "owner"


@BOTH
def test_owners_who_remove_one_another_at_once_leave_one(world):
    people = [accounts.create_account(world.store, f"o{n}", now=NOW).id for n in range(4)]
    add_project(world.store, "busy")
    for person in people:
        accounts.add_member(world.store, "busy", person, role="owner", now=NOW)
    results = at_once(lambda person: accounts.remove_member(world.store, "busy", person, now=NOW), people)
    assert sum(result is None for result in results) == 3
    assert sum(isinstance(result, NotAllowed) for result in results) == 1
    assert list(roles(world.store, "busy").values()) == ["owner"]


def test_unknown_accounts_projects_and_roles_are_named(world):
    with refused("account", NotFound):
        accounts.add_member(world.store, "here", "nobody", role="voter", now=NOW)
    with refused("project_id", NotFound):
        accounts.add_member(world.store, "nowhere", world.voter, role="voter", now=NOW)
    with refused("role"):
        accounts.add_member(world.store, "here", world.voter, role="admin", now=NOW)
    with pytest.raises(NotFound):
        accounts.disable_account(world.store, "nobody", now=NOW)
    with pytest.raises(NotFound):
        accounts.enable_account(world.store, "nobody", now=NOW)


def test_enabled_accounts_need_a_key_or_a_new_link_not_an_old_cookie(world, app, client):
    browser = signed_in(app, world.voter)
    link = credentials.sign_in_link(world.store, world.voter, "", now=NOW).rpartition("/")[2]
    secret = credentials.create_key(world.store, world.voter, name="k", now=NOW)[1]
    assert accounts.disable_account(world.store, world.voter, now=NOW).disabled == NOW
    assert client.get("/me", headers=bearer(secret)).status_code == 401
    assert accounts.enable_account(world.store, world.voter, now=NOW).disabled is None
    assert client.get("/me", headers=bearer(secret)).status_code == 200
    assert browser.get("/me").status_code == 401
    with pytest.raises(LinkOver):
        credentials.use_link(world.store, link, now=NOW)
