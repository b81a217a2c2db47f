"""Labels as people write them -> classes, or "no answer"."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from quorate.tables.texts import whole_number
from quorate.validate import invalid

NO_ANSWER = frozenset(
    {
        "abstain", "abstained", "abstention", "cannotsay", "cannottell", "cantsay", "canttell", "dk", "dontknow",
        "donotknow", "idk", "idontknow", "na", "nan", "noanswer", "noopinion", "noresponse", "none", "notapplicable",
        "notsure", "null", "pass", "skip", "skipped", "undecided", "unknown", "unsure",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Match:
    """The class of a label (None: unknown), and the rule that was needed to match it (None: an exact match)."""

    name: str | None
    rule: str | None


def match_labels(labels: Sequence[str | None], classes: Sequence[str] | None, *, given: bool) -> list[Match]:
    """The class of each label. Without `classes` every label is a class; other labels are unknown only if `given`.

    >>> [match.name for match in match_labels(["cat", " cat", "Cat", "bird"], ["cat", "dog"], given=True)]
    ['cat', 'cat', 'cat', None]
    """
    names = tuple(classes) if classes is not None else ()
    exact, numbers, cases = set(names), _unique(names, whole_number), _unique(names, _folded)
    written = {label.strip() for label in labels if label is not None}
    matches = {label: _match(label, exact, numbers, cases, None if given else written) for label in labels if label}
    return [matches.get(label or "", Match(None, None)) for label in labels]


def meant(name: str, names: Sequence[str]) -> str | None:
    """The one of `names` that a misspelt name probably stands for, or None.

    >>> meant("dgo", ["cat", "dog"]), meant("CAT", ["cat", "dog"]), meant("horse", ["cat", "dog"])
    ('dog', 'cat', None)
    """
    folded = {candidate.casefold(): candidate for candidate in reversed(names)}
    close = get_close_matches(name.strip().casefold(), list(folded), n=1)
    return folded[close[0]] if close else None


def differ_by_case(names: Iterable[str]) -> list[str]:
    """The names that differ from another one by case only.

    >>> differ_by_case(["cat", "Cat", "dog"])
    ['cat', 'Cat']
    """
    folded: dict[str, list[str]] = {}
    for name in names:
        folded.setdefault(name.casefold(), []).append(name)
    return [name for group in folded.values() if len(group) > 1 for name in group]


def _match(
    label: str, exact: set[str], numbers: dict[str, str], cases: dict[str, str], written: set[str] | None
) -> Match:
    """`written`: the labels of the column, each of which is a class; None: only those known are."""
    if label in exact:
        return Match(label, None)
    bare = label.strip()
    if bare in exact:
        return Match(bare, "spelling")
    number = whole_number(bare)
    if number in numbers:
        return Match(numbers[number], "spelling")
    if _folded(bare) in cases:
        return Match(cases[_folded(bare)], "spelling")
    if written is None:
        return Match(None, "unknown-label")
    name = number if number in written else bare  # "1.0" stays, except beside "1"
    return Match(name, "spelling" if name != label else None)


def _folded(name: str) -> str:
    """Without case, and with plain apostrophes: Excel writes can’t."""
    return name.casefold().replace("\u2019", "'")


def _unique(names: Sequence[str], form: Callable[[str], str]) -> dict[str, str]:
    """`form(name)` -> name, for the forms that only one name has."""
    forms = [form(name) for name in names]
    shared = Counter(forms)
    return {form_of_name: name for form_of_name, name in zip(forms, names, strict=True) if shared[form_of_name] == 1}


def means_no_answer(label: str) -> bool:
    """Whether a label is one of NO_ANSWER, ignoring case, spaces and signs, or consists of question marks only.

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
        raise invalid("abstain_labels", labels, rule, "leave the empty one out: a blank cell is an abstention anyway.")
    both = [name for name in names if name in (classes or ())]
    if both:
        raise invalid("abstain_labels", both[0], "a label that is not one of `classes`", "leave it out of one of them.")
    return names


def are_abstentions(labels: Sequence[str | None], named: Sequence[str]) -> list[bool]:
    """For each label, whether it is one of `named`; matched like classes.

    >>> are_abstentions(["na ", "cat", None], ["NA"])
    [True, False, False]
    """
    return [match.name is not None for match in match_labels(labels, tuple(named), given=True)]
