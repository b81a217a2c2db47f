"""Random ids and secrets, the digests under which they are stored, and the key that signs cookies."""

from __future__ import annotations

import hmac
import os
from collections.abc import Mapping
from hashlib import sha256
from secrets import token_hex, token_urlsafe

from itsdangerous import BadSignature, Signer
from sqlalchemy import select

from quorate.service.store.bulk import upsert
from quorate.service.store.schema import secrets
from quorate.service.store.store import Store
from quorate.validate import broken

LONGEST = 200  # characters of a received secret that are used; ours have fewer than 60


def new_id() -> str:
    """A unique id: 24 characters, safe in URLs, not secret.

    >>> len(new_id()), new_id() == new_id()
    (24, False)
    """
    return token_hex(12)


def new_secret(prefix: str = "") -> str:
    """A secret of 32 random bytes, shown once and never stored.

    >>> secret = new_secret("qk_")
    >>> secret[:3], len(secret)
    ('qk_', 46)
    """
    return prefix + token_urlsafe(32)


def digest(secret: str) -> str:
    """What is stored of a secret: SHA-256 as 64 hexadecimal digits. Accepts any text, even lone surrogates.

    >>> digest("qk_1")[:8], len(digest("\\ud800"))
    ('5f28eaf9', 64)
    """
    return sha256(secret[:LONGEST].encode("utf-8", "surrogatepass")).hexdigest()


ENVIRONMENT = "QUORATE_SECRET"
SHORTEST_KEY = 32


def signing_key(store: Store, *, now: float, environment: Mapping[str, str] = os.environ) -> bytes:
    """The key that signs cookies: QUORATE_SECRET, or the one stored in the database, made if there is none."""
    given = environment.get(ENVIRONMENT)
    if given is None:
        return _stored_key(store, now=now).encode()
    if len(given) < SHORTEST_KEY:
        rule = f"at least {SHORTEST_KEY} characters"
        fix = 'Make one: python -c "import secrets; print(secrets.token_urlsafe(32))"; or unset it.'
        raise broken(ENVIRONMENT, f"{len(given)} characters", rule, fix)
    return given.encode("utf-8", "surrogateescape")


def _stored_key(store: Store, *, now: float) -> str:
    query = select(secrets.c.value).where(secrets.c.name == "cookies")
    with store.read() as connection:
        value = connection.scalar(query)
    if value is None:
        with store.write() as connection:
            fresh = {"name": "cookies", "value": new_secret(), "created": now}
            connection.execute(upsert(connection, secrets).values(fresh).on_conflict_do_nothing())
            value = connection.scalar(query)  # another worker's, if it was first
    return str(value)


def sign(key: bytes, text: str) -> str:
    """The text with its signature.

    >>> signed = sign(b"k" * 32, "id")
    >>> signed[:3], unsign(b"k" * 32, signed), unsign(b"x" * 32, signed), unsign(b"k" * 32, "id.forged")
    ('id.', 'id', None, None)
    """
    return _signer(key).sign(text).decode()


def unsign(key: bytes, signed: str) -> str | None:
    """The text that was signed; None if this key did not sign it."""
    try:
        return _signer(key).unsign(signed[: 2 * LONGEST].encode("utf-8", "replace")).decode()
    except (BadSignature, UnicodeDecodeError):
        return None


def _signer(key: bytes) -> Signer:
    return Signer(key, salt="quorate.sign-in", key_derivation="hmac", digest_method=sha256)


def token_for(key: bytes, session_id: str) -> str:
    """The CSRF token of a sign-in: HMAC-SHA256 over its id, which is in the cookie only and not in the database."""
    return hmac.new(key, b"quorate.csrf:" + session_id.encode(), sha256).hexdigest()
