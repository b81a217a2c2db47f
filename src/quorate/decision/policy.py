"""What a policy is: four small methods. No base class; write a class with these and run `quorate.testing.check_policy`.

Called by the session (through `session.decide`) and by the simulation. A policy never sees votes that were not asked
for. Its state must survive JSON, because the journal has to be able to rebuild it.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np

from quorate.errors import PolicyError
from quorate.types import FloatArray, Item
from quorate.validate import broken

PolicyState = Any  # what JSON can hold; each policy knows its own


@runtime_checkable
class QueryPolicy(Protocol):
    """Decides whether one more expert is asked.

    Two optional class attributes: `stop_reason` (default "rule"), the reason given when `asks` says no, and
    `stops_when_settled` (default True): False only for a policy that must collect every vote.
    """

    @property
    def name(self) -> str:
        """The policy's name, for reports and journals."""

    def init(self, num_classes: int) -> PolicyState:
        """The state before the first item; None if the policy keeps none."""

    def quota(self, state: PolicyState, item: Item, *, rng: np.random.Generator) -> int | None:
        """How many votes this item may have at most, drawn once when it opens; None for no quota."""

    def asks(self, state: PolicyState, item: Item, probs: FloatArray) -> bool:
        """Ask one more? `probs` (K,) is the asking belief: who will win the pool."""

    def update(self, state: PolicyState, closed: Item) -> PolicyState:
        """The state after an item closed with the votes that were seen."""


class Stateless:
    """The three parts most policies do not need, to be mixed in: no state, no quota, nothing learned."""

    def init(self, num_classes: int) -> None:
        """No state."""

    def quota(self, state: None, item: Item, *, rng: np.random.Generator) -> int | None:
        """No quota."""
        return None

    def update(self, state: None, closed: Item) -> None:
        """Nothing to learn."""


def broken_policy(policy: QueryPolicy, field: str, value: object, rule: str, fix: str) -> PolicyError:
    """The error of a policy whose `field`, a method or an attribute, breaks a rule."""
    return broken(field, value, rule, fix, place=f"policy {policy.name!r}", error=PolicyError)
