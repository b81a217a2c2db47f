"""Whom to ask next about an item: `NextExpert`, chosen among those who may be asked now. Pure.

    panel       whom the exact plan asks first (`experts.panel_plan`)
    crowd       the largest expected rise of the top belief per cost; if no single vote can change the answer, the most
                information per cost
    otherwise   the largest V * reliability per cost: at equal cost, the person who agreed most often with the answers

V is the optimistic value of a vote (`decision.value`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from quorate.decision.value import optimistic_gain
from quorate.experts.panel_online import OnlinePanel
from quorate.experts.person import Expert
from quorate.experts.reliability import most_reliable_first
from quorate.reasons import SENTENCES
from quorate.session.decide import believe, decide
from quorate.session.items import ItemState
from quorate.session.people import SessionPeople
from quorate.session.people_fold import log_prediction, panel_advice
from quorate.session.people_rules import counted_item, may_ever, may_now, rank_needed
from quorate.session.state import State
from quorate.types import FloatArray
from quorate.validate import broken

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
    known = list(people.members) if names is None else _checked(people, names)
    free = [name for name in known if may_now(people, item, name, time, rank=rank)]
    if not free:
        return nobody(_why_nobody(people, item, known, rank))
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
    if rank is None or decide(state.method, state.prior, state.policy_state, counted_item(people, item)).ask:
        return None
    return rank


def _checked(people: SessionPeople, names: Iterable[str]) -> list[str]:
    if isinstance(names, str):
        raise broken("available", names, "a list of names", "pass [name].")
    known = list(dict.fromkeys(names))
    for name in known:
        if people.is_complete and name not in people.members:
            raise broken("available", name, "the name of somebody who has joined", "call join(name) first.")
    return known


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
        return NextExpert(expert, advice.gain, advice.gain_per_cost, reason)
    if not must:
        return nobody(f"None of the {len(free)} who can be asked now is worth the cost.")
    expert = people.member(panel.name_of(int(np.nanargmax(advice.net_gains)))).expert
    return NextExpert(expert, 0.0, 0.0, "")


def _by_agreement(state: State, people: SessionPeople, item: ItemState, free: Sequence[str]) -> NextExpert:
    counted = counted_item(people, item)
    probs = believe(state.method.asking, state.prior, counted, counted.votes, counted.pool_left)
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
