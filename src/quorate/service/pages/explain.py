"""An item's timeline (who did what when, votes and belief after it) and one sentence per decision, from its events.

Pure functions: `timeline` takes the events of `trail`, `because` a decision and the policy that made it. Called by the
item's page and the items table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quorate.decision.belief import TIE_WIDTH
from quorate.decision.blended import BlendedValue, blended_gain
from quorate.decision.policy import QueryPolicy
from quorate.decision.value import optimistic_gain
from quorate.service.domain.item_projection import ABSENT
from quorate.service.domain.trail import same
from quorate.service.pages.formats import decimal, percent, plural
from quorate.types import FloatArray

COMPARED = ("ask", "label", "confidence", "reason")  # fields of a decision that must equal the recomputed ones


@dataclass(frozen=True, slots=True)
class Step:
    """One event: `probs` and `asks` after it (None: nothing was decided), `agrees`: equals the recomputed decision."""

    seq: int
    time: float
    kind: str
    who: str | None
    label: str | None
    is_late: bool
    votes: tuple[int, ...]
    num_abstained: int  # after this event, like the votes
    num_absent: int  # experts that an owner had removed from the pool by then
    is_absent: bool  # the event removed or restored such an expert
    probs: tuple[float, ...] | None
    asks: bool | None
    answer: str | None
    confidence: float | None
    reason: str | None
    agrees: bool | None
    params: int | None
    tune: int | None

    @property
    def tied(self) -> int:
        """How many classes are as likely as the likeliest one."""
        return 1 if self.probs is None else len(likeliest(self.probs))


def likeliest(probs: Sequence[float]) -> list[int]:
    """The classes as likely as the likeliest one, by number: several in a tie.

    >>> likeliest([0.2, 0.4, 0.4])
    [1, 2]
    """
    return [index for index, each in enumerate(probs) if max(probs) - each <= TIE_WIDTH]


def timeline(
    events: Sequence[Mapping[str, Any]],
    classes: Sequence[str],
    names: Mapping[str, str],
) -> list[Step]:
    """Every event in order, with its effect.

    >>> (step,) = timeline([{"seq": 1, "time": 0.0, "type": "open", "decision": {"ask": True}}], ["a", "b"], {})
    >>> step.kind, step.votes
    ('open', (0, 0))
    """
    ballots: dict[str, str | None] = {}  # None: cannot tell
    steps = []
    for event in events:
        voter = event.get("voter")
        if event["type"] in ("vote", "abstain") and voter is not None:
            ballots[voter] = event.get("label")
        elif event["type"] == "retract" and voter is not None:
            ballots.pop(voter, None)
        given = list(ballots.values())
        votes = tuple(given.count(name) for name in classes)
        absent = sum(name.startswith(ABSENT) for name in ballots)
        steps.append(_step(event, votes, given.count(None) - absent, absent, names))
    return steps


def _kind(event: Mapping[str, Any]) -> str:
    """The kind of act, also for answers to gold items."""
    act: str = event.get("act", event["type"])
    return act if not event.get("undone") else "unskip" if act == "skip" else "retract"


def _step(
    event: Mapping[str, Any],
    votes: tuple[int, ...],
    num_abstained: int,
    num_absent: int,
    names: Mapping[str, str],
) -> Step:
    decision, again = event.get("decision", {}), event.get("recomputed")
    voter = event.get("voter")
    probs = tuple(again["probs"]) if again and again["probs"] is not None else None
    return Step(
        seq=event["seq"],
        time=event["time"],
        kind=_kind(event),
        who=None if voter is None else names.get(voter, voter.removeprefix("ext:")),
        label=event.get("label"),
        is_late=bool(event.get("late")),
        votes=votes,
        num_abstained=num_abstained,
        num_absent=num_absent,
        is_absent=voter is not None and voter.startswith(ABSENT),
        probs=probs,
        asks=decision.get("ask") if again else None,
        answer=decision.get("label"),
        confidence=decision.get("confidence"),
        reason=decision.get("reason"),
        agrees=None if again is None else same({name: decision[name] for name in COMPARED}, again),
        params=decision.get("params"),
        tune=decision.get("tune"),
    )


TINY = "less than 0.01 points"
NUMBERS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
MOST_NAMED = 4  # tied classes that are named; more are counted


@dataclass(frozen=True, slots=True)
class DecisionFacts:
    """A decision and its inputs: `pool_left` is the pool without those who could not tell."""

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
    alpha: FloatArray | None = None  # the concentration before the first vote, for the blended rule

    @property
    def num_votes(self) -> int:
        """Votes on which it is based."""
        return sum(self.votes)

    @property
    def leaders(self) -> list[int]:
        """The classes that have most votes, by number: several in a tie."""
        return [index for index, count in enumerate(self.votes) if count == max(self.votes)]

    @property
    def likeliest(self) -> list[int]:
        """The most probable verdicts of the pool, by number: several in a tie."""
        return [] if self.probs is None else likeliest(self.probs)


def because(decided: DecisionFacts, policy: QueryPolicy) -> str:
    """One sentence: asked again, or closed, and why.

    >>> decided = DecisionFacts("not_worth_it", "cat", 0.981, [0.981, 0.019], [3, 0], 9, 9, 0, None, ["cat", "dog"])
    >>> because(decided, BlendedValue(error_cost=100)).replace("\\xa0", " ")
    "Closed after 3 votes: a fourth vote was worth at most 0.47 points of accuracy, not more than the 1 point \
it must exceed: 98.1 % sure that the pool of 9 would say 'cat'."
    """
    tell = REASONS.get(decided.reason, _by_rule)
    return tell(decided, policy)


def _asked(decided: DecisionFacts, policy: QueryPolicy) -> str:
    after = f"Asked again after {plural(decided.num_votes, 'vote')}" if decided.num_votes else "Asked"
    if decided.num_votes < decided.min_votes:
        return f"{after}: each item gets at least {plural(decided.min_votes, 'vote')}; {_sure(decided)} so far."
    least = getattr(policy, "min_gain", None)
    if least is not None and decided.probs is not None:
        return (
            f"{after}: a {_next(decided)} vote may be worth {_points(_gain(decided, policy))} of accuracy, more than "
            f"{_needed(least)}; {_sure(decided)} so far."
        )
    threshold = getattr(policy, "threshold", None)
    if threshold is not None:
        return f"{after}: {_sure(decided)}, not above the threshold of {percent(threshold)}."
    return f"{after}: the method's rule asks for another vote; {_sure(decided)} so far."


def _confident(decided: DecisionFacts, policy: QueryPolicy) -> str:
    threshold = getattr(policy, "threshold", None)
    limit = "" if threshold is None else f", above the threshold of {percent(threshold)}"
    return f"{_closed(decided)}: {_sure(decided)}{limit}."


def _not_worth_it(decided: DecisionFacts, policy: QueryPolicy) -> str:
    least = getattr(policy, "min_gain", None)
    if least is None or decided.probs is None:
        return f"{_closed(decided)}: another vote was not worth its price; {_sure(decided)}."
    worth = _points(_gain(decided, policy))
    most = "" if worth == TINY else "at most "
    return (
        f"{_closed(decided)}: a {_next(decided)} vote was worth {most}{worth} of accuracy, not "
        f"more than {_needed(least)}: {_sure(decided)}."
    )


def _settled(decided: DecisionFacts, policy: QueryPolicy) -> str:
    if len(decided.leaders) > 1:  # nobody is left who could break the tie
        return _exhausted(decided, policy)
    return (
        f"{_closed(decided)}: whatever the rest of {_pool(decided)} would say, '{decided.label}' cannot be overtaken."
    )


def _exhausted(decided: DecisionFacts, _policy: QueryPolicy) -> str:
    return f"{_closed(decided)}: everybody of {_pool(decided)} was asked; {_outcome(decided)}."


def _quota(decided: DecisionFacts, _policy: QueryPolicy) -> str:
    most = "" if decided.most_votes is None else f" ({decided.most_votes})"
    return f"{_closed(decided)}: that is the maximum for this item{most}; {_sure(decided)}."


def _by_hand(decided: DecisionFacts, _policy: QueryPolicy) -> str:
    return f"{_closed(decided)}, by an owner: {_sure(decided)}."


def _nobody_left(decided: DecisionFacts, _policy: QueryPolicy) -> str:
    return f"{_closed(decided)}: nobody who may be asked is left; {_sure(decided)}."


def _unconfirmed(decided: DecisionFacts, _policy: QueryPolicy) -> str:
    return f"{_closed(decided)}: nobody who may be asked can give the confirmation it needs; {_sure(decided)}."


def _by_rule(decided: DecisionFacts, policy: QueryPolicy) -> str:
    name = getattr(policy, "name", "the method")
    return f"{_closed(decided)}: the rule of {name} asks for no more votes; {_sure(decided)}."


REASONS = {
    "ask": _asked,
    "confident": _confident,
    "not_worth_it": _not_worth_it,
    "settled": _settled,
    "exhausted": _exhausted,
    "quota": _quota,
    "closed": _by_hand,
    "nobody_left": _nobody_left,
    "unconfirmed": _unconfirmed,
}


def audit_sentence(audit: str | None, rate: float | None, loss: float | None) -> str | None:
    """Whether the item was drawn for the audit, and the result; None if no draw was made.

    >>> (audit_sentence("done", 0.05, 0.0) or "").replace("\\xa0", " ")
    'Drawn for the audit (5 % of closed items are): the whole pool was asked, and agrees with the answer.'
    """
    if rate is None:
        return None
    if audit is None:
        return f"Not drawn for the audit ({percent(rate)} of closed items are)."
    drawn = f"Drawn for the audit ({percent(rate)} of closed items are): "
    if audit == "drawn":
        return f"{drawn}it is still voted on, to measure how often closed items are wrong."
    verdict = "agrees with the answer" if loss == 0 else "is tied" if loss and loss < 1 else "says something else"
    return f"{drawn}the whole pool was asked, and {verdict}."


def _outcome(decided: DecisionFacts) -> str:
    """The result of the whole pool's votes; in a tie, how the answer was chosen."""
    leaders = decided.leaders
    if not decided.num_votes:
        return f"nobody gave a vote, and '{decided.label}' is the best guess"
    if len(leaders) == 1:
        return f"'{decided.label}' has most votes"
    tie = f"{_named(decided, leaders)} tie at {plural(max(decided.votes), 'vote')} each"
    beliefs = [decided.probs[index] for index in leaders] if decided.probs is not None else [0.0]
    if max(beliefs) - min(beliefs) > TIE_WIDTH:  # the method's belief breaks the tie
        return f"{tie}, and '{decided.label}' is more likely by this method"
    return f"{tie}, and {_drawn(decided, leaders)}"


