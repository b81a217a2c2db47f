"""API keys: shown once, stored as a digest, listed without the key, revoked for good."""

import pytest
from sqlalchemy import select

from quorate.service.access import credentials, digest
from quorate.service.problems import NotFound
from quorate.service.store.schema import api_keys
from tests.service.access.conftest import NOW


def test_a_key_is_shown_once_and_only_its_digest_is_kept(world):
    key, secret = credentials.create_key(world.store, world.owner, name="ci", now=NOW)
    assert secret.startswith("qk_")
    assert len(secret) == 46
    with world.store.read() as connection:
        row = connection.execute(select(api_keys)).one()
    assert row.digest == digest(secret)
    assert not any(secret in str(value) for value in row)
    assert (row.start, key.start) == (secret[:8], secret[:8])
    assert credentials.list_keys(world.store, world.owner) == [key]


def test_keys_are_listed_and_revoked_by_their_own_account_only(world):
    key, _ = credentials.create_key(world.store, world.owner, name="a", now=NOW)
    assert credentials.list_keys(world.store, world.voter) == []
    with pytest.raises(NotFound):
        credentials.revoke_key(world.store, key.id, account_id=world.voter, now=NOW)
    assert credentials.list_keys(world.store, world.owner)[0].revoked is None
    credentials.revoke_key(world.store, key.id, account_id=world.owner, now=NOW + 1)
    credentials.revoke_key(world.store, key.id, account_id=world.owner, now=NOW + 2)
    assert credentials.list_keys(world.store, world.owner)[0].revoked == NOW + 1


def test_a_key_is_for_projects_its_account_is_in(world):
    with pytest.raises(NotFound) as caught:
        credentials.create_key(world.store, world.owner, name="a", project_id="there", now=NOW)
    assert caught.value.field == "project_id"
    assert (
        credentials.create_key(world.store, world.owner, name="a", project_id="here", now=NOW)[0].project_id == "here"
    )
