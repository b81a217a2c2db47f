"""What a voter does with an item, as it is asked for and as it was stored; and why it may be refused.

Values alone: `ballots` stores them, `vote_batch` stores many at once, the API, the pages and the demo ask for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from quorate.errors import InvalidInput, RequestReused, UnknownItem, shown
from quorate.types import Decision

Kind = Literal["vote", "abstain", "skip", "retract", "close"]


class TooLate(InvalidInput):
    """A vote can be taken back only for a short while."""


class NotServed(UnknownItem):
    """A voter acts on an item that was never shown to them."""


def reused(key: str | None) -> RequestReused:
    """The error of an idempotency key that came with another content than the first time."""
    fix = "use a new key for a new act."
    return RequestReused(
        f"idempotency key {shown(key)} was used before for something else; {fix}",
        field="Idempotency-Key", value=key, rule="a key of its own for every act", fix=fix,
    )  # fmt: skip


def of_item(error: type[InvalidInput], item: str, *, wrong: str, rule: str, fix: str) -> InvalidInput:
    """Why an act on this item is refused."""
    return error(f"item={shown(item)}{wrong}; {fix}", field="item", value=item, rule=rule, fix=fix)


def not_here(item: str) -> InvalidInput:
    """The error of an item that is not in the project."""
    fix = "check how it is written."
    return of_item(UnknownItem, item, wrong=" is not in this project", rule="an item of this project", fix=fix)


def not_met(item: str, kind: Kind) -> InvalidInput:
    """The error of a voter who acts on an item that was never shown to them; whether it is there is not told."""
    if kind == "retract":
        wrong, rule = ": this voter has no vote on it", "an item on which this voter has acted"
        return of_item(UnknownItem, item, wrong=wrong, rule=rule, fix="there is nothing to undo.")
    wrong, rule = " was not given to this voter", "an item that was given to this voter"
    return of_item(NotServed, item, wrong=wrong, rule=rule, fix="ask for the next item first.")


@dataclass(frozen=True, slots=True)
class Request:
    """Who acts on which item, and how. `served`: the item must have been shown to this voter.

    `signed_in_by`: how whoever sends it was signed in (access/log.py); kept beside the event.
    """

    project_id: str
    item: str
    voter: str
    kind: Kind
    label: str | None = None
    request: str | None = None
    served: bool = True
    signed_in_by: str | None = None


@dataclass(frozen=True, slots=True)
class RecordedVote:
    """What was stored. For an owner's eyes, never for a voter's: `decision` (None for a skip), and `late`, whether the
    item was closed already."""

    item: str
    kind: Kind
    label: str | None
    time: float
    event: int
    undo_until: float | None
    repeated: bool
    late: bool
    decision: Decision | None
