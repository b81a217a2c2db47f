"""The calls of a session about named people: presence, whom to ask next, timeouts.

`Session` inherits them. Like all calls they are checked, written to the journal, then applied.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from quorate.experts.person import Expert
from quorate.session.inputs import checked_id, checked_time
from quorate.session.journal import Event
from quorate.session.people import Status, expert_from
from quorate.session.people_advice import NextExpert, next_expert, rank_wanted
from quorate.session.people_rules import anybody_left, check_member, with_people
from quorate.session.state import is_repeat
from quorate.types import Decision

if TYPE_CHECKING:
    import threading

    from quorate.session.items import ItemState
    from quorate.session.state import State


@dataclass(frozen=True, slots=True)
class Timeout:
    """The result of a timeout: the item's decision, and whom to ask instead."""

    decision: Decision
    replacement: NextExpert


@dataclass(frozen=True, slots=True)
class KnownPerson:
    """What a session knows about one person.

    `expert` with the current cost and limit   `status` here, away or left   `num_votes` cast   `reliability` share of
    votes that equal the answer, shrunk towards the share of all; from `num_judged` votes on closed items
    """

    expert: Expert
    status: Status
    num_votes: int
    num_judged: int
    reliability: float


class PeopleCalls:
    """Calls about people. In a session without named people each raises an error."""

    if TYPE_CHECKING:
        _lock: threading.RLock
        _state: State

        def _record(self, event: Event) -> None: ...
        def _ballot(self, event: Event) -> Decision: ...
        def _event(
            self, kind: str, item_id: str, time: float | None, request_id: str | None, *, voter: str | None = None
        ) -> Event: ...
        def close(self, item_id: str, *, time: float | None = None) -> Decision: ...  # noqa: D102

    def next_expert(
        self, item_id: str, available: Iterable[str] | None = None, *, time: float | None = None
    ) -> NextExpert:
        """Whom to ask next about an open item, and why; false if nobody should be asked.

        `available`: names of those who can be asked now (None: every member who is here). Daily limits apply to the day
        of `time` (default: now). Nothing is stored.
        """
        with self._lock:
            people, item = with_people(self._state.people, "next_expert"), self._state.held(item_id)
            return next_expert(self._state, people, item, available, checked_time(time))

    def join(self, expert: Expert | str, *, time: float | None = None, request_id: str | None = None) -> None:
        """A new person, or one who had left, can be asked from now on."""
        with self._lock:
            self._member_event("join", {"expert": asdict(expert_from(expert))}, time, request_id)

    def leave(self, name: str, *, time: float | None = None, request_id: str | None = None) -> list[str]:
        """Somebody is not asked any more; returns the ids of the items that are closed by it.

        These are the open items that nobody is left for ("nobody_left"), and those that waited only for a confirmation
        which nobody can give any more ("unconfirmed"): both with the answer of the votes there are. If the call was
        interrupted, `resume` closes the rest; so does a repeat with the same `request_id`, which returns only those.
        """
        with self._lock:
            self._member_event("leave", {"voter": name}, time, request_id)
            return self._close_stuck(time)

    def _close_stuck(self, time: float | None) -> list[str]:
        """Close the open items that nobody is left for; what is learned from them may add others."""
        closed: list[str] = []
        while stuck := [item_id for item_id, item in self._state.open.items() if self._is_stuck(item)]:
            for item_id in stuck:
                self.close(item_id, time=time)
            closed += stuck
        return closed

    def _is_stuck(self, item: ItemState) -> bool:
        people = with_people(self._state.people, "leave")
        if not anybody_left(people, item):
            return True
        rank = rank_wanted(self._state, people, item)
        return rank is not None and not anybody_left(people, item, rank=rank)

    def away(self, name: str, *, time: float | None = None, request_id: str | None = None) -> None:
        """A person is not asked until `back`; items may wait for this person."""
        with self._lock:
            self._member_event("away", {"voter": name}, time, request_id)

    def back(self, name: str, *, time: float | None = None, request_id: str | None = None) -> None:
        """A person who was away can be asked again."""
        with self._lock:
            self._member_event("back", {"voter": name}, time, request_id)

    def timeout(
        self,
        item_id: str,
        voter: str,
        available: Iterable[str] | None = None,
        *,
        time: float | None = None,
        request_id: str | None = None,
    ) -> Timeout:
        """A person who was asked did not answer: counts as an abstention; returns whom to ask instead.

        `available` as in `next_expert`. Call `retract` if the answer arrives later.
        """
        with self._lock:
            with_people(self._state.people, "timeout")
            event = self._event("timeout", item_id, time, request_id, voter=checked_id(voter, where="voter"))
            decision = self._ballot(event)
            item = self._state.find(item_id)
            if item is None:
                return Timeout(decision, NextExpert(None, 0.0, 0.0, "The item was closed long ago."))
            return Timeout(decision, self.next_expert(item_id, available, time=event["time"]))

    def people(self) -> tuple[KnownPerson, ...]:
        """Everybody known, in the order of joining."""
        with self._lock:
            people = with_people(self._state.people, "people")
            shares = people.reliability(people.members)
            return tuple(
                KnownPerson(each.expert, each.status, each.votes, each.judged, float(share))
                for each, share in zip(people.members.values(), shares, strict=True)
            )

    def _member_event(self, kind: str, what: dict[str, object], time: float | None, request_id: str | None) -> None:
        event: Event = {"seq": self._state.seq + 1, "time": checked_time(time), "type": kind, **what}
        if request_id is not None:
            event["request"] = checked_id(request_id, where="request_id")
        if not is_repeat(self._state, event):
            check_member(self._state.people, event)
            self._record(event)
