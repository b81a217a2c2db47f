"""A session for a single item, built from the item's own events; for stores of many items.

A service keeps the events of all items in a database and has several workers. Each loads one item, passes the next call
to an ordinary `Session`, and stores the events it wrote. `recompute` decides every event of an item again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from quorate.methods import Method
from quorate.session.decide import decide
from quorate.session.items import Learned, advance, opened
from quorate.session.journal import Event, Header, Progress
from quorate.session.resume import replay
from quorate.session.session import Session
from quorate.session.state import Settings, label_number
from quorate.types import Decision, PriorParams


@dataclass(frozen=True, slots=True)
class ParamsVersion:
    """The basis of decisions: the parameters of one "learn" event and the policy of one "tune" event.

    `learned.seq` and `tune_seq` are the numbers of these events, 0 before the first; decisions name them. `params` are
    the parameters behind `learned`, if the caller has them; otherwise they are computed.
    """

    learned: Learned
    method: Method
    tune_seq: int = 0
    params: PriorParams | None = None


ParamsVersionOf = Callable[[int, int], ParamsVersion]
"""Returns the version for the numbers of a "learn" and a "tune" event, as named in a decision."""


def is_decided(event: Event) -> bool:
    """Whether the item was decided at this event; late votes on a closed item do not change its decision."""
    return "params" in event.get("decision", {})


def version_named(event: Event) -> tuple[int, int]:
    """The numbers of the "learn" and the "tune" event that the event's decision was made under."""
    decision = event["decision"]
    return decision["params"], decision.get("tune", 0)


class Outbox:
    """A journal that only collects events; the caller stores them."""

    def __init__(self) -> None:
        self.written: list[Event] = []

    def header(self) -> Header | None:
        """None: the caller has the settings."""
        return None

    def events(self, *, progress: Progress | None = None) -> Iterator[Event]:
        """The collected events."""
        yield from self.written

    def start(self, header: Mapping[str, Any]) -> None:
        """Nothing to store."""

    def append(self, event: Mapping[str, Any]) -> None:
        """Collect one event."""
        self.written.append(dict(event))

    def close(self) -> None:
        """Nothing to release."""


def item_session(
    settings: Settings,
    events: Iterable[Event],
    *,
    number: int,
    now: ParamsVersion,
    version_of: ParamsVersionOf,
    seq: int | None = None,
) -> tuple[Session, Outbox]:
    """The session after the item's `events` (none: before it opens) with version `now`, and the outbox it writes to.

    `number` is the item's position in the project: tie draws and quotas depend on it. Nothing is
    learned: that uses many items and is left to the caller. `seq`: the number of the item's last event, if the caller
    stores events that are not in `events`; numbering continues after it.
    """
    outbox = Outbox()
    session = Session.__new__(Session)
    session._use(settings, outbox, now.params)
    session._learns = False
    state = session._state
    state.num_opened = number
    for event in events:
        if is_decided(event):
            _use_version(session, version_of(*version_named(event)))
        replay(state, event)
    if seq is not None:
        state.seq = seq
    _use_version(session, now)
    return session, outbox


def recompute(
    settings: Settings, events: Iterable[Event], *, number: int, version_of: ParamsVersionOf
) -> Iterator[Decision | None]:
    """For each of an item's events, the decision recomputed from the events before it; None if there is no decision.

    An item's events are consistent if each decision equals the one stored in its event.
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
    verdict = decide(state.method, state.learned, state.policy_state, after, closing=event["type"] == "close")
    return session._decision(verdict, int(after.votes.sum()))


def _use_version(session: Session, version: ParamsVersion) -> None:
    state = session._state
    state.learned, state.method, state.tune_seq = version.learned, version.method, version.tune_seq
