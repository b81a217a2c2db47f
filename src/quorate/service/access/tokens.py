"""Random ids and secrets, and the digests under which secrets are kept. Called by everything in `access`.

A secret has 256 random bits, so a plain SHA-256 is enough to keep it by: there is nothing to guess. Looking it up by
its digest compares digests, whose timing says nothing about the secret.
"""

from __future__ import annotations

from hashlib import sha256
from secrets import token_hex, token_urlsafe

LONGEST = 200  # characters of a secret anybody may send; ours have fewer than 60


def new_id() -> str:
    """An id nobody else has: 24 characters, safe in URLs, not secret.

    >>> len(new_id()), new_id() == new_id()
    (24, False)
    """
    return token_hex(12)


def new_secret(prefix: str = "") -> str:
    """A secret of 32 random bytes, shown once and never kept.

    >>> secret = new_secret("qk_")
    >>> secret[:3], len(secret)
    ('qk_', 46)
    """
    return prefix + token_urlsafe(32)


def digest(secret: str) -> str:
    """What is kept of a secret: SHA-256 as 64 hexadecimal digits; anything else than printable ASCII digests too.

    >>> digest("qk_1")[:8], len(digest("\\ud800"))
    ('5f28eaf9', 64)
    """
    return sha256(secret[:LONGEST].encode("utf-8", "surrogatepass")).hexdigest()
