"""An item's timeline from its events: who did what when, votes and belief after it. Called by the item's page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from quorate.model import TIE_WIDTH
from quorate.reasons import is_answered
from quorate.types import Reason
from quorate_service.domain.item_projection import ABSENT
from quorate_service.domain.trail import same

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

    @property
    def num_votes(self) -> int:
        """How many votes there are after it."""
        return sum(self.votes)

    @property
    def is_unanswered(self) -> bool:
        """Whether the item is closed without an answer."""
        return self.asks is False and not is_answered(self.num_votes, cast("Reason", self.reason))


def likeliest(probs: Sequence[float]) -> list[int]:
    """The classes as likely as the likeliest one, by number: several in a tie.

    >>> likeliest([0.2, 0.4, 0.4])
    [1, 2]
    """
    return [index for index, share in enumerate(probs) if max(probs) - share <= TIE_WIDTH]


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
        labels = list(ballots.values())
        votes = tuple(labels.count(name) for name in classes)
        absent = sum(name.startswith(ABSENT) for name in ballots)
        steps.append(_step(event, votes, labels.count(None) - absent, absent, names))
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
