"""Links work once, also with concurrent attempts; opening one does not use it; they expire."""

import pytest
from sqlalchemy import select

from quorate_service.access import accounts, credentials, digest
from quorate_service.problems import LinkOver, NotFound, UnknownLink
from quorate_service.store import schema
from tests.quorate_service.access.conftest import BOTH, NOW, at_once
from tests.refusals import refused

BASE = "https://labels.example.org/"


def token_of(link):
    assert link.startswith("https://labels.example.org/link/")
    return link.rsplit("/", 1)[1]


def test_the_first_link_makes_the_owner_and_there_is_no_second(empty):
    early = token_of(credentials.first_owner_link(empty, BASE, now=NOW))
    token = token_of(credentials.first_owner_link(empty, BASE, now=NOW))
    assert credentials.look_at_link(empty, token, now=NOW) == credentials.Link(
        None, None, NOW + credentials.FIRST_LASTS
    )
    used = credentials.use_link(empty, token, name="Grace", now=NOW)
    owner = accounts.load_account(empty, used.account_id)
    assert (owner.name, owner.may_create) == ("Grace", True)
    assert credentials.first_owner_link(empty, BASE, now=NOW) is None
    for old in (token, early):
        with refused("link", LinkOver):
            credentials.use_link(empty, old, name="Eve", now=NOW)
        with pytest.raises(LinkOver):
            credentials.look_at_link(empty, old, now=NOW)
    with empty.read() as connection:
        kept = connection.execute(select(schema.sign_ins)).one()
    assert (kept.digest, kept.account_id) == (digest(used.session_id), used.account_id)


@BOTH
@pytest.mark.parametrize("num_links", [1, 8])
def test_eight_who_use_first_links_at_once_make_one_owner(empty, num_links):
    """One link, or those of eight starts."""
    links = [token_of(credentials.first_owner_link(empty, BASE, now=NOW)) for _ in range(num_links)]
    results = at_once(lambda token: credentials.use_link(empty, token, name="x", now=NOW), links * (8 // num_links))
    assert sum(isinstance(result, credentials.SignedIn) for result in results) == 1
    assert sum(isinstance(result, LinkOver) for result in results) == 7
    assert len(accounts.list_accounts(empty)) == 1


def test_a_bad_name_does_not_use_the_link_up(empty):
    token = token_of(credentials.first_owner_link(empty, BASE, now=NOW))
    with refused("name"):
        credentials.use_link(empty, token, now=NOW)
    assert credentials.use_link(empty, token, name="Grace", now=NOW).account_id


@BOTH
def test_a_sign_in_link_signs_its_account_in_once(world):
    token = token_of(credentials.sign_in_link(world.store, world.voter, BASE, now=NOW))
    for _ in range(3):
        assert credentials.look_at_link(world.store, token, now=NOW).name == "voter"
    results = at_once(lambda _: credentials.use_link(world.store, token, now=NOW), range(8))
    assert [r.account_id for r in results if isinstance(r, credentials.SignedIn)] == [world.voter]


def test_a_new_sign_in_link_ends_the_older_ones_of_the_same_account(world):
    old, other = (
        credentials.sign_in_link(world.store, account, BASE, now=NOW) for account in (world.voter, world.reader)
    )
    new = credentials.sign_in_link(world.store, world.voter, BASE, now=NOW + 1)
    for act in (credentials.look_at_link, credentials.use_link):
        with refused("link", LinkOver):
            act(world.store, token_of(old), now=NOW + 1)
    assert credentials.use_link(world.store, token_of(new), now=NOW + 1).account_id == world.voter
    assert credentials.use_link(world.store, token_of(other), now=NOW + 1).account_id == world.reader


def test_links_expire_and_others_are_unknown(world):
    token = token_of(credentials.sign_in_link(world.store, world.voter, BASE, now=NOW))
    for act in (credentials.look_at_link, credentials.use_link):
        with refused("link", LinkOver):
            act(world.store, token, now=NOW + credentials.SIGN_IN_LASTS)
        for wrong in ("", token[:-1], token + "a", "\x00", "\ud800", "x" * 10_000):
            with pytest.raises(UnknownLink):
                act(world.store, wrong, now=NOW)


def test_no_link_for_an_account_that_is_disabled_or_not_there(world):
    accounts.disable_account(world.store, world.voter, now=NOW)
    for account in (world.voter, "nobody"):
        with pytest.raises(NotFound):
            credentials.sign_in_link(world.store, account, BASE, now=NOW)


def test_the_token_itself_is_not_kept(world):
    token = token_of(credentials.sign_in_link(world.store, world.voter, BASE, now=NOW))
    with world.store.read() as connection:
        assert token not in str(connection.execute(select(schema.links)).all())
