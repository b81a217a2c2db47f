"""Cookies are invalid if forged, tampered with, signed out, or sent under the other name."""

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select

from quorate_service.access import cookies, digest
from quorate_service.access import cookies as signing
from quorate_service.store.schema import secrets, sign_ins
from tests.quorate_service.access.conftest import BOTH, NOW, Config, at_once, signed_in, tiny_app
from tests.refusals import refused


def set_cookie(app, account, base_url="http://testserver", **headers):
    return TestClient(app, base_url=base_url).post(f"/sign-in/{account}", headers=headers).headers["set-cookie"]


def with_cookie(app, value, name="quorate"):
    return TestClient(app).get("/me", headers={"Cookie": f"{name}={value}".encode("latin-1")}).status_code


def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(world, app):
    plain = set_cookie(app, world.voter)
    assert plain.startswith("quorate=")
    for part in ("HttpOnly", "SameSite=lax", "Path=/", f"Max-Age={int(cookies.LONGEST)}"):
        assert part in plain
    assert "Secure" not in plain
    over_tls = set_cookie(app, world.voter, "https://testserver")
    assert over_tls.startswith("__Host-quorate=")
    assert "Secure" in over_tls
    assert "Domain" not in over_tls


@pytest.mark.parametrize(
    ("config", "headers", "secure"),
    [
        (Config(), {"X-Forwarded-Proto": "https"}, False),
        (Config(trust_proxy=True), {"X-Forwarded-Proto": "https"}, True),
        (Config(trust_proxy=True), {"X-Forwarded-Proto": "https, http"}, False),
        (Config(trust_proxy=True), {}, False),
        (Config(secure=True), {}, True),
        (Config(secure=False, trust_proxy=True), {"X-Forwarded-Proto": "https"}, False),
    ],
)
def test_a_proxy_is_believed_only_where_the_configuration_says_so(world, config, headers, secure):
    app = tiny_app(world.store, config)
    assert set_cookie(app, world.voter, **headers).startswith("__Host-") is secure


def test_forged_and_tampered_cookies_are_ignored(world, app):
    browser = signed_in(app, world.voter)
    value = browser.cookies["quorate"]
    session_id, signature = value.rsplit(".", 1)
    assert with_cookie(app, value) == 200
    other = signing.sign(b"x" * 32, session_id)
    flipped = ("A" if session_id[0] != "A" else "B") + session_id[1:]
    for forged in (
        session_id,
        f"{session_id}.",
        f".{signature}",
        f"{flipped}.{signature}",
        f"{session_id}.{signature[:-2]}",
        other,
        digest(session_id),
        "x" * 5000,
        "%00",
        "é",
    ):
        assert with_cookie(app, forged) == 401, forged
    assert with_cookie(app, value, "__Host-quorate") == 401


def test_a_cookie_cannot_be_made_from_the_database(world, app):
    signed_in(app, world.voter)
    with world.store.read() as connection:
        key = connection.scalar(select(secrets.c.value)).encode()
        row = connection.execute(select(sign_ins)).one()
    assert with_cookie(app, signing.sign(key, row.digest)) == 401


def test_signing_out_ends_the_cookie_everywhere_it_is(world, app):
    first, second = signed_in(app, world.voter), signed_in(app, world.voter)
    copy = first.cookies["quorate"]
    cookies.sign_out(world.store, copy.rsplit(".", 1)[0], now=NOW)
    assert with_cookie(app, copy) == 401
    assert second.get("/me").status_code == 200
    cookies.sign_out_everywhere(world.store, world.voter, now=NOW)
    assert second.get("/me").status_code == 401


@BOTH
def test_all_workers_sign_with_the_same_key(empty):
    keys = at_once(lambda _: signing.signing_key(empty, now=NOW, environment={}), range(8))
    assert len(set(keys)) == 1
    assert len(keys[0]) == 43


def test_the_key_may_come_from_the_environment_if_it_is_long_enough(empty):
    assert signing.signing_key(empty, now=NOW, environment={"QUORATE_SECRET": "k" * 32}) == b"k" * 32
    with refused("QUORATE_SECRET"):
        signing.signing_key(empty, now=NOW, environment={"QUORATE_SECRET": "short"})
    with empty.read() as connection:
        assert connection.execute(select(secrets)).all() == []


def test_a_cookie_signed_by_one_worker_is_good_at_another(world, app):
    browser = signed_in(app, world.voter)
    other = TestClient(tiny_app(world.store))
    other.cookies = browser.cookies
    assert other.get("/me").status_code == 200
