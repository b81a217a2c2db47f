"""Labels as they are written -> the classes they name; and which labels mean that there is no answer."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from quorate.validate import broken

_WHOLE = re.compile(r"(-?(?:0|[1-9][0-9]*))\.0+")


@dataclass(frozen=True, slots=True)
class Match:
    """The class a label names (None: no class), and the rule that was needed (None: it was written so)."""

    name: str | None
    rule: str | None


def match_labels(labels: Sequence[str | None], classes: Sequence[str] | None, *, given: bool) -> list[Match]:
    """The class of each label. Without `classes` every label is one; with them a stranger is unknown if `given`.

    >>> [match.name for match in match_labels(["cat", " cat", "Cat", "bird"], ["cat", "dog"], given=True)]
    ['cat', 'cat', 'cat', None]
    """
    known = tuple(classes) if classes is not None else ()
    exact, numbers, cases = set(known), _unique(known, whole_number), _unique(known, str.casefold)
    return [Match(None, None) if label is None else _match(label, exact, numbers, cases, given) for label in labels]


def whole_number(text: str) -> str:
    """A whole number without its decimals; any other text as it is.

    >>> whole_number("1.0"), whole_number("01.0"), whole_number("1.5")
    ('1', '01.0', '1.5')
    """
    found = _WHOLE.fullmatch(text)
    return found[1] if found else text


def meant(name: str, names: Sequence[str]) -> str | None:
    """The one of `names` that a misspelt name probably is, or None.

    >>> meant("dgo", ["cat", "dog"]), meant("CAT", ["cat", "dog"]), meant("horse", ["cat", "dog"])
    ('dog', 'cat', None)
    """
    folded = {each.casefold(): each for each in reversed(names)}
    close = get_close_matches(name.strip().casefold(), list(folded), n=1)
    return folded[close[0]] if close else None


def differ_by_case(names: Iterable[str]) -> list[str]:
    """The names that another one equals but for case.

    >>> differ_by_case(["cat", "Cat", "dog"])
    ['cat', 'Cat']
    """
    folded: dict[str, list[str]] = {}
    for name in names:
        folded.setdefault(name.casefold(), []).append(name)
    return [name for group in folded.values() if len(group) > 1 for name in group]


def _match(label: str, exact: set[str], numbers: dict[str, str], cases: dict[str, str], given: bool) -> Match:
    if label in exact:
        return Match(label, None)
    bare = label.strip()
    if bare in exact:
        return Match(bare, "label-space")
    number = whole_number(bare)
    if number in numbers:
        return Match(numbers[number], "label-number")
    if bare.casefold() in cases:
        return Match(cases[bare.casefold()], "label-case")
    if given:
        return Match(None, "unknown-label")
    return Match(number, "label-number" if number != bare else "label-space" if bare != label else None)


def _unique(names: Sequence[str], form: Callable[[str], str]) -> dict[str, str]:
    """The names by a form of them, where no two share it."""
    forms = [form(name) for name in names]
    shared = Counter(forms)
    return {each: name for each, name in zip(forms, names, strict=True) if shared[each] == 1}


NO_ANSWER = frozenset(
    {
        "abstain", "abstained", "abstention", "cannotsay", "cannottell", "cantsay", "canttell", "dk", "dontknow",
        "donotknow", "idk", "idontknow", "na", "nan", "noanswer", "noopinion", "noresponse", "none", "notapplicable",
        "notsure", "null", "pass", "skip", "skipped", "undecided", "unknown", "unsure",
    }
)  # fmt: skip


def means_no_answer(label: str) -> bool:
    """Whether a label is one of NO_ANSWER but for case, spaces and signs, or nothing but question marks.

    >>> [means_no_answer(label) for label in ("Don't know", "N/A", "?", "none", "cat", "c++")]
    [True, True, True, True, False, False]
    """
    bare = re.sub(r"[\W_]+", "", label).casefold()
    return bare in NO_ANSWER or re.fullmatch(r"[\s?]*\?[\s?]*", label) is not None


def abstain_names(labels: str | Sequence[str] | None, classes: Sequence[str] | None) -> tuple[str, ...]:
    """The labels named as abstentions; none of them may be a class.

    >>> abstain_names(["NA", "don't know"], None)
    ('NA', "don't know")
    """
    if labels is None:
        return ()
    parts = labels.split(",") if isinstance(labels, str) else list(labels)
    names = tuple(dict.fromkeys(str(name).strip() for name in parts))
    if not all(names):
        rule = "labels that are not empty"
        raise broken("abstain_labels", labels, rule, "leave the empty one out: a blank cell is an abstention anyway.")
    both = [name for name in names if name in (classes or ())]
    if both:
        raise broken("abstain_labels", both[0], "a label that is not one of `classes`", "leave it out of one of them.")
    return names


def are_abstentions(labels: Sequence[str | None], named: Sequence[str]) -> list[bool]:
    """For each label whether it is one of those named, matched as classes are.

    >>> are_abstentions(["na ", "cat", None], ["NA"])
    [True, False, False]
    """
    return [match.name is not None for match in match_labels(labels, tuple(named), given=True)]
