"""What a caller of `access` is refused with. `problems` turns each into an HTTP answer."""

from __future__ import annotations

from quorate.errors import InvalidInput, QuorateError


class NotFound(InvalidInput):
    """No account, member, key or invitation with this id (where the caller may look)."""


class UnknownLink(QuorateError):
    """No link or invitation with this token was ever made."""

    def __init__(self, wrong: str, fix: str) -> None:
        super().__init__(f"{wrong}; {fix}", field="link", rule="a link that this service made", fix=fix)


class LinkOver(QuorateError):
    """The link or invitation was used up, has expired or was revoked."""

    def __init__(self, wrong: str, fix: str) -> None:
        super().__init__(f"{wrong}. {fix}", field="link", rule="a link that can still be used", fix=fix)


class NotAllowed(QuorateError):
    """The caller is known, and may not do this."""

    def __init__(self, wrong: str, fix: str, *, field: str, rule: str, value: str | None = None) -> None:
        super().__init__(f"{wrong}; {fix}", field=field, value=value, rule=rule, fix=fix)
