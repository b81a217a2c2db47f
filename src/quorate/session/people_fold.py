"""Applies events to `SessionPeople`: presence, daily counts, agreement, and the models of crowd and panel.

Called by `state.apply`, live and on resume. What is learned about people is not in the events: it is computed from
them, with the same result in every replay. The random choice of items to revise is seeded by the item's number.
`judged` changes nothing: the session calls it before an event is written, `apply` when it takes effect.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from quorate import rng
from quorate.methods import Method
from quorate.people import REFIT_EVERY, REVISED, OnlineCrowd, OnlinePanel, PanelAdvice, Votes, calibrated, temperature
from quorate.session.items import ABSTAINED, ItemState, Judgement
from quorate.session.journal import Event
from quorate.session.people import (
    FEW_GOLD,
    FEWEST_GOLD,
    SessionPeople,
    Status,
    expert_from,
    new_member,
)
from quorate.session.people_rules import day_of, may_ever, uncounted
from quorate.types import FloatArray, IntArray

MEMBER_EVENTS: Mapping[str, Status] = {"join": "here", "leave": "left", "away": "away", "back": "here"}


def apply_member(people: SessionPeople, event: Event, open_items: dict[str, ItemState]) -> None:
    """Somebody joins, leaves, is away or back; who joins or leaves a panel changes the pools of `open_items`."""
    kind = event["type"]
    if kind == "join":
        member = new_member(people.settings, expert_from(event["expert"]))
        before = people.members.get(member.expert.name)
        if people.panel is not None:
            people.panel.enter(member.expert.name)
        people.members[member.expert.name] = (
            member if before is None else replace(before, expert=member.expert, status="here")
        )
        _change_pools(people, member.expert.name, open_items, 1)
        return
    name = event["voter"]
    people.members[name] = replace(people.members[name], status=MEMBER_EVENTS[kind])
    if kind == "leave":
        _change_pools(people, name, open_items, -1)


def _change_pools(people: SessionPeople, name: str, open_items: dict[str, ItemState], change: int) -> None:
    """The pool of a panel's item is its members; who has acted on it stays in it."""
    if people.panel is None:
        return
    for item_id, item in open_items.items():
        if name not in item.ballots:
            open_items[item_id] = replace(item, pool_size=max(item.pool_size + change, 1))


def judged(
    people: SessionPeople, method: Method, before: ItemState | None, after: ItemState, event: Event
) -> ItemState:
    """The item with the current judgement of the people's model; a closed item keeps that of its decision."""
    if after.is_closed:
        return after
    if people.panel is not None:
        return replace(after, judgement=_planned(people, people.panel, method, after))
    if people.crowd is None:
        return after
    previous = None if before is None or before.judgement is None else before.judgement.probs
    if event["type"] == "retract" or previous is None:
        probs = _judged_anew(people, people.crowd, event.get("item"), after)
    elif event["type"] == "vote":
        probs = _with_last_vote(people, people.crowd, previous, after)
    else:
        probs = dict(previous)
    scale = people.temperature
    probs["crowd_calibrated"] = probs["crowd_all"] if scale is None else calibrated(probs["crowd_all"][None], scale)[0]
    return replace(after, judgement=Judgement(probs, "score" if scale is None else "probability"))


def _judged_anew(
    people: SessionPeople, crowd: OnlineCrowd, item_id: str | None, item: ItemState
) -> dict[str, FloatArray]:
    """Beliefs from the prior and every vote: from the votes that count towards stopping, and from all."""
    votes, log_f, dropped = votes_of(item), log_prediction(item), uncounted(people, item)
    every = crowd.judge(log_f, votes, without=item_id)
    if not dropped:
        return {"crowd": every, "crowd_all": every}
    counted = crowd.judge(log_f, [vote for vote in votes if vote[0] not in dropped], without=item_id)
    return {"crowd": counted, "crowd_all": every}


def _with_last_vote(
    people: SessionPeople, crowd: OnlineCrowd, known: Mapping[str, FloatArray], item: ItemState
) -> dict[str, FloatArray]:
    (voter, label), log_f = votes_of(item)[-1], log_prediction(item)
    every = crowd.after_vote(known["crowd_all"], log_f, voter, label)
    if voter in uncounted(people, item):
        return {"crowd": known["crowd"], "crowd_all": every}
    if known["crowd"] is known["crowd_all"]:
        return {"crowd": every, "crowd_all": every}
    return {"crowd": crowd.after_vote(known["crowd"], log_f, voter, label), "crowd_all": every}


def _planned(people: SessionPeople, panel: OnlinePanel, method: Method, item: ItemState) -> Judgement:
    """Who wins the panel, and whether anybody who may be asked, now or later, is worth asking."""
    free = [name for name in people.members if may_ever(people, item, name)]
    advice = panel_advice(people, panel, method, item, free, counted=True)
    every = advice
    if uncounted(people, item):
        every = panel_advice(people, panel, method, item, free, counted=False)
    asks = advice.expert >= 0 or not free  # if nobody is left, `people_rules` decides
    return Judgement({"panel": advice.probs, "panel_all": every.probs}, asks=asks)


def panel_advice(
    people: SessionPeople,
    panel: OnlinePanel,
    method: Method,
    item: ItemState,
    available: Collection[str],
    *,
    counted: bool,
) -> PanelAdvice:
    """The plan of the panel; `counted`: from the votes that count towards stopping."""
    costs = {name: member.expert.cost for name, member in people.members.items()}
    cast = panel_votes(people, panel, item, uncounted(people, item) if counted else ())
    return panel.advise(item.log_predictions, cast, available, costs, method.policy.min_gain)  # type: ignore[attr-defined]


