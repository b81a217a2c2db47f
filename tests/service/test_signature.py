"""Signatures of webhooks: the published vector, the specification's own package, secrets and headers of 0.1."""

import base64
import hmac
import json
import time
from hashlib import sha256

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from standardwebhooks import Webhook, WebhookVerificationError

from quorate.service.signature import ID, SIGNATURE, TIMESTAMP, new_secret, signed, verify

OLD_SECRET = "ws_7Jm-Zk_0q1"  # as version 0.1 made them


def test_the_published_vector():
    secret, message, body = (
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        b'{"test": 2432232314}',
    )
    headers = signed(secret, message, body, now=1614265330)
    assert headers[SIGNATURE] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    assert (headers[ID], headers[TIMESTAMP]) == (message, "1614265330")


@settings(deadline=None, max_examples=50)
@given(content=st.dictionaries(st.text(), st.integers() | st.text()))
def test_the_reference_package_accepts_what_is_signed_and_nothing_else(content):
    secret, body = new_secret(), json.dumps(content).encode()
    headers = signed(secret, "d_1", body, now=time.time())
    assert Webhook(secret).verify(body, headers) == content
    with pytest.raises(WebhookVerificationError):
        Webhook(secret).verify(body + b" ", headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(new_secret()).verify(body, headers)


def test_what_the_reference_package_signs_is_accepted():
    from datetime import UTC, datetime

    secret, now = new_secret(), time.time()
    signature = Webhook(secret).sign("m", datetime.fromtimestamp(int(now), UTC), "{}")
    headers = {"Webhook-Id": "m", "Webhook-Timestamp": str(int(now)), "Webhook-Signature": f"v1,AAAA {signature}"}
    assert verify(secret, headers, b"{}", now=now)


def test_a_secret_has_the_published_form():
    secret = new_secret()
    assert secret.startswith("whsec_") and 24 <= len(base64.b64decode(secret[6:], validate=True)) <= 64
    assert secret != new_secret()


def test_a_secret_of_the_last_version_signs_with_its_bytes():
    headers = signed(OLD_SECRET, "d_1", b"{}", now=time.time())
    assert verify(OLD_SECRET, headers, b"{}", now=time.time())
    assert Webhook(OLD_SECRET.encode()).verify(b"{}", headers) == {}


@pytest.mark.parametrize("secret", [OLD_SECRET, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"])
def test_receivers_written_for_the_last_version_still_accept_deliveries(secret):
    headers = signed(secret, "d_1", b"{}", now=1000.9)
    digest = hmac.new(secret.encode(), b"1000.{}", sha256).hexdigest()
    assert headers["X-Quorate-Signature"] == f"v1={digest}"
    assert (headers["X-Quorate-Id"], headers["X-Quorate-Timestamp"]) == ("d_1", "1000")


@pytest.mark.parametrize(
    "change",
    [
        {ID: "d_2"},
        {ID: ""},
        {TIMESTAMP: "1001"},
        {TIMESTAMP: "²"},
        {TIMESTAMP: ""},
        {SIGNATURE: ""},
        {SIGNATURE: "v1,é"},
    ],
)
def test_a_changed_header_is_refused(change):
    secret = new_secret()
    headers = signed(secret, "d_1", b"{}", now=1000.0)
    assert verify(secret, headers, b"{}", now=1300.0) and not verify(secret, headers, b"{}", now=1301.0)
    assert not verify(secret, headers | change, b"{}", now=1000.0)


def test_a_secret_that_is_not_base64_is_an_error():
    with pytest.raises(ValueError, match="base64"):
        signed("whsec_!", "d_1", b"{}", now=0.0)
