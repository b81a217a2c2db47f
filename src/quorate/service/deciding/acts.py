"""What a voter does with an item, as it is asked for and as it was stored; and why it may be refused.

Values alone: `ballots` stores them, `desk` stores many at once, the API, the pages and the demo ask for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from quorate.errors import InvalidInput, UnknownItem
from quorate.types import Decision

Kind = Literal["vote", "abstain", "skip", "retract", "close"]


class TooLate(InvalidInput):
    """A vote can be taken back only for a short while."""


class NotServed(UnknownItem):
    """A voter acts on an item that was never shown to them."""


@dataclass(frozen=True, slots=True)
class Request:
    """Who acts on which item, and how. `served`: the item must have been shown to this voter."""

    project_id: str
    item: str
    voter: str
    kind: Kind
    label: str | None = None
    request: str | None = None
    served: bool = True


@dataclass(frozen=True, slots=True)
class Recorded:
    """What was stored. `decision` is for the owner's eyes, never for a voter's; None for a skip."""

    item: str
    kind: Kind
    label: str | None
    time: float
    event: int
    undo_until: float | None
    repeated: bool
    decision: Decision | None
