"""Signatures of webhook deliveries: `signed` by the sender, `verify` for receivers. Needs only the standard library."""

from __future__ import annotations

import hmac
from hashlib import sha256

ID, TIMESTAMP, SIGNATURE = "X-Quorate-Id", "X-Quorate-Timestamp", "X-Quorate-Signature"


def signed(secret: str, delivery_id: str, body: bytes, *, now: float) -> dict[str, str]:
    """The headers of a delivery: v1 = HMAC-SHA256(secret, timestamp "." body), hexadecimal.

    >>> headers = signed("s", "d_1", b"{}", now=1731718800.9)
    >>> headers[TIMESTAMP], headers[SIGNATURE][:11]
    ('1731718800', 'v1=91e4ad98')
    """
    timestamp = str(int(now))
    return {ID: delivery_id, TIMESTAMP: timestamp, SIGNATURE: f"v1={_digest(secret, timestamp, body)}"}


def verify(secret: str, headers: dict[str, str], body: bytes, *, now: float, tolerance: float = 300.0) -> bool:
    """Whether a delivery is ours and fresh; what a receiver checks before it believes the body.

    >>> headers = signed("s", "d_1", b"{}", now=1000.0)
    >>> verify("s", headers, b"{}", now=1010.0), verify("s", headers, b"{ }", now=1010.0)
    (True, False)
    """
    found = {name.lower(): value for name, value in headers.items()}
    timestamp, sent = found.get(TIMESTAMP.lower(), ""), found.get(SIGNATURE.lower(), "")
    if not timestamp.isdigit() or abs(now - int(timestamp)) > tolerance:
        return False
    return hmac.compare_digest(f"v1={_digest(secret, timestamp, body)}", sent)


def _digest(secret: str, timestamp: str, body: bytes) -> str:
    return hmac.new(secret.encode(), timestamp.encode() + b"." + body, sha256).hexdigest()
