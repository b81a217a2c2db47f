"""Labels that mean "no answer": which they are by the caller's word, and which merely look like it.

Named labels are set aside as abstentions by `clean`; labels that look like one are counted, and `doubts` asks about
those no classifier speaks of.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from quorate.errors import InvalidInput
from quorate.tables.labels import match_labels
from quorate.validate import shown

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
        raise InvalidInput(
            f"abstain_labels={shown(labels)}; expected labels that are not empty; a blank cell is one anyway."
        )
    both = [name for name in names if name in (classes or ())]
    if both:
        raise InvalidInput(f"abstain_labels and classes both have {both[0]!r}; expected it in one; leave one out.")
    return names


def are_abstentions(labels: Sequence[str | None], named: Sequence[str]) -> list[bool]:
    """For each label whether it is one of those named, matched as classes are.

    >>> are_abstentions(["na ", "cat", None], ["NA"])
    [True, False, False]
    """
    return [match.name is not None for match in match_labels(labels, tuple(named), given=True)]
