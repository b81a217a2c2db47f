"""`Expert`: a person who can be asked, with a cost, a rank and a daily limit; for sessions with named people."""

from __future__ import annotations

from dataclasses import dataclass

from quorate.validate import bounded, invalid, whole

LEAST_COST, MOST_COST = 1e-9, 1e9  # LEAST_COST also replaces a cost of 0, so that free votes come first


@dataclass(frozen=True, slots=True)
class Expert:
    """One person. `cost` of one vote, in any unit   `rank` for rules, e.g. "senior"   `daily_limit` votes per day.

    >>> Expert("ann", cost=2.5, rank="senior")
    Expert(name='ann', cost=2.5, rank='senior', daily_limit=None)
    """

    name: str
    cost: float = 1.0
    rank: str | None = None
    daily_limit: int | None = None

    def __post_init__(self) -> None:
        """Check the values."""
        text(self.name, where="name")
        object.__setattr__(self, "cost", bounded(self.cost, where="cost", least=LEAST_COST, most=MOST_COST))
        if self.rank is not None:
            text(self.rank, where="rank")
        if self.daily_limit is not None:
            object.__setattr__(self, "daily_limit", whole(self.daily_limit, where="daily_limit", least=0))


def text(value: object, *, where: str) -> str:
    """A name or a rank: non-empty text without spaces at its ends."""
    if not isinstance(value, str) or not value or value != value.strip():
        raise invalid(where, value, "non-empty text without spaces at its ends", "pass a str.")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise invalid(where, value, "valid Unicode text", "remove the lone surrogate.") from None
    return value
