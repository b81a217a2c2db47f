"""Invitations: never more members than uses, none after the end, and removed members cannot return."""

import pytest

from quorate.errors import InvalidInput
from quorate_service.access import accounts, invitations
from quorate_service.access.credentials import SignedIn
from quorate_service.problems import LinkOver, NotAllowed, NotFound, UnknownLink
from tests.quorate_service.access.conftest import BOTH, NOW, at_once
from tests.refusals import refused

BASE = "http://localhost:8000"


def invite(store, **changes):
    options = {"role": "voter", "name": "ward 3", "now": NOW} | changes
    made, link = invitations.create_invitation(store, "here", BASE, **options)
    assert link.startswith("http://localhost:8000/join/")
    return made, link.rsplit("/", 1)[1]


def uses(store):
    return [invitation.uses for invitation in invitations.list_invitations(store, "here")]


@pytest.mark.parametrize("role", ["voter", "reader"])
def test_accepting_an_invitation_gives_the_invited_role(world, role):
    made, token = invite(world.store, role=role)
    for _ in range(3):
        assert invitations.look(world.store, token, now=NOW) == invitations.InvitationView(made, "here", ())
    assert uses(world.store) == [0]
    signed_in = invitations.accept(world.store, token, name="Ada", now=NOW)
    found = {m.account_id: m for m in accounts.list_members(world.store, "here")}[signed_in.account_id]
    assert (found.name, found.role, signed_in.project_id) == ("Ada", role, "here")
    assert not accounts.load_account(world.store, signed_in.account_id).may_create
    assert uses(world.store) == [1]


@BOTH
def test_of_eight_concurrent_uses_three_allowed_ones_succeed(world):
    _, token = invite(world.store, most_uses=3)
    results = at_once(lambda n: invitations.accept(world.store, token, name=f"n{n}", now=NOW), range(8))
    assert sum(isinstance(result, SignedIn) for result in results) == 3
    assert sum(isinstance(result, LinkOver) for result in results) == 5
    assert uses(world.store) == [3]
    assert len(accounts.list_members(world.store, "here")) == 6
    assert len(accounts.list_accounts(world.store)) == 7


@BOTH
def test_the_same_form_sent_again_is_the_same_person(world):
    _, token = invite(world.store, most_uses=1)
    form = invitations.form_id()
    results = at_once(lambda _: invitations.accept(world.store, token, name="Ada", form=form, now=NOW), range(4))
    assert len({result.account_id for result in results}) == 1
    assert len({result.session_id for result in results}) == 4
    assert uses(world.store) == [1]
    with pytest.raises(LinkOver):
        invitations.accept(world.store, token, name="Eve", form=invitations.form_id(), now=NOW)
    with pytest.raises(LinkOver):
        invitations.accept(world.store, token, name="Ada", form=form, now=NOW + invitations.AGAIN)


def test_a_form_left_open_for_hours_makes_another_account(world):
    _, token = invite(world.store)
    first = invitations.accept(world.store, token, name="Ada", form="f", now=NOW)
    second = invitations.accept(world.store, token, name="Bob", form="f", now=NOW + 3600)
    assert first.account_id != second.account_id


@BOTH
def test_a_signed_in_account_joins_once(world):
    _, token = invite(world.store)
    assert set(at_once(lambda _: invitations.join(world.store, token, world.stranger, now=NOW), range(8))) == {"here"}
    assert uses(world.store) == [1]
    assert {m.account_id: m.role for m in accounts.list_members(world.store, "here")}[world.stranger] == "voter"


def test_an_owner_who_follows_an_invitation_stays_owner(world):
    _, token = invite(world.store, most_uses=1)
    assert invitations.join(world.store, token, world.owner, now=NOW) == "here"
    assert uses(world.store) == [0]
    assert {m.account_id: m.role for m in accounts.list_members(world.store, "here")}[world.owner] == "owner"


def test_removed_members_need_a_newer_invitation(world):
    _, old = invite(world.store)
    accounts.remove_member(world.store, "here", world.voter, now=NOW + 10)
    with refused("invitation", NotAllowed):
        invitations.join(world.store, old, world.voter, now=NOW + 11)
    _, new = invite(world.store, now=NOW + 12)
    assert invitations.join(world.store, new, world.voter, now=NOW + 13) == "here"


def test_ended_invitations_are_refused(world):
    revoked, withdrawn = invite(world.store)
    invitations.revoke_invitation(world.store, "here", revoked.id, now=NOW)
    invitations.revoke_invitation(world.store, "here", revoked.id, now=NOW)
    _, expired = invite(world.store, lasts=60.0)
    for token, now, why in ((withdrawn, NOW, "withdrawn"), (expired, NOW + 60, "expired")):
        with pytest.raises(LinkOver) as caught:
            invitations.look(world.store, token, now=now)
        assert why in str(caught.value)
        with pytest.raises(LinkOver) as caught:
            invitations.accept(world.store, token, name="Eve", now=now)
        assert why in str(caught.value)
        with pytest.raises(LinkOver) as caught:
            invitations.join(world.store, token, world.stranger, now=now)
        assert why in str(caught.value)
    with pytest.raises(UnknownLink):
        invitations.accept(world.store, "guess", name="Eve", now=NOW)
    assert len(accounts.list_members(world.store, "here")) == 3


def test_another_project_s_invitation_cannot_be_revoked(world):
    made, _ = invite(world.store)
    with pytest.raises(NotFound):
        invitations.revoke_invitation(world.store, "there", made.id, now=NOW)
    assert invitations.list_invitations(world.store, "there") == []


@pytest.mark.parametrize(
    "changes", [{"role": "owner"}, {"role": "x"}, {"most_uses": 0}, {"lasts": 0}, {"lasts": 1e12}, {"name": ""}]
)
def test_invitations_out_of_bounds_are_refused(world, changes):
    with pytest.raises(InvalidInput, match=next(iter(changes))):
        invite(world.store, **changes)


def test_a_bad_name_costs_no_use(world):
    _, token = invite(world.store, most_uses=1)
    with pytest.raises(InvalidInput):
        invitations.accept(world.store, token, name=" ", now=NOW)
    assert uses(world.store) == [0]