def panel_votes(people: SessionPeople, panel: OnlinePanel, item: ItemState, left_out: Collection[str] = ()) -> IntArray:
    """(N,) the item's votes by member; members who abstained or left without a vote are not in its pool."""
    votes = [vote for vote in votes_of(item) if vote[0] not in left_out]
    gone = [name for name, ballot in item.ballots.items() if ballot.label == ABSTAINED or name in left_out]
    gone += [name for name, member in people.members.items() if member.status == "left" and name not in item.ballots]
    return panel.row(votes, gone)


def votes_of(item: ItemState) -> Votes:
    """The item's votes in their order."""
    return [(voter, ballot.label) for voter, ballot in item.ballots.items() if ballot.label != ABSTAINED]


def log_prediction(item: ItemState) -> FloatArray:
    """(K,) log of the classifiers' mean."""
    return np.log(item.prediction)


def count_vote(people: SessionPeople, event: Event) -> None:
    """Count a vote for its voter; if people are learned as they appear, the voter becomes a member."""
    name, day = event["voter"], day_of(event["time"])
    member = people.member(name)
    if day < member.day:  # a vote of an earlier day does not count towards the current day's limit
        day, today = member.day, member.today
    else:
        today = member.today + 1 if member.day == day else 1
    people.members[name] = replace(member, day=day, today=today, votes=member.votes + 1)
    if people.crowd is not None:
        people.crowd.enter(name)


def uncount_vote(people: SessionPeople, name: str, before: ItemState) -> None:
    """Undo `count_vote` for a ballot that is retracted; an abstention was not counted."""
    ballot, member = before.ballots[name], people.member(name)
    if ballot.label == ABSTAINED:
        return
    today = member.today - 1 if day_of(ballot.time) == member.day else member.today
    people.members[name] = replace(member, today=today, votes=member.votes - 1)


def learn(people: SessionPeople, event: Event, before: ItemState | None, after: ItemState, seed: int) -> None:
    """Learn about the people from a closed item; what was learned from it before is undone first."""
    was_closed, is_closed = before is not None and before.is_closed, after.is_closed
    if before is not None and was_closed:
        _count_agreement(people, before, -1)
    if is_closed:
        _count_agreement(people, after, 1)
    if people.panel is not None:
        _learn_panel(people, people.panel, event["item"], was_closed, after)
    if people.crowd is None:
        return
    item_id, votes = event["item"], votes_of(after)
    if was_closed:
        people.crowd.change(item_id, votes if is_closed else None)
    elif is_closed and after.judgement is not None:
        belief = after.judgement.probs["crowd_all"]
        draws = [rng.uniform(seed, "revise", after.number, draw) for draw in range(REVISED)]
        gold = people.settings.gold.get(item_id)
        true_class = None if gold is None else people.classes.index(gold)
        people.crowd.close(item_id, log_prediction(after), votes, belief, draws, known=true_class)
    if item_id in people.settings.gold and is_closed and "params" in event["decision"]:
        _learn_gold(people, item_id, after, event)


def _learn_panel(people: SessionPeople, panel: OnlinePanel, item_id: str, was_closed: bool, item: ItemState) -> None:
    cast = panel_votes(people, panel, item)
    if was_closed:
        panel.change(item_id, cast if item.is_closed else None)
    elif item.is_closed:
        panel.close(item_id, item.log_predictions, cast)


def _learn_gold(people: SessionPeople, item_id: str, item: ItemState, event: Event) -> None:
    people.gold.pop(item_id, None)
    people.gold[item_id] = gold_of(people, item_id, item)
    if people.most_gold is not None and len(people.gold) > people.most_gold:
        del people.gold[next(iter(people.gold))]
    people.gold_since_fit += 1
    if "temperature" in event:
        people.temperature, people.gold_since_fit = event["temperature"], 0


def gold_of(people: SessionPeople, item_id: str, item: ItemState) -> tuple[FloatArray, int]:
    """The belief about an item of known class, and that class."""
    assert item.judgement is not None
    return item.judgement.probs["crowd_all"], people.classes.index(people.settings.gold[item_id])


def new_temperature(people: SessionPeople, item_id: str, item: ItemState) -> float | None:
    """The temperature fitted when this item of known class closes; None if no fit is due."""
    count = len(people.gold) + (item_id not in people.gold)
    if count < FEWEST_GOLD or (count >= FEW_GOLD and people.gold_since_fit + 1 < REFIT_EVERY):
        return None
    known = [each for other, each in people.gold.items() if other != item_id] + [gold_of(people, item_id, item)]
    if people.most_gold is not None:
        known = known[-people.most_gold :]
    return temperature(np.array([belief for belief, _ in known]), np.array([truth for _, truth in known]))


def _count_agreement(people: SessionPeople, item: ItemState, sign: int) -> None:
    """Add (1) or undo (-1) the agreement of votes on a closed item with its answer."""
    assert item.standing is not None
    for name, label in votes_of(item):
        member, agrees = people.members[name], int(label == item.standing.label)
        people.members[name] = replace(
            member, judged=member.judged + sign, agreements=member.agreements + sign * agrees
        )
        people.judged += sign
        people.agreements += sign * agrees
