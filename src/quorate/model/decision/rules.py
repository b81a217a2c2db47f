"""The stopping rules of the built-in policies as numbers, for the compiled core: sessions and streams use them.

`ask` of a policy class is the same rule in plain Python; a test compares the two. A user's policy has no compiled
rule: its `ask` is called.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from quorate import core
from quorate.model.decision.beta import BetaStop
from quorate.model.decision.blended import BLENDED, BlendedValue
from quorate.model.decision.counting import AskAll, Quorum, UnanimousThenCap, UntilSettled
from quorate.model.decision.model_picker import ModelPicker
from quorate.model.decision.policy import QueryPolicy
from quorate.model.decision.quota import EntropyQuota, QuotaPolicy, RandomQuota
from quorate.model.decision.threshold import Threshold
from quorate.types import FloatArray, IntArray

ALWAYS, THRESHOLD, QUORUM, UNANIMOUS, BETA = range(5)  # and BLENDED: RuleKind in core/decision.hpp


class Rule(NamedTuple):
    """A compiled stopping rule: its kind, and up to two parameters, whose meaning depends on the kind."""

    kind: int
    first: float = 0.0
    second: float = 0.0


def rule_asks(
    rule: Rule,
    probs: FloatArray,
    votes: IntArray,
    num_remaining: int,
    alpha: FloatArray,
    error_costs: FloatArray,
    tie_draw: float,
) -> bool:
    """True if the rule asks for one more vote. probs, votes, alpha (K,), at least one vote remaining.

    Only BLENDED uses `alpha`. error_costs (K, K) by truth and answer, or (0, 0) if all errors cost the same;
    `tie_draw` selects among answers of equal cost.
    """
    kind, first, second = rule
    return bool(core.rule_asks(probs, votes, alpha, error_costs, kind, num_remaining, first, second, tie_draw))


def rule_of(policy: QueryPolicy) -> Rule | None:
    """The compiled rule of a built-in policy; None for a user's own, which runs through the session instead.

    Subclasses have none, because they may override `ask`; but one that only draws another quota needs none.
    """
    build = RULES.get(type(policy))
    if build is None:
        return Rule(ALWAYS) if _only_draws(policy) else None
    rule = build(policy)
    return Rule(rule.kind, float(rule.first), float(rule.second))  # Python integers may be too large


def _only_draws(policy: QueryPolicy) -> bool:
    kind = type(policy)
    parts = ("init", "quota", "ask", "update")
    return isinstance(policy, QuotaPolicy) and all(
        getattr(kind, name, None) is getattr(QuotaPolicy, name, None) for name in parts
    )


RULES: dict[type, Callable[[Any], Rule]] = {
    Threshold: lambda policy: Rule(THRESHOLD, policy.threshold),
    BlendedValue: lambda policy: Rule(BLENDED, policy.min_gain),
    Quorum: lambda policy: Rule(QUORUM, policy.votes),
    UnanimousThenCap: lambda policy: Rule(UNANIMOUS, policy.first, policy.cap),
    BetaStop: lambda policy: Rule(BETA, policy.threshold),
    AskAll: lambda policy: Rule(ALWAYS),
    UntilSettled: lambda policy: Rule(ALWAYS),
    RandomQuota: lambda policy: Rule(ALWAYS),
    EntropyQuota: lambda policy: Rule(ALWAYS),
    ModelPicker: lambda policy: Rule(ALWAYS),
}
