"""Where a session's events are stored: the `Journal` protocol, and `MemoryJournal`, its smallest implementation.

The session appends an event before the event takes effect, and folds over `events()` to resume after a crash.
`JsonlJournal` (jsonl.py) stores them in a file; a database can store them behind the same five methods.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from quorate.errors import JournalError
from quorate.validate import invalid

Event = dict[str, Any]
"""A JSON-able mapping with at least `type` (str), `seq` (1, 2, 3 ...) and `time` (seconds, float)."""

Header = dict[str, Any]
"""A JSON-able mapping: the settings the session started with."""

Progress = Callable[[int, int], None]
"""Called from time to time with the amount done and the total, in the journal's own unit (bytes, rows)."""

FIRST_SEQ = 1
PROGRESS_EVERY = 1000  # events between two calls of a Progress: frequent enough to see, too rare to cost time


class Journal(Protocol):
    """What a session needs from a store. A journal is a header followed by events, numbered without gaps.

    What is read equals what was written, as JSON: floats exactly, tuples as lists. Every implementation must guarantee:
    when `append` returns, the event is stored permanently; when `append` raises, the event is not stored.
    """

    def header(self) -> Header | None:
        """The header; None while the journal is empty."""
        ...

    def events(self, *, progress: Progress | None = None) -> Iterator[Event]:
        """All events in order of `seq`. Raises JournalCorrupt at a damaged one."""
        ...

    def start(self, header: Mapping[str, Any]) -> None:
        """Write the header of an empty journal; JournalError if it is not empty."""
        ...

    def append(self, event: Mapping[str, Any]) -> None:
        """Store one event, whose `seq` must be the next. Durable on return; JournalError means it was not stored."""
        ...

    def close(self) -> None:
        """Release the store. May be called twice."""
        ...


class MemoryJournal:
    """A journal in memory, for tests and trials, and a template for other stores.

    It stores JSON text, not the caller's objects, so it refuses and returns exactly what a file would. `close` keeps
    the events: a session can be resumed from the same object.

    >>> journal = MemoryJournal()
    >>> journal.start({"classes": ["cat", "dog"]})
    >>> journal.append({"seq": 1, "type": "vote", "time": 12.5, "label": "cat"})
    >>> journal.header(), [event["label"] for event in journal.events()]
    ({'classes': ['cat', 'dog']}, ['cat'])
    """

    def __init__(self) -> None:
        """An empty journal."""
        self._header: bytes | None = None
        self._events: list[bytes] = []

    def __repr__(self) -> str:
        return f"MemoryJournal({len(self._events)} events)"

    def header(self) -> Header | None:
        """The header; None while the journal is empty."""
        return None if self._header is None else dict(json.loads(self._header))

    def events(self, *, progress: Progress | None = None) -> Iterator[Event]:
        """The events so far; `progress` counts events."""
        total = len(self._events)
        for done, text in enumerate(self._events[:total], start=1):
            yield json.loads(text)
            if progress is not None and (done % PROGRESS_EVERY == 0 or done == total):
                progress(done, total)

    def start(self, header: Mapping[str, Any]) -> None:
        """Store the header; JournalError if there is one."""
        if self._header is not None:
            fix = "resume the session in it, or create a new MemoryJournal."
            raise invalid("journal", self, "an empty journal", fix, error=JournalError)
        self._header = as_json(header, what="header")

    def append(self, event: Mapping[str, Any]) -> None:
        """Store one event."""
        if self._header is None:
            fix = "call start(header) before append(event)."
            raise invalid("journal", self, "a journal that was started", fix, error=JournalError)
        check_event(event, next_seq=len(self._events) + FIRST_SEQ)
        self._events.append(as_json(event, what=f"event {event['seq']}"))

    def close(self) -> None:
        """Nothing to release."""


_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def as_json(content: Mapping[str, Any], *, what: str) -> bytes:
    """`content` as JSON without spaces or newlines, in UTF-8; JournalError if JSON cannot store it.

    >>> as_json({"label": "Käfer", "confidence": 0.1}, what="event 1").decode()
    '{"label":"Käfer","confidence":0.1}'
    """
    try:
        return _encode(content if type(content) is dict else dict(content)).encode()
    except (TypeError, ValueError, RecursionError) as cause:
        fix = (
            "Use strings of valid Unicode, finite numbers, booleans, None, and lists and dicts of these; convert NumPy "
            "values to Python values and NaN to None."
        )
        raise invalid(what, content, f"values that JSON can store ({cause})", fix, error=JournalError) from cause


def check_event(event: Mapping[str, Any], *, next_seq: int) -> None:
    """Refuse an event without a type or a time, or out of order."""
    seq = event.get("seq")
    if type(seq) is not int or seq != next_seq:
        fix = (
            "The session and its journal differ (an interrupted call, or two sessions on one journal): resume the "
            "session from the journal."
        )
        raise invalid("seq", seq, f"{next_seq}, the next in this journal", fix, error=JournalError)
    if not isinstance(event.get("type"), str) or not isinstance(event.get("time"), (int, float)):
        name = "time" if isinstance(event.get("type"), str) else "type"
        rule = "seconds, as a number" if name == "time" else "the kind of event, as text"
        raise invalid(name, event.get(name), rule, "pass one.", place=f"event {seq}", error=JournalError)
