"""The calls of a session about named people: presence, whom to ask next, timeouts.

`Session` inherits them. Like all calls they are checked, written to the journal, then applied. `next_expert` chooses
among those who may be asked now; it is pure:

    panel       whom the exact plan asks first (`experts.panel_plan`)
    crowd       the largest expected rise of the top belief per cost; if no single vote can change the answer, the most
                information per cost
    otherwise   the largest V * reliability per cost: at equal cost, the person who agreed most often with the answers

V is the optimistic value of a vote (`decision.value`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from quorate.model import optimistic_gain
from quorate.people import Expert, OnlinePanel, most_reliable_first
from quorate.reasons import SENTENCES
from quorate.session.decide import believe, decide
from quorate.session.inputs import checked_id, checked_time
from quorate.session.items import ItemState
from quorate.session.journal import Event
from quorate.session.people import SessionPeople, Status, expert_from
from quorate.session.people_fold import log_prediction, panel_advice
from quorate.session.people_rules import (
    anybody_left,
    check_member,
    counted_item,
    may_ever,
    may_now,
    rank_needed,
    with_people,
)
from quorate.session.state import State, is_repeat
from quorate.types import Decision, FloatArray
from quorate.validate import invalid

if TYPE_CHECKING:
    import threading

ROUND_OFF = 1e-12  # smaller gains count as 0


@dataclass(frozen=True, slots=True)
class NextExpert:
    """Whom to ask next, and why; false if nobody should be asked.

    `expert` who, or None   `gain` expected rise of the probability of a right answer by this vote   `gain_per_cost` the
    same per unit of cost   `reason` one sentence
    """

    expert: Expert | None
    gain: float
    gain_per_cost: float
    reason: str

    def __bool__(self) -> bool:
        return self.expert is not None


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
        def _event(self, kind: str, what: Event, time: float | None, request_id: str | None) -> Event: ...
        def _item_event(
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
            event = self._item_event("timeout", item_id, time, request_id, voter=checked_id(voter, where="voter"))
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
                KnownPerson(member.expert, member.status, member.votes, member.judged, float(share))
                for member, share in zip(people.members.values(), shares, strict=True)
            )

    def _member_event(self, kind: str, what: Event, time: float | None, request_id: str | None) -> None:
        event = self._event(kind, what, time, request_id)
        if not is_repeat(self._state, event):
            check_member(self._state.people, event)
            self._record(event)


def nobody(reason: str) -> NextExpert:
    """Nobody should be asked."""
    return NextExpert(None, 0.0, 0.0, reason)


def next_expert(
    state: State, people: SessionPeople, item: ItemState, names: Iterable[str] | None, time: float
) -> NextExpert:
    """The best of `names` (None: all members) to ask about an item."""
    if item.standing is None or item.is_closed:
        why = SENTENCES["closed" if item.standing is None else item.standing.reason]
        return nobody(f"The item is closed: {why}.")
    label = item.standing.label
    rank = rank_wanted(state, people, item)
    candidates = list(people.members) if names is None else _checked(people, names)
    free = [name for name in candidates if may_now(people, item, name, time, rank=rank)]
    if not free:
        return nobody(_why_nobody(people, item, candidates, rank))
    if people.panel is not None:
        found = _by_plan(state, people, people.panel, item, free, must=rank is not None)
    elif people.crowd is not None:
        found = _by_crowd(people, item, free)
    else:
        found = _by_agreement(state, people, item, free)
    if rank is None or found.expert is None:
        return found
    reason = f"{found.expert.name} is a {rank}, who must confirm before the item closes as {people.classes[label]}."
    return NextExpert(found.expert, found.gain, found.gain_per_cost, reason)


def rank_wanted(state: State, people: SessionPeople, item: ItemState) -> str | None:
    """The rank that alone can help now: the method would stop, but a confirmation is missing."""
    assert item.standing is not None
    rank = rank_needed(people, item, item.standing.label)
    if rank is None or decide(state.method, state.learned, state.policy_state, counted_item(people, item)).ask:
        return None
    return rank


def _checked(people: SessionPeople, names: Iterable[str]) -> list[str]:
    if isinstance(names, str):
        raise invalid("available", names, "a list of names", "pass [name].")
    unique = list(dict.fromkeys(names))
    for name in unique:
        if people.is_complete and name not in people.members:
            raise invalid("available", name, "the name of somebody who has joined", "call join(name) first.")
    return unique


def _why_nobody(people: SessionPeople, item: ItemState, names: Sequence[str], rank: str | None) -> str:
    who = "Nobody" if rank is None else f"No {rank}"
    later = [name for name in names if may_ever(people, item, name, rank=rank)]
    if not later:
        return f"{who} of {len(names)} may still be asked about this item."
    away = sum(people.member(name).status == "away" for name in later)
    return f"{who} can be asked now: {away} away, {len(later) - away} at their daily limit."


def _by_crowd(people: SessionPeople, item: ItemState, free: Sequence[str]) -> NextExpert:
    assert people.crowd is not None and item.judgement is not None
    gains = people.crowd.gains(free, log_prediction(item), item.judgement.probs["crowd"])
    costs = _costs(people, free)
    rises, information = gains[:, 0] / costs, gains[:, 1] / costs
    if rises.max() > ROUND_OFF:
        best = int(rises.argmax())
        why = f"is expected to raise the belief in the best class by {gains[best, 0]:.2g} for a cost of {costs[best]:g}"
    else:
        best = int(information.argmax())
        why = f"gives the most information for a cost of {costs[best]:g}; one vote alone cannot change the answer"
    expert, gain = people.member(free[best]).expert, float(gains[best, 0])
    reason = f"A vote of {expert.name} {why}, the best of {len(free)} who can be asked."
    return NextExpert(expert, gain, gain / expert.cost, reason)


def _by_plan(
    state: State, people: SessionPeople, panel: OnlinePanel, item: ItemState, free: Sequence[str], *, must: bool
) -> NextExpert:
    """Whom the exact plan asks first; `must`: somebody is needed even if no vote is worth its cost."""
    advice = panel_advice(people, panel, state.method, item, free, counted=True)
    if advice.expert >= 0:
        expert = people.member(panel.name_of(advice.expert)).expert
        reason = (
            f"Asking {expert.name} first is the best plan with {len(free)} who can be asked: it raises the probability "
            f"of a right answer by {advice.gain:.2g} for an expected cost of {advice.cost:.3g}."
        )
        if np.isnan(advice.net_gains).all():
            reason = f"{expert.name} is the cheapest of {len(free)}: too many votes are missing to plan further."
        return NextExpert(expert, advice.gain, advice.gain_per_cost, reason)
    if not must:
        return nobody(f"None of the {len(free)} who can be asked now is worth the cost.")
    expert = people.member(panel.name_of(int(np.nanargmax(advice.net_gains)))).expert
    return NextExpert(expert, 0.0, 0.0, "")


def _by_agreement(state: State, people: SessionPeople, item: ItemState, free: Sequence[str]) -> NextExpert:
    counted = counted_item(people, item)
    probs = believe(state.method, state.method.asking, state.learned, counted, counted.votes, counted.pool_left)
    remaining = max(counted.pool_left - int(counted.votes.sum()), 1)
    worth = optimistic_gain(probs, counted.votes, remaining)
    reliable, costs = people.reliability(free), _costs(people, free)
    best = int(most_reliable_first(reliable, costs)[0])
    expert, gain = people.member(free[best]).expert, float(worth * reliable[best])
    member = people.member(free[best])
    known = f"{expert.name} has agreed with {member.agreements} of {member.judged} answers"
    if not member.judged:
        known = f"{expert.name} has not voted on a closed item yet"
    reason = (
        f"{known}, is expected to agree with {reliable[best]:.0%} and costs {expert.cost:g}: the best of {len(free)} "
        "who can be asked."
    )
    return NextExpert(expert, gain, gain / expert.cost, reason)


def _costs(people: SessionPeople, names: Sequence[str]) -> FloatArray:
    return np.array([people.member(name).expert.cost for name in names])
