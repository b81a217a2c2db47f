"""Pages of other sites cannot use a visitor's cookie."""

import pytest
from fastapi.testclient import TestClient

from quorate.service.access import credentials
from tests.service.access.conftest import NOW, Config, bearer, signed_in, tiny_app


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_unsafe_requests_by_cookie_need_the_token(world, app, method):
    browser, header = signed_in(app, world.voter)
    refused = browser.request(method, "/me")
    assert (refused.status_code, refused.json()["field"]) == (403, "X-CSRF-Token")
    assert browser.request(method, "/me", headers=header).status_code == 200


def test_reading_needs_no_token(world, app):
    browser, _ = signed_in(app, world.voter)
    assert browser.get("/me").status_code == 200


def test_the_token_of_another_sign_in_is_refused(world, app):
    mine, _ = signed_in(app, world.voter)
    _, other = signed_in(app, world.voter)
    for token in (other["X-CSRF-Token"], "", "x", "é"):
        answer = mine.post("/me", headers={"X-CSRF-Token": token.encode("latin-1")})
        assert answer.status_code == 403


def test_a_form_carries_the_token_in_a_field(world, app):
    browser, header = signed_in(app, world.voter)
    token = header["X-CSRF-Token"]
    answer = browser.post("/form", data={"word": "yes", "csrf_token": token})
    assert (answer.status_code, answer.json()["word"]) == (200, "yes")
    assert browser.post("/form", data={"word": "yes"}).status_code == 403
    assert browser.post("/form", data={"word": "yes", "csrf_token": "x"}).status_code == 403
    assert browser.post("/me", data={"csrf_token": token}).status_code == 200
    assert browser.post("/form", files={"csrf_token": b"file"}, data={"word": "a"}).status_code == 403
    assert browser.post("/me", json={"csrf_token": token}).status_code == 403  # a field of a form, not of JSON


def test_keys_need_no_token(world, app):
    secret = credentials.create_key(world.store, world.owner, name="k", now=NOW)[1]
    browser, _ = signed_in(app, world.voter)
    assert browser.post("/me", headers=bearer(secret)).json()["account"] == world.owner


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({"Sec-Fetch-Site": "none"}, 200),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Origin": "http://testserver"}, 200),
        ({"Origin": "http://TESTSERVER"}, 200),
        ({"Origin": "http://testserver:8000"}, 403),
        ({"Origin": "http://testserver.evil.example"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://[bad"}, 403),
        ({"Origin": "https://evil.example", "X-Forwarded-Host": "evil.example"}, 403),
    ],
)
def test_another_site_is_refused_even_with_the_token_and_before_signing_in(world, app, headers, status):
    browser, token = signed_in(app, world.voter)
    assert browser.post("/me", headers=token | headers).status_code == status
    assert TestClient(app).post(f"/sign-in/{world.voter}", headers=headers).status_code == status


@pytest.mark.parametrize(
    ("config", "headers", "status"),
    [
        (Config(base_url="http://labels.example.org"), {"Origin": "http://labels.example.org"}, 200),
        (Config(trust_proxy=True), {"Origin": "http://outside", "X-Forwarded-Host": "outside"}, 200),
        (Config(secure=True), {"Origin": "https://testserver"}, 200),
        (Config(secure=True), {"Origin": "http://testserver"}, 403),
    ],
)
def test_the_service_s_own_origin_is_what_the_proxy_or_the_configuration_says(world, config, headers, status):
    app = tiny_app(world.store, config)
    assert TestClient(app).post(f"/sign-in/{world.voter}", headers=headers).status_code == status


def test_nobody_has_no_token(client):
    assert client.get("/token").json() == {"token": None}
