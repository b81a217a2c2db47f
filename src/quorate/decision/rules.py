"""The stopping rules of our own policies as one compiled switch, so that a whole stream runs in one compiled call.

Each policy class names its rule by a `Rule` (a number and two knobs); its `asks` and the stream both end up here,
hence agree. Every rule's own arithmetic stands in the file of its policy.
"""

from __future__ import annotations

from typing import NamedTuple

from quorate.compiled import kernel
from quorate.decision.beta import BetaStop, beta_leads
from quorate.decision.counting import AskAll, Quorum, UnanimousThenCap, UntilSettled
from quorate.decision.model_picker import ModelPicker
from quorate.decision.policy import QueryPolicy
from quorate.decision.quota import QuotaPolicy
from quorate.decision.threshold import Threshold
from quorate.decision.value import ValueOfInformation, optimistic_gain
from quorate.types import FloatArray, IntArray

ALWAYS, THRESHOLD, GAIN, QUORUM, UNANIMOUS, BETA = range(6)


class Rule(NamedTuple):
    """A compiled stopping rule: which one, and its knobs (meaning by rule)."""

    kind: int
    first: float = 0.0
    second: float = 0.0


@kernel
def rule_asks(kind: int, first: float, second: float, probs: FloatArray, votes: IntArray, num_remaining: int) -> bool:
    """True if the rule wants one more vote. probs (K,), votes (K,) counts, at least one vote remaining."""
    if kind == THRESHOLD:
        return bool(probs.max() <= first)
    if kind == GAIN:
        return optimistic_gain(probs, votes, num_remaining) > first
    if kind == QUORUM:
        return bool(votes.max() < first)
    if kind == UNANIMOUS:
        num_votes = votes.sum()
        if num_votes < first:
            return True
        return bool(votes.max() < num_votes < second)
    if kind == BETA:
        return beta_leads(votes) < first
    return True


def rule_of(policy: QueryPolicy) -> Rule | None:
    """The compiled rule of one of our policies; None for a user's own, which runs through the session instead."""
    match policy:
        case Threshold():
            return Rule(THRESHOLD, policy.threshold)
        case ValueOfInformation():
            return Rule(GAIN, policy.min_gain)
        case Quorum():
            return Rule(QUORUM, policy.votes)
        case UnanimousThenCap():
            return Rule(UNANIMOUS, policy.first, policy.cap)
        case BetaStop():
            return Rule(BETA, policy.threshold)
        case AskAll() | UntilSettled() | QuotaPolicy() | ModelPicker():
            return Rule(ALWAYS)
        case _:
            return None
