"""The protocol of a policy: `ask(item)`, and what else it may have. `quorate.testing.check_policy` checks one.

Called by the session (through `session.decide`) and by simulations. A policy sees only votes that were asked for. Its
state must survive JSON, because it is rebuilt from the journal.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from quorate.errors import PolicyError
from quorate.types import Item
from quorate.validate import invalid

PolicyState = Any  # any JSON value; the type depends on the policy


@runtime_checkable
class QueryPolicy(Protocol):
    """Decides whether one more expert is asked.

    It may also have:

    - `name` (default: of its class), for reports and journals;
    - `stop_reason` (default "rule"): the reason when `ask` returns False;
    - `stops_when_settled` (default True): False if it must collect every vote;
    - `quota(item, rng)`: the maximum number of votes of this item, drawn once when it opens; None for no quota;
    - `init(num_classes)` and `update(item)`: the state before the first item, and the new state after an item closed;
      `item.state` is the current one;
    - `grid`: policies at several settings, for `quorate.compare`.
    """

    def ask(self, item: Item) -> bool:
        """Whether to ask one more expert. `item.probs` (K,) is the asking belief: who will win the pool."""


def policy_name(policy: object) -> str:
    """Its `name`, or that of its class."""
    return str(getattr(policy, "name", type(policy).__name__))


def invalid_policy(policy: object, field: str, value: object, rule: str, fix: str) -> PolicyError:
    """The error for a policy whose `field` (a method or an attribute) breaks a rule."""
    return invalid(field, value, rule, fix, place=f"policy {policy_name(policy)!r}", error=PolicyError)
