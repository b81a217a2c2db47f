"""The protocol of a policy: four small methods, no base class. `quorate.testing.check_policy` checks an implementation.

Called by the session (through `session.decide`) and by simulations. A policy sees only votes that were asked for. Its
state must survive JSON, because it is rebuilt from the journal.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np

from quorate.errors import PolicyError
from quorate.types import FloatArray, Item
from quorate.validate import invalid

PolicyState = Any  # any JSON value; the type depends on the policy


@runtime_checkable
class QueryPolicy(Protocol):
    """Decides whether one more expert is asked.

    Two optional class attributes: `stop_reason` (default "rule"), the reason when `asks` returns False, and
    `stops_when_settled` (default True): False only for a policy that must collect every vote.
    """

    @property
    def name(self) -> str:
        """The policy's name, for reports and journals."""

    def init(self, num_classes: int) -> PolicyState:
        """The state before the first item; None if the policy keeps none."""

    def quota(self, state: PolicyState, item: Item, *, rng: np.random.Generator) -> int | None:
        """The maximum number of votes of this item, drawn once when it opens; None for no quota."""

    def asks(self, state: PolicyState, item: Item, probs: FloatArray) -> bool:
        """Whether to ask one more expert. `probs` (K,) is the asking belief: who will win the pool."""

    def update(self, state: PolicyState, closed: Item) -> PolicyState:
        """The state after an item closed."""


class Stateless:
    """A mixin with defaults for the methods most policies do not need: no state, no quota, no learning."""

    def init(self, num_classes: int) -> None:
        """No state."""

    def quota(self, state: None, item: Item, *, rng: np.random.Generator) -> int | None:
        """No quota."""
        return None

    def update(self, state: None, closed: Item) -> None:
        """Nothing to learn."""


def invalid_policy(policy: QueryPolicy, field: str, value: object, rule: str, fix: str) -> PolicyError:
    """The error for a policy whose `field` (a method or an attribute) breaks a rule."""
    return invalid(field, value, rule, fix, place=f"policy {policy.name!r}", error=PolicyError)
