"""Coming back from a journal: the settings out of its header, its events through `apply`, progress for a long one."""

from __future__ import annotations

import sys
import time
from typing import Any

from quorate.errors import JournalCorrupt, JournalError, JournalMismatch, QuorateError
from quorate.methods import METHODS, Method, method
from quorate.session.event_checks import Recomputed, check_after, check_before
from quorate.session.journal import FIRST_SEQ, Event, Header
from quorate.session.state import Settings, State, apply, checked_settings


def settings_from(header: Header | None, given: Method | None, expected: dict[str, Any]) -> Settings:
    """The settings a journal was started with; an error if what the caller expects differs."""
    if header is None:
        raise JournalError(
            "the journal is empty: there is nothing to resume; start with Session(..., journal=journal)."
        )
    try:
        name, knobs = header["method"]["name"], header["method"]["knobs"]
        stored = {key: header[key] for key in Settings.__dataclass_fields__ if key != "method"}
        is_ours = name in METHODS
    except (KeyError, TypeError) as cause:
        raise JournalCorrupt(f"the journal's header lacks {cause}; it is not a session's journal.", line=1) from cause
    if given is not None:
        _compare("method", given.describe(), {"name": name, "knobs": knobs})
    elif not is_ours:
        raise JournalMismatch(
            f"the journal was written with the policy {name!r}, which is not one of ours; "
            "pass it: Session.resume(journal, method=quorate.method(YourPolicy()))."
        )
    for key, value in expected.items():
        if key not in stored:
            raise JournalMismatch(f"{key!r} is not a setting of a session; settings are: method, {', '.join(stored)}.")
        _compare(key, list(value) if key == "classes" else value, stored[key])
    try:
        return checked_settings(given or method(name, **knobs), **stored)
    except Exception as cause:  # a method's knobs may be wrong in any way
        raise _corrupt("line 1 of the journal is not a valid session header", 1, cause) from cause


def _compare(what: str, asked: Any, stored: Any) -> None:  # noqa: ANN401
    if asked != stored:
        raise JournalMismatch(
            f"{what} differs: the journal was written with {stored!r}, you passed {asked!r}. "
            f"Leave {what} out to go on as before, or start a new journal."
        )


def replay(state: State, event: Event) -> None:
    """Apply one event without checking it; one that cannot be applied is an error that names it."""
    try:
        apply(state, event)
    except JournalError:
        raise
    except Exception as cause:  # what a changed event leads to, in a user's own policy too, cannot be foreseen
        raise _corrupt(f"event {event.get('seq')!r} ({event.get('type')!r}) breaks a rule", None, cause) from cause


class Replay:
    """Takes the events of a journal one by one: each is checked as a live call is, then applied.

    `verify`: the decision in each event is computed again and compared.
    """

    def __init__(self, state: State, *, verify: bool = False) -> None:
        self._state = state
        self._again = Recomputed(state) if verify else None

    def __call__(self, event: Event) -> None:
        """Apply the next event; JournalCorrupt with its line if a session would not have written it."""
        state, policy_state = self._state, self._state.policy_state
        seq = state.seq + 1
        try:
            is_decided = check_before(state, event)
            apply(state, event)
            if is_decided:
                check_after(state, event)
            if self._again is not None:
                self._again.compare(state, event, policy_state)
        except Exception as cause:  # as in `replay`
            line = seq - FIRST_SEQ + 2
            raise _corrupt(f"line {line} of the journal, event {seq}, breaks a rule", line, cause) from cause


def _corrupt(wrong: str, line: int | None, cause: Exception) -> JournalCorrupt:
    said = str(cause) if isinstance(cause, QuorateError) else f"{type(cause).__name__}: {cause}"
    fix = "restore it from a copy."
    return JournalCorrupt(
        f"{wrong}: {said[:300]} "
        f"The journal was changed by something other than quorate; {fix}",
        line=line, field=getattr(cause, "field", None), value=getattr(cause, "value", None),
        rule=getattr(cause, "rule", None), fix=fix,
    )  # fmt: skip


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
