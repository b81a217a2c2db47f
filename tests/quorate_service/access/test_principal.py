"""Who a request is of: removed members, revoked keys, disabled accounts, old sign-ins."""

import pytest
from sqlalchemy import select

from quorate_service.access import accounts, cookies, credentials
from quorate_service.store.schema import api_keys, sign_ins
from tests.quorate_service.access.conftest import NOW, bearer, signed_in


@pytest.mark.parametrize("odd", ["%00", "a%00b", "here%20", "x" * 41, "%F0%9F%92%A9", "%ED%A0%80", "'; drop table"])
def test_invalid_ids_are_not_found_on_any_database(world, app, odd):
    browser = signed_in(app, world.owner)
    assert browser.get(f"/projects/{odd}/any").status_code == 404


def test_removing_members_and_disabling_accounts_takes_effect_at_once(world, app, client):
    secret = credentials.create_key(world.store, world.voter, name="k", now=NOW)[1]
    browser = signed_in(app, world.voter)
    accounts.remove_member(world.store, "here", world.voter, now=NOW)
    assert browser.get("/projects/here/any").status_code == 404
    assert client.get("/projects/here/any", headers=bearer(secret)).status_code == 404
    assert browser.get("/me").status_code == 200
    accounts.disable_account(world.store, world.voter, now=NOW)
    assert browser.get("/me").status_code == 401
    assert client.get("/me", headers=bearer(secret)).status_code == 401


def test_a_revoked_key_and_wrong_keys_open_nothing(world, client):
    key, secret = credentials.create_key(world.store, world.owner, name="k", now=NOW)
    assert client.get("/me", headers=bearer(secret)).json()["via"] == "key"
    for wrong in ("", "qk_", secret[:-1], secret + "x", secret.upper(), "x" * 5000, "qk_\xe9"):
        assert client.get("/me", headers={"Authorization": f"Bearer {wrong}".encode("latin-1")}).status_code == 401
    credentials.revoke_key(world.store, key.id, account_id=world.owner, now=NOW)
    assert client.get("/me", headers=bearer(secret)).status_code == 401


def test_a_key_takes_precedence_over_a_cookie_even_if_invalid(world, app):
    browser = signed_in(app, world.voter)
    secret = credentials.create_key(world.store, world.owner, name="k", now=NOW)[1]
    assert browser.get("/me", headers=bearer(secret)).json()["account"] == world.owner
    assert browser.post("/me", headers=bearer("qk_wrong")).status_code == 401


def test_a_proxy_s_basic_authentication_does_not_get_in_the_way_of_the_cookie(world, app):
    browser = signed_in(app, world.voter)
    assert browser.get("/me", auth=("nurse", "password")).json()["account"] == world.voter
    del browser.headers["Sec-Fetch-Site"]
    assert browser.post("/me", auth=("nurse", "password")).status_code == 403  # and is no way around the origin check


def test_the_use_of_a_key_is_noted_once_a_minute(world, client, clock):
    secret = credentials.create_key(world.store, world.owner, name="k", now=NOW)[1]

    def used():
        client.get("/me", headers=bearer(secret))
        with world.store.read() as connection:
            return connection.scalar(select(api_keys.c.used))

    assert used() == NOW
    clock.now = NOW + 59
    assert used() == NOW
    clock.now = NOW + 61
    assert used() == NOW + 61


def test_a_used_sign_in_is_extended_up_to_a_limit(world, app, clock):
    browser = signed_in(app, world.voter)
    for day in range(60, 400, 60):
        clock.now = NOW + day * cookies.DAY
        assert browser.get("/me").status_code == 200, day
    clock.now = NOW + 401 * cookies.DAY
    assert browser.get("/me").status_code == 401


def test_a_sign_in_that_is_not_used_ends(world, app, clock):
    browser = signed_in(app, world.voter)
    clock.now = NOW + 91 * cookies.DAY
    assert browser.get("/me").status_code == 401
    with world.store.read() as connection:
        assert connection.scalar(select(sign_ins.c.expires)) == NOW + cookies.IDLE


def test_a_page_of_another_account_does_not_act_for_who_signed_in_since(world, app):
    browser = signed_in(app, world.voter)
    assert browser.post("/me", headers={"X-Account": world.voter}).json()["account"] == world.voter
    assert browser.post("/me", headers={"X-Account": world.owner}).status_code == 401
