"""Rules about people as sentences and as typed values, for sessions with named people.

`parse_rule(sentence)` reads one, `str(rule)` writes it; the two are inverse, so journals and files store sentences.
`session.people_rules` applies the rules.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from quorate.experts.person import LEAST_COST, MOST_COST, text
from quorate.validate import bounded, invalid, whole

_PLAIN = re.compile(r"[^\W_][\w.@+-]*")
_WHO = r'(?:"(?:[^"\\]|\\.)*"|[^\s"]+)'


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

    def __str__(self) -> str:
        return f"a {_word(self.rank)} must confirm before an item closes" + (
            "" if self.label is None else f" as {_word(self.label)}"
        )


@dataclass(frozen=True, slots=True)
class CountAtMost:
    """Only the first `most` votes of an item by people of `rank` count towards the stop; the answer counts all."""

    rank: str
    most: int

    def __post_init__(self) -> None:
        """Check the values."""
        text(self.rank, where="rank")
        whole(self.most, where="most", least=0)

    def __str__(self) -> str:
        return f"at most {self.most} votes by any {_word(self.rank)} count towards the stop"


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

    def __str__(self) -> str:
        return f"never {_word(self.first)} and {_word(self.second)} on one item"


@dataclass(frozen=True, slots=True)
class PairsOnce:
    """Two people who have voted on the same item are not asked about another item together."""

    def __str__(self) -> str:
        return "never the same two people on one item"


@dataclass(frozen=True, slots=True)
class CostOf:
    """The cost of a vote of one person, or of each person of a rank."""

    who: str
    cost: float
    is_rank: bool = False

    def __post_init__(self) -> None:
        """Check the values."""
        text(self.who, where="who")
        object.__setattr__(self, "cost", bounded(self.cost, where="cost", least=LEAST_COST, most=MOST_COST))

    def __str__(self) -> str:
        return f"{_whom(self.who, self.is_rank)} costs {self.cost!r}"


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

    def __str__(self) -> str:
        return f"{_whom(self.who, self.is_rank)} answers at most {self.most} items a day"


Rule = MustConfirm | CountAtMost | NeverTogether | PairsOnce | CostOf | DailyLimit

_FORMS: tuple[tuple[str, Callable[[re.Match[str]], Rule]], ...] = (
    (
        rf"an? (?P<rank>{_WHO}) must confirm before an item closes(?: as (?P<label>{_WHO}))?",
        lambda said: MustConfirm(_name(said["rank"]), None if said["label"] is None else _name(said["label"])),
    ),
    (
        rf"at most (?P<most>\d+) votes? by any (?P<rank>{_WHO}) counts? towards the stop",
        lambda said: CountAtMost(_name(said["rank"]), int(said["most"])),
    ),
    (
        rf"at most (?P<most>\d+) votes? by (?P<ranks>{_WHO}) counts? towards the stop",
        lambda said: CountAtMost(_singular(_name(said["ranks"])), int(said["most"])),
    ),
    (r"never the same two people on (?:one|the same) item", lambda said: PairsOnce()),
    (
        rf"never (?P<first>{_WHO}) and (?P<second>{_WHO}) on (?:one|the same) item",
        lambda said: NeverTogether(_name(said["first"]), _name(said["second"])),
    ),
    (
        rf"(?P<every>(?:every|each) )?(?P<who>{_WHO}) costs (?P<cost>[\d.eE+-]+)",
        lambda said: CostOf(_name(said["who"]), _number(said["cost"]), is_rank=said["every"] is not None),
    ),
    (
        rf"(?P<every>(?:every|each) )?(?P<who>{_WHO}) answers at most (?P<most>\d+) (?:items? |votes? )?(?:a|per) day",
        lambda said: DailyLimit(_name(said["who"]), int(said["most"]), is_rank=said["every"] is not None),
    ),
)

EXAMPLES = (
    "a senior must confirm before an item closes as malignant",
    "at most 2 votes by trainees count towards the stop",
    "never ann and bob on one item",
    "never the same two people on one item",
    "every senior costs 5",
    "ann answers at most 20 items a day",
)


def parse_rule(sentence: str | Rule) -> Rule:
    """The rule of a sentence; a rule is returned unchanged. Names and classes with spaces are in double quotes.

    >>> parse_rule("A senior must confirm before an item closes as malignant.")
    MustConfirm(rank='senior', label='malignant')
    >>> parse_rule("at most 2 votes by trainees count towards the stop")
    CountAtMost(rank='trainee', most=2)
    >>> str(parse_rule('never "Dr Ann" and bob on the same item'))
    'never "Dr Ann" and bob on one item'
    """
    if isinstance(sentence, Rule):
        return sentence
    if isinstance(sentence, str):
        said = sentence.strip().removesuffix(".")
        for form, made in _FORMS:
            found = re.fullmatch(form, said, flags=re.IGNORECASE)
            if found is not None:
                return made(found)
    raise invalid(
        "rule", sentence, "a sentence of one of these forms: " + "; ".join(EXAMPLES), "write it like one of these."
    )


def parse_rules(sentences: Iterable[str | Rule]) -> tuple[Rule, ...]:
    """Every rule of a list."""
    if isinstance(sentences, str):
        raise invalid("rules", sentences, "a list of sentences", "pass [sentence].")
    return tuple(parse_rule(each) for each in sentences)


def _word(name: str) -> str:
    """A name for a sentence: in quotes unless it is a single plain word."""
    return name if _PLAIN.fullmatch(name) and name.lower() not in ("every", "each", "any") else json.dumps(name)


def _whom(who: str, is_rank: bool) -> str:
    return ("every " if is_rank else "") + _word(who)


def _name(written: str) -> str:
    """The name written in a sentence, without quotes."""
    if not written.startswith('"'):
        return written
    try:
        return str(json.loads(written))
    except ValueError:
        raise invalid("rule", written, "a name in double quotes", "write it as JSON does.") from None


def _singular(ranks: str) -> str:
    return ranks[:-1] if len(ranks) > 1 and ranks.endswith("s") else ranks


def _number(written: str) -> float:
    try:
        return float(written)
    except ValueError:
        raise invalid("cost", written, "a number", "write e.g. 2.5.") from None
