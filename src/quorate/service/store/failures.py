"""A database error -> what it means to a caller: try again later, or a bug.

`StoreUnavailable` says that the write did not happen, or may have happened: the same request, sent again with the same
idempotency key, is safe either way. Called by `store`; turned into 503 by the API.
"""

from __future__ import annotations

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

from quorate.errors import QuorateError

FULL = ("disk is full", "no space left", "could not extend file", "disk i/o error", "readonly database")
BUSY = ("database is locked", "deadlock detected", "could not serialize", "canceling statement")
BUSY_CODES = ("40001", "40P01", "55P03", "57014")  # PostgreSQL's, whatever language it speaks; 55P03: lock_timeout


class StoreUnavailable(QuorateError):
    """The database cannot take this now; send the same request again."""

    def __init__(self, message: str, *, retry_after: float = 1.0, in_shell: str | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.in_shell = in_shell  # for whoever runs a command, and may know where the database is


class StoreBusy(StoreUnavailable):
    """The database gave way to another transaction; nothing was changed, and trying again will do."""


def failure(problem: DBAPIError) -> StoreUnavailable | None:
    """What a caller is told; None for an error that is a bug of ours."""
    words = str(problem.orig).lower()
    if any(phrase in words for phrase in FULL):
        return StoreUnavailable(
            "the database's disk is full or cannot be written; nothing was changed. Free space, then send this again.",
            retry_after=30.0,
        )
    if any(phrase in words for phrase in BUSY) or getattr(problem.orig, "sqlstate", None) in BUSY_CODES:
        return StoreBusy("the database is busy; nothing was changed. Send this again.", retry_after=1.0)
    if getattr(problem.orig, "sqlite_errorname", "") == "SQLITE_ERROR":  # a statement that is wrong, not a broken disk
        return None
    if problem.connection_invalidated or isinstance(problem, (OperationalError, InterfaceError)):
        reason = " ".join(str(problem.orig).split("\n")[0].split())
        return StoreUnavailable(
            "the database cannot be reached; send this again with the same idempotency key.",
            retry_after=2.0,
            in_shell=f"the database cannot be reached ({reason}); check --database{_and_its_server(problem)}.",
        )
    return None


def _and_its_server(problem: DBAPIError) -> str:
    """SQLite has none."""
    return "" if type(problem.orig).__module__.startswith("sqlite3") else ", and whether its server runs"
