"""The named people of a session: its settings about people, and what is known about each person so far.

`PeopleSettings` is the part of a session's settings about people, `SessionPeople` the part of its state. Sessions
without named people have neither. `people_fold` changes `SessionPeople`, `people_rules` and `people_calls` only read
it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal, TypeGuard

import numpy as np

from quorate.methods import Method, Target, checked_target
from quorate.people import (
    CountAtMost,
    DailyLimit,
    Expert,
    MustConfirm,
    NeverTogether,
    OnlineCrowd,
    OnlinePanel,
    Rule,
    reliability,
    rule_data,
    rule_from,
)
from quorate.session.inputs import checked_id, class_number
from quorate.types import FloatArray
from quorate.validate import invalid

Status = Literal["here", "away", "left"]
FEWEST_GOLD = 20  # closed items of known class before the confidence is called a probability
FEW_GOLD = 100  # below this the temperature is fitted whenever one closes; from then on at every `REFIT_EVERY`-th
SECONDS_A_DAY = 86_400
# version of what is computed about people from events, by target; a journal with another one is refused
MODELS: Mapping[str, int] = MappingProxyType({"plurality": 1, "truth": 3})


@dataclass(frozen=True, slots=True)
class PeopleSettings:
    """Settings of a session with people. If `experts` are named, others cannot vote until they join.

    `gold`: items whose true class is known, by name of the class.
    """

    target: Target
    experts: tuple[Expert, ...] = ()
    rules: tuple[Rule, ...] = ()
    gold: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def header(self) -> dict[str, Any]:
        """The settings as stored in the journal's header."""
        return {
            "target": self.target,
            "experts": [asdict(each) for each in self.experts],
            "rules": [rule_data(each) for each in self.rules],
            "gold": dict(self.gold),
            "model": MODELS[self.target],
        }


@dataclass(frozen=True, slots=True)
class SessionMember:
    """One person: daily limit after the rules, presence, votes on the day `day` and in total.

    Of `judged` votes on closed items, `agreements` equal the answer.
    """

    expert: Expert
    status: Status = "here"
    day: int = 0
    today: int = 0
    votes: int = 0
    agreements: int = 0
    judged: int = 0


@dataclass(slots=True)
class SessionPeople:
    """Everything known about the people after the events so far."""

    settings: PeopleSettings
    classes: tuple[str, ...]
    members: dict[str, SessionMember]
    crowd: OnlineCrowd | None = None
    panel: OnlinePanel | None = None
    agreements: int = 0
    judged: int = 0
    gold: dict[str, tuple[FloatArray, int]] = field(default_factory=dict)  # of the last closed: belief, true class
    most_gold: int | None = None  # items in `gold`; None: no limit
    gold_since_fit: int = 0
    temperature: float | None = None

    @property
    def is_complete(self) -> bool:
        """True if only members may vote: the people were named at the start."""
        return bool(self.settings.experts)

    def rules(self, kind: type[Rule]) -> list[Any]:
        """The rules of one kind."""
        return [rule for rule in self.settings.rules if isinstance(rule, kind)]

    def member(self, name: str) -> SessionMember:
        """The member of that name; a new member if people are learned as they appear."""
        member = self.members.get(name)
        return new_member(self.settings, Expert(name)) if member is None else member

    def reliability(self, names: Iterable[str]) -> FloatArray:
        """The share of answers each agreed with, shrunk towards the share of all."""
        who = [self.member(name) for name in names]
        agreements, judged = (
            np.array([float(member.agreements) for member in who]),
            np.array([float(member.judged) for member in who]),
        )
        return reliability(agreements, judged, of_all=(self.agreements, self.judged))


def new_member(settings: PeopleSettings, expert: Expert) -> SessionMember:
    """A new member, with the limit of the rules; a rule on the name takes precedence over one on the rank."""
    limit = expert.daily_limit
    for by_rank in (True, False):
        who = expert.rank if by_rank else expert.name
        for rule in settings.rules:
            if isinstance(rule, DailyLimit) and rule.is_rank is by_rank and rule.who == who:
                limit = rule.most
    return SessionMember(replace(expert, daily_limit=limit))


