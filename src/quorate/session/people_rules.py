"""Who may be asked about an item, how rules about people change its decision, and which calls and events are refused.

Pure: only reads `SessionPeople`. Calls are checked before they are written, events again when a journal is resumed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from types import MappingProxyType
from typing import get_args

import numpy as np

from quorate.methods import Method
from quorate.model import STOP_REASONS, PolicyState
from quorate.people import CountAtMost, MustConfirm, NeverTogether, check_panel_size
from quorate.session.decide import Verdict, decide
from quorate.session.inputs import checked_id
from quorate.session.items import ABSTAINED, ItemState, Learned
from quorate.session.journal import Event
from quorate.session.people import SECONDS_A_DAY, SessionMember, SessionPeople, expert_from
from quorate.types import Reason
from quorate.validate import bounded, invalid

NO_PEOPLE = "start it with `experts`, `rules` or a method for named people."


def verdict(
    people: SessionPeople | None,
    method: Method,
    learned: Learned,
    policy_state: PolicyState,
    item: ItemState,
    *,
    closing: bool = False,
) -> Verdict:
    """`decide`, followed by the rules about people. Without people it is `decide`.

    The answer uses every vote; stopping depends only on the votes that count towards it. If a confirmation is required,
    asking continues while somebody may give it. Asking stops when nobody is left who may be asked.
    """
    outcome = decide(method, learned, policy_state, item, closing=closing)
    if people is None:
        return outcome
    counted = counted_item(people, item)
    reason = outcome.reason
    if counted is not item:
        reason = decide(method, learned, policy_state, counted, closing=closing).reason
    if closing:
        unconfirmed = rank_needed(people, item, outcome.label) is not None
        if unconfirmed and not decide(method, learned, policy_state, counted).ask:  # it waited for that alone
            return replace(outcome, reason="unconfirmed", ask=False)
        if reason == "closed" and not anybody_left(people, item):
            reason = "nobody_left"
        return replace(outcome, reason=reason, ask=False)
    reason = _with_rules(people, item, outcome.label, reason)
    return replace(outcome, reason=reason, ask=reason == "ask")


def _with_rules(people: SessionPeople, item: ItemState, label: int, reason: Reason) -> Reason:
    if reason == "ask":
        return "ask" if anybody_left(people, item) else "nobody_left"
    rank = rank_needed(people, item, label)
    if rank is None:
        return reason
    return "ask" if anybody_left(people, item, rank=rank) else "unconfirmed"


def rank_needed(people: SessionPeople, item: ItemState, label: int) -> str | None:
    """The rank that must confirm before the item closes with this class; None if no confirmation is missing."""
    for rule in people.rules(MustConfirm):
        if rule.label is not None and people.classes[label] != rule.label:
            continue
        confirmed = (
            voter
            for voter, ballot in item.ballots.items()
            if ballot.label == label and _rank(people, voter) == rule.rank
        )
        if next(confirmed, None) is None:
            return str(rule.rank)
    return None


def counted_item(people: SessionPeople, item: ItemState) -> ItemState:
    """The item with only the votes that count towards stopping; the others are treated as abstentions."""
    dropped = uncounted(people, item)
    if not dropped:
        return item
    votes = item.votes.copy()
    for voter in dropped:
        votes[item.ballots[voter].label] -= 1
    kept = MappingProxyType({voter: ballot for voter, ballot in item.ballots.items() if voter not in dropped})
    return replace(item, votes=votes, abstentions=item.abstentions + len(dropped), ballots=kept)


def uncounted(people: SessionPeople, item: ItemState) -> set[str]:
    """Voters whose votes do not count towards stopping: those of a limited rank beyond its limit."""
    dropped: set[str] = set()
    for rule in people.rules(CountAtMost):
        dropped.update(_voters_of_rank(people, item, rule.rank)[rule.most :])
    return dropped


def _voters_of_rank(people: SessionPeople, item: ItemState, rank: str) -> list[str]:
    """Who of that rank has voted on the item, in order."""
    return [voter for voter in _voters(item) if _rank(people, voter) == rank]


def anybody_left(people: SessionPeople, item: ItemState, *, rank: str | None = None) -> bool:
    """Whether anybody (of that rank) may be asked about the item, now or later. New people always may."""
    if not people.is_complete:
        return True
    return any(may_ever(people, item, name, rank=rank) for name in people.members)


def may_ever(people: SessionPeople, item: ItemState, name: str, *, rank: str | None = None) -> bool:
    """Whether this person may be asked about the item, now or later.

    False for those who have left or answered, whom a rule keeps apart from a voter of the item, or whose vote would not
    count towards stopping. `rank`: a person of this rank is needed, whose vote counts as a confirmation.
    """
    member = people.member(name)
    if member.status == "left" or name in item.ballots:
        return False
    if rank is not None:
        return member.expert.rank == rank and not _kept_apart(people, item, name)
    return not _at_the_limit_of_the_rank(people, item, member) and not _kept_apart(people, item, name)


def may_now(people: SessionPeople, item: ItemState, name: str, time: float, *, rank: str | None = None) -> bool:
    """Whether this person may be asked about the item at this time."""
    member = people.member(name)
    if member.status != "here" or _used_up(member, time):
        return False
    return may_ever(people, item, name, rank=rank)


def day_of(time: float) -> int:
    """The day (UTC) of a time in seconds, as a number."""
    return int(np.floor(time / SECONDS_A_DAY))


def _used_up(member: SessionMember, time: float) -> bool:
    limit = member.expert.daily_limit
    return limit is not None and (member.today if member.day == day_of(time) else 0) >= limit


def _at_the_limit_of_the_rank(people: SessionPeople, item: ItemState, member: SessionMember) -> bool:
    return any(
        member.expert.rank == rule.rank and len(_voters_of_rank(people, item, rule.rank)) >= rule.most
        for rule in people.rules(CountAtMost)
    )


def _kept_apart(people: SessionPeople, item: ItemState, name: str) -> bool:
    others = _voters(item)
    for rule in people.rules(NeverTogether):
        if (name == rule.first and rule.second in others) or (name == rule.second and rule.first in others):
            return True
    return False


def _voters(item: ItemState) -> list[str]:
    return [voter for voter, ballot in item.ballots.items() if ballot.label != ABSTAINED]


def _rank(people: SessionPeople, name: str) -> str | None:
    return people.member(name).expert.rank


def with_people(people: SessionPeople | None, call: str) -> SessionPeople:
    """The people of the session; an error if it has none."""
    if people is None:
        raise invalid("experts", None, f"a session with named people, which {call} needs", NO_PEOPLE)
    return people


def check_member(people: SessionPeople | None, event: Event) -> None:
    """Refuse a "join", "leave", "away" or "back" that does not fit the person's presence."""
    known, kind = with_people(people, event["type"]), event["type"]
    if kind == "join":
        expert = expert_from(event["expert"])
        member = known.members.get(expert.name)
        if member is not None and member.status != "left":
            raise invalid("expert", expert.name, "somebody who is not a member", "call leave(name) first.")
        _check_pool(known, len(_present(known)) + 1)
        return
    name = checked_id(event["voter"], where="voter")
    member = known.members.get(name)
    if member is None or member.status == "left":
        raise invalid("voter", name, "a member", "call join(name) first.")
    wanted = "away" if kind == "back" else "here"
    if kind != "leave" and member.status != wanted:
        raise invalid("voter", name, f"somebody who is {wanted}, not {member.status}", "check the person's status.")


