"""Every response has the security headers, also errors and crashes; headers set by an endpoint are kept."""

import pytest
from fastapi import Request
from fastapi.testclient import TestClient

from quorate_service.access.request_context import allow_images
from tests.quorate_service.access.conftest import Config, tiny_app


@pytest.fixture(scope="module")
def browser():
    return TestClient(tiny_app(store=None), raise_server_exceptions=False)


@pytest.mark.parametrize(("path", "status"), [("/picture", 200), ("/nowhere", 404), ("/broken", 500), ("/me", 401)])
def test_every_answer_is_locked_down(browser, path, status):
    if path == "/me":
        browser.app.state.signing_key = b"k" * 32
    answer = browser.get(path)
    assert answer.status_code == status
    policy = dict(part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";"))
    assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == policy["form-action"] == "'self'"
    assert policy["img-src"] == ("'self' https:" if path == "/picture" else "'self'")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["referrer-policy"] == "same-origin"
    assert answer.headers["cross-origin-opener-policy"] == "same-origin"
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert "camera=()" in answer.headers["permissions-policy"]
    assert answer.headers["cache-control"] == "no-store"
    assert "strict-transport-security" not in answer.headers


def test_hsts_is_sent_over_tls_only():
    for config, url, sent in (
        (Config(), "https://testserver", True),
        (Config(), "http://testserver", False),
        (Config(secure=True), "http://testserver", True),
    ):
        answer = TestClient(tiny_app(None, config), base_url=url).get("/picture")
        assert ("strict-transport-security" in answer.headers) is sent


def test_an_endpoint_s_own_headers_are_kept(browser):
    answer = browser.get("/own-headers")
    assert answer.headers["cache-control"] == "private, max-age=60"
    assert answer.headers["content-security-policy"] == "sandbox"
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_static_files_may_be_cached(browser):
    assert browser.get("/static/style.css").headers["cache-control"] == "no-cache"


def test_image_sources_must_be_known_schemes():
    request = Request({"type": "http", "state": {}, "headers": []})
    with pytest.raises(ValueError, match="expected some of"):
        allow_images(request, "https:; script-src *")