def initial_people(
    settings: PeopleSettings, method: Method, classes: tuple[str, ...], num_classifiers: int, window: int | None
) -> SessionPeople:
    """Before the first event."""
    members = {expert.name: new_member(settings, expert) for expert in settings.experts}
    crowd = OnlineCrowd(len(classes), window=window) if method.target == "truth" else None
    panel = None
    if method.asking.posterior == "panel":
        panel = OnlinePanel(members, len(classes), num_classifiers, window=window)
    most_gold = None if window is None else max(window, FEWEST_GOLD)
    return SessionPeople(settings, classes, members, crowd, panel, most_gold=most_gold)


def people_settings(
    method: Method,
    classes: tuple[str, ...],
    *,
    target: object = None,
    experts: object = None,
    rules: object = None,
    gold: object = None,
) -> PeopleSettings | None:
    """The settings about people from a caller or a journal's header; None if there are none."""
    seeks = checked_target(target, method)
    if seeks == "plurality" and experts is None and not rules and not gold and not method.needs_people:
        return None
    settings = PeopleSettings(seeks, _experts(experts), _rules(rules, classes), _gold(gold, classes, seeks))
    _check_names(settings)
    if method.asking.posterior == "panel" and not settings.experts:
        raise invalid("experts", experts, "the members of the panel", "name them, or use choose='agreement'.")
    return settings


def _experts(given: object) -> tuple[Expert, ...]:
    if given is None:
        return ()
    if isinstance(given, (str, Mapping)) or not isinstance(given, Iterable):
        raise invalid("experts", given, "a list of experts", "pass [quorate.Expert('ann'), ...].")
    experts = tuple(expert_from(expert) for expert in given)
    names: set[str] = set()
    for expert in experts:
        if expert.name in names:
            raise invalid("experts", expert.name, "different names", "name each person once.")
        names.add(expert.name)
    return experts


def expert_from(given: object) -> Expert:
    """An expert from a caller (an Expert or a name) or from a journal."""
    if isinstance(given, Expert):
        return given
    if isinstance(given, str):
        return Expert(given)
    if isinstance(given, Mapping) and set(given) <= set(Expert.__dataclass_fields__) and "name" in given:
        return Expert(**given)
    raise invalid("experts", given, "quorate.Expert(name, ...), or a name", "pass one of these.")


def _rules(given: object, classes: tuple[str, ...]) -> tuple[Rule, ...]:
    if given is None:
        return ()
    if isinstance(given, (str, Mapping)) or not isinstance(given, Iterable):
        raise invalid("rules", given, "a list of rules", "pass [quorate.MustConfirm('senior'), ...].")
    rules = tuple(rule_from(each) for each in given)
    for rule in rules:
        if isinstance(rule, MustConfirm) and rule.label is not None:
            class_number(rule.label, classes, where="rules")
    return rules


def _gold(given: object, classes: tuple[str, ...], target: Target) -> Mapping[str, str]:
    if not given:
        return MappingProxyType({})
    if not _is_mapping(given):
        raise invalid("gold", given, "true classes by item, e.g. {'photo-1': 'cat'}", "pass a mapping.")
    if target != "truth":
        rule = "no gold items, which only calibrate the confidence of target 'truth'"
        raise invalid("gold", f"{len(given)} items", rule, "leave `gold` out, or use the method 'crowd'.")
    for item_id, label in given.items():
        checked_id(item_id, where="gold")
        class_number(label, classes, where="gold")
    return MappingProxyType(dict(given))


def _is_mapping(given: object) -> TypeGuard[Mapping[str, str]]:
    return isinstance(given, Mapping)


def _check_names(settings: PeopleSettings) -> None:
    """Refuse rules about people or ranks that no expert has, unless people are learned as they appear."""
    if not settings.experts:
        return
    names, ranks = {each.name for each in settings.experts}, {each.rank for each in settings.experts}
    for rule in settings.rules:
        if isinstance(rule, DailyLimit):
            missing = [] if rule.who in (ranks if rule.is_rank else names) else [rule.who]
        elif isinstance(rule, (MustConfirm, CountAtMost)):
            missing = [] if rule.rank in ranks else [rule.rank]
        elif isinstance(rule, NeverTogether):
            missing = [each for each in (rule.first, rule.second) if each not in names]
        else:
            missing = []
        for each in missing:
            raise invalid(
                "rules", rule, f"a rule about `experts`; none of them is {each!r}", "check the name or the rank."
            )
