"""Signatures of webhook deliveries by the Standard Webhooks specification: `signed` for the sender, `verify` for
receivers. Needs only the standard library.

    webhook-signature: v1,base64(HMAC-SHA256(key, webhook-id "." webhook-timestamp "." body))

The key is what follows `whsec_` in the secret, decoded from base64. Secrets made before version 0.2 have no such
prefix; their key is the secret itself, as bytes. The headers of version 0.1 (X-Quorate-...) are sent too, until 0.3.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import secrets
from collections.abc import Mapping
from hashlib import sha256

ID, TIMESTAMP, SIGNATURE = "webhook-id", "webhook-timestamp", "webhook-signature"
OLD_ID, OLD_TIMESTAMP, OLD_SIGNATURE = "X-Quorate-Id", "X-Quorate-Timestamp", "X-Quorate-Signature"
PREFIX = "whsec_"


def new_secret() -> str:
    """A random secret: 32 bytes in base64, after `whsec_`.

    >>> len(_key(new_secret()))
    32
    """
    return PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def signed(secret: str, delivery_id: str, body: bytes, *, now: float) -> dict[str, str]:
    """The headers of a delivery.

    >>> headers = signed("whsec_c2VjcmV0", "d_1", b"{}", now=1731718800.9)
    >>> headers[TIMESTAMP], headers[SIGNATURE][:11]
    ('1731718800', 'v1,31j29QLA')
    """
    timestamp = str(int(now))
    return {
        ID: delivery_id,
        TIMESTAMP: timestamp,
        SIGNATURE: _signature(secret, delivery_id, timestamp, body),
        OLD_ID: delivery_id,
        OLD_TIMESTAMP: timestamp,
        OLD_SIGNATURE: _old_signature(secret, timestamp, body),
    }


def verify(secret: str, headers: Mapping[str, str], body: bytes, *, now: float, tolerance: float = 300.0) -> bool:
    """Whether the signature is valid and recent; receivers check this before they trust the body.

    >>> headers = signed("whsec_c2VjcmV0", "d_1", b"{}", now=1000.0)
    >>> verify("whsec_c2VjcmV0", headers, b"{}", now=1010.0), verify("whsec_c2VjcmV0", headers, b"{ }", now=1010.0)
    (True, False)
    """
    found = {name.lower(): value for name, value in headers.items()}
    timestamp = found.get(TIMESTAMP, "")
    if not (timestamp.isascii() and timestamp.isdigit()) or abs(now - int(timestamp)) > tolerance:
        return False
    expected = _signature(secret, found.get(ID, ""), timestamp, body).encode()
    return any(hmac.compare_digest(expected, sent.encode()) for sent in found.get(SIGNATURE, "").split(" "))


def _signature(secret: str, delivery_id: str, timestamp: str, body: bytes) -> str:
    content = f"{delivery_id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.digest(_key(secret), content, sha256)).decode()


def _key(secret: str) -> bytes:
    """The HMAC key of a secret.

    >>> _key("whsec_c2VjcmV0"), _key("ws_old")
    (b'secret', b'ws_old')
    """
    if not secret.startswith(PREFIX):
        return secret.encode()
    try:
        return base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except binascii.Error as problem:
        raise ValueError("secret: what follows whsec_ must be base64.") from problem


def _old_signature(secret: str, timestamp: str, body: bytes) -> str:
    return "v1=" + hmac.digest(secret.encode(), timestamp.encode() + b"." + body, sha256).hex()