def checked_absent(people: SessionPeople | None, names: Iterable[str]) -> list[str]:
    """Names of those who will not vote on a new item, each once; if members were named, only members."""
    if isinstance(names, str):
        raise invalid("absent", names, "a list of names", "pass [name].")
    missing = list(dict.fromkeys(checked_id(name, where="absent") for name in names))
    for name in missing:
        if people is not None and people.is_complete and name not in people.members:
            raise invalid("absent", name, "the name of somebody who has joined", "call join(name) first.")
    if people is not None:
        _check_pool(people, len(_present(people) - set(missing)))
    return missing


def _present(people: SessionPeople) -> set[str]:
    return {name for name, member in people.members.items() if member.status != "left"}


def _check_pool(people: SessionPeople, size: int) -> None:
    """Refuse a pool that is too large for a panel."""
    if people.panel is not None:
        check_panel_size(size, len(people.classes))


def check_ballot(people: SessionPeople, event: Event) -> None:
    """Refuse a vote, abstention or timeout without a name, or by somebody who has not joined or has left."""
    kind = event["type"]
    if kind in ("vote", "abstain", "timeout"):
        name = event.get("voter")
        if name is None:
            raise invalid("voter", None, "a name: this session has named people", "pass voter=name.")
        if people.is_complete and (name not in people.members or people.members[name].status == "left"):
            raise invalid("voter", name, "somebody who has joined and has not left", "call join(name) first.")
    if event.get("temperature") is not None:
        bounded(event["temperature"], where="temperature", least=1.0, most=float(np.exp(6.0)))


def reasons_with_people(
    people: SessionPeople, item: ItemState, event: Event, possible: tuple[Reason, ...]
) -> tuple[Reason, ...]:
    """The possible reasons of a decision when rules about people apply too."""
    assert item.standing is not None
    if event["type"] == "close":
        return (*possible, "nobody_left", "unconfirmed")
    if any(reason in STOP_REASONS.values() for reason in possible) and not people.settings.rules:
        return possible
    more: tuple[Reason, ...] = ("ask", "nobody_left")
    if rank_needed(people, item, item.standing.label) is not None:
        more = (*more, "unconfirmed")
    if people.settings.rules:
        more = (*more, *(reason for reason in get_args(Reason) if reason not in ("closed", "unconfirmed")))
    return tuple(dict.fromkeys((*possible, *more)))
