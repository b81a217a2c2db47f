"""Who may do what: every role of the tiny app, by cookie and by key; non-members, revoked keys, disabled accounts."""

import pytest
from sqlalchemy import event, select

from quorate.service.access import accounts, cookies, credentials
from quorate.service.store.schema import api_keys, sign_ins
from tests.service.access.conftest import NOW, bearer, signed_in, tiny_app

MATRIX = {  # status of each endpoint for owner, voter, reader, another project's owner
    "any": (200, 200, 200, 404),
    "owner": (200, 403, 403, 404),
    "look": (200, 403, 200, 404),
    "vote": (403, 200, 403, 404),
}
PEOPLE = ("owner", "voter", "reader", "stranger")


def statuses(send, world, name):
    return tuple(send(getattr(world, person), f"/projects/here/{name}").status_code for person in PEOPLE)


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_each_role_gets_what_it_may_by_key(world, client, method):
    secrets = {
        getattr(world, p): credentials.create_key(world.store, getattr(world, p), name="k", now=NOW)[1] for p in PEOPLE
    }
    for name, expected in MATRIX.items():
        found = statuses(lambda who, path: client.request(method, path, headers=bearer(secrets[who])), world, name)
        assert found == expected, name


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_each_role_gets_what_it_may_by_cookie(world, app, method):
    browsers = {getattr(world, person): signed_in(app, getattr(world, person)) for person in PEOPLE}
    for name, expected in MATRIX.items():
        found = statuses(lambda who, path: browsers[who].request(method, path), world, name)
        assert found == expected, name


def test_without_a_sign_in_the_response_is_401(client):
    for path in ("/me", "/projects/here/any", "/projects/nowhere/any", "/wide"):
        answer = client.get(path)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"
        assert answer.headers["content-type"] == "application/problem+json"


def test_another_projects_response_is_that_of_an_unknown_one(world, app):
    browser = signed_in(app, world.stranger)
    real, imagined = (browser.get(f"/projects/{name}/any").json() for name in ("here", "gone"))
    assert real["status"] == 404
    assert {name: str(said).replace("here", "gone") for name, said in real.items()} == {**imagined, "status": "404"}


@pytest.mark.parametrize("odd", ["%00", "a%00b", "here%20", "x" * 41, "%F0%9F%92%A9", "%ED%A0%80", "'; drop table"])
def test_invalid_ids_are_not_found_on_any_database(world, app, odd):
    browser = signed_in(app, world.owner)
    assert browser.get(f"/projects/{odd}/any").status_code == 404


def test_one_statement_reads_account_and_role(world, app):
    browser = signed_in(app, world.voter)
    secret = credentials.create_key(world.store, world.voter, name="k", now=NOW)[1]
    browser.get("/projects/here/vote", headers=bearer(secret))  # its first use is noted
    seen = []
    event.listen(world.store.engine, "before_cursor_execute", lambda *call: seen.append(call[2]))
    assert browser.post("/projects/here/vote").json()["role"] == "voter"
    assert browser.get("/projects/here/vote", headers=bearer(secret)).json()["role"] == "voter"
    assert len([words for words in seen if not words.startswith("BEGIN")]) == 2


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


def test_a_key_for_one_project_cannot_access_others_or_make_wider_keys(world, client):
    accounts.add_member(world.store, "there", world.owner, role="owner", now=NOW)
    secret = credentials.create_key(world.store, world.owner, name="k", project_id="here", now=NOW)[1]
    assert client.get("/projects/here/owner", headers=bearer(secret)).status_code == 200
    assert client.get("/projects/there/owner", headers=bearer(secret)).status_code == 404
    assert client.get("/me", headers=bearer(secret)).json()["key_project"] == "here"
    assert client.get("/wide", headers=bearer(secret)).status_code == 403
    assert client.post("/new", headers=bearer(secret)).status_code == 403


def test_only_permitted_accounts_create_projects(world, client):
    for may_create, status in ((True, 200), (False, 403)):
        account = accounts.create_account(world.store, "x", may_create=may_create, now=NOW)
        secret = credentials.create_key(world.store, account.id, name="k", now=NOW)[1]
        assert client.post("/new", headers=bearer(secret)).status_code == status


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


def test_openapi_names_both_ways_to_sign_in():
    spec = tiny_app(store=None).openapi()
    assert set(spec["components"]["securitySchemes"]) == {"key", "cookie"}
    assert spec["paths"]["/projects/{project_id}/owner"]["get"]["security"]


def test_a_page_of_another_account_does_not_act_for_who_signed_in_since(world, app):
    browser = signed_in(app, world.voter)
    assert browser.post("/me", headers={"X-Account": world.voter}).json()["account"] == world.voter
    assert browser.post("/me", headers={"X-Account": world.owner}).status_code == 401
