"""Resumes a session from a journal: settings from its header, its events checked and applied, progress on stderr."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from quorate.errors import JournalCorrupt, JournalError, JournalMismatch, QuorateError
from quorate.methods import FIELDS, Method, differences, method_data, method_from, own_parts
from quorate.session.event_checks import Recomputed, check_after, check_before
from quorate.session.journal import FIRST_SEQ, Event, Header
from quorate.session.people import MODELS
from quorate.session.state import Settings, State, apply, checked_settings
from quorate.validate import invalid


def settings_from(header: Header, given: Method | None) -> Settings:
    """The settings in a journal's header; an error if the caller's method is another one."""
    try:
        described = {field: header["method"][field] for field in FIELDS}
        foreign = own_parts(described)
        fields = [key for key in Settings.__dataclass_fields__ if key not in ("method", "people")]
        stored = {key: header[key] for key in (*fields, "error_cost")}
        people = header.get("people", {})
        if not isinstance(people, dict):
            raise TypeError("people by field")
        people = dict(people)
        model = people.pop("model", None)
        expected_model = MODELS.get(str(people["target"])) if people else None
    except (KeyError, TypeError) as cause:
        rule = f"a session's journal, whose header has {cause}"
        raise JournalCorrupt(field="journal", value=header, rule=rule, fix="check the path.", line=1) from cause
    if model != expected_model:
        rule, fix = f"model {expected_model} of people", "resume the journal with the version of quorate that wrote it."
        raise invalid("people", model, rule, fix, error=JournalMismatch)
    chosen = _method(described, given, foreign)
    try:
        return checked_settings(chosen, **stored, people=people)
    except Exception as cause:  # a method's parameters may be wrong in any way
        raise _corrupt("the session's header", 1, cause) from cause


def check_same(asked: Settings, header: Header) -> None:
    """Refuse other settings than those in the journal's header; the error says both values of the first."""
    ours, stored = json.loads(json.dumps(asked.header())), dict(header)
    mine, theirs = ours.pop("people", {}), stored.pop("people", {})
    for name, value in ours.items():
        _compare(name, value, stored.get(name))
    for name in ("experts", "target", "rules", "gold", "model"):
        _compare(name, mine.get(name), theirs.get(name))


def _method(described: dict[str, Any], given: Method | None, foreign: list[str]) -> Method:
    """The method of the journal; the given one, if there is one, must be the same in everything that defines it."""
    if given is not None:
        _compare("method", method_data(given), described)
        return given
    if foreign:
        rule = f"the method that wrote the journal: {', '.join(foreign)} is not part of this library"
        fix = "pass it: Session.resume(journal, method=quorate.Method(...))."
        raise invalid("method", None, rule, fix, error=JournalMismatch)
    try:
        return method_from(described)
    except Exception as cause:  # its parts may be wrong in any way
        raise _corrupt("the session's header", 1, cause) from cause


def _compare(what: str, expected: object, stored: object) -> None:
    for path, mine, theirs in differences(expected, stored):
        fix = "pass what the journal has, or start a new one."
        raise invalid(what, mine, f"{theirs!r}, as in the journal", fix, place=path or None, error=JournalMismatch)


def replay(state: State, event: Event) -> None:
    """Apply one event without checking it; raises JournalCorrupt with its number if it cannot be applied."""
    try:
        apply(state, event)
    except JournalError:
        raise
    except Exception as cause:  # a changed event may raise anything, also in a user's own policy
        raise _corrupt(f"event {event.get('seq')!r}, {event.get('type')!r}", None, cause) from cause


class JournalReplay:
    """Applies the events of a journal one by one, each after the checks of a live call.

    `verify`: also recompute and compare the decision in each event. `leaving`: the "leave" event at the end of the
    journal, followed at most by the items it closed.
    """

    def __init__(self, state: State, *, verify: bool = False) -> None:
        self.leaving: Event | None = None
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
            raise _corrupt(f"event {seq}", line, cause) from cause
        if event["type"] not in ("close", "learn"):
            self.leaving = event if event["type"] == "leave" else None


def _corrupt(what: str, line: int | None, cause: Exception) -> JournalCorrupt:
    known = cause if isinstance(cause, QuorateError) else QuorateError(f"{type(cause).__name__}: {cause}"[:300])
    return JournalCorrupt(
        field=known.field or "event",
        value=known.value if known.field else what,
        rule=known.rule or f"an event that a session writes ({known})",
        fix="The journal was changed by something other than quorate; restore it from a copy.",
        place=what if line is None else f"line {line} of the journal, {what}",
        line=line,
    )


class StderrProgress:
    """Prints the progress of a resume to stderr if it takes longer than two seconds."""

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
