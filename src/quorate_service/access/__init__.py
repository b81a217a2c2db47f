"""Who may do what: accounts, keys, invitations, signed cookies, rate limits.

Here: the ids and secrets that all of these use. A secret is shown once; only its digest is stored.
"""

from __future__ import annotations

from hashlib import sha256
from secrets import token_hex, token_urlsafe

LONGEST_SECRET = 200  # characters of a received secret that are used; ours have fewer than 60


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
    return sha256(secret[:LONGEST_SECRET].encode("utf-8", "surrogatepass")).hexdigest()
