"""The stopping rules people use today: they depend only on vote counts."""

from __future__ import annotations

from dataclasses import dataclass

from quorate.types import Item
from quorate.validate import invalid, whole


@dataclass(frozen=True, slots=True)
class AskAll:
    """Ask every member of the pool. The only policy that continues after the outcome is settled."""

    name = "ask-all"
    stop_reason = "exhausted"
    stops_when_settled = False

    def ask(self, item: Item) -> bool:
        """Always."""
        return True


@dataclass(frozen=True, slots=True)
class UntilSettled:
    """Ask until the missing votes cannot change the winner."""

    name = "until-settled"
    stop_reason = "settled"

    def ask(self, item: Item) -> bool:
        """Always; the session stops when the pool is settled."""
        return True


@dataclass(frozen=True, slots=True)
class Quorum:
    """Stop when one class has `votes` votes."""

    votes: int = 3
    name = "quorum"
    stop_reason = "rule"

    def __post_init__(self) -> None:
        """Check the parameter."""
        whole(self.votes, where="votes", least=0)

    def ask(self, item: Item) -> bool:
        """Ask while no class has reached the quorum."""
        return bool(item.votes.max() < self.votes)


@dataclass(frozen=True, slots=True)
class UnanimousThenCap:
    """Stop if the first `first` votes all agree; otherwise continue to `cap` votes (or the end of the pool)."""

    first: int = 4
    cap: int = 9
    name = "unanimous-then-cap"
    stop_reason = "rule"

    def __post_init__(self) -> None:
        """Check the parameters."""
        whole(self.first, where="first", least=0)
        whole(self.cap, where="cap", least=0)
        if self.cap < self.first:
            raise invalid("cap", self.cap, f"at least `first`, which is {self.first}", "raise `cap` or lower `first`.")

    def ask(self, item: Item) -> bool:
        """Ask for the first votes; then, if they disagree, up to the cap."""
        if item.num_votes < self.first:
            return True
        return bool(item.votes.max() < item.num_votes and item.num_votes < self.cap)
