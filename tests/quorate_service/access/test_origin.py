"""Pages of other sites cannot use a visitor's cookie."""

import pytest
from fastapi.testclient import TestClient

from quorate_service.access import credentials
from tests.quorate_service.access.conftest import NOW, Config, bearer, signed_in, tiny_app


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_a_cookie_alone_changes_nothing(world, app, method):
    browser = signed_in(app, world.voter)
    del browser.headers["Sec-Fetch-Site"]
    assert browser.get("/me").status_code == 200
    refused = browser.request(method, "/me")
    assert (refused.status_code, refused.json()["field"]) == (403, "Origin")
    assert browser.post("/form", data={"word": "yes"}).status_code == 403
    assert TestClient(app, cookies=browser.cookies).post(f"/sign-in/{world.reader}").status_code == 403
    assert TestClient(app).post(f"/sign-in/{world.reader}").status_code == 200, "a program without a cookie"


def test_a_key_needs_no_origin(world, app):
    secret = credentials.create_key(world.store, world.owner, name="k", now=NOW)[1]
    browser = signed_in(app, world.voter)
    del browser.headers["Sec-Fetch-Site"]
    assert browser.post("/me", headers=bearer(secret)).json()["account"] == world.owner


OURS = "http://testserver"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({"Sec-Fetch-Site": "none"}, 200),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Origin": OURS}, 403),
        ({"Sec-Fetch-Site": ""}, 403),
        ({"Origin": OURS}, 200),
        ({"Origin": "http://TESTSERVER"}, 200),
        ({"Origin": "http://testserver:8000"}, 403),
        ({"Origin": "http://testserver.evil.example"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": ""}, 403),
        ({"Origin": "http://[bad"}, 403),
        ({"Origin": "https://evil.example", "X-Forwarded-Host": "evil.example"}, 403),
        ({"Referer": OURS}, 403),
    ],
)
def test_another_site_is_refused_with_a_cookie_and_before_signing_in(world, app, headers, status):
    browser = signed_in(app, world.voter)
    del browser.headers["Sec-Fetch-Site"]
    assert browser.post("/me", headers=headers).status_code == status
    assert browser.post("/form", data={"word": "yes"}, headers=headers).status_code == status
    if "Referer" not in headers:
        assert TestClient(app).post(f"/sign-in/{world.voter}", headers=headers).status_code == status


@pytest.mark.parametrize(
    ("config", "headers", "status"),
    [
        (Config(base_url="http://labels.example.org"), {"Origin": "http://labels.example.org"}, 200),
        (Config(trust_proxy=True), {"Origin": "http://outside", "X-Forwarded-Host": "outside"}, 200),
        (Config(secure=True), {"Origin": "https://testserver"}, 200),
        (Config(secure=True), {"Origin": OURS}, 403),
    ],
)
def test_the_service_s_own_origin_is_what_the_proxy_or_the_configuration_says(world, config, headers, status):
    app = tiny_app(world.store, config)
    assert TestClient(app).post(f"/sign-in/{world.voter}", headers=headers).status_code == status
