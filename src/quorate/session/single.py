"""One item's own events -> a session that knows this item alone, and the events it writes. For stores of many items.

A service keeps the events of all items in a database and has several workers; each loads one item, lets the same
`Session` as everywhere take the next call, and stores what that wrote. `recompute` decides every event of an item anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from quorate.methods import Method
from quorate.session.decide import decide
from quorate.session.items import Prior, advance, opened
from quorate.session.journal import Event, Header, Progress
from quorate.session.resume import replay
from quorate.session.session import Session
from quorate.session.state import Settings, label_number
from quorate.types import Decision, PriorParams


@dataclass(frozen=True, slots=True)
class ParamsVersion:
    """What decisions are made under: the parameters of one "learn" event and the policy of one "tune" event.

    `prior.seq` and `tune_seq` are the numbers of these events, 0 before the first; decisions name them. `params` are
    those `prior` was made of, for whoever has them at hand: they need not be computed then.
    """

    prior: Prior
    method: Method
    tune_seq: int = 0
    params: PriorParams | None = None


ParamsVersionOf = Callable[[int, int], ParamsVersion]
"""The version by the numbers of its "learn" and its "tune" event, as a decision names them."""


def is_decided(event: Event) -> bool:
    """Whether the item was decided at this event: not at a vote after its end, whose answer stands."""
    return "params" in event.get("decision", {})


def version_named(event: Event) -> tuple[int, int]:
    """The numbers of the "learn" and the "tune" event that the event's decision was made under."""
    decision = event["decision"]
    return decision["params"], decision.get("tune", 0)


class Outbox:
    """A journal that only collects what is written; the caller stores it."""

    def __init__(self) -> None:
        self.written: list[Event] = []

    def header(self) -> Header | None:
        """Nothing: the settings are the caller's."""
        return None

    def events(self, *, progress: Progress | None = None) -> Iterator[Event]:
        """What was written here."""
        yield from self.written

    def start(self, header: Mapping[str, Any]) -> None:
        """Nothing to keep."""

    def append(self, event: Mapping[str, Any]) -> None:
        """Collect one event."""
        self.written.append(dict(event))

    def close(self) -> None:
        """Nothing to let go of."""


def item_session(
    settings: Settings,
    events: Iterable[Event],
    *,
    number: int,
    now: ParamsVersion,
    version_of: ParamsVersionOf,
    seq: int | None = None,
) -> tuple[Session, Outbox]:
    """The session after the item's `events` (none: before it opens), with `now` in force, and where it writes.

    `number` is the item's place in the project: tie draws and quotas are drawn by it. `settings.refit_every` must be
    None: learning looks at many items and is the caller's. `seq`: the number of the item's last event, where the caller
    keeps events that are not in `events`; the next one is numbered after it.
    """
    outbox = Outbox()
    session = Session.__new__(Session)
    session._use(settings, outbox, now.params)
    state = session._state
    state.num_opened = number
    for event in events:
        if is_decided(event):
            _enter(session, version_of(*version_named(event)))
        replay(state, event)
    if seq is not None:
        state.seq = seq
    _enter(session, now)
    return session, outbox


def recompute(
    settings: Settings, events: Iterable[Event], *, number: int, version_of: ParamsVersionOf
) -> Iterator[Decision | None]:
    """For each of an item's events, the decision as computed again from the events before it; None where none is due.

    An item's trail is in order if each agrees with the decision in its event.
    """
    past: list[Event] = []
    for event in events:
        if not is_decided(event):
            past.append(event)
            yield None
            continue
        version = version_of(*version_named(event))
        session, _ = item_session(settings, past, number=number, now=version, version_of=version_of)
        yield _decided(session, event)
        past.append(event)


def _decided(session: Session, event: Event) -> Decision:
    """What the session decides at this event."""
    state = session._state
    item, label = state.find(event["item"]), label_number(state, event)
    after = opened(event, state.num_opened) if item is None else advance(item, event, label)
    verdict = decide(state.method, state.prior, state.policy_state, after, closing=event["type"] == "close")
    return session._decision(verdict, int(after.votes.sum()))


def _enter(session: Session, version: ParamsVersion) -> None:
    state = session._state
    state.prior, state.method, state.tune_seq = version.prior, version.method, version.tune_seq
