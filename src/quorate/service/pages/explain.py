"""Why an item was asked about, or closed: one sentence from its last decision, in words an owner can repeat.

Pure. `because` takes what was decided and the policy that decided; called by the item's page and the items table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quorate.decision.belief import TIE_WIDTH
from quorate.decision.value import optimistic_gain
from quorate.service.pages.format_filters import decimal, percent, plural
from quorate.service.pages.timeline import likeliest

TINY = "less than 0.01 points"
NUMBERS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
MOST_NAMED = 4  # classes of a tie that are named; more are counted


@dataclass(frozen=True, slots=True)
class Decided:
    """A decision and what it was made from: `pool_left` is the pool less those who could not tell."""

    reason: str
    label: str
    confidence: float
    probs: Sequence[float] | None
    votes: Sequence[int]
    pool_size: int
    pool_left: int
    min_votes: int
    most_votes: int | None
    classes: Sequence[str]
    num_abstained: int = 0

    @property
    def num_votes(self) -> int:
        """Votes behind it."""
        return sum(self.votes)

    @property
    def leaders(self) -> list[int]:
        """The classes that have most votes, by number: several in a tie."""
        return [index for index, count in enumerate(self.votes) if count == max(self.votes)]

    @property
    def likeliest(self) -> list[int]:
        """The classes that the pool would say most probably, by number: several in a tie."""
        return [] if self.probs is None else likeliest(self.probs)


def because(decided: Decided, policy: Any) -> str:  # noqa: ANN401
    """One sentence: asked again, or closed, and why.

    >>> from quorate.decision.value import ValueOfInformation
    >>> decided = Decided("not_worth_it", "cat", 0.981, [0.981, 0.019], [3, 0], 9, 9, 0, None, ["cat", "dog"])
    >>> because(decided, ValueOfInformation(min_gain=0.01)).replace("\\xa0", " ")
    "Closed after 3 votes: a fourth vote was worth at most 0.47 points of accuracy, not more than the 1 point \
it must exceed: 98.1 % sure that the pool of 9 would say 'cat'."
    """
    tell = REASONS.get(decided.reason, _by_rule)
    return tell(decided, policy)


def _asked(decided: Decided, policy: Any) -> str:  # noqa: ANN401
    after = f"Asked again after {plural(decided.num_votes, 'vote')}" if decided.num_votes else "Asked"
    if decided.num_votes < decided.min_votes:
        return f"{after}: each item gets at least {plural(decided.min_votes, 'vote')}; {_sure(decided)} so far."
    least = getattr(policy, "min_gain", None)
    if least is not None and decided.probs is not None:
        return (
            f"{after}: a {_next(decided)} vote may be worth {_points(_gain(decided))} of accuracy, more than "
            f"{_needed(least)}; {_sure(decided)} so far."
        )
    threshold = getattr(policy, "threshold", None)
    if threshold is not None:
        return f"{after}: {_sure(decided)}, not above the threshold of {percent(threshold)}."
    return f"{after}: the method's rule wants another vote; {_sure(decided)} so far."


def _confident(decided: Decided, policy: Any) -> str:  # noqa: ANN401
    threshold = getattr(policy, "threshold", None)
    limit = "" if threshold is None else f", above the threshold of {percent(threshold)}"
    return f"{_closed(decided)}: {_sure(decided)}{limit}."


def _not_worth_it(decided: Decided, policy: Any) -> str:  # noqa: ANN401
    least = getattr(policy, "min_gain", None)
    if least is None or decided.probs is None:
        return f"{_closed(decided)}: another vote was not worth its price; {_sure(decided)}."
    worth = _points(_gain(decided))
    most = "" if worth == TINY else "at most "
    return (
        f"{_closed(decided)}: a {_next(decided)} vote was worth {most}{worth} of accuracy, not "
        f"more than {_needed(least)}: {_sure(decided)}."
    )


def _settled(decided: Decided, policy: Any) -> str:  # noqa: ANN401
    if len(decided.leaders) > 1:  # nobody is left who could part them
        return _exhausted(decided, policy)
    return (
        f"{_closed(decided)}: whatever the rest of {_pool(decided)} would say, '{decided.label}' cannot be overtaken."
    )


def _exhausted(decided: Decided, _policy: Any) -> str:  # noqa: ANN401
    return f"{_closed(decided)}: everybody of {_pool(decided)} was asked; {_outcome(decided)}."


def _quota(decided: Decided, _policy: Any) -> str:  # noqa: ANN401
    most = "" if decided.most_votes is None else f" ({decided.most_votes})"
    return f"{_closed(decided)}: that is the most that may be asked for this item{most}; {_sure(decided)}."


def _by_hand(decided: Decided, _policy: Any) -> str:  # noqa: ANN401
    return f"{_closed(decided)}, by an owner: {_sure(decided)}."


def _by_rule(decided: Decided, policy: Any) -> str:  # noqa: ANN401
    name = getattr(policy, "name", "the method")
    return f"{_closed(decided)}: the rule of {name} wants no more; {_sure(decided)}."


REASONS = {
    "ask": _asked,
    "confident": _confident,
    "not_worth_it": _not_worth_it,
    "settled": _settled,
    "exhausted": _exhausted,
    "quota": _quota,
    "closed": _by_hand,
}


def audit_sentence(audit: str | None, rate: float | None, loss: float | None) -> str | None:
    """What became of the item's coin, if it is closed and one was tossed.

    >>> (audit_sentence("done", 0.05, 0.0) or "").replace("\\xa0", " ")
    'A coin (5 %) drew it for the audit: voted to the end, the pool agrees with the answer.'
    """
    if rate is None:
        return None
    if audit is None:
        return f"A coin ({percent(rate)}) did not draw it for the audit."
    drawn = f"A coin ({percent(rate)}) drew it for the audit: "
    if audit == "drawn":
        return f"{drawn}it is still voted on, to measure how often closed items are wrong."
    verdict = "agrees with the answer" if loss == 0 else "is tied" if loss and loss < 1 else "says something else"
    return f"{drawn}voted to the end, the pool {verdict}."


def _outcome(decided: Decided) -> str:
    """What the votes of the whole pool say; where classes tie, how the answer was found."""
    leaders = decided.leaders
    if not decided.num_votes:
        return f"nobody gave a vote, and '{decided.label}' is the best guess"
    if len(leaders) == 1:
        return f"'{decided.label}' has most votes"
    tie = f"{_named(decided, leaders)} tie at {plural(max(decided.votes), 'vote')} each"
    beliefs = [decided.probs[index] for index in leaders] if decided.probs is not None else [0.0]
    if max(beliefs) - min(beliefs) > TIE_WIDTH:  # a method whose belief tells them apart
        return f"{tie}, and '{decided.label}' is the likelier one to this method"
    return f"{tie}, and {_drawn(decided, leaders)}"


def _named(decided: Decided, classes: Sequence[int]) -> str:
    if len(classes) > MOST_NAMED:
        return f"{len(classes)} classes"
    *names, last = [f"'{decided.classes[index]}'" for index in classes]
    return f"{', '.join(names)} and {last}"


def _drawn(decided: Decided, classes: Sequence[int]) -> str:
    return f"the answer was drawn {'between' if len(classes) == 2 else 'among'} them: '{decided.label}'"


def _closed(decided: Decided) -> str:
    return f"Closed after {plural(decided.num_votes, 'vote')}" if decided.num_votes else "Closed without a vote"


def _sure(decided: Decided) -> str:
    tied = decided.likeliest
    if len(tied) > 1:
        tie = f"{_named(decided, tied)} tie as the answer of {_pool(decided)}, at {percent(decided.confidence)} each"
        return tie if decided.reason == "ask" else f"{tie}, and {_drawn(decided, tied)}"
    return f"{percent(decided.confidence)} sure that {_pool(decided)} would say '{decided.label}'"


def _pool(decided: Decided) -> str:
    less = f" (less {decided.num_abstained} who cannot tell)" if decided.num_abstained else ""
    return f"the pool of {decided.pool_size}{less}"


def _next(decided: Decided) -> str:
    place = decided.num_votes
    return NUMBERS[place] if place < len(NUMBERS) else "further"


def _gain(decided: Decided) -> float:
    probs, votes = np.asarray(decided.probs, float), np.asarray(decided.votes, np.int64)
    return float(optimistic_gain(probs, votes, decided.pool_left - decided.num_votes))


def _points(share: float) -> str:
    text = decimal(100 * share, 2 if share < 0.1 else 1)
    return f"{text} point" if text == "1" else f"{text} points" if text != "0" else TINY


def _needed(least: float) -> str:
    """What a vote must be worth, after "more than" or "not more than": at equality nothing more is asked."""
    return "it must exceed" if _points(least) == TINY else f"the {_points(least)} it must exceed"