def _named(decided: DecisionFacts, classes: Sequence[int]) -> str:
    if len(classes) > MOST_NAMED:
        return f"{len(classes)} classes"
    *names, last = [f"'{decided.classes[index]}'" for index in classes]
    return f"{', '.join(names)} and {last}"


def _drawn(decided: DecisionFacts, classes: Sequence[int]) -> str:
    return f"the answer was drawn {'between' if len(classes) == 2 else 'among'} them: '{decided.label}'"


def _closed(decided: DecisionFacts) -> str:
    return f"Closed after {plural(decided.num_votes, 'vote')}" if decided.num_votes else "Closed without a vote"


def _sure(decided: DecisionFacts) -> str:
    tied = decided.likeliest
    if len(tied) > 1:
        tie = f"{_named(decided, tied)} tie as the answer of {_pool(decided)}, at {percent(decided.confidence)} each"
        return tie if decided.reason == "ask" else f"{tie}, and {_drawn(decided, tied)}"
    return f"{percent(decided.confidence)} sure that {_pool(decided)} would say '{decided.label}'"


def _pool(decided: DecisionFacts) -> str:
    less = f" (less {decided.num_abstained} who cannot tell)" if decided.num_abstained else ""
    return f"the pool of {decided.pool_size}{less}"


def _next(decided: DecisionFacts) -> str:
    place = decided.num_votes
    return NUMBERS[place] if place < len(NUMBERS) else "further"


def _gain(decided: DecisionFacts, policy: QueryPolicy) -> float:
    """What the policy compares with `min_gain`."""
    probs, votes = np.array(decided.probs, float), np.array(decided.votes, np.int64)
    left = decided.pool_left - decided.num_votes
    if isinstance(policy, BlendedValue) and decided.alpha is not None:
        least = float(policy.min_gain)
        return float(blended_gain(least, probs, probs, votes, left, decided.alpha, np.zeros((0, 0))))
    return float(optimistic_gain(probs, votes, left))


def _points(share: float) -> str:
    text = decimal(100 * share, 2 if share < 0.1 else 1)
    return f"{text} point" if text == "1" else f"{text} points" if text != "0" else TINY


def _needed(least: float) -> str:
    """What a vote must be worth, to follow "more than" or "not more than"."""
    return "it must exceed" if _points(least) == TINY else f"the {_points(least)} it must exceed"
