"""Looking up callers together gives the same results as one by one; revoking takes effect at once."""

from itertools import product

import pytest

from quorate.service.access import accounts, cookies, credentials, digest
from quorate.service.access.principal import Credential, look_up
from quorate.service.domain.projects import Projects
from quorate.service.domain.settings import ProjectSettings


@pytest.fixture
def people(store):
    """Two accounts, two projects; one account is owner here and voter there, the other voter here only."""
    settings = ProjectSettings(classes=["cat", "dog"], pool_size=3)
    here, there = (Projects(store).create(name, settings, now=0.0).id for name in ("here", "there"))
    both, one = (accounts.create_account(store, name, now=0.0).id for name in ("both", "one"))
    for project, account, role in ((here, both, "owner"), (there, both, "voter"), (here, one, "voter")):
        accounts.add_member(store, project, account, role=role, now=0.0)
    return {"here": here, "there": there, "both": both, "one": one}


def proofs_of(store, people):
    found = []
    for name in ("both", "one"):
        key, secret = credentials.create_key(store, people[name], name="k", now=0.0)
        with store.write() as connection:
            session = cookies.open_sign_in(connection, people[name], key_id=key.id, how="test", now=0.0)
        found.append((key, Credential("key", digest(secret), "")))
        found.append((key, Credential("cookie", digest(session), "", key.id)))
    return found


def told(known):
    return None if known is None else (known.row.id, known.role)


def test_each_is_found_with_the_role_in_the_project_asked_about(store, people):
    proofs = [
        Credential(proof.kind, proof.digest, people.get(project, "p_none"), proof.key_id)
        for (_, proof), project in product(proofs_of(store, people), ("here", "there", "none"))
    ]
    together = [told(known) for known in look_up(store, proofs)]
    assert together == [told(look_up(store, [proof])[0]) for proof in proofs]
    roles = {"both": ["owner", "voter", None], "one": ["voter", None, None]}
    assert together == [(people[name], role) for name in ("both", "both", "one", "one") for role in roles[name]]


def test_a_revoked_key_and_its_sign_ins_are_invalid(store, people):
    (key, by_key), (_, by_cookie), (_, other), _ = proofs_of(store, people)
    credentials.revoke_key(store, key.id, account_id=people["both"], now=1.0)
    assert [told(known) for known in look_up(store, [by_key, by_cookie, other])] == [None, None, (people["one"], None)]


def test_disabled_accounts_and_unknown_keys_are_invalid(store, people):
    _, _, (_, proof), _ = proofs_of(store, people)
    accounts.disable_account(store, people["one"], now=1.0)
    assert look_up(store, [proof, Credential("key", digest("qk_made_up"), people["here"])]) == [None, None]
