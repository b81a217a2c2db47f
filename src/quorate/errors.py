"""Every error a user of quorate can meet. Each message names the argument, the value, the rule and the fix.

Nothing else is raised on bad input; the command line turns each of these into one line on stderr.
"""

from __future__ import annotations

from typing import Any


class QuorateError(Exception):
    """Root of all errors quorate raises on purpose.

    `field`, `value`, `rule` and `fix` say the same as the message, to programs; None where the message alone says it.
    """

    def __init__(
        self,
        *message: object,
        field: str | None = None,
        value: object = None,
        rule: str | None = None,
        fix: str | None = None,
    ) -> None:
        super().__init__(*message)
        self.field, self.value, self.rule, self.fix = field, value, rule, fix

    def __reduce__(self) -> tuple[Any, ...]:
        """As it is, whatever its class is made from: workers send errors to each other."""
        plain = self.value if isinstance(self.value, (str, int, float, type(None))) else repr(self.value)
        return _again, (type(self), self.args, {**self.__dict__, "value": plain})


def _again(kind: type[QuorateError], args: tuple[object, ...], parts: dict[str, Any]) -> QuorateError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(parts)
    return error


class InvalidInput(QuorateError, ValueError):
    """An argument breaks a rule: shape, range, type or name."""


class InvalidPrediction(InvalidInput):
    """A classifier's prediction is not a probability vector over the classes (or one of the accepted forms)."""


class UnknownClass(InvalidInput):
    """A label is not one of the session's classes."""


class UnknownItem(InvalidInput):
    """No item with this id was ever opened (or it is not in the state the call needs)."""


class ItemExists(InvalidInput):
    """An item with this id was opened before."""


class DuplicateVote(InvalidInput):
    """This voter has already voted, or abstained, on this item."""


class RequestReused(InvalidInput):
    """A request id came back with another content than the first time."""


class UnknownMethod(InvalidInput):
    """No method of that name, or a knob it does not have."""


class PolicyError(QuorateError):
    """A user's policy broke one of the shared rules; `quorate.testing.check_policy` says which."""


class JournalError(QuorateError):
    """The journal cannot be read or written as it should."""


class JournalCorrupt(JournalError):
    """A line of a journal is damaged, or was changed by something other than quorate; `line` is its number."""

    def __init__(self, *message: object, line: int | None = None, **parts: Any) -> None:  # noqa: ANN401
        super().__init__(*message, **parts)
        self.line = line


class JournalLocked(JournalError):
    """Another session is writing to this journal."""


class JournalMismatch(JournalError):
    """The journal was written by another method, other classes or other settings."""


class MissingExtra(QuorateError):
    """An optional part is not installed; the message has the line that installs it."""


class RefusedPickle(InvalidInput):
    """A pickle asks for more than numpy arrays and plain containers; nothing of it was executed."""


class DownloadError(QuorateError):
    """A data set's file cannot be fetched, or what arrived is not the published file."""


class ClusterError(QuorateError):
    """A cluster cannot be reached, went away, or runs other code than this machine."""
