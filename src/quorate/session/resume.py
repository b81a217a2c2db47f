"""Coming back from a journal: the settings out of its header, its events through `apply`, progress for a long one."""

from __future__ import annotations

import sys
import time
from typing import Any

from quorate.errors import JournalCorrupt, JournalError, JournalMismatch, QuorateError
from quorate.methods import METHODS, Method, method
from quorate.session.journal import Event, Header
from quorate.session.state import Settings, State, apply


def settings_from(header: Header | None, given: Method | None, expected: dict[str, Any]) -> Settings:
    """The settings a journal was started with; an error if what the caller expects differs."""
    if header is None:
        raise JournalError(
            "the journal is empty: there is nothing to resume; start with Session(..., journal=journal)."
        )
    try:
        name, knobs = header["method"]["name"], header["method"]["knobs"]
        stored = {key: header[key] for key in Settings.__dataclass_fields__ if key != "method"}
    except (KeyError, TypeError) as cause:
        raise JournalCorrupt(f"the journal's header lacks {cause}; it is not a session's journal.") from cause
    if given is not None:
        _compare("method", given.describe(), {"name": name, "knobs": knobs})
    elif name not in METHODS:
        raise JournalMismatch(
            f"the journal was written with the policy {name!r}, which is not one of ours; "
            "pass it: Session.resume(journal, method=quorate.method(YourPolicy()))."
        )
    for key, value in expected.items():
        if key not in stored:
            raise JournalMismatch(f"{key!r} is not a setting of a session; settings are: method, {', '.join(stored)}.")
        _compare(key, list(value) if key == "classes" else value, stored[key])
    stored["classes"] = tuple(stored["classes"])
    return Settings(method=given or method(name, **knobs), **stored)


def _compare(what: str, asked: Any, stored: Any) -> None:  # noqa: ANN401
    if asked != stored:
        raise JournalMismatch(
            f"{what} differs: the journal was written with {stored!r}, you passed {asked!r}. "
            f"Leave {what} out to go on as before, or start a new journal."
        )


def replay(state: State, event: Event) -> None:
    """Apply one event of a journal; a damaged one is an error that names it."""
    try:
        apply(state, event)
    except QuorateError:
        raise
    except (KeyError, ValueError, TypeError, IndexError) as cause:
        raise JournalCorrupt(
            f"event {event.get('seq')!r} ({event.get('type')!r}) does not fit the events before it: {cause!r}. "
            "The journal was changed by something other than quorate; restore it from a copy."
        ) from cause


class StderrProgress:
    """A line on stderr that says how far a resume has come, once it has taken two seconds."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._shown = self._start

    def __call__(self, done: int, total: int) -> None:
        """Report at most once a second."""
        now = time.monotonic()
        if now - self._start < 2 or (now - self._shown < 1 and done < total):
            return
        self._shown = now
        left = (now - self._start) * (total - done) / max(done, 1)
        print(f"quorate: resuming, {100 * done / max(total, 1):.0f} % read, about {left:.0f} s left", file=sys.stderr)
