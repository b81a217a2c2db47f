"""Rules about people as typed values, for sessions with named people. `session.people_rules` applies them.

A journal stores a rule as data: `rule_data` writes it, `rule_from` reads it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from quorate.people.person import text
from quorate.validate import invalid, whole


@dataclass(frozen=True, slots=True)
class MustConfirm:
    """An item closes as `label` (None: any class) only after somebody of `rank` has voted for that answer."""

    rank: str
    label: str | None = None

    def __post_init__(self) -> None:
        """Check the values."""
        text(self.rank, where="rank")
        if self.label is not None:
            text(self.label, where="label")


@dataclass(frozen=True, slots=True)
class CountAtMost:
    """Only the first `most` votes of an item by people of `rank` count towards the stop; the answer counts all."""

    rank: str
    most: int

    def __post_init__(self) -> None:
        """Check the values."""
        text(self.rank, where="rank")
        whole(self.most, where="most", least=0)


@dataclass(frozen=True, slots=True)
class NeverTogether:
    """These two people are never asked about the same item."""

    first: str
    second: str

    def __post_init__(self) -> None:
        """Check the values."""
        text(self.first, where="first")
        if text(self.second, where="second") == self.first:
            raise invalid("second", self.second, "somebody other than `first`", "name two people.")


@dataclass(frozen=True, slots=True)
class DailyLimit:
    """The most votes per day (UTC, by the time of the events) of one person, or of each person of a rank."""

    who: str
    most: int
    is_rank: bool = False

    def __post_init__(self) -> None:
        """Check the values."""
        text(self.who, where="who")
        whole(self.most, where="most", least=0)
        if not isinstance(self.is_rank, bool):
            raise invalid("is_rank", self.is_rank, "True or False", "say whether `who` is a rank.")


Rule = MustConfirm | CountAtMost | NeverTogether | DailyLimit

KINDS: Mapping[str, type[Rule]] = {
    "must_confirm": MustConfirm,
    "count_at_most": CountAtMost,
    "never_together": NeverTogether,
    "daily_limit": DailyLimit,
}


def rule_data(rule: Rule) -> dict[str, Any]:
    """The rule as stored in a journal.

    >>> rule_data(DailyLimit("eve", 20))
    {'rule': 'daily_limit', 'who': 'eve', 'most': 20, 'is_rank': False}
    """
    name = next(name for name, kind in KINDS.items() if type(rule) is kind)
    return {"rule": name, **asdict(rule)}


def rule_from(given: object) -> Rule:
    """The rule of `rule_data`; a rule is returned unchanged."""
    if isinstance(given, Rule):
        return given
    if isinstance(given, Mapping) and given.get("rule") in KINDS:
        kind, values = KINDS[given["rule"]], {name: value for name, value in given.items() if name != "rule"}
        if set(values) <= set(kind.__dataclass_fields__):
            try:
                return kind(**values)
            except TypeError:  # a value is missing
                pass
    kinds = ", ".join(f"quorate.{kind.__name__}" for kind in KINDS.values())
    raise invalid("rules", given, f"one of {kinds}", "pass e.g. [quorate.MustConfirm('senior')].")
