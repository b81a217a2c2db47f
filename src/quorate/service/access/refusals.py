"""What a caller of `access` is refused with. `problems` turns each into an HTTP answer."""

from __future__ import annotations

from quorate.errors import InvalidInput, QuorateError


class NotFound(InvalidInput):
    """No account, member, key or invitation with this id (where the caller may look)."""


class UnknownLink(QuorateError):
    """No link or invitation with this token was ever made."""


class LinkOver(QuorateError):
    """The link or invitation was used up, has expired or was revoked."""


class NotAllowed(QuorateError):
    """The caller is known, and may not do this."""
