"""Every error that quorate raises on bad input, as data: the argument, its value, the rule it breaks, and the fix.

`QuorateError.render` is the only place that turns these parts into a sentence. The command line renders them with the
names of its options; the service sends the parts.
"""

from __future__ import annotations

import ast
import os
import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, TypedDict, Unpack

LONGEST_VALUE = 200
BACKTICKED = re.compile(r"`([A-Za-z_]\w*)(?:=([^`]*))?`")
NO_NAMES: Mapping[str, str] = MappingProxyType({})


class ErrorParts(TypedDict, total=False):
    """The parts of an error, see `QuorateError`."""

    field: str | None
    value: object
    rule: str | None
    fix: str | None
    place: str | None


class QuorateError(Exception):
    """Root of all errors quorate raises on purpose.

    `field`   the argument (or column, setting, file) that is wrong   `value` its value
    `rule`    what was expected   `fix` what to do; both name other arguments in backticks
    `place`   where the value occurs, if not in the call itself: "item 'a'", "row 3 of votes.csv"

    A positional message replaces these parts where they do not fit; `str` then shows the message.

    >>> error = InvalidInput(field="max_votes", value=2, rule="at least `min_votes`, 3", fix="raise `max_votes`")
    >>> str(error)
    'max_votes=2; expected at least `min_votes`, 3; raise `max_votes`.'
    >>> error.render({"max_votes": "--max-votes", "min_votes": "--min-votes"})
    '--max-votes 2; expected at least --min-votes, 3; raise --max-votes.'
    """

    def __init__(self, *message: object, **parts: Unpack[ErrorParts]) -> None:
        super().__init__(*message)
        self.field, self.value, self.place = parts.get("field"), parts.get("value"), parts.get("place")
        self.rule, self.fix = parts.get("rule"), parts.get("fix")

    def render(self, names: Mapping[str, str] = NO_NAMES) -> str:
        """The error as a sentence, with `names` for arguments: {"max_votes": "--max-votes"}."""
        if self.args:
            return with_names(super().__str__(), names)
        rule = self.rule and f"expected {with_names(self.rule, names)}"
        problem = "; ".join(filter(None, (self._wrong(names), rule)))
        fix = with_names(self.fix or "", names)
        between = "" if not (problem and fix) else ". " if fix[:1].isupper() else "; "
        sentence = f"{problem}{between}{fix}"
        return sentence if not sentence or sentence.endswith((".", "?", "!")) else f"{sentence}."

    def _wrong(self, names: Mapping[str, str]) -> str:
        """The argument, its value and its place, as far as they are known."""
        if self.field is None:
            wrong = "" if self.value is None else shown(self.value)
        elif self.field in names:
            wrong = _typed_option(names[self.field], self.value)
        else:
            wrong = f"{self.field}={shown(self.value)}"
        return f"{wrong} ({self.place})" if wrong and self.place else wrong or self.place or ""

    def __str__(self) -> str:
        return self.render()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Make every error picklable, whatever its value: processes send errors to each other."""
        plain = self.value if isinstance(self.value, (str, int, float, type(None))) else _AsShown(shown(self.value))
        return _unpickled, (type(self), self.args, {**self.__dict__, "value": plain})


class _AsShown(str):
    """The text of a value from another process."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _unpickled(kind: type[QuorateError], args: tuple[object, ...], parts: dict[str, object]) -> QuorateError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(parts)
    return error


def with_names(text: str, names: Mapping[str, str]) -> str:
    """`text` with arguments in backticks replaced by their `names`; `name=value` as it is typed in a shell.

    >>> with_names("pass `classes=['a', 'b']`, or `strict=True`.", {"classes": "--classes", "strict": "--strict"})
    'pass --classes a,b, or --strict.'
    """
    if not names:
        return text

    def replaced(found: re.Match[str]) -> str:
        name, value = names.get(found[1]), found[2]
        if name is None:
            return found[0]
        return name if value is None else _typed_option(name, _literal(value))

    return BACKTICKED.sub(replaced, text)


def shown(value: object) -> str:
    """The text of a value for a message: on one line, truncated if long."""
    try:
        text = " ".join(repr(value).split())
    except Exception:
        text = f"<{type(value).__name__}>"
    return _cut(text)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}..."


def _literal(text: str) -> object:
    """The value of a Python literal; other text unchanged."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _typed_option(name: str, value: object) -> str:
    """An option with its value as typed in a shell: lists with commas, quotes where a shell needs them."""
    if value is True:  # a flag
        return name
    if value is None:
        return f"{name} not given"
    if value is Ellipsis or value == [Ellipsis]:
        return name
    if isinstance(value, (list, tuple)):
        value = ",".join("..." if element is Ellipsis else str(element) for element in value)
    if isinstance(value, (str, os.PathLike)):
        text = _cut(str(value))
        return f"{name} {shlex.quote(text) if text.isprintable() else shown(text)}"
    return f"{name} {shown(value)}"


@contextmanager
def source_is(argument: str) -> Iterator[None]:
    """In the block or decorated function, errors about `source` or `path` name `argument` instead.

    >>> with source_is("votes"):
    ...     raise InvalidInput(field="source", value="vote.csv", rule="a header", fix="add one")
    Traceback (most recent call last):
    quorate.errors.InvalidInput: votes='vote.csv'; expected a header; add one.
    """
    try:
        yield
    except QuorateError as problem:
        if problem.field in ("source", "path"):
            problem.field = argument
        raise


class InvalidInput(QuorateError, ValueError):
    """An argument breaks a rule: shape, range, type or name."""


class NotFound(InvalidInput):
    """A file that does not exist.

    >>> NotFound(field="votes", value="nope.csv", rule="a file that exists", fix="check its name.").render()
    'votes: nope.csv not found.'
    """

    def render(self, names: Mapping[str, str] = NO_NAMES) -> str:
        """One sentence: the rule and the fix go without saying."""
        return f"{names.get(str(self.field), self.field)}: {self.value} not found."


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
    """A request id was used again with different content."""


class UnknownMethod(InvalidInput):
    """No method of that name, or a parameter it does not have."""


class PolicyError(QuorateError):
    """A user's policy broke one of the shared rules; `quorate.testing.check_policy` says which."""


class JournalError(QuorateError):
    """The journal cannot be read or written."""


class JournalCorrupt(JournalError):
    """A line of a journal is damaged, or was changed by something other than quorate; `line` is its number."""

    def __init__(self, *message: object, line: int | None = None, **parts: Unpack[ErrorParts]) -> None:
        super().__init__(*message, **parts)
        self.line = line


class JournalLocked(JournalError):
    """Another session is writing to this journal."""


class JournalMismatch(JournalError):
    """The journal was written by another method, other classes or other settings."""


class MissingExtra(QuorateError):
    """An optional dependency is not installed; `fix` has the command that installs it."""


class RefusedPickle(InvalidInput):
    """A pickle contains more than numpy arrays and plain containers; none of it was executed."""


class DownloadError(QuorateError):
    """A data set's file cannot be downloaded, or differs from the published file."""


class ClusterError(QuorateError):
    """A cluster cannot be reached, disconnected, or runs different code than this machine."""
